"""The daemon itself: start, stop, restart, and doing nothing when there is nothing to do."""

import os
import signal
import socket
import time

import pytest

import processes
from driver import UNTIL_GO
from waiting import SANITIZED, wait_until


def test_start_says_its_pid_and_again_that_it_runs(tutti):
    first = tutti.ok("daemon", "start", "--slots", "2")
    pid = tutti.pid()
    assert f"pid {pid}" in first.out
    second = tutti.ok("daemon", "start")
    assert f"pid {pid}" in second.out and "already" in second.out
    assert tutti.pid() == pid


def test_start_json(tutti):
    told = tutti.ok("daemon", "start", "--json").json()
    assert told["started"] is True and told["pid"] == tutti.pid()


def test_status_json_has_the_pid(daemon):
    told = daemon.ok("daemon", "status", "--json").json()
    assert told["pid"] == daemon.pid()
    assert processes.alive(told["pid"])
    assert told["running"] is True
    assert told["slots"] == 2
    assert told["home"] == str(daemon.home)


def test_status_without_a_daemon_is_1_and_starts_none(tutti):
    done = tutti("daemon", "status", "--json")
    assert done.code == 1
    assert done.json()["running"] is False
    assert tutti.leftovers() == {}


def test_stop_ends_the_daemon_and_then_the_idle_keeper(daemon):
    daemon.ok("run", "--", "true")
    pids = [daemon.pid(), daemon.keeper_pid()]
    done = daemon.ok("daemon", "stop")
    assert "Stopped" in done.out
    assert not processes.alive(pids[0])
    wait_until(lambda: not processes.alive(pids[1]), 10, "an idle keeper without a daemon ends")
    assert "No daemon" in daemon.ok("daemon", "stop").out


def test_jobs_survive_stop_and_start(daemon, work):
    running = daemon.submit("--", "sh", "-c", f"{UNTIL_GO}; exit 3")
    queued = daemon.submit("--after", f"{running}:any", "--", "true")
    daemon.until_state(running, "running")
    daemon.ok("daemon", "stop")
    assert any(c.startswith("sh -c") for c in daemon.leftovers().values())
    (work / "go").touch()
    assert daemon.wait(running) == 3
    assert daemon.wait(queued) == 0


def test_a_job_that_ended_without_the_daemon_has_run_no_longer_than_its_task(daemon, work):
    job = daemon.submit("--", "sh", "-c", f"{UNTIL_GO}; rm going")
    (work / "going").touch()
    daemon.until_state(job, "running")
    daemon.ok("daemon", "stop")
    (work / "go").touch()
    wait_until(lambda: not (work / "going").exists())
    assert daemon.wait(job) == 0
    assert daemon.job(job)["finished_at"] == daemon.api.tasks(job)[0]["finished_at"]


def test_jobs_survive_restart(daemon, work):
    job = daemon.submit("--", "sh", "-c", f"echo $TUTTI_ATTEMPT >> ran; {UNTIL_GO}")
    wait_until((work / "ran").exists)
    old = daemon.pid()
    daemon.ok("daemon", "restart", "--slots", "2")
    assert daemon.pid() != old
    assert daemon.state(job) == "running"
    (work / "go").touch()
    assert daemon.wait(job) == 0
    assert (work / "ran").read_text() == "1\n"


def test_a_restart_with_impossible_settings_keeps_the_old_ones(tutti):
    tutti.ok("daemon", "start", "--slots", "3")
    done = tutti("daemon", "restart", "--emulate-gpus", "4xFOO")
    assert done.code == 1 and "FOO" in done.err and "runs again" in done.err, done
    assert tutti.ok("daemon", "status", "--json").json()["slots"] == 3
    tutti.ok("daemon", "restart")
    assert tutti.ok("daemon", "status", "--json").json()["slots"] == 3


def test_options_alone_start_it(tutti):
    assert "Started" in tutti.ok("daemon", "--slots", "2").out
    assert tutti.ok("daemon", "status", "--json").json()["slots"] == 2


def test_restart_without_a_daemon_starts_one(tutti):
    tutti.ok("daemon", "restart", "--slots", "2")
    assert tutti.pid() > 0


def test_start_with_settings_that_the_running_daemon_has_not_is_refused(daemon):
    done = daemon("daemon", "start", "--slots", "1")
    assert done.code == 1
    assert "other settings" in done.err and "daemon restart" in done.err
    assert "already" in daemon.ok("daemon", "start", "--slots", "2").out
    assert daemon.status()["slots"] == 2


def test_restart_keeps_the_settings_that_are_not_given(tutti):
    tutti.start("--mem", "1G", slots=2)
    memory = tutti.api.get("/v1/nodes")["nodes"][0]["memory_mib"]
    tutti.ok("daemon", "restart", "--slots", "1")
    assert tutti.status()["slots"] == 1
    assert tutti.api.get("/v1/nodes")["nodes"][0]["memory_mib"] == memory == 1024
    tutti.ok("daemon", "restart")
    assert tutti.status()["slots"] == 1


