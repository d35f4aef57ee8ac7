"""The emulated GPUs as clients that know nothing of them see them: pynvml and, where it is
installed, nvtop; and the program that works on them."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from waiting import BINARY, SLOW, wait_until

FOLDER = BINARY.parent / "emulator"
PROGRAM = FOLDER / "tutti-gpu-emulator"
GIB = 1 << 30

# Prints what pynvml says of all GPUs, as a Python literal.
ASK_PYNVML = """
from pynvml import *
nvmlInit()
def safe(ask, *arguments):
    try:
        return ask(*arguments)
    except NVMLError as error:
        return error.value
seen = []
for index in range(nvmlDeviceGetCount()):
    gpu = nvmlDeviceGetHandleByIndex(index)
    memory = nvmlDeviceGetMemoryInfo(gpu)
    samples = safe(nvmlDeviceGetProcessUtilization, gpu, 0)
    seen.append(dict(
        name=nvmlDeviceGetName(gpu), uuid=nvmlDeviceGetUUID(gpu), bus=nvmlDeviceGetPciInfo(gpu).busId,
        total=memory.total, used=memory.used,
        newer=nvmlDeviceGetMemoryInfo(gpu, version=nvmlMemory_v2).used,
        busy=nvmlDeviceGetUtilizationRates(gpu).gpu,
        processes={p.pid: p.usedGpuMemory for p in nvmlDeviceGetComputeRunningProcesses(gpu)},
        graphics=len(nvmlDeviceGetGraphicsRunningProcesses(gpu)),
        shares=samples if isinstance(samples, int) else {s.pid: s.smUtil for s in samples},
        errors=nvmlDeviceGetTotalEccErrors(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                           NVML_VOLATILE_ECC)))
