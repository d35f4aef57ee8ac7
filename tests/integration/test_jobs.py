"""What a job can be told: options, dependencies, arrays, retries, priorities, patterns."""

import os
import re

import pytest

from driver import UNTIL_GO
from waiting import wait_until


def ran(work):
    path = work / "ran"
    return path.read_text().split() if path.exists() else []


def test_env_adds_replaces_and_takes_over(daemon):
    done = daemon.ok("run", "--env", "A=1", "--env", "B=x=y z", "--env", "A=2", "--env", "MINE",
                     "--", "sh", "-c", 'echo "$A|$B|$MINE"', env={"MINE": "here", "A": "0"})
    assert done.out == "2|x=y z|here\n"


def test_env_of_an_unset_variable_is_refused(daemon):
    done = daemon("run", "--env", "NOT_SET_HERE", "--", "true")
    assert done.code == 2
    assert "NOT_SET_HERE" in done.err


def test_clean_env_leaves_the_rest_out(daemon):
    done = daemon.ok("run", "--clean-env", "--env", "B=2", "--", "sh", "-c", 'echo "$A|$B|$PATH"',
                     env={"A": "1"})
    assert done.out == f"|2|{os.environ['PATH']}\n"


def test_files_have_the_permissions_of_whoever_submits(daemon, work):
    daemon.ok("run", "-o", "sub/%j.out", "--", "sh", "-c", "umask; touch own", umask=0o027)
    [out] = (work / "sub").iterdir()
    assert out.read_text() == "0027\n"
    assert [path.stat().st_mode & 0o777 for path in (work / "own", out, work / "sub")] == [
        0o640, 0o640, 0o750]
    assert daemon.ok("run", "--env", "TUTTI_UMASK=0002", "--", "sh", "-c", "umask").out == "0002\n"


def test_files_of_jobs_without_a_umask_have_that_of_the_daemons_start(tutti):
    tutti.start(umask=0o027)
    job = tutti.api.post("/v1/jobs", {"command": "umask; ls -ld $TUTTI_HOME/logs/*",
                                      "workdir": "/", "env": [f"TUTTI_HOME={tutti.home}"]})["id"]
    assert tutti.wait(job) == 0
    umask, logs = tutti.ok("logs", job).out.splitlines()
    assert umask == "0027"
    assert logs.startswith("drwx------")


def test_workdir_may_be_relative(daemon, work):
    (work / "below").mkdir()
    assert daemon.ok("run", "-C", "below", "--", "pwd").out == f"{work}/below\n"


def test_output_patterns_name_files(daemon, work):
    job = daemon.submit("-n", "swe/ep", "--array", "5-6", "-o", "logs/%n-%j-%t-%a%%.out", "--error",
                        "logs/%t.err", "--", "sh", "-c", "echo $TUTTI_TASK; echo e >&2")
    assert daemon.wait(job) == 0
    assert (work / f"logs/swe_ep-{job}-5-1%.out").read_text() == "5\n"
    assert (work / f"logs/swe_ep-{job}-6-1%.out").read_text() == "6\n"
    assert (work / "logs/5.err").read_text() == "e\n"
    assert daemon.ok("logs", f"{job}.5").stdout == b"5\n"


def test_output_alone_takes_both_streams(daemon, work):
    assert daemon.wait(daemon.submit("-o", "both", "--", "sh", "-c", "echo o; echo e >&2")) == 0
    assert sorted((work / "both").read_text().split()) == ["e", "o"]
    for more in ([], ["--tail", "5"], ["--json"]):
        done = daemon.ok("logs", *more, "last")
        assert (done.out.count("o\\n" if more == ["--json"] else "o\n"), done.stderr) == (1, b"")


@pytest.mark.parametrize("pattern, told", [("x-%q", "%q"), ("same", "%t")])
def test_bad_output_pattern_is_refused(daemon, pattern, told):
    done = daemon("submit", "--array", "1-2", "-o", pattern, "--", "true")
    assert done.code in (1, 2)
    assert told in done.err


def test_array_never_runs_more_than_its_limit(tutti, work):
    tutti.start(slots=16)
    line = "mkdir at.$TUTTI_TASK; ls -d at.* | wc -l >> seen; sleep 0.03; rmdir at.$TUTTI_TASK"
    job = tutti.submit("--array", "1-100%4", "--cpus", "0.1", "--", "sh", "-c", line)
    assert tutti.wait(job) == 0
    seen = [int(n) for n in (work / "seen").read_text().split()]
    assert len(seen) == 100
    assert max(seen) <= 4
    assert max(seen) > 1


