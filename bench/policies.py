#!/usr/bin/env python3
"""What elastic policies reach on published benchmarks, and what each idea of ours is worth.

Usage: bench/policies.py --data FOLDER [--only sia-64,pollux-64,arena-1280,ablation,overload,fresh]

The data is not part of the project: see docs/user/simulate.md.
"""

import argparse
import csv
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "build/release/tutti"


def simulate(data, benchmark, workload, policy, *more):
    words = [str(BINARY), "simulate", "--benchmark", benchmark, "--data", str(data),
             "--workload", str(workload), "--policy", policy, "--json", "--timing", *more]
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr.decode()}")
    return json.loads(done.stdout)["summary"]


def mean_of(runs, key):
    return statistics.fmean(run[key] for run in runs)


def row(name, *cells):
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def sia_row(name, runs):
    times = " / ".join(f"{run['mean_jct_s'] / 3600:.3f}" for run in runs)
    row(name, times, f"**{mean_of(runs, 'mean_jct_s') / 3600:.3f}**",
        f"{mean_of(runs, 'p99_jct_s') / 3600:.2f}", f"{mean_of(runs, 'makespan_s') / 3600:.2f}",
        f"{mean_of(runs, 'restarts_per_job'):.2f}", f"{100 * mean_of(runs, 'unfair'):.1f} %",
        f"{max(run['worst_fairness'] for run in runs):.2f}",
        f"{statistics.median(run['decision_ms_median'] for run in runs):.2f}")


def sia_head():
    print("\n| Sia-64, Philly | workloads 1 / 2 / 3 (h) | mean (h) | p99 | makespan | restarts/job "
          "| worse than a 1/N share | worst | decision (ms) |\n|---|---|---|---|---|---|---|---|---|")


def sia_runs(data, policy, *more):
    folder = data / "sia/workloads/philly"
    return [simulate(data, "sia-64", folder / f"workload-{n}.csv", policy, *more)
            for n in (1, 2, 3)]


def sia(data):
    sia_head()
    sia_row("tutti, cold, declared", sia_runs(data, "tutti"))
    sia_row("tutti, cold, oblivious", sia_runs(data, "tutti", "--length", "oblivious"))
    for seed in (1, 2, 3):
        sia_row(f"tutti, cold, declared wrongly (seed {seed})",
                sia_runs(data, "tutti", "--length", "noisy", "--seed", str(seed)))
    sia_row("tutti, warm, declared", sia_runs(data, "tutti", "--knowledge", "warm"))
    for policy in ("sia", "gavel", "las", "cells", "srtf", "backfill", "fifo"):
        sia_row(policy, sia_runs(data, policy))


def ablation(data):
    sia_head()
    for policy in ("tutti", "tutti-unshared", "tutti-unamortised", "tutti-unranked",
                   "tutti-incurious"):
        sia_row(policy, sia_runs(data, policy))


# `tutti` with less to go by: how its rows are called, and what is asked for.
LESS_KNOWN = (("tutti, oblivious", "--length", "oblivious"),
              ("tutti, declared wrongly (seed 1)", "--length", "noisy"))


def pollux(data):
    print("\n| Pollux-64 | workloads 1 / 2 / 3 / 4 (s) | mean (s) | × Pollux (2,580 s) "
          "| restarts/job |\n|---|---|---|---|---|")
    for name, *more in (("tutti",), *LESS_KNOWN, ("las",), ("optimus",)):
        runs = [simulate(data, "pollux-64", data / f"pollux/workloads/workload-{n}.csv",
                         name.split(",")[0], *more) for n in (1, 2, 3, 4)]
        mean = mean_of(runs, "mean_jct_s")
        row(name, " / ".join(f"{run['mean_jct_s']:.0f}" for run in runs), f"**{mean:.0f}**",
            f"{mean / 2580:.2f}", f"{mean_of(runs, 'restarts_per_job'):.2f}")


def arena(data):
    print("\n| Arena-1280, Philly, 2,000 rounds | restart cost | finished | mean queue (s) "
          "| mean throughput | restarts/job | decision (ms) |\n|---|---|---|---|---|---|---|")
    for name, *more in (("tutti",), *LESS_KNOWN, ("cells",), ("gavel",), ("srtf",), ("backfill",),
                        ("fifo",)):
        for cost in ("crius", "others"):
            run = simulate(data, "arena-1280", data / "arena/simulate_trace_philly.csv",
                           name.split(",")[0], "--restart-cost", cost, *more)
            row(name, cost, str(run["finished"]), f"{run['mean_queue_s']:.0f}",
                f"{run['throughput_mean']:.0f}", f"{run['restarts_per_job']:.2f}",
                f"{run['decision_ms_median']:.2f}")


