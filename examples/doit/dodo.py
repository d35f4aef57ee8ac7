"""Nine trainings of three kinds: doit -n 9"""

import sys
from pathlib import Path

TRAIN = str(Path(__file__).resolve().parent.parent / "train.py")


def task_train():
    for kind in ("tensorflow", "pytorch", "jax"):
        for number in range(3):
            yield {"name": f"{kind}-{number}",
                   "actions": [[sys.executable, TRAIN, kind, str(number)]]}
