#!/usr/bin/env python3
"""The project's numbers, each as a ratio to a physical limit or to a peer measured in the same run.

Usage: bench/bench.py [--quick] [--only NAME,...] [--write-readme]
Works on fresh folders: creating files right after deleting thousands is slow on some disks.
"""
import argparse
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import elsewhere
import gangs
import gpus
import simulate

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
TUTTI = str(BUILD / "tutti")


class UnixHttp(http.client.HTTPConnection):
    """An HTTP connection over the daemon's unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=600)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(600)
        self.sock.connect(self.path)


class Home:
    """A fresh TUTTI_HOME with its daemon; leaving it stops everything."""

    def __init__(self, slots=2):
        self.path = tempfile.mkdtemp(prefix="tb", dir=os.environ.get("TUTTI_BENCH_DIR", "/tmp"))
        self.env = dict(os.environ, TUTTI_HOME=self.path)
        self.slots = slots

    def __enter__(self):
        self.start()
        return self

    def start(self):
        self.run("daemon", "start", "--slots", str(self.slots))

    def __exit__(self, *_):
        subprocess.run([TUTTI, "cancel", "all", "-y"], env=self.env, capture_output=True)
        subprocess.run([TUTTI, "daemon", "stop"], env=self.env, capture_output=True)

    def run(self, *args, check=True, **options):
        return subprocess.run([TUTTI, *args], env=self.env, check=check, text=True,
                              capture_output=True, **options)

    def request(self, method, path, body=None):
        connection = UnixHttp(os.path.join(self.path, "run", "tutti.sock"))
        connection.request(method, path, body=None if body is None else json.dumps(body))
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        if response.status >= 400:
            raise RuntimeError(answer)
        return answer

    def status(self):
        return self.request("GET", "/v1/status")

    def pid(self):
        return self.status()["pid"]

    def write(self, name, text):
        path = os.path.join(self.path, name)
        pathlib.Path(path).write_text(text)
        return path


def timed(command, env=None, cwd=None):
    began = time.monotonic()
    subprocess.run(command, env=env, cwd=cwd, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def program(name, *args, env=None):
    out = subprocess.run([str(BUILD / name), *map(str, args)], env=env, check=True,
                         capture_output=True, text=True).stdout
    return float(out)


def rss_mib(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024


def switches(pid):
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        text = (task / "status").read_text()
        total += sum(int(n) for n in re.findall(r"ctxt_switches:\s+(\d+)", text))
    return total


ROWS = []


def row(what, measured, target, ok):
    ROWS.append((what, measured, target, ok))
    print(f"  {'ok  ' if ok else 'MISS'} {what}: {measured} (target {target})", flush=True)


def throughput(quick):
    """Launching: 10,000 × /bin/true, 2 at a time."""
    count = 2000 if quick else 10000
    ratios, rates, bare_rates = [], [], []
    for _ in range(3):
        with Home() as home:
            folder = os.path.join(home.path, "bare")
            bare = program("bare_spawn", count, 2, folder, "/bin/true")
            batch = home.write("batch", "/bin/true\n" * count)
            ours = timed([TUTTI, "batch", batch], env=home.env)
            again = program("bare_spawn", count, 2, folder + "2", "/bin/true")
        limit = (bare + again) / 2
        ratios.append(limit / ours)
        rates.append(count / ours)
        bare_rates.append(count / limit)
    ratio = statistics.median(ratios)
    row(f"{count:,} × /bin/true through `tutti batch`, 2 slots, output kept, every change durable",
        f"{ratio:.2f} of bare posix_spawn ({statistics.median(rates):.0f}/s against "
        f"{statistics.median(bare_rates):.0f}/s)", "≥ 0.80", ratio >= 0.80)
    peers(count // 5)


def peers(count):
    """The same with what people use instead, where it is installed."""
    scratch = tempfile.mkdtemp(prefix="tb", dir="/tmp")
    bare = count / program("bare_spawn", count, 2, scratch + "/bare", "/bin/true")
    measured = []

    def peer(name, jobs, command, **options):
        if shutil.which(command[0]) is None:
            print(f"       {name}: not installed")
            return
        try:
            rate = jobs / timed(command, **options)
        except subprocess.CalledProcessError:
            print(f"       {name}: does not work here")
            return
        print(f"       {name}: {rate / bare:.2f} of bare posix_spawn ({rate:.0f}/s)", flush=True)
        measured.append(f"{name} {rate / bare:.2f}")

    makefile = pathlib.Path(scratch) / "Makefile"
    names = " ".join(f"t{n}" for n in range(count))
    makefile.write_text(f".PHONY: all {names}\nall: {names}\n{names}:\n\t@/bin/true\n")
    peer("make -j2", count, ["make", "-s", "-j2", "-f", str(makefile)])
    arguments = pathlib.Path(scratch) / "arguments"
    arguments.write_text("x\n" * count)
    peer("xargs -P2", count, ["xargs", "-a", str(arguments), "-P2", "-n1", "/bin/true"])
    few = min(count, 300)
    env = dict(os.environ, TS_SOCKET=scratch + "/ts", TMPDIR=scratch)
    if shutil.which("tsp"):
        subprocess.run(["tsp", "-S", "2"], env=env, stdout=subprocess.DEVNULL)
        script = f"for i in $(seq {few}); do tsp /bin/true >/dev/null; done; tsp -w"
        peer("task-spooler", few, ["bash", "-c", script], env=env)
        subprocess.run(["tsp", "-K"], env=env, stdout=subprocess.DEVNULL)
    peer("GNU parallel", few, ["parallel", "-j2", "/bin/true", ":::", *map(str, range(few))])
    peer("Slurm", few, ["sbatch", "--wait", f"--array=1-{few}%2", "--output=/dev/null",
                        "--wrap=/bin/true"])
    row("for comparison, same run", ", ".join(measured), "", True)


def acceptance(quick):
    """A large batch on disk."""
    count = 20000 if quick else 100000
    ratios, ours_all = [], []
    for _ in range(3):
        with Home() as home:
            limit = program("sqlite_rows", count, os.path.join(home.path, "rows.db"))
            home.run("submit", "-q", "--cpus", str(home.slots), "--", "sleep", "1000")
            batch = home.write("batch", "".join(f"/bin/echo {n}\n" for n in range(count)))
            ours = timed([TUTTI, "batch", "--detach", "-q", batch], env=home.env)
        ratios.append(ours / limit)
        ours_all.append(ours)
    ratio = statistics.median(ratios)
    row(f"{count:,}-line batch accepted durably",
        f"{ratio:.2f} × SQLite inserting as many rows ({statistics.median(ours_all) * 1e3:.0f} ms)",
        "≤ 2", ratio <= 2)


def latency(quick):
    """One small job."""
    runs = 50 if quick else 200
    with Home() as home:
        home.run("run", "--", "true")
        bare = program("latency", runs, "/bin/true")
        ours = program("latency", runs, TUTTI, "run", "--", "/bin/true", env=home.env)
    row("`tutti run -- true`, daemon up, median",
        f"{ours / bare:.1f} × one posix_spawn + wait ({ours * 1e3:.2f} ms against "
        f"{bare * 1e3:.2f} ms)", "≤ 10", ours / bare <= 10)


def queue_cost(home, count):
    """A pass and the first page of `ls` with `count` queued tasks; both medians."""
    home.run("submit", "-q", "-n", f"array{count}", "--array", f"1-{count}", "--", "sleep", "1000")
    passes = []
    for _ in range(21):
        home.run("submit", "-q", "--", "sleep", "1000")
        passes.append(home.status()["last_pass_us"])
    page = statistics.median(timed([TUTTI, "ls"], env=home.env) for _ in range(21))
    return statistics.median(passes), page, rss_mib(home.pid())


def million(quick):
    """A very long queue."""
    many = 100000 if quick else 1000000
    with Home() as home:
        home.run("submit", "-q", "--cpus", str(home.slots), "--", "sleep", "1000")
        few_pass, few_page, _ = queue_cost(home, 1000)
    with Home() as home:
        home.run("submit", "-q", "--cpus", str(home.slots), "--", "sleep", "1000")
        many_pass, many_page, memory = queue_cost(home, many)
    with Home() as home:
        home.run("submit", "-q", "--cpus", str(home.slots), "--", "sleep", "1000")
        for _ in range(many // 10000):
            jobs = [{"command": ["/bin/true"], "workdir": "/tmp"}] * 10000
            home.request("POST", "/v1/jobs", {"jobs": jobs})
        passes = []
        for _ in range(11):
            home.run("submit", "-q", "--", "true")
            passes.append(home.status()["last_pass_us"])
        single_pass = statistics.median(passes)
        single_page = statistics.median(timed([TUTTI, "ls"], env=home.env) for _ in range(11))
        single_memory = rss_mib(home.pid())
    row(f"{many:,} queued tasks of one job: memory", f"{memory:.0f} MB", "≤ 400 MB", memory <= 400)
    row(f"{many:,} queued jobs of one task each: memory", f"{single_memory:.0f} MB", "≤ 400 MB",
        single_memory <= 400)
    ratio = max(many_pass, single_pass, 1) / max(few_pass, 1)
    row(f"a scheduling pass with {many:,} tasks queued, against one with 1,000",
        f"{ratio:.2f} × ({many_pass:.0f} µs; as single jobs {single_pass:.0f} µs)", "≤ 2 ×",
        ratio <= 2)
    page = max(many_page, single_page) / few_page
    row("first page of `ls`, against 1,000 queued", f"{page:.2f} ×", "≤ 5 ×", page <= 5)


def decision(_quick):
    """decide() on a large cluster: see bench/decide_bench.cc."""
    out = subprocess.run([str(BUILD / "decide_bench")], check=True, capture_output=True,
                         text=True).stdout
    took = [float(ms) for ms in re.findall(r"([\d.]+) ms +\d+ starts +<= 10 ms", out)]
    row("`decide()`, 1,000 nodes × 8 devices, 100,000 pending of 1,000 kinds: empty, half full, full",
        ", ".join(f"{ms:.1f}" for ms in took) + " ms", "≤ 10 ms", max(took) <= 10)


def elastic(_quick):
    """Who runs in which shape, on a small and on a large cluster: see bench/elastic_bench.cc."""
    out = subprocess.run([str(BUILD / "elastic_bench")], check=True, capture_output=True,
                         text=True).stdout
    took = {int(devices): float(ms)
            for devices, ms in re.findall(r"(\d+) devices, \d+ jobs: ([\d.]+) ms", out)}
    small, large = min(took), max(took)
    row(f"the elastic policy decides on {small} devices and 8 jobs, median",
        f"{took[small]:.2f} ms", "≤ 2 ms", took[small] <= 2)
    row(f"the same on {large:,} devices and 300 jobs", f"{took[large]:.1f} ms", "≤ 50 ms",
        took[large] <= 50)


def restart(quick):
    """Starting again with a long history."""
    half = 5000 if quick else 50000
    with Home(slots=2) as home:
        for _ in range(half // 5000):
            jobs = [{"command": ["/bin/true"], "workdir": "/tmp"}] * 5000
            home.request("POST", "/v1/jobs", {"jobs": jobs})
        while home.status()["tasks"]["queued"] + home.status()["tasks"]["running"] > 0:
            time.sleep(0.2)
        home.run("submit", "-q", "--cpus", str(home.slots), "--", "sleep", "1000")
        for _ in range(half // 5000):
            jobs = [{"command": ["/bin/true"], "workdir": "/tmp"}] * 5000
            home.request("POST", "/v1/jobs", {"jobs": jobs})
        blocker = home.request("GET", "/v1/jobs?state=running")["jobs"][0]["id"]
        os.kill(home.pid(), signal.SIGKILL)
        # Ending the blocker while the daemon is down makes the first dispatch due at once.
        tasks = pathlib.Path("/proc")
        for entry in tasks.iterdir():
            if entry.name.isdigit():
                try:
                    environ = (entry / "environ").read_bytes()
                except OSError:
                    continue
                if f"TUTTI_JOB_ID={blocker}\0".encode() in environ and \
                        f"TUTTI_HOME={home.path}".encode() in environ:
                    os.kill(int(entry.name), signal.SIGKILL)
        began = time.monotonic()
        home.start()
        while home.status()["jobs"]["succeeded"] <= half:
            time.sleep(0.002)
        took = time.monotonic() - began
        home.run("cancel", "all", "-y")
    row(f"restart with {2 * half:,} jobs, half finished, to first dispatch and end",
        f"{took:.2f} s", "≤ 1 s", took <= 1)


def idle(_quick):
    """A daemon that nobody asks anything."""
    with Home() as home:
        home.run("run", "--", "true")
        status = home.status()
        pids = [status["pid"]] + ([status["keeper_pid"]] if status.get("keeper_pid") else [])
        time.sleep(1)
        before = {pid: switches(pid) for pid in pids if os.path.exists(f"/proc/{pid}")}
        time.sleep(5)
        rate = sum(switches(pid) - count for pid, count in before.items()) / 5
        memory = sum(rss_mib(pid) for pid in before)
    row("idle daemon and keeper: wake-ups per second", f"{rate:.1f}", "0", rate == 0)
    row("idle daemon and keeper: memory", f"{memory:.0f} MB", "≤ 30 MB", memory <= 30)


STAGES = {"throughput": throughput, "acceptance": acceptance, "latency": latency,
          "million": million, "decision": decision, "elastic": elastic, "restart": restart, "idle": idle,
          **gpus.stages(Home, row), **elsewhere.stages(Home, row), **gangs.stages(Home, row),
          **simulate.stages(row)}


def renewed(text, rows):
    """A document whose table has these rows in place of those of the same name. The others stay."""
    head, table, tail = re.split(r"(?<=<!-- bench:begin -->\n)(.*)(?=<!-- bench:end -->)", text,
                                 flags=re.S)
    lines = {line.split(" | ")[0]: line for line in table.splitlines()}
    for what, measured, target, _ in rows:
        lines[f"| {what}"] = f"| {what} | {measured} | {target} |"
    return head + "".join(line + "\n" for line in lines.values()) + tail


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller counts")
    parser.add_argument("--only", default="", help="stages, comma-separated: " + ", ".join(STAGES))
    parser.add_argument("--write-readme", action="store_true", help="put what was measured in README.md")
    arguments = parser.parse_args()
    if arguments.quick and arguments.write_readme:
        parser.error("the README has the full counts: leave out --quick")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wanted = arguments.only.split(",") if arguments.only else list(STAGES)
    for name in wanted:
        print(STAGES[name].__doc__, flush=True)
        STAGES[name](arguments.quick)
    if arguments.write_readme:
        readme = ROOT / "README.md"
        readme.write_text(renewed(readme.read_text(), ROWS))
    return 0 if all(ok for *_, ok in ROWS) else 1


if __name__ == "__main__":
    sys.exit(main())
