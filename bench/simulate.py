"""A stage of bench.py about the simulator: a million jobs in strict order, and what they cost in memory."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TUTTI = str(ROOT / "build/release/tutti")
CORES = 2048


def write_trace(path, jobs, seed=1):
    """Writes an SWF trace that keeps the cluster about 90 % busy, with days that differ."""
    chance = random.Random(seed)
    now = 0.0
    with open(path, "w") as trace:
        trace.write(f"; Version: 2.2\n; MaxProcs: {CORES}\n")
        for number in range(1, jobs + 1):
            run = max(1, int(chance.lognormvariate(6, 1.5)))
            width = min(256, 1 << int(chance.expovariate(0.6)))
            # The means are about 1,240 s and 7.3 cores.
            now += chance.expovariate(0.2)
            asked = (run // 600 + 1) * 600
            trace.write(f"{number} {int(now)} -1 {run} {width} -1 -1 {width} {asked} -1 1 "
                        f"{chance.randrange(200)} {chance.randrange(20)} {chance.randrange(50)} "
                        f"1 -1 -1 -1\n")


def replay(path, *more):
    """Seconds, and MiB at the most, that a run takes."""
    began = time.monotonic()
    child = subprocess.Popen([TUTTI, "simulate", path, *more], stdout=subprocess.PIPE)
    child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise RuntimeError("the simulation has failed")
    return time.monotonic() - began, usage.ru_maxrss / 1024


def stages(row):
    def simulate(quick):
        """Simulator: a trace of a million jobs on 2,048 cores, in strict order."""
        jobs = 100_000 if quick else 1_000_000
        with tempfile.TemporaryDirectory() as folder:
            small, large = os.path.join(folder, "small.swf"), os.path.join(folder, "large.swf")
            write_trace(small, jobs // 10)
            write_trace(large, jobs)
            _, small_mib = replay(small, "--policy", "fifo")
            seconds, large_mib = replay(large, "--policy", "fifo")
        most = 60 * jobs / 1_000_000
        row(f"simulated: replay of {jobs:,} jobs in strict order", f"{seconds:.1f} s",
            f"≤ {most:.0f} s", seconds <= most)
        # A number for each job, for the percentiles; all else is of those that are alive.
        grown = (large_mib - small_mib) * 1024 * 1024 / (jobs * 0.9)
        row("simulated: memory for a job that has ended", f"{grown:.0f} bytes", "≤ 64 bytes",
            grown <= 64)

    return {"simulate": simulate}


if __name__ == "__main__":
    write_trace(sys.argv[1], int(sys.argv[2]))