def in_less_time(trace, column, factor, folder):
    """The trace with its jobs arriving `factor` times as fast, as a file in the folder."""
    with open(trace, newline="") as file:
        rows = list(csv.DictReader(file))
    first = min(float(one[column]) for one in rows)
    for one in rows:
        one[column] = int(first + (float(one[column]) - first) / factor)
    path = Path(folder) / f"{factor}-{Path(trace).name}"
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def overload(data):
    print("\n| tutti, declared against oblivious | arrivals | mean | p99 | makespan |\n"
          "|---|---|---|---|---|")
    traces = [("sia-64", data / f"sia/workloads/philly/workload-{n}.csv", "time", (2, 4), ())
              for n in (1, 2, 3)]
    traces.append(("arena-1280", data / "arena/simulate_trace_philly.csv", "submission_time",
                   (1, 2, 5), ("--rounds", "30000")))
    with tempfile.TemporaryDirectory() as folder:
        for benchmark, trace, column, factors, more in traces:
            for factor in factors:
                path = in_less_time(trace, column, factor, folder)
                declared, oblivious = (simulate(data, benchmark, path, "tutti", "--length", length,
                                                *more) for length in ("declared", "oblivious"))
                row(f"{benchmark}, {trace.stem}", f"{factor} ×",
                    *(f"{declared[key] / oblivious[key]:.2f} ×"
                      for key in ("mean_jct_s", "p99_jct_s", "makespan_s")))


def jobs_drawn(rows, dice, shape):
    """A workload of 160 jobs drawn from several, with its arrivals."""
    if shape == "moved":
        jobs = [dict(row) for row in dice.choice(rows)]
        times = sorted(float(job["time"]) + dice.uniform(0, 600) for job in jobs)
    else:
        jobs = [dict(dice.choice([row for one in rows for row in one])) for _ in range(160)]
        times = [dice.uniform(0, 8 * 3600) if shape == "even" else
                 dice.randrange(8) * 3600 + dice.expovariate(1 / 300) for _ in jobs]
        times.sort()
    for number, (job, time) in enumerate(zip(jobs, times)):
        job.update(name=f"job-{number}", time=int(time))
    return jobs


def fresh(data):
    """Overload of workloads that are none of those published, but like them."""
    rows = []
    for n in (1, 2, 3, 4):
        with open(data / f"sia/workloads/philly/workload-{n}.csv", newline="") as file:
            rows.append(list(csv.DictReader(file)))
    ratios = {"mean_jct_s": [], "p99_jct_s": [], "makespan_s": []}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(200, 214):
            jobs = jobs_drawn(rows, random.Random(seed), ("even", "bursts", "moved")[seed % 3])
            path = Path(folder) / f"drawn-{seed}.csv"
            with open(path, "w", newline="") as file:
                writer = csv.DictWriter(file, rows[0][0], lineterminator="\n")
                writer.writeheader()
                writer.writerows(jobs)
            for factor in (2, 4):
                faster = in_less_time(path, "time", factor, folder)
                declared, oblivious = (simulate(data, "sia-64", faster, "tutti", "--length", length)
                                       for length in ("declared", "oblivious"))
                for key, values in ratios.items():
                    values.append(declared[key] / oblivious[key])
    print("\n| 28 drawn workloads at 2 × and 4 ×, against oblivious | mean | worst | above 1.10 |\n"
          "|---|---|---|---|")
    for key, values in ratios.items():
        row(key, f"{statistics.fmean(values):.3f} ×", f"{max(values):.2f} ×",
            str(sum(value > 1.1 for value in values)))


STAGES = {"sia-64": sia, "pollux-64": pollux, "arena-1280": arena, "ablation": ablation,
          "overload": overload, "fresh": fresh}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default=",".join(STAGES))
    arguments = parser.parse_args()
    for name in arguments.only.split(","):
        if name not in STAGES:
            parser.error(f"no stage '{name}', only {', '.join(STAGES)}")
        STAGES[name](arguments.data)


if __name__ == "__main__":
    main()
