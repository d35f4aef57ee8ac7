"""Stages of bench.py about machines over SSH: real servers, in network namespaces if root asks, else
on loopback ports."""
import contextlib
import datetime
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TUTTI = str(ROOT / "build/release/tutti")
sys.path.insert(0, str(ROOT / "tests/integration"))

import machines  # noqa: E402  the same throw-away servers as the tests'

LINES = ['echo "one job"', 'echo "another job"',
         'echo "another job" && echo "a combined job (bash syntax applies)"',
         'bash examples/local.sh && echo "local files are there, too"']


@contextlib.contextmanager
def servers(count):
    """Machines m1 to mCOUNT, and a configuration by which ssh reaches them."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tb", dir=os.environ.get("TUTTI_BENCH_DIR", "/tmp")))
    with contextlib.ExitStack() as ends:
        ends.callback(shutil.rmtree, folder, ignore_errors=True)
        network = None
        if machines.why_no_namespaces() is None:
            network = ends.enter_context(machines.Network())
        made = []
        for number in range(1, count + 1):
            name = f"m{number}"
            if network is not None:
                one = machines.NamespaceMachine(folder / name, network, name)
                ends.callback(one.remove)
            else:
                one = machines.Machine(folder / name, name)
                ends.callback(one.kill)
            made.append(one.start())
        config = folder / "config"
        # Key exchange as OpenSSH does it by default: the tests choose a faster one.
        config.write_text("".join(line for one in made
                                  for line in one.ssh_config().splitlines(keepends=True)
                                  if "KexAlgorithms" not in line))
        yield made, config, folder


def meet(made, config):
    """So that later connections know their host keys."""
    for one in made:
        subprocess.run(["ssh", "-F", str(config), "-o", "StrictHostKeyChecking=accept-new", one.name,
                        "true"], check=True, capture_output=True)


def cold_ssh(config, name="m1", tries=5):
    """Seconds that `ssh host true` takes over a new connection."""
    times = []
    for _ in range(tries):
        began = time.perf_counter()
        subprocess.run(["ssh", "-F", str(config), name, "true"], check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


@contextlib.contextmanager
def pool(make_home, config, slots=2):
    home = make_home(slots)
    home.env["TUTTI_SSH_CONFIG"] = str(config)
    with home:
        yield home
    # What was staged is large.
    shutil.rmtree(home.path, ignore_errors=True)


@contextlib.contextmanager
def ready_connection(config, socket, name):
    """An ssh command line that uses a connection which is there already."""
    master = subprocess.Popen(["ssh", "-F", str(config), "-MNS", str(socket), name])
    try:
        while subprocess.run(["ssh", "-S", str(socket), "-O", "check", name],
                             capture_output=True).returncode:
            time.sleep(0.05)
        yield f"ssh -F {config} -S {socket}"
    finally:
        master.terminate()
        master.wait()


def make_tree(folder, seed):
    """200 small files and one of 100 MB."""
    folder.mkdir()
    chosen = random.Random(seed)
    for number in range(200):
        (folder / f"small{number}").write_bytes(chosen.randbytes(2000))
    (folder / "large").write_bytes(chosen.randbytes(100_000_000))
    return folder


def twice(measured):
    """Of both times; the disk has nothing left to do before either."""
    taken = []
    for _ in range(2):
        os.sync()
        taken.append(measured())
    return taken


def rsync(shell, tree, copy):
    began = time.perf_counter()
    subprocess.run(["rsync", "-a", "-e", shell, f"{tree}/", copy], check=True)
    return time.perf_counter() - began


def run_with_files(home, tree):
    """Seconds of the whole command, and from the job's submission until it ran."""
    began = time.perf_counter()
    home.run("run", "--on", "m1", "--", "true", cwd=tree)
    took = time.perf_counter() - began
    job = json.loads(home.run("show", "last", "--json").stdout)
    submitted, started = (datetime.datetime.fromisoformat(job[name].replace("Z", "+00:00"))
                          for name in ("submitted_at", "started_at"))
    return took, (started - submitted).total_seconds()


