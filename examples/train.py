"""Three kinds of training, each a function with a GPU of its own: python train.py KIND NUMBER.

The work is only pretended. On emulated GPUs a child holds memory for a moment, so that it can be
measured; elsewhere nothing is allocated.
"""

import os
import subprocess
import sys

import tutti


def pretend(mem, seconds):
    if not os.environ.get("TUTTI_EMULATED_GPUS"):
        return
    done = subprocess.run(["tutti-gpu-emulator", "work", "--mem", mem, "--seconds", str(seconds)],
                          stderr=subprocess.PIPE, text=True)
    sys.stderr.write(done.stderr)
    done.check_returncode()


@tutti.gpu()
def tensorflow_job(number):
    pretend("12G", 0.6)


@tutti.gpu()
def pytorch_job(number):
    pretend("20G", 0.8)


@tutti.gpu()
def jax_job(number):
    pretend("30G", 0.5)


JOBS = {"tensorflow": tensorflow_job, "pytorch": pytorch_job, "jax": jax_job}

if __name__ == "__main__":
    kind, number = sys.argv[1], int(sys.argv[2])
    JOBS[kind](number)
    print(f"{kind} {number} is trained")
