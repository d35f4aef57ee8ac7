"""Scripts that run beside the test, in processes of their own."""

import os
import subprocess
import sys

import gpu_work
from waiting import SLOW

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Scripts:
    """Starts scripts in one folder; ends what is left with end()."""

    def __init__(self, folder):
        self.folder = folder
        self.children = []

    def start(self, text, *arguments, name="script.py"):
        path = self.folder / name
        path.write_text(gpu_work.PREAMBLE % FOLDER + text)
        child = subprocess.Popen([sys.executable, str(path), *map(str, arguments)],
                                 cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True)
        self.children.append(child)
        return child

    def finish(self, child, seconds=60):
        """Its standard output; fails unless it ends with 0."""
        out, err = child.communicate(timeout=seconds * SLOW)
        assert child.returncode == 0, (out, err)
        return out

    def go(self, name="go"):
        (self.folder / name).touch()

    def end(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.communicate()
