"""GPU stages of bench.py, on emulated GPUs: leases, packing by measurement, placement, sampling."""
import json
import os
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
EMULATOR = ROOT / "build/release/emulator/tutti-gpu-emulator"

# GiB, part of the compute: six kinds of training jobs, of which two to three share a GPU.
KINDS = {"resnet": (10, 0.25), "bert": (16, 0.30), "unet": (24, 0.35), "vit": (30, 0.40),
         "gpt": (36, 0.30), "speech": (12, 0.45)}
GPUS = 4
GPU_GIB = 80


class Waiter:
    """A connection that waits for a lease. Reads without blocking."""

    def __init__(self, home, **request):
        body = json.dumps({"kind": "bench", **request}).encode()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.path.join(home.path, "run", "tutti.sock"))
        self.socket.sendall(b"POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
                            % (len(body), body))
        self.text = b""

    def read(self):
        piece = self.socket.recv(65536)
        if not piece:
            raise RuntimeError(f"the daemon hung up: {self.text[-300:]!r}")
        self.text += piece
        return b"event: granted" in self.text

    def close(self):
        self.socket.close()


def grant_latency(home, waiters):
    """Seconds from each release (the socket's close) to the next grant's arrival."""
    import selectors
    selector = selectors.DefaultSelector()
    waiting = [Waiter(home, share="never") for _ in range(waiters + GPUS)]
    for one in waiting:
        selector.register(one.socket, selectors.EVENT_READ, one)
    held, latencies, granted = [], [], set()
    while len(held) < GPUS:
        for key, _ in selector.select():
            if key.data not in granted and key.data.read():
                granted.add(key.data)
                held.append(key.data)
    while len(granted) < len(waiting):
        released = held.pop(0)
        selector.unregister(released.socket)
        began = time.perf_counter()
        released.close()
        while len(held) < GPUS:
            for key, _ in selector.select():
                if key.data not in granted and key.data.read():
                    granted.add(key.data)
                    held.append(key.data)
                    latencies.append(time.perf_counter() - began)
    for one in held:
        one.close()
    return latencies


# What a machine lets two Python processes say to each other: every lease has to wake somebody up
# several times, and what that costs differs by a factor of five between machines.
ECHO_LOOP = """
import os, socket, time
here, there = socket.socketpair()
if os.fork() == 0:
    here.close()
    while there.recv(4096):
        there.sendall(b"x" * 200)
    os._exit(0)
there.close()
began = time.perf_counter()
for _ in range(5000):
    here.sendall(b"x" * 200)
    here.recv(4096)
print((time.perf_counter() - began) / 5000)
"""

LEASE_LOOP = """
import sys, time
sys.path.insert(0, sys.argv[1])
import tutti
def turn():
    with tutti.lease(mem="1G", kind="loop"):
        pass
for _ in range(100):
    turn()
count = int(sys.argv[2])
began = time.perf_counter()
for _ in range(count):
    turn()
print(count / (time.perf_counter() - began))
"""


