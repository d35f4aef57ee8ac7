"""Nothing is lost: daemon and keeper are killed at the worst moments."""

import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import processes
from test_run import ESCAPE, escaped_pid
from driver import UNTIL_GO
from waiting import SANITIZED, SLOW, wait_until

# As many kills per line under sanitizers, where every restart takes many times longer.
LINES, KILLS = (1500, 15) if SANITIZED else (5000, 50)
RESTARTERS = [("ls",), ("daemon", "start"), ("show", "1"), ("nodes",), ("explain", "1")]


def records(path):
    """The lines "task attempt" that tasks appended, as {task: [attempts]}."""
    found = {}
    for line in path.read_text().splitlines():
        task, attempt = line.split()
        found.setdefault(int(task), []).append(int(attempt))
    return found


def test_running_jobs_go_on_and_their_results_are_there(daemon, work):
    script = ("echo $TUTTI_TASK $TUTTI_ATTEMPT >> ran; echo begin; "
              f"{UNTIL_GO}; echo end; exit $TUTTI_TASK")
    job = daemon.submit("--array", "1-2", "--", "sh", "-c", script)
    wait_until(lambda: (work / "ran").exists() and len(records(work / "ran")) == 2)
    old = daemon.kill9()
    (work / "go").touch()
    wait_until(lambda: not [c for c in daemon.leftovers().values() if c.startswith("sh -c")],
               what="both have ended without a daemon")
    assert daemon.wait(job) in (1, 2)
    assert daemon.pid() != old
    assert records(work / "ran") == {1: [1], 2: [1]}
    tasks = {t["task"]: t for t in daemon.api.tasks(job)}
    assert [tasks[n]["exit_code"] for n in (1, 2)] == [1, 2]
    assert [tasks[n]["ending"] for n in (1, 2)] == ["exited", "exited"]
    for n in (1, 2):
        assert daemon.ok("logs", f"{job}.{n}").stdout == b"begin\nend\n"


def test_queued_jobs_survive_and_keep_their_options(daemon, work):
    blocker = daemon.submit("--cpus", "2", "--", "sh", "-c", UNTIL_GO)
    waiting = daemon.submit("-n", "kept", "--env", "X=1 2", "--", "sh", "-c", 'echo "$X" > x')
    dependent = daemon.submit("--after", waiting, "--", "true")
    daemon.kill9()
    (work / "go").touch()
    assert daemon.wait(dependent) == 0
    assert daemon.wait(blocker) == 0
    assert (work / "x").read_text() == "1 2\n"
    assert daemon.job(waiting)["name"] == "kept"


def test_follower_goes_on_through_a_crash_without_repeating(daemon, work):
    script = f"for i in 1 2 3; do echo line $i; done; {UNTIL_GO}; echo last; exit 7"
    child = daemon.spawn("run", "--", "sh", "-c", script)
    # The follower must be connected before the crash: it has shown what there is.
    shown = b""
    while shown.count(b"\n") < 3:
        shown += child.stdout.readline()
    daemon.kill9()
    daemon.ok("ls")
    (work / "go").touch()
    out, err = child.communicate(timeout=60)
    assert shown + out == b"line 1\nline 2\nline 3\nlast\n", err
    assert child.returncode == 7


def test_cancel_is_not_forgotten_in_a_crash(daemon):
    job = daemon.submit("--grace", "30s", "--", sys.executable, "-c",
                        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                        "open('up', 'w').close()\ntime.sleep(3)")
    wait_until((daemon.work / "up").exists)
    daemon.ok("cancel", job)
    daemon.kill9()
    assert daemon.wait(job) == 130


def test_back_off_survives_a_crash(daemon, work):
    job = daemon.submit("--retries", "1", "--backoff", "1s", "--", "sh", "-c",
                        "echo 1 $TUTTI_ATTEMPT >> ran; test $TUTTI_ATTEMPT = 2")
    wait_until((work / "ran").exists)
    daemon.kill9()
    assert daemon.wait(job) == 0
    assert records(work / "ran") == {1: [1, 2]}