def test_array_with_steps_tells_each_task_its_number(daemon, work):
    job = daemon.submit("--array", "0-9:3", "--", "sh", "-c", "echo $TUTTI_ARRAY_INDEX >> ran")
    assert daemon.wait(job) == 0
    assert sorted(ran(work)) == ["0", "3", "6", "9"]
    assert [t["task"] for t in daemon.api.tasks(job)] == [0, 3, 6, 9]


def test_of_several_tasks_the_first_failure_is_the_jobs_code(daemon):
    job = daemon.submit("--array", "0-5%1", "--", "sh", "-c",
                        "test $TUTTI_TASK -lt 3 || exit $TUTTI_TASK")
    assert daemon.wait(job) == 3


@pytest.mark.parametrize("when, first, state", [
    ("", "true", "succeeded"), ("", "false", "skipped"),
    (":success", "true", "succeeded"),
    (":any", "true", "succeeded"), (":any", "false", "succeeded"),
    (":failure", "false", "succeeded"), (":failure", "true", "skipped")])
def test_after_starts_or_skips_by_the_others_end(daemon, work, when, first, state):
    one = daemon.submit("--", "sh", "-c", f"{UNTIL_GO}; {first}")
    two = daemon.submit("--after", f"{one}{when}", "--", "sh", "-c", "echo two >> ran")
    daemon.until_state(one, "running")
    assert daemon.state(two) == "queued"
    (work / "go").touch()
    assert daemon.until_final(two)["state"] == state
    assert ran(work) == (["two"] if state == "succeeded" else [])


def test_one_task_of_many_can_be_waited_for_and_followed(daemon, work):
    line = f"echo task $TUTTI_TASK; test $TUTTI_TASK != 3 || {UNTIL_GO}; exit $TUTTI_TASK"
    job = daemon.submit("--array", "1-3", "--", "sh", "-c", line)
    assert daemon.wait(f"{job}.2") == 2
    followed = daemon("logs", "-f", f"{job}.1")
    assert (followed.code, followed.out) == (1, "task 1\n")
    late = daemon("wait", "--timeout", "100ms", f"{job}.3")
    assert (late.code, late.err) == (124, f"tutti wait: job {job}.3 has not ended in time\n")
    daemon.ok("cancel", f"{job}.3")
    ended = daemon("wait", "--json", f"{job}.3,{job}.2")
    assert [(one["task"], one["state"]) for one in ended.json()["jobs"]] == [
        (2, "failed"), (3, "cancelled")]
    assert ended.code == 2 and daemon.wait(f"{job}.3") == 130
    missing = daemon("wait", f"{job}.4")
    assert missing.code == 1 and "has no task 4" in missing.err


def test_skipping_goes_down_the_chain(daemon, work):
    one = daemon.submit("--", "sh", "-c", f"{UNTIL_GO}; false")
    two = daemon.submit("--after", one, "--", "true")
    three = daemon.submit("--after", two, "--", "true")
    four = daemon.submit("--after", f"{three}:any", "--", "true")
    (work / "go").touch()
    assert daemon.until_final(three)["state"] == "skipped"
    assert daemon.until_final(four)["state"] == "succeeded"
    assert daemon.wait(two) != 0


def test_after_last_and_lists(daemon, work):
    one = daemon.submit("--", "sh", "-c", "sleep 0.2; echo 1 >> ran")
    two = daemon.submit("--after", "last", "--", "sh", "-c", "echo 2 >> ran")
    three = daemon.submit("--after", f"{one},{two}:any", "--", "sh", "-c", "echo 3 >> ran")
    assert daemon.wait(three) == 0
    assert ran(work) == ["1", "2", "3"]


def test_after_a_job_that_ended_otherwise_is_skipped_and_says_why(daemon):
    one = daemon.submit("--", "false")
    daemon.wait(one)
    two = daemon.submit("--after", one, "--", "true")
    three = daemon.submit("--after", two, "--retries", "2", "--", "true")
    assert daemon.state(two) == daemon.state(three) == "skipped"
    why = f"it waited for the success of job {one}, which failed"
    assert daemon("explain", two).out == f"job {two} was skipped: {why}\n"
    assert daemon("wait", two).err == f"tutti: job {two} was skipped: {why}\n"
    shown = daemon("show", three).out
    assert f"the success of job {two}, which was skipped" in shown
    assert f"after      {two}" in shown and "retries    2" in shown
    assert daemon.wait(daemon.submit("--after", f"{one}:failure", "--", "true")) == 0


@pytest.mark.parametrize("after, told", [("999", "999"), ("1:sometimes", "1:sometimes"),
                                         ("0", "0"), ("-1", "-1"), ("abc", "abc")])
