"""Limits are real, by control groups or by watching."""

import sys

import pytest

import processes
from waiting import wait_until

# Takes so many MiB and touches all of them.
TAKE = "x = bytearray({} << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\n"
STAY = "import time\ntime.sleep(5)\n"
# Burns for two seconds of wall time and says how much of a core it got.
BURN = ("import time\na = time.monotonic(); c = time.process_time()\n"
        "while time.monotonic() - a < 2: pass\n"
        "print((time.process_time() - c) / (time.monotonic() - a))")


def test_more_memory_than_asked_for_ends_the_job(daemon):
    done = daemon("run", "--mem", "100M", "--", sys.executable, "-c", TAKE.format(300) + STAY)
    assert done.code == 137, done
    assert "memory" in done.err
    job = daemon.job(1)
    assert (job["state"], job["ending"]) == ("failed", "out_of_memory")


def test_memory_of_all_processes_of_a_job_counts(daemon):
    child = TAKE.format(60) + STAY
    script = (f"import subprocess, sys\np = [subprocess.Popen([sys.executable, '-c', {child!r}]) "
              "for _ in range(4)]\nsys.exit(max(abs(c.wait()) for c in p))")
    done = daemon("run", "--mem", "100M", "--", sys.executable, "-c", script)
    assert done.code != 0
    assert daemon.job(1)["ending"] == "out_of_memory"


def test_job_within_its_memory_is_left_alone(daemon):
    done = daemon("run", "--mem", "200M", "--", sys.executable, "-c",
                  "x = bytearray(50 << 20); print(len(x))")
    assert done.code == 0, done


def test_memory_is_shared_out_not_only_limited(tutti, work):
    tutti.start("--mem", "1G", slots=4)
    line = "mkdir at.$$; ls -d at.* | wc -l >> seen; sleep 0.2; rmdir at.$$"
    for _ in range(3):
        tutti.submit("--mem", "600M", "--", "sh", "-c", line)
    tutti.ok("wait", "all")
    assert (work / "seen").read_text().split() == ["1"] * 3


def test_half_a_core_is_half_a_core_where_enforced(daemon):
    enforced = daemon.api.get("/v1/status")["enforcement"]
    if not enforced["cpus"]:
        pytest.skip(f"CPUs are not enforced here: {enforced['mode']}")
    limited = float(daemon.ok("run", "--cpus", "0.5", "--", sys.executable, "-c", BURN).out)
    assert limited < 0.75


def test_a_tiny_part_of_a_core_leaves_the_limits_of_others_in_force(daemon):
    enforced = daemon.api.get("/v1/status")["enforcement"]
    assert daemon("run", "--cpus", "0.005", "--", "true").code == 0
    done = daemon("run", "--mem", "50M", "--", sys.executable, "-c", "x = b'x' * (200 << 20)")
    if enforced["mode"] != "process group":
        assert done.code == 137, done
    assert daemon.api.get("/v1/status")["enforcement"] == enforced


def test_doctor_and_status_say_which_limits_are_in_force(daemon):
    enforced = daemon.api.get("/v1/status")["enforcement"]
    assert enforced["mode"] in ("cgroup v2", "cgroup v1", "process group")
    assert enforced["mode"] in daemon("doctor").out


def test_usage_of_a_task_is_recorded(daemon):
    script = TAKE.format(80) + ("import time\na = time.process_time()\n"
                                "while time.process_time() - a < 0.3: pass\n")
    daemon.ok("run", "--", sys.executable, "-c", script)
    task = daemon.api.tasks(1)[0]
    assert task["peak_memory_mib"] >= 80
    assert task["cpu_seconds"] >= 0.3


def test_limits_hold_for_jobs_that_run_while_the_daemon_is_dead(daemon, work):
    job = daemon.submit("--time", "2s", "--grace", "1s", "--",
                        "sh", "-c", "echo $$ > pid; exec sleep 600")
    wait_until(lambda: (work / "pid").exists() and (work / "pid").read_text().strip())
    daemon.kill9()
    pid = int((work / "pid").read_text())
    wait_until(lambda: not processes.alive(pid), what="the keeper ends it without the daemon")
    assert daemon.wait(job) == 124


def test_cancel_reaches_a_process_that_ignores_sigterm(daemon, work):
    job = daemon.submit("--grace", "500ms", "--", "sh", "-c",
                        'trap "" TERM; echo $$ > pid; while :; do sleep 0.1; done')
    wait_until(lambda: (work / "pid").exists() and (work / "pid").read_text().strip())
    daemon.ok("cancel", job)
    assert daemon.wait(job) == 130
    assert not processes.alive(int((work / "pid").read_text()))