def test_acknowledged_submissions_survive_a_crash_right_after(daemon, work):
    for _ in range(10):
        job = daemon.submit("--", "true")
        daemon.kill9()
        assert daemon.wait(job) == 0


def test_submissions_during_crashes_are_whole_or_not_there(daemon, work):
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    acknowledged = []
    lines = "".join(f"echo {n} 1 >> ran.$TUTTI_JOB_ID\n" for n in range(1, 21))

    def submit_many():
        for _ in range(25):
            done = daemon("batch", "--detach", "-q", "-", input=lines)
            if done.code == 0:
                acknowledged.append(int(done.out))

    thread = threading.Thread(target=submit_many)
    thread.start()
    while thread.is_alive():
        # Long enough that some daemon lives to acknowledge something.
        time.sleep(dice.uniform(0, 0.15 if SLOW == 1 else 0.3 * SLOW))
        for pid, command in daemon.leftovers().items():
            if "daemon run" in command:
                processes.kill(pid)
    thread.join()
    assert acknowledged
    wait_until(lambda: daemon("wait", "all").code == 0, 60)
    jobs = {job["id"]: job for job in daemon.api.get("/v1/jobs?limit=1000")["jobs"]}
    assert set(acknowledged) <= set(jobs)
    for job, told in jobs.items():
        assert told["tasks"] == 20 and told["counts"]["succeeded"] == 20, told
        assert records(work / f"ran.{job}") == {n: [1] for n in range(1, 21)}, job


def test_every_line_runs_exactly_once_though_the_daemon_is_killed_many_times(tutti, work):
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    tutti.start(slots=4)
    path = work / "ran"
    path.touch()
    lines = [f'echo {n} "$TUTTI_ATTEMPT" >> ran; echo out {n}' for n in range(1, LINES + 1)]
    # However slow the machine is, the batch is not done before the last kill.
    lines[-100:] = [f"{UNTIL_GO}; {line}" for line in lines[-100:]]
    job = tutti.batch(lines)
    points = sorted(dice.sample(range(LINES - 200), KILLS))
    for point in points:
        # About six bytes a line; the exact moment does not matter, that it is random does.
        wait_until(lambda: path.stat().st_size >= point * 6, 120)
        time.sleep(dice.uniform(0, 0.005))
        assert tutti.state(job) in ("queued", "starting", "running")
        tutti.kill9()
        tutti.ok(*dice.choice(RESTARTERS))
    (work / "go").touch()
    assert tutti.wait(job, timeout=200) == 0
    found = records(path)
    wrong = {n: found.get(n) for n in range(1, LINES + 1) if found.get(n) != [1]}
    assert not wrong and len(found) == LINES
    told = tutti.job(job)
    assert (told["state"], told["counts"]["succeeded"]) == ("succeeded", LINES)
    tasks = tutti.api.tasks(job, limit=1000)
    assert [t["line"] for t in tasks] == list(range(1, LINES + 1))
    assert {(t["state"], t["attempt"], t["exit_code"]) for t in tasks} == {("succeeded", 1, 0)}
    for n in dice.sample(range(1, LINES + 1), 20):
        assert tutti.ok("logs", f"{job}.{n}").stdout == b"out %d\n" % n


def test_killed_keeper_makes_its_attempts_lost_and_leaves_no_survivor(daemon, work):
    job = daemon.submit("--", sys.executable, "-c", ESCAPE, "escaped")
    escaped = escaped_pid(work)
    daemon.kill_keeper()
    told = daemon.until_final(job)
    assert (told["state"], told["ending"], told["exit_code"]) == ("failed", "lost", 125)
    assert "keeper" in told["message"]
    wait_until(lambda: not processes.alive(escaped), what="nothing of it runs on unseen")
    done = daemon("wait", job)
    assert done.code == 125 and "lost" in done.err
    # A new keeper serves new jobs.
    assert daemon.ok("run", "--", "echo", "again").stdout == b"again\n"