def test_after_nonsense_is_refused(daemon, after, told):
    done = daemon("submit", f"--after={after}", "--", "true")
    assert done.code in (1, 2)
    assert told in done.err


def test_job_cannot_wait_for_itself_or_a_later_one(daemon):
    # A cycle would need a job that names one which is not there yet.
    for after in ("1", "2"):
        done = daemon("submit", "--after", after, "--", "true")
        assert done.code == 1
        assert "no such job" in done.err
    jobs = {"jobs": [{"command": "true", "workdir": "/tmp", "after": [2]},
                     {"command": "true", "workdir": "/tmp", "after": [1]}]}
    assert daemon.api.request("POST", "/v1/jobs", jobs).status in (400, 404)
    assert daemon.api.get("/v1/jobs")["jobs"] == []


def test_retries_succeed_at_the_third_attempt(daemon, work):
    done = daemon("run", "--retries", "3", "--backoff", "100ms", "--", "sh", "-c",
                  'echo $TUTTI_ATTEMPT >> ran; test $TUTTI_ATTEMPT = 3')
    assert done.code == 0, done
    assert ran(work) == ["1", "2", "3"]
    job = daemon.job(1)
    # A job that was retried with success is no failure.
    assert (job["state"], job["attempt"], job["exit_code"]) == ("succeeded", 3, 0)


def test_retries_end(daemon, work):
    done = daemon("run", "--retries", "2", "--backoff", "10ms", "--", "sh", "-c",
                  "echo x >> ran; exit 9")
    assert done.code == 9
    assert len(ran(work)) == 3


def test_logs_of_every_attempt_are_kept(daemon):
    daemon.ok("run", "--retries", "1", "--backoff", "10ms", "--", "sh", "-c",
              "echo attempt $TUTTI_ATTEMPT; test $TUTTI_ATTEMPT = 2")
    assert daemon.ok("logs", "1").stdout == b"attempt 2\n"
    assert daemon.ok("logs", "1", "--attempt", "1").stdout == b"attempt 1\n"


def test_show_of_a_job_in_back_off_tells_its_last_try(daemon):
    job = daemon.submit("--retries", "5", "--backoff", "1h", "--", "sh", "-c", "exit 9")
    wait_until(lambda: "last try   attempt 1: exit 9" in daemon.ok("show", job).out)
    assert re.search(r"(?m)^  runs again in (1h|59m)", daemon.ok("show", job).out)
    daemon.ok("cancel", job)


def test_back_off_is_waited_for_and_doubles(daemon, work):
    daemon("run", "--retries", "2", "--backoff", "300ms", "--", "sh", "-c",
           'date +%s%N >> ran; false')
    one, two, three = (int(n) / 1e9 for n in ran(work))
    assert two - one >= 0.3
    assert three - two >= 0.6


def test_priority_goes_first(tutti, work):
    tutti.start(slots=1)
    blocker = tutti.submit("--", "sh", "-c", UNTIL_GO)
    tutti.until_state(blocker, "running")
    for name, priority in (("low", -5), ("middle", 0), ("high", 5)):
        tutti.submit(f"--priority={priority}", "--", "sh", "-c", f"echo {name} >> ran")
    (work / "go").touch()
    wait_until(lambda: len(ran(work)) == 3)
    assert ran(work) == ["high", "middle", "low"]


def test_equal_jobs_run_in_the_order_of_submission(tutti, work):
    tutti.start(slots=1)
    # Not of no time at all: an end may cross an order on its way, and the next in line is then free.
    for n in range(8):
        tutti.submit("--", "sh", "-c", f"sleep 0.05; echo {n} >> ran")
    tutti.ok("wait", "all")
    assert ran(work) == [str(n) for n in range(8)]


def test_cpus_are_not_given_out_twice(tutti, work):
    tutti.start(slots=2)
    line = "mkdir at.$$; ls -d at.* | wc -l >> seen; sleep 0.1; rmdir at.$$"
    for _ in range(4):
        tutti.submit("--cpus", "2", "--", "sh", "-c", line)
    tutti.ok("wait", "all")
    assert (work / "seen").read_text().split() == ["1"] * 4


@pytest.mark.parametrize("options, told", [
    (["--cpus", "64"], "64"), (["--mem", "900T"], "memory"), (["-g", "1"], "GPU"),
    (["--label", "no-such-label"], "no node")])
def test_impossible_job_is_refused_and_others_are_not_touched(daemon, options, told):
    other = daemon.submit("--", "sleep", "0.3")
    done = daemon("submit", *options, "--", "true")
    assert done.code in (1, 2)
    assert told in done.err
    assert daemon.wait(other) == 0
    assert daemon.ok("ls", "-q", "--all").out == f"{other}\n"


