"""Every promise and every trap of front door B, on emulated GPUs."""

import os
import signal
import subprocess
import sys
import time

import pytest

import glb
import tutti
from gpu_work import work
from waiting import SLOW, wait_until

real = pytest.mark.real
jobs = pytest.mark.jobs

# A decorated function that says when it begins and goes on when it is told.
HOLD = """
@glb.gpu_load_balance(jobstr=sys.argv[1])
def job():
    uuid = os.environ["CUDA_VISIBLE_DEVICES"]
    print(uuid, flush=True)
    open("began-" + sys.argv[2], "w").write(uuid)
    until("go-" + sys.argv[2])
    work(mem="10G", seconds=0.5)

job()
"""


def leases():
    return [lease for gpu in tutti.gpus() for lease in gpu["leases"]]


def began(scripts, *names):
    return all((scripts.folder / f"began-{name}").exists() for name in names)


@real
def test_type_is_file_and_function(gpus4, scripts):
    scripts.finish(scripts.start("""
@glb.gpu_load_balance()
def train_job(epochs):
    work(mem="5G", seconds=0.5)

train_job(3)
""", name="mnist.py"))
    assert [one["kind"] for one in tutti.profiles()] == ["mnist.py::train_job"]


@real
def test_others_of_an_unknown_type_wait_and_other_types_do_not(gpus4, scripts):
    first = scripts.start(HOLD, "a", "a1")
    wait_until(lambda: began(scripts, "a1"))
    second = scripts.start(HOLD, "a", "a2", name="second.py")
    other = scripts.start(HOLD, "b", "b1", name="other.py")
    wait_until(lambda: began(scripts, "b1"))
    assert not began(scripts, "a2")
    uuids = {(scripts.folder / f"began-{name}").read_text() for name in ("a1", "b1")}
    assert len(uuids) == 2
    for name in ("a1", "b1", "a2"):
        scripts.go(f"go-{name}")
    for child in (first, second, other):
        scripts.finish(child)


@real
def test_failed_first_run_frees_its_gpu(gpu1):
    @glb.gpu_load_balance(jobstr="k")
    def job(fails):
        if fails:
            raise ValueError("the first run fails")
        return "ran"

    with pytest.raises(ValueError, match="the first run fails"):
        job(True)
    assert leases() == [] and job(False) == "ran"


@real
def test_killed_client_frees_its_lease_at_once(gpu1, scripts):
    child = scripts.start(HOLD, "a", "a1")
    wait_until(lambda: began(scripts, "a1"))
    other = scripts.start(HOLD, "b", "b1", name="other.py")
    child.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    wait_until(lambda: began(scripts, "b1"))
    assert time.monotonic() - killed < 5 * SLOW
    scripts.go("go-b1")
    scripts.finish(other)


@real
@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), OSError(5, "y"),
                                   SystemExit(3)])
def test_any_exception_is_raised_again_and_frees_the_gpu(gpu1, error):
    @glb.gpu_load_balance(jobstr="k")
    def job():
        raise error

    with pytest.raises(type(error)) as caught:
        job()
    assert caught.value is error and leases() == []


@real
def test_type_larger_than_every_gpu_is_refused(gpus4):
    @tutti.gpu(mem="900G", timeout=60)
    def huge():
        raise AssertionError("must not run")

    with pytest.raises(tutti.Refused):
        huge()

    @glb.gpu_load_balance(jobstr="k")
    def grows_too_large():
        work(mem="100G", seconds=0.2)

    with pytest.raises((tutti.Refused, RuntimeError)):
        grows_too_large()
    assert leases() == []


@real
def test_one_gpu_with_pack_works(gpu1, scripts):
    text = """
@glb.gpu_load_balance(jobstr="k", resource_policy="pack")
def job():
    work(mem="10G", seconds=0.5)

job()
"""
    children = [scripts.start(text, name=f"s{number}.py") for number in range(4)]
    for child in children:
        scripts.finish(child)


@real
def test_late_allocators_are_not_over_packed(gpu1, scripts):
    text = """
@tutti.gpu(kind="late", oom_retries=0)
def job():
    work("--start-mem", "1G", "--grow-after", "0.5", mem="35G", seconds=1)

job()
"""
    children = [scripts.start(text, name=f"s{number}.py") for number in range(5)]
    for child in children:
        scripts.finish(child)