def test_lost_attempts_follow_their_retry_rule(daemon, work):
    script = "echo $TUTTI_TASK $TUTTI_ATTEMPT >> ran; test $TUTTI_ATTEMPT = 2 || sleep 600"
    job = daemon.submit("--retries", "1", "--backoff", "100ms", "--array", "1-2", "--",
                        "sh", "-c", script)
    wait_until(lambda: (work / "ran").exists() and len(records(work / "ran")) == 2)
    daemon.kill_keeper()
    assert daemon.wait(job) == 0
    assert records(work / "ran") == {1: [1, 2], 2: [1, 2]}


def test_a_copied_home_leaves_the_jobs_of_the_original_alone(daemon, work, make_tutti):
    job = daemon.submit("--", "sh", "-c", f"{UNTIL_GO}; echo end")
    daemon.until_state(job, "running")
    with tempfile.TemporaryDirectory(prefix="tt", dir="/tmp") as folder:
        subprocess.run(["cp", "-r", daemon.home, f"{folder}/home"], check=True)
        copy = make_tutti(f"{folder}/home")
        # There its job is gone, because its keeper is another one's.
        copy.ok("daemon", "start")
        copy.until_final(job)
        assert not copy.end()
    assert daemon.job(job)["state"] == "running"
    (work / "go").touch()
    assert daemon.wait(job) == 0
    assert daemon.ok("logs", job).stdout == b"end\n"


def test_without_its_run_folder_what_ran_has_ended_before_it_is_lost(daemon, work):
    job = daemon.submit("--cpus", "2", "--", sys.executable, "-c", ESCAPE, "escaped")
    after = daemon.submit("--cpus", "2", "--after", f"{job}:any", "--", "true")
    escaped, keeper = escaped_pid(work), daemon.keeper_pid()
    daemon.ok("daemon", "stop")
    shutil.rmtree(daemon.home / "run")
    daemon.ok("daemon", "start")
    assert daemon.wait(after) == 0
    assert not processes.alive(escaped) and not processes.alive(keeper)
    assert daemon.wait(job) == 125


def test_keeper_and_daemon_killed_together(daemon, work):
    job = daemon.submit("--", sys.executable, "-c", ESCAPE, "escaped")
    after = daemon.submit("--after", f"{job}:any", "--", "true")
    escaped = escaped_pid(work)
    daemon_pid, keeper_pid = daemon.pid(), daemon.keeper_pid()
    processes.kill(daemon_pid)
    processes.kill(keeper_pid)
    wait_until(lambda: not processes.alive(daemon_pid) and not processes.alive(keeper_pid))
    assert daemon.wait(job) == 125
    assert daemon.wait(after) == 0
    wait_until(lambda: not processes.alive(escaped), what="nothing of it runs on unseen")


def test_batch_whose_keeper_is_killed_runs_every_line_again_only_if_lost(tutti, work):
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    count = 200 if SANITIZED else 600
    tutti.start(slots=4)
    (work / "ran").touch()
    lines = [f'echo {n} "$TUTTI_ATTEMPT" >> ran; sleep 0.01' for n in range(1, count + 1)]
    job = tutti.batch(lines, "--retries", "5", "--backoff", "10ms")
    for point in sorted(dice.sample(range(count - 50), 3)):
        wait_until(lambda: (work / "ran").stat().st_size >= point * 6, 60)
        tutti.kill_keeper()
    assert tutti.wait(job, timeout=120) == 0
    found = records(work / "ran")
    assert sorted(found) == list(range(1, count + 1))
    for task, attempts in found.items():
        assert len(set(attempts)) == len(attempts), f"line {task} twice in one attempt: {attempts}"


def test_sigterm_ends_the_daemon_cleanly_and_jobs_go_on(daemon, work):
    job = daemon.submit("--", "sh", "-c", f"{UNTIL_GO}; exit 3")
    daemon.until_state(job, "running")
    pid = daemon.pid()
    processes.kill(pid, signal.SIGTERM)
    wait_until(lambda: not processes.alive(pid))
    (work / "go").touch()
    assert daemon.wait(job) == 3
