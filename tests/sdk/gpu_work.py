"""Work on emulated GPUs, for the tests against the real daemon."""

import subprocess
import sys


def work(*options, mem="10G", seconds=0.5):
    """Holds memory on the visible GPU; raises as a framework would when it is full."""
    done = subprocess.run(["tutti-gpu-emulator", "work", "--mem", mem, "--seconds", str(seconds),
                           *options], stderr=subprocess.PIPE, text=True)
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)


# The beginning of a script that runs in a process of its own.
PREAMBLE = """
import os, sys, time
sys.path.insert(0, %r)
import glb, tutti
from gpu_work import work

def until(path):
    while not os.path.exists(path):
        time.sleep(0.01)
"""