@real
def test_framework_that_takes_all_memory_is_recognised(gpu1):
    with tutti.lease(kind="k") as lease:
        work("--prealloc", mem="1G", seconds=3)
        wait_until(lambda: lease.warnings, 10)
    assert "XLA_PYTHON_CLIENT_PREALLOCATE=false" in " ".join(lease.warnings)


@real
def test_profile_is_called_with_the_same_arguments_then_the_real_one(gpu1):
    calls = []

    @glb.gpu_load_balance(jobstr="k")
    def job(epochs):
        calls.append(("real", epochs))
        work(mem="10G", seconds=0.5)

    @job.profile
    def short(epochs):
        calls.append(("short", epochs))
        work(mem="10G", seconds=0.5)

    job(90)
    job(91)
    assert calls == [("short", 90), ("real", 90), ("real", 91)]


@real
def test_many_more_waiters_than_threads_is_no_deadlock(gpu1, scripts):
    text = """
import threading

@glb.gpu_load_balance(jobstr="k")
def job():
    pass

threads = [threading.Thread(target=job) for _ in range(60)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
    for child in [scripts.start(text, name=f"s{number}.py") for number in range(3)]:
        scripts.finish(child, 120)
    assert leases() == []


def test_continues_without_a_server_only_if_told(home, monkeypatch):
    monkeypatch.setenv("TUTTI_NO_AUTOSTART", "1")

    @glb.gpu_load_balance(continue_on_server_unavailable=True)
    def goes_on():
        return 1

    @glb.gpu_load_balance()
    def stops():
        raise AssertionError("must not run")

    with pytest.warns(tutti.TuttiWarning):
        assert goes_on() == 1
    with pytest.raises(tutti.Unavailable):
        stops()


def test_wrong_use_is_told(home):
    with pytest.raises(ValueError, match="spread"):
        glb.gpu_load_balance(resource_policy="squeeze")
    with pytest.raises(TypeError, match="parentheses"):
        glb.gpu_load_balance(lambda: None)


def test_policy_and_type_reach_the_server(server):
    @glb.gpu_load_balance(jobstr="mine", resource_policy="pack")
    def packed():
        pass

    @glb.gpu_load_balance()
    def spread():
        pass

    packed()
    spread()
    asked = [body for method, _, body in server.requests if method == "POST"]
    assert [one["policy"] for one in asked] == ["pack", "spread"]
    assert asked[0]["kind"] == "mine" and asked[1]["kind"].startswith("test_glb_traps.py::")


def glb_run(*commands, **more):
    return subprocess.run([sys.executable, "-m", "glb._run", *commands], capture_output=True,
                          text=True, timeout=120 * SLOW, **more)


@jobs
def test_glb_run_runs_at_the_same_time_and_returns_the_first_failure(make_daemon, tmp_path):
    daemon = make_daemon()
    daemon.ok("daemon", "stop")
    meet = "touch {0}; while test ! -e {1}; do sleep 0.01; done; echo {0}"
    done = glb_run(meet.format("a", "b"), meet.format("b", "a"), cwd=tmp_path)
    assert done.returncode == 0 and sorted(done.stdout.split()) == ["a", "b"]
    assert glb_run("true", "exit 3", "exit 4").returncode == 3
    assert glb_run("kill -9 $$").returncode == 137
    assert glb_run().returncode == 2


def test_glb_run_without_a_server_says_so(home, monkeypatch):
    monkeypatch.setenv("TUTTI_NO_AUTOSTART", "1")
    done = glb_run("echo ran")
    assert done.returncode == 1 and "tutti daemon start" in done.stderr and done.stdout == ""


def test_glb_start_tells_of_this_machines_gpus_alone(server, run_python):
    out = run_python("import sys; from glb._start import main; sys.exit(main([]))").stdout
    assert "Managing GPUs {0, 1}\n" in out and "The server runs already" in out


@real
def test_glb_start_manages_gpus_until_interrupted(make_daemon, tmp_path):
    daemon = make_daemon()
    daemon.ok("daemon", "stop")
    child = subprocess.Popen(
        [sys.executable, "-m", "glb._start", "--emulate-gpus", "4xA100-80G"],
        stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    lines = []
    for line in child.stdout:
        lines.append(line)
        if "Managing GPUs" in line:
            break
    assert lines[-1].rstrip().endswith("Managing GPUs {0, 1, 2, 3}")
    child.send_signal(signal.SIGINT)
    rest = child.stdout.read()
    assert "[GPUMaster] Cleaning up..." in rest and child.wait(60 * SLOW) == 0
    assert not os.path.exists(f"/proc/{child.pid}")