def test_dry_run_submits_nothing_and_says_when(daemon):
    done = daemon.ok("submit", "--dry-run", "--cpus", "2", "--", "true")
    assert "Nothing was submitted" in done.out
    assert daemon.api.get("/v1/jobs")["jobs"] == []
    refused = daemon("submit", "--dry-run", "--cpus", "64", "--", "true")
    assert refused.code == 1 and "64" in refused.err


def test_dry_run_of_a_waiting_job_tells_why(daemon):
    daemon.submit("--cpus", "2", "--time", "1h", "--", "sleep", "60")
    answer = daemon.ok("submit", "--dry-run", "--json", "--", "true").json()
    assert answer["dry_run"] is True
    assert "cpus" in [r["code"] for r in answer["explanations"][0]["reasons"]]


def test_single_word_with_blanks_is_a_shell_line(daemon):
    assert daemon.ok("run", "echo a; echo b | cat").stdout == b"a\nb\n"


def test_command_without_dashes_keeps_its_own_options(daemon):
    assert daemon.ok("run", "-q", "echo", "-n", "--json", "x").stdout == b"--json x"


def test_submit_follow_shows_output_and_returns_the_code(daemon):
    done = daemon("submit", "-f", "--", "sh", "-c", "echo out; exit 6")
    assert done.code == 6
    assert done.out.endswith("out\n")


def test_a_cancelled_back_off_does_not_look_like_success(daemon):
    job = daemon.submit("--retries", "1", "--backoff", "1h", "--", "false")
    wait_until(lambda: daemon.api.tasks(job)[0]["not_before"])
    daemon.ok("cancel", job)
    assert daemon.wait(f"{job}.0") == daemon.wait(job) == 130
    [task] = daemon.api.tasks(job)
    assert (task["state"], task["exit_code"], task["ending"]) == ("cancelled", None, None)
    assert "exit" not in daemon.ok("show", job).out


def test_a_task_that_is_retried_has_no_exit_code_until_it_has_run(daemon, work):
    job = daemon.submit("--cpus", "2", "--", "false")
    daemon.wait(job)
    daemon.submit("--cpus", "2", "--", "sh", "-c", UNTIL_GO)
    daemon.ok("retry", job)
    [task] = daemon.api.tasks(job)
    assert (task["state"], task["exit_code"], task["ending"]) == ("queued", None, None)
    (work / "go").touch()


def test_cancelled_job_can_be_retried(daemon, work):
    job = daemon.submit("--grace", "1s", "--", "sh", "-c", "test -e go || sleep 600")
    daemon.until_state(job, "running")
    daemon.ok("cancel", job)
    assert daemon.wait(job) == 130
    (work / "go").touch()
    daemon.ok("retry", job)
    assert daemon.wait(job) == 0


def test_cancel_of_single_tasks_leaves_the_others(daemon, work):
    job = daemon.submit("--array", "1-3%1", "--", "sh", "-c",
                        f"{UNTIL_GO}; echo $TUTTI_TASK >> ran")
    daemon.ok("cancel", f"{job}.2")
    (work / "go").touch()
    daemon.wait(job)
    assert ran(work) == ["1", "3"]
    assert daemon.job(job)["counts"]["cancelled"] == 1


def test_drained_node_gets_nothing_new_until_resumed(daemon):
    node = daemon.api.get("/v1/nodes")["nodes"][0]["name"]
    daemon.ok("nodes", "drain", node, "--reason", "new disk")
    job = daemon.submit("--", "true")
    explanation = daemon.ok("explain", job).out
    assert "new disk" in explanation
    assert daemon.state(job) == "queued"
    daemon.ok("nodes", "resume", node)
    assert daemon.wait(job) == 0


def test_output_that_a_retry_overwrites_is_told(daemon, work):
    call = ["--retries", "1", "--backoff", "1ms", "-o", "o", "--", "sh", "-c", "echo $TUTTI_ATTEMPT; exit 1"]
    assert "each attempt overwrites o;" in daemon.ok("submit", *call).err
    daemon.wait(1)
    done = daemon.ok("logs", "--attempt", "1", "1")
    assert done.out == "2\n" and "the last one, 2;" in done.err
    call[5] = "o.%a"
    assert daemon.ok("submit", *call).err == ""
    daemon.wait(2)
    assert (daemon.ok("logs", "--attempt", "1", "2").out, (work / "o.2").read_text()) == ("1\n", "2\n")