print(seen)
"""


class Gpus:
    """A file of emulated GPUs, the program, and the work that was started on them."""

    def __init__(self, path):
        self.path = path
        self.started = []
        self.environment = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
        self.environment.update(TUTTI_EMULATED_GPUS=str(path), LD_LIBRARY_PATH=str(FOLDER))

    def run(self, *words, **more):
        return subprocess.run([PROGRAM, *map(str, words)], env={**self.environment, **more},
                              capture_output=True, text=True, timeout=60 * SLOW)

    def start(self, *words, **more):
        """Work that runs until it is killed, unless it ends by itself."""
        child = subprocess.Popen([PROGRAM, "work", *map(str, words)],
                                 env={**self.environment, **more}, stderr=subprocess.PIPE)
        self.started.append(child)
        return child

    def ask(self):
        asked = subprocess.run([sys.executable, "-c", ASK_PYNVML], env=self.environment,
                               capture_output=True, text=True, timeout=60 * SLOW)
        assert asked.returncode == 0, asked.stderr
        return eval(asked.stdout)

    def used(self):
        return [gpu["used"] for gpu in self.ask()]

    def end(self):
        for child in self.started:
            child.kill()
            child.wait()
            child.stderr.close()


@pytest.fixture
def make_gpus(tmp_path):
    made = []

    def make(spec):
        made.append(Gpus(tmp_path / f"gpus{len(made)}"))
        created = made[-1].run("create", spec, made[-1].path)
        assert created.returncode == 0, created.stderr
        return made[-1]

    yield make
    for gpus in made:
        gpus.end()


def test_pynvml_sees_names_memory_and_order(make_gpus):
    seen = make_gpus("2xA100-80G,1xRTX3090-24G").ask()
    assert [gpu["name"] for gpu in seen] == ["NVIDIA A100-SXM4-80GB"] * 2 + [
        "NVIDIA GeForce RTX 3090"]
    assert [gpu["total"] for gpu in seen] == [80 * GIB, 80 * GIB, 24 * GIB]
    assert [gpu["bus"] for gpu in seen] == sorted(gpu["bus"] for gpu in seen)
    assert len({gpu["uuid"] for gpu in seen}) == 3


def test_pynvml_sees_who_uses_what(make_gpus):
    gpus = make_gpus("2xA100-80G")
    uuid = gpus.ask()[1]["uuid"]
    work = gpus.start("--mem", "10G", "--util", "0.3", "--seconds", 600, CUDA_VISIBLE_DEVICES=uuid)
    wait_until(lambda: gpus.ask()[1]["shares"] == {work.pid: 30})
    first, second = gpus.ask()
    assert first["processes"] == {} and first["graphics"] == 0 and first["busy"] == 0
    assert second["processes"] == {work.pid: 10 * GIB}
    assert (second["used"], second["newer"], second["busy"]) == (10 * GIB, 10 * GIB, 30)


def test_memory_of_a_killed_process_is_free_at_once(make_gpus):
    gpus = make_gpus("T4-16G")
    work = gpus.start("--mem", "16G", "--seconds", 600)
    wait_until(lambda: gpus.used() == [16 * GIB])
    work.send_signal(signal.SIGKILL)
    work.wait()
    assert gpus.used() == [0]


def test_children_hold_the_memory_and_die_with_their_parent(make_gpus):
    gpus = make_gpus("T4-16G")
    work = gpus.start("--mem", "9G", "--children", 3, "--seconds", 600)
    wait_until(lambda: gpus.used() == [9 * GIB])
    holders = gpus.ask()[0]["processes"]
    assert len(holders) == 3 and work.pid not in holders
    work.kill()
    wait_until(lambda: gpus.used() == [0])


def test_orphans_hold_memory_when_their_parent_is_gone(make_gpus):
    gpus = make_gpus("T4-16G")
    work = gpus.start("--mem", "4G", "--children", 2, "--orphan", "--seconds", 600)
    wait_until(lambda: gpus.used() == [4 * GIB])
    holders = gpus.ask()[0]["processes"]
    try:
        work.kill()
        work.wait()
        assert gpus.used() == [4 * GIB]
    finally:
        for pid in holders:
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: gpus.used() == [0])


@pytest.mark.parametrize("flavour, text", [
    ("torch", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 10.00 GiB. GPU 0 "
              "has a total capacity of 16.00 GiB of which 6.00 GiB is free."),
    ("jax", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 10737418240 bytes"),
    ("tensorflow", "ResourceExhaustedError: OOM when allocating tensor"),
    ("hip", "HIP out of memory. Tried to allocate 10.00 GiB"),
])
def test_a_full_device_fails_as_the_framework_does(make_gpus, flavour, text):
    gpus = make_gpus("T4-16G")
    gpus.start("--mem", "10G", "--seconds", 600)
    wait_until(lambda: gpus.used() == [10 * GIB])
    failed = gpus.run("work", "--mem", "10G", "--flavour", flavour)
    assert failed.returncode == 1 and text in failed.stderr


def test_a_late_allocator_grows(make_gpus):
    gpus = make_gpus("2xT4-16G")
    gpus.start("--mem", "12G", "--start-mem", "2G", "--grow-after", 600, "--seconds", 1)
    gpus.start("--mem", "12G", "--start-mem", "2G", "--grow-after", 0.1, "--seconds", 600,
               CUDA_VISIBLE_DEVICES="1")
    wait_until(lambda: gpus.used() == [2 * GIB, 12 * GIB])


def test_preallocation_takes_most_of_the_device_unless_forbidden(make_gpus):
    gpus = make_gpus("2xT4-16G")
    gpus.start("--mem", "1G", "--prealloc", "--seconds", 600)
    gpus.start("--mem", "1G", "--prealloc", "--seconds", 600, CUDA_VISIBLE_DEVICES="1",
               XLA_PYTHON_CLIENT_PREALLOCATE="false")
    wait_until(lambda: gpus.used() == [int(16 * GIB * 0.9), GIB])


def test_no_visible_device_is_an_error(make_gpus):
    failed = make_gpus("T4-16G").run("work", CUDA_VISIBLE_DEVICES="")
    assert failed.returncode == 1 and "No CUDA GPUs are available" in failed.stderr


def test_work_on_a_crowded_device_takes_longer(make_gpus):
    gpus = make_gpus("T4-16G")

    def took(*options):
        began = time.monotonic()
        assert gpus.run("work", "--util", 1, "--seconds", 0.4, *options).returncode == 0
        return time.monotonic() - began

    gpus.start("--util", 1, "--seconds", 600)
    wait_until(lambda: gpus.ask()[0]["busy"] == 100)
    assert took() >= 0.8
    assert 0.4 <= took("--no-slowdown")


def test_work_fails_when_its_gpu_is_lost(make_gpus):
    gpus = make_gpus("T4-16G")
    work = gpus.start("--seconds", 600)
    wait_until(lambda: gpus.used() == [GIB])
    assert gpus.run("set", 0, "lost").returncode == 0
    assert work.wait(30 * SLOW) == 1
    assert b"lost" in work.stderr.read()


def test_faults_are_seen_by_pynvml(make_gpus):
    gpus = make_gpus("2xT4-16G")
    assert gpus.run("set", 0, "ecc").returncode == 0
    assert [gpu["errors"] > 0 for gpu in gpus.ask()] == [True, False]
    assert gpus.run("set", 0, "vanished").returncode == 0
    assert len(gpus.ask()) == 1
    assert gpus.run("fail", 999).returncode == 0
    failed = subprocess.run([sys.executable, "-c", ASK_PYNVML], env=gpus.environment,
                            capture_output=True, text=True)
    assert failed.returncode != 0 and "Unknown Error" in failed.stderr


@pytest.mark.parametrize("words, told", [
    (["create", "4xA100", "gpus"], "did you mean 'A100-80G'"),
    (["set", "0", "hott"], "did you mean 'hot'"),
    (["set", "7", "hot"], "device '7'"),
    (["work", "--memm", "1G"], "did you mean '--mem'"),
    (["work", "--mem", "1X"], "an amount of memory"),
    (["work", "--util", "1.5"], "a number from 0 to 1"),
    (["fail", "-1"], "a whole number from 0 to 999"),
    (["shw"], "did you mean 'show'"),
    ([], "no command"),
])
def test_a_wrong_word_is_named(make_gpus, words, told):
    failed = make_gpus("T4-16G").run(*words)
    assert failed.returncode in (1, 2) and told in failed.stderr


def test_show_lists_devices_and_processes(make_gpus):
    gpus = make_gpus("T4-16G")
    work = gpus.start("--mem", "3G", "--seconds", 600)
    wait_until(lambda: str(work.pid) in gpus.run("show").stdout)
    assert "3.00 GiB" in gpus.run("show").stdout


def test_nvtop_shows_the_gpus(make_gpus):
    if not shutil.which("nvtop") or not shutil.which("script"):
        pytest.skip("nvtop is not installed")
    gpus = make_gpus("2xA100-80G")
    gpus.start("--mem", "10G", "--util", "0.37", "--seconds", 600)
    wait_until(lambda: gpus.used() == [10 * GIB, 0])
    shown = subprocess.run(["script", "-qc", "stty cols 120 rows 40; timeout 3 nvtop", "/dev/null"],
                           env={**gpus.environment, "TERM": "xterm"}, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=60 * SLOW).stdout
    for part in (b"NVIDIA A100-SXM4-80GB", b"10.000Gi/80.000Gi", b"37%"):
        assert part in shown