def stages(make_home, row):
    def example(_quick):
        """The four-line example on two machines, cold, files both ways"""
        with servers(2) as (made, config, folder):
            meet(made, config)
            project = folder / "project"
            (project / "examples").mkdir(parents=True)
            (project / "examples/local.sh").write_text("echo local\n")
            (project / "batch.sh").write_text("".join(f"{line}\n" for line in LINES))
            with pool(make_home, config) as home:
                cold = cold_ssh(config)
                began = time.perf_counter()
                home.run("execute_batch", "batch.sh", "--no-gpu-required", "--machines", "m1", "m2",
                         cwd=project)
                took = time.perf_counter() - began
        row("four lines with `execute_batch` on two machines over SSH, cold, files both ways",
            f"{took / cold:.1f} × one cold `ssh host true` ({took:.2f} s)", "≤ 5 ×", took <= 5 * cold)

    def jobs(quick):
        """Very short jobs on four machines of two slots"""
        count = 200 if quick else 1000
        with servers(4) as (made, config, folder), pool(make_home, config) as home:
            meet(made, config)
            home.run("nodes", "add", "--max-jobs", "2", *[one.name for one in made])
            (folder / "lines").write_text("true\n" * count)
            cold = cold_ssh(config)
            began = time.perf_counter()
            home.run("batch", str(folder / "lines"), "--on", "pool", "--no-copy", "--cpus", "0.5",
                     cwd="/")
            rate = count / (time.perf_counter() - began)
        row(f"{count:,} × `true` on 4 machines over SSH, 2 slots each", f"{rate:.0f} jobs/s",
            "≥ 200 jobs/s", rate >= 200)
        row("the same against a new connection for each", f"{rate * cold:.0f} ×", "≥ 50 ×",
            rate * cold >= 50)

    def staging(quick):
        """Files to one machine, against rsync over a ready connection"""
        rsync_took, staged_took, run_took = [], [], []  # (new files, the same again) each
        with servers(1) as (made, config, folder), pool(make_home, config) as home:
            meet(made, config)
            home.run("nodes", "add", "m1")
            with ready_connection(config, folder / "mux", "m1") as shell:
                for number in range(1 if quick else 5):
                    tree = make_tree(folder / f"tree{number}", number)
                    copy = f"m1:{made[0].home}/copy{number}/"
                    rsync_took.append(twice(lambda: rsync(shell, tree, copy)))
                    both = twice(lambda: run_with_files(home, tree))
                    staged_took.append([staged for _, staged in both])
                    run_took.append([took for took, _ in both])

        def ratio(ours, which):
            return statistics.median(one[which] / other[which] for one, other in zip(ours, rsync_took))

        new, again = ratio(staged_took, 0), ratio(staged_took, 1)
        seconds = statistics.median(one[0] for one in staged_took)
        row("200 files and 100 MB to a machine, from a job's submission to its start",
            f"{new:.2f} × rsync ({seconds:.2f} s)", "≤ 1.3 ×", new <= 1.3)
        row("the same, unchanged", f"{again:.1f} × rsync", "≤ 3 ×", again <= 3)
        row("both as whole commands (`tutti run`), which snapshot them first",
            f"{ratio(run_took, 0):.2f} × and {ratio(run_took, 1):.1f} × rsync", "", True)

    def idle(quick):
        """Many machines that have nothing to do"""
        count = 20 if quick else 100
        with servers(count) as (made, config, _), pool(make_home, config) as home:
            home.run("nodes", "add", *[one.name for one in made])
            stat = pathlib.Path(f"/proc/{home.pid()}/stat")
            ticks = os.sysconf("SC_CLK_TCK")

            def used():
                fields = stat.read_text().rsplit(")", 1)[1].split()
                return (int(fields[11]) + int(fields[12])) / ticks

            time.sleep(5)
            before, began = used(), time.perf_counter()
            time.sleep(20)
            share = (used() - before) / (time.perf_counter() - began) * 100
            status = pathlib.Path(f"/proc/{home.pid()}/status").read_text()
            memory = int(status.split("VmRSS:")[1].split()[0]) / 1024
        row(f"{count} idle machines over SSH", f"{share:.1f} % of a core, {memory:.0f} MB",
            "≤ 5 %, ≤ 100 MB", share <= 5 and memory <= 100)

    return {"ssh-example": example, "ssh-jobs": jobs, "ssh-staging": staging, "ssh-idle": idle}