def test_numbers_go_on_after_a_restart(daemon):
    first = daemon.submit("--", "true")
    daemon.wait(first)
    daemon.ok("daemon", "restart")
    assert daemon.submit("--", "true") == first + 1


@pytest.mark.parametrize("options, told", [
    (["--slots", "0"], "slots"), (["--slots", "-3"], "slots"), (["--slots", "many"], "many"),
    (["--mem", "x"], "mem"), (["--listen", "nowhere"], "HOST:PORT"),
    (["--tls-cert", "x"], "tls-key")])
def test_bad_settings_are_usage_errors(tutti, options, told):
    done = tutti("daemon", "start", *options)
    assert done.code == 2, done
    assert told in done.err
    assert tutti.leftovers() == {}


def test_port_that_is_taken_is_a_clear_error(tutti):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = tutti("daemon", "start", "--listen", f"127.0.0.1:{port}")
        assert done.code == 1
        assert str(port) in done.err


def test_unknown_action_is_a_usage_error(tutti):
    done = tutti("daemon", "star")
    assert done.code == 2
    assert "'start'" in done.err


def test_idle_daemon_and_keeper_do_not_wake_up(daemon):
    daemon.ok("batch", "-q", "-", input="true\n" * 50)
    pids = {"daemon": daemon.pid(), "keeper": daemon.keeper_pid()}

    def quiet():
        """Three seconds in which nobody asks for anything."""
        before = {name: processes.voluntary_switches(pid) for name, pid in pids.items()}
        time.sleep(3)
        return {name: processes.voluntary_switches(pid) - before[name]
                for name, pid in pids.items()}

    # Clean-up after the last job may take a moment, but it must end.
    deadline = time.monotonic() + 30
    while True:
        woken = quiet()
        if all(count <= (100 if SANITIZED else 2) for count in woken.values()):
            return
        assert time.monotonic() < deadline, f"woken in three idle seconds: {woken}"


def test_waiting_clients_cost_no_wake_ups(daemon):
    job = daemon.submit("--", "sleep", "600")
    daemon.until_state(job, "running")
    children = [daemon.spawn("wait", job) for _ in range(3)]
    wait_until(lambda: len([c for c in daemon.leftovers().values() if " wait " in c]) == 3)
    processes.until_asleep(daemon.pid(), most=4)
    daemon.ok("cancel", job)
    for child in children:
        assert child.wait(60) == 130


def test_idle_daemon_is_small(daemon):
    if SANITIZED:
        pytest.skip("a sanitizer's shadow memory is not ours")
    daemon.ok("batch", "-q", "-", input="true\n" * 200)
    assert processes.resident_mib(daemon.pid()) <= 30
    assert processes.resident_mib(daemon.keeper_pid()) <= 30


def test_doctor_is_content_with_a_healthy_home(daemon):
    done = daemon("doctor")
    assert done.code == 0, done
    told = daemon.ok("doctor", "--json").json()
    assert told["ok"] is True
    assert {"level", "name", "detail"} <= set(told["checks"][0])


def test_doctor_starts_no_daemon(tutti):
    tutti("doctor")
    assert tutti.leftovers() == {}


def test_home_is_private(daemon):
    for path in daemon.home.rglob("*"):
        if path.is_file() and path.suffix in (".db", ".sqlite"):
            assert path.stat().st_mode & 0o077 == 0, path


def test_status_tells_the_port_that_it_got(tutti):
    tutti.start("--listen", "127.0.0.1:0")
    host, port = tutti.status()["listen"].split(":")
    assert host == "127.0.0.1" and int(port) > 0
    assert f"listen  127.0.0.1:{port}\n" in tutti.ok("daemon", "status").out


def test_restart_leaves_a_daemon_elsewhere_alone(tutti):
    port = tutti.listen()
    pid = tutti.pid()
    there = {"TUTTI_HOST": f"127.0.0.1:{port}"}
    done = tutti("daemon", "restart", env=there)
    assert done.code == 2 and "elsewhere" in done.err, done
    assert tutti.pid() == pid
    assert f"127.0.0.1:{port}" in tutti.ok("daemon", "status", env=there).out
    tutti.ok("daemon", "stop")
    nobody = tutti("doctor", env=there)
    assert nobody.code == 1 and f"127.0.0.1:{port}" in nobody.out, nobody
    assert "starts with the first job" not in nobody.out


def test_a_daemon_whose_socket_was_removed_is_named(daemon):
    pid = daemon.pid()
    (daemon.home / "run/tutti.sock").unlink()
    lock = daemon.home / "run/daemon.lock"
    os.utime(lock, (lock.stat().st_atime, lock.stat().st_mtime - 3600))
    for verb in (["ls"], ["daemon", "stop"], ["daemon", "status"]):
        done = daemon(*verb, timeout=8)
        assert done.code == 1 and f"kill {pid}" in done.err, done
    doctor = daemon("doctor")
    assert doctor.code == 1 and f"kill {pid}" in doctor.out, doctor
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: daemon("ls").code == 0)