def jobs_of(seed, count):
    """(kind, seconds) of mixed jobs in the order in which they are submitted."""
    chosen = random.Random(seed)
    kinds = [kind for kind in KINDS for _ in range(count // len(KINDS))]
    chosen.shuffle(kinds)
    return [(kind, round(chosen.uniform(2, 6), 2)) for kind in kinds]


def packed(jobs, fits):
    """When the last of `jobs` ends if each starts on the first GPU where it fits, in this order."""
    running, now, waiting = [[] for _ in range(GPUS)], 0.0, list(jobs)
    while waiting or any(running):
        for job in list(waiting):
            for gpu in running:
                if fits([kind for _, kind in gpu], job[0]):
                    gpu.append((now + job[1], job[0]))
                    waiting.remove(job)
                    break
        now = min(end for gpu in running for end, _ in gpu)
        for gpu in running:
            gpu[:] = [one for one in gpu if one[0] > now + 1e-9]
    return now


def best_packing(jobs, tries):
    """The shortest makespan found by one who knows everything: many orders, longest first too."""
    def fits(there, kind):
        return (sum(KINDS[one][0] for one in there) + KINDS[kind][0] <= GPU_GIB and
                sum(KINDS[one][1] for one in there) + KINDS[kind][1] <= 1.0 + 1e-9)

    chosen = random.Random(1)
    orders = [sorted(jobs, key=lambda job: -job[1]),
              sorted(jobs, key=lambda job: -job[1] * max(KINDS[job[0]][0] / GPU_GIB,
                                                         KINDS[job[0]][1]))]
    for _ in range(tries):
        order = list(jobs)
        chosen.shuffle(order)
        orders.append(order)
    limit = sum(seconds * KINDS[kind][1] for kind, seconds in jobs) / GPUS
    return max(min(packed(order, fits) for order in orders), limit)


def run_jobs(home, jobs):
    """Runs them; returns the makespan and how many ran out of GPU memory."""
    request = [{"kind": kind, "name": kind, "gpus": 1, "cpus": 0.01, "workdir": "/tmp",
                "command": [str(EMULATOR), "work", "--mem", f"{KINDS[kind][0]}G", "--util",
                            str(KINDS[kind][1]), "--seconds", str(seconds)]}
               for kind, seconds in jobs]
    began = time.monotonic()
    answer = home.request("POST", "/v1/jobs", {"jobs": request})
    ids = answer["ids"]
    home.run("wait", ",".join(map(str, ids)), check=False)
    makespan = time.monotonic() - began
    exhausted = failed = 0
    for number in ids:
        task = home.request("GET", f"/v1/jobs/{number}/tasks")["tasks"][0]
        exhausted += task["oom_retries"] > 0 or task["ending"] == "gpu_out_of_memory"
        failed += task["state"] != "succeeded"
    if failed:
        raise RuntimeError(f"{failed} jobs failed")
    return makespan, exhausted


def placed_at_once(home, count, share):
    job = home.request("POST", "/v1/jobs", {"gpus": 1, "gpu_util": share, "cpus": 0.01,
                                            "array": f"1-{count}", "workdir": "/tmp",
                                            "command": ["sleep", "600"]})["id"]
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        running = home.request("GET", f"/v1/jobs/{job}")["counts"]["running"]
        if running == count:
            break
        time.sleep(0.05)
    home.run("cancel", str(job), "-y")
    home.run("wait", str(job), check=False)
    return running


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stages(Home, row):
    """The stages by name, for bench.py, whose Home and row they use."""

    class GpuHome(Home):
        def __init__(self, gpus=f"{GPUS}xA100-80G"):
            super().__init__(slots=64)
            self.gpus = gpus

        def start(self):
            self.run("daemon", "start", "--slots", str(self.slots), "--emulate-gpus", self.gpus)

    def leases(quick):
        """Leases: 200 waiters on 4 GPUs, and one process that leases and releases."""
        with GpuHome() as home:
            latencies = grant_latency(home, 50 if quick else 200)
        median, worst = statistics.median(latencies) * 1e3, max(latencies) * 1e3
        row("200 waiters on 4 GPUs: from a release to the next grant, median",
            f"{median:.2f} ms", "≤ 2 ms", median <= 2)
        row("200 waiters on 4 GPUs: from a release to the next grant, worst", f"{worst:.1f} ms",
            "≤ 20 ms", worst <= 20)
        rates, echoes = [], []
        for _ in range(3):
            echoes.append(float(subprocess.run([sys.executable, "-c", ECHO_LOOP], check=True,
                                               capture_output=True, text=True).stdout))
            with GpuHome() as home:
                out = subprocess.run([sys.executable, "-c", LEASE_LOOP, str(ROOT / "sdk/python"),
                                      "500" if quick else "3000"], env=home.env, check=True,
                                     capture_output=True, text=True).stdout
            rates.append(float(out))
        rate = statistics.median(rates)
        echo = statistics.median(echoes)
        row("lease and release from one Python process",
            f"{rate:.0f}/s, which is {1 / rate / echo:.0f} bare round trips of {echo * 1e6:.0f} µs",
            "≥ 1,500/s", rate >= 1500)

    def packing(quick):
        """Packing: 120 mixed jobs of 6 unknown kinds on 4 GPUs."""
        jobs = jobs_of(7, 60 if quick else 120)
        best = best_packing(jobs, 200)
        alone = packed(jobs, lambda there, _: not there)
        with GpuHome() as home:
            makespan, exhausted = run_jobs(home, jobs)
        row(f"{len(jobs)} jobs of 6 unknown kinds on 4 GPUs: makespan against the best packing that "
            "knows all profiles", f"{makespan / best:.2f} ({makespan:.0f} s, {best:.0f} s)",
            "≤ 1.15", makespan <= 1.15 * best)
        row("the same against one job per GPU", f"{makespan / alone:.2f} ({alone:.0f} s)", "≤ 0.5",
            makespan <= 0.5 * alone)
        row("the same: out of GPU memory", str(exhausted), "0", exhausted == 0)

    def fractions(_quick):
        """Placement: 80 tasks of 0.18 GPU and 10 of 0.6 on 16 GPUs."""
        with GpuHome("16xA100-80G") as home:
            many, few = placed_at_once(home, 80, 0.18), placed_at_once(home, 10, 0.6)
        row("80 tasks of 0.18 GPU on 16 GPUs; 10 of 0.6: placed at once", f"{many}; {few}", "all",
            (many, few) == (80, 10))

    def sampling(_quick):
        """Sampling: 8 GPUs ten times a second."""
        with GpuHome("8xA100-80G") as home:
            job = home.request("POST", "/v1/jobs", {
                "gpus": 8, "share": "never", "workdir": "/tmp",
                "command": [str(EMULATOR), "work", "--mem", "10G", "--gpus", "8", "--seconds",
                            "60"]})["id"]
            while home.request("GET", f"/v1/jobs/{job}")["state"] != "running":
                time.sleep(0.05)
            time.sleep(2)
            pid = home.pid()
            before, began = cpu_seconds(pid), time.monotonic()
            time.sleep(10)
            used = (cpu_seconds(pid) - before) / (time.monotonic() - began)
        row("sampling 8 GPUs ten times a second: part of a core", f"{used * 100:.2f} %", "≤ 1 %",
            used <= 0.01)

    return {"leases": leases, "packing": packing, "fractions": fractions, "sampling": sampling}
