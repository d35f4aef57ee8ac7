"""The examples, as a reader would run them, on emulated GPUs."""

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

import tutti
from waiting import ROOT, SLOW

pytestmark = pytest.mark.real

EXAMPLES = ROOT / "examples"
KINDS = {"train.py::tensorflow_job", "train.py::pytorch_job", "train.py::jax_job"}


def run(*command, cwd):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=cwd,
                          timeout=180 * SLOW)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def check_nine_of_three_kinds():
    samples = {one["kind"]: one["samples"] for one in tutti.profiles()}
    assert set(samples) == KINDS and all(count == 3 for count in samples.values()), samples
    assert not [lease for gpu in tutti.gpus() for lease in gpu["leases"]]


@pytest.mark.skipif(importlib.util.find_spec("doit") is None, reason="doit is not installed")
def test_nine_doit_tasks(gpus4, tmp_path):
    out = run(sys.executable, "-m", "doit", "-f", EXAMPLES / "doit/dodo.py", "-d", tmp_path,
              "--db-file", tmp_path / "doit.db", "-n", "9", cwd=tmp_path)
    assert out.count("train:") == 9
    check_nine_of_three_kinds()


def test_make_with_nine_at_once(gpus4, tmp_path):
    out = run("make", "-f", EXAMPLES / "make/Makefile", "-j9", f"PYTHON={sys.executable}",
              cwd=tmp_path)
    assert out.count("is trained") == 9
    check_nine_of_three_kinds()


def test_shell_loop(gpus4, tmp_path):
    out = run("bash", EXAMPLES / "shell/sweep.sh", cwd=tmp_path)
    assert out.endswith("all learning rates are done\n")
    assert [job.state for job in tutti.jobs()] == ["succeeded"] * 5


def test_sweep_with_map(gpus4, tmp_path):
    out = run(sys.executable, EXAMPLES / "sweep/sweep.py", cwd=tmp_path)
    assert out == "best: lr 0.01, width 128\n"


@pytest.mark.skipif(shutil.which("snakemake", path=os.pathsep.join(
    [os.path.dirname(sys.executable), os.environ["PATH"]])) is None,
    reason="snakemake is not installed")
def test_snakemake(gpus4, tmp_path):
    run("snakemake", "-s", EXAMPLES / "snakemake/Snakefile", "-j9", "-d", tmp_path, cwd=tmp_path)
    assert len(list((tmp_path / "trained").iterdir())) == 9
    check_nine_of_three_kinds()
