"""Stages of bench.py about gangs: how long it takes to start many ranks together, and what it costs a real
training step to run under Tutti."""
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
TUTTI = str(BUILD / "tutti")
# Debian's python3-torch is for the system's Python.
PYTHON = "/usr/bin/python3"

TRAIN = """\
import os, time, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as Parallel
dist.init_process_group("gloo")
torch.manual_seed(0)
model = Parallel(torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(60):
    x, y = torch.randn(64, 256), torch.randint(0, 10, (64,))
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
dist.destroy_process_group()
"""

CLUSTERS = 8
# Ends when the commands of all clusters run.
RAY = f"""\
import os, pathlib, ray, time
ray.init(logging_level="ERROR")
there = pathlib.Path("there")
(there / os.environ["TUTTI_JOB_ID"]).touch()
while len(list(there.iterdir())) < {CLUSTERS}:
    time.sleep(0.1)
print(len(ray.nodes()))
"""


def by_hand(folder, port):
    """Seconds that four ranks take that a script starts."""
    began = time.monotonic()
    ranks = []
    for rank in range(4):
        env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE="4",
                   RANK=str(rank), LOCAL_RANK=str(rank), GLOO_SOCKET_IFNAME="lo")
        ranks.append(subprocess.Popen([PYTHON, "train.py"], cwd=folder, env=env))
    if any(rank.wait() != 0 for rank in ranks):
        raise RuntimeError("a rank that was started by hand has failed")
    return time.monotonic() - began


def stages(home_class, row):
    def gang(quick):
        """Gangs: 64 ranks of /bin/true on this machine."""
        ratios, ours_ms, bare_ms = [], [], []
        with home_class(slots=64) as home:
            home.write("gang.yaml", "command: [/bin/true]\nworkers: 64\n")
            command = [TUTTI, "run", "-q", os.path.join(home.path, "gang.yaml")]
            subprocess.run(command, env=home.env, check=True)
            for number in range(5 if quick else 21):
                folder = os.path.join(home.path, f"bare{number}")
                bare = float(subprocess.run([str(BUILD / "bare_spawn"), "64", "64", folder, "/bin/true"],
                                            check=True, capture_output=True, text=True).stdout)
                began = time.monotonic()
                subprocess.run(command, env=home.env, check=True)
                ours = time.monotonic() - began
                ratios.append(ours / bare)
                ours_ms.append(ours * 1e3)
                bare_ms.append(bare * 1e3)
        ratio = statistics.median(ratios)
        row("64 ranks of /bin/true that start together, submit to last exit",
            f"{ratio:.1f} × a bare posix_spawn loop ({statistics.median(ours_ms):.0f} ms against "
            f"{statistics.median(bare_ms):.0f} ms)", "≤ 3 ×", ratio <= 3)

    def ddp(quick):
        """Gangs: PyTorch DDP over gloo, four ranks."""
        if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0:
            print("  left out: python3-torch is not installed", file=sys.stderr)
            return
        ratios = []
        with home_class(slots=8) as home:
            home.write("train.py", TRAIN)
            home.write("ddp.yaml",
                       f"command: [{PYTHON}, train.py]\nframework: pytorch\nworkers: 4\n")
            by_hand(home.path, 29000)
            for number in range(2 if quick else 5):
                hand = by_hand(home.path, 29001 + number)
                began = time.monotonic()
                subprocess.run([TUTTI, "run", "ddp.yaml"], env=home.env, cwd=home.path, check=True)
                ratios.append((time.monotonic() - began) / hand)
        ratio = statistics.median(ratios)
        row("4 ranks of PyTorch DDP, 60 steps, start to end",
            f"{ratio:.2f} × the same started by hand", "≤ 1.05 ×", ratio <= 1.05)

    def ray_clusters(quick):
        """Gangs: Ray clusters of two nodes, all on this machine at once."""
        del quick
        python = subprocess.run([str(ROOT / "tools/python-env")], check=True, capture_output=True,
                                text=True).stdout.strip()
        if subprocess.run([python, "-c", "import ray"], capture_output=True).returncode != 0:
            print("  left out: ray is not installed", file=sys.stderr)
            return
        with home_class(slots=2 * CLUSTERS) as home:
            home.env["PATH"] = f"{os.path.dirname(python)}:{home.env['PATH']}"
            home.write("cluster.py", RAY)
            home.write("ray.yaml",
                       f"command: [{python}, cluster.py]\nframework: ray\n"
                       "workers: {Head: 1, Workers: 1}\n")
            os.mkdir(os.path.join(home.path, "there"))
            began = time.monotonic()
            jobs = [home.run("submit", "-q", "ray.yaml", cwd=home.path).stdout.strip()
                    for _ in range(CLUSTERS)]
            codes = [home.run("wait", job, check=False).returncode for job in jobs]
            took = time.monotonic() - began
            nodes = [home.run("logs", "--rank", "0", job).stdout.split()[-1:] for job in jobs]
        well = codes.count(0) if nodes == [["2"]] * CLUSTERS else 0
        row(f"{CLUSTERS} Ray clusters of two nodes at once, submit to last exit",
            f"{well} of {CLUSTERS} ran together, {took:.0f} s", f"all {CLUSTERS}", well == CLUSTERS)

    return {"gang": gang, "ddp": ddp, "ray-clusters": ray_clusters}
