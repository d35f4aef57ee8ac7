"""A sweep from Python, one task for each point: python sweep.py"""

import itertools
import os
import subprocess

import tutti


def loss(point):
    lr, width = point
    if os.environ.get("TUTTI_EMULATED_GPUS"):
        subprocess.run(["tutti-gpu-emulator", "work", "--mem", "8G", "--seconds", "0.3"],
                       check=True)
    return (lr - 0.01) ** 2 + 1 / width


if __name__ == "__main__":
    points = list(itertools.product([0.1, 0.01, 0.001], [64, 128]))
    losses = tutti.map(loss, points, gpus=1, cpus=0.5)
    best = min(range(len(points)), key=losses.__getitem__)
    print("best: lr %g, width %d" % points[best])
