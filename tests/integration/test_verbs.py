"""Every verb: what it prints, its JSON, its quiet form, its exit codes. Golden texts in golden/."""

import json
import os
import re
import signal

import pytest

import golden
from driver import UNTIL_GO
from waiting import wait_until

VERBS = ["submit", "run", "batch", "ls", "show", "logs", "explain", "cancel", "wait", "retry",
         "nodes", "doctor", "daemon", "completions", "compat", "help", "version"]


@pytest.fixture
def history(daemon, work):
    """One finished job of every kind; nothing is running."""
    daemon.wait(daemon.submit("-n", "good", "--cpus", "2", "--mem", "64M", "--time", "1h", "--",
                              "echo", "hello world"))
    daemon.wait(daemon.submit("-n", "bad", "--project", "p", "--",
                              "sh", "-c", "echo oops >&2; exit 3"))
    (work / "lines.txt").write_text("# three\ntrue\nsh -c 'exit 4'\n\necho third\n")
    daemon("batch", "-n", "lines", "lines.txt")
    blocker = daemon.submit("-n", "blocker", "--cpus", "2", "--time", "1h", "--", "sleep", "600")
    daemon.until_state(blocker, "running")
    daemon.submit("-n", "waiting", "--priority", "3", "--", "true")
    daemon.submit("-n", "after", "--after", "5:any", "--", "true")
    return daemon


def check(tutti, name, done, more=()):
    text = f"$ tutti {' '.join(map(str, done.arguments))}\n{done.out}"
    if done.err:
        text += f"--- stderr\n{done.err}"
    text += f"--- exit {done.code}\n"
    golden.check(name, golden.mask(text, tutti, more))


def check_shape(tutti, name, done):
    told = done.json()
    assert told["api"] == 1
    text = f"$ tutti {' '.join(map(str, done.arguments))}\n"
    golden.check(name, golden.mask(text, tutti) + json.dumps(golden.shape(told), indent=1) + "\n")


# --- golden texts ------------------------------------------------------------------------------


def test_ls(history):
    check(history, "ls", history("ls"))


def test_ls_empty(daemon):
    check(daemon, "ls-empty", daemon("ls"))


def test_show_succeeded(history):
    check(history, "show-succeeded", history("show", "1"))


def test_show_failed(history):
    check(history, "show-failed", history("show", "2"))


def test_show_batch(history):
    check(history, "show-batch", history("show", "3"))


def test_show_task(history):
    check(history, "show-task", history("show", "3.2"))


def test_explain_cpus(history):
    check(history, "explain-cpus", history("explain", "5"))


def test_explain_dependency(history):
    check(history, "explain-dependency", history("explain", "6"))


def test_nodes(history):
    check(history, "nodes", history("nodes"))


def test_batch_with_a_failure(daemon, work):
    (work / "lines.txt").write_text("true\n# two fail\nfalse\nsh -c 'kill -9 $$'\n")
    check(daemon, "batch-failure", daemon("batch", "lines.txt"))


def test_submit_text(daemon):
    check(daemon, "submit", daemon("submit", "-n", "named", "--", "true"))


def test_dry_run_text(history):
    check(history, "dry-run", history("submit", "--dry-run", "--cpus", "2", "--", "true"))


def test_cancel_text(history):
    check(history, "cancel", history("cancel", "5"))


def test_retry_text(history):
    check(history, "retry", history("retry", "--failed", "3"))


def test_daemon_status_text(daemon):
    check(daemon, "daemon-status", daemon("daemon", "status"),
          [(r"cgroup v\d.*|process group.*", "<limits>")])


def test_refusals(daemon, work):
    """Errors are an interface too: what is wrong, with what, and what to do."""
    (work / "job.yaml").write_text("command: a\ncpu: 4\n")
    calls = [("sumbit",), ("submit", "--cpu", "2", "--", "true"), ("submit",), ("show", "99"),
             ("show", "x"), ("ls", "--state", "runing"), ("submit", "--cpus", "64", "--", "true"),
             ("submit", "--array", "1-1000000000000", "--", "true"), ("submit", "job.yaml"),
             ("submit", "--mem", "many", "--", "true"), ("cancel", "1,2"), ("logs", "7"),
             ("completions", "csh"), ("nodes", "drian", "x"), ("retry", "1"),
             ("batch", "missing.txt"), ("submit", "--after", "12", "--", "true"),
             ("submit", "-g", "1", "--", "true"), ("wait", "--timeout", "soon", "1")]
    text = ""
    for call in calls:
        done = daemon(*call)
        assert done.code in (1, 2), done
        assert done.stdout == b"", done
        text += f"$ tutti {' '.join(call)}   → {done.code}\n{done.err}\n"
    golden.check("refusals", golden.mask(text, daemon))


def test_json_shapes(history):
    calls = {"ls": ("ls",), "show": ("show", "1"), "show-batch": ("show", "3"),
             "show-task": ("show", "3.2"), "explain": ("explain", "5"), "nodes": ("nodes",),
             "status": ("daemon", "status"), "doctor": ("doctor",), "version": ("version",),
             "dry-run": ("submit", "--dry-run", "true"), "submit": ("submit", "true"),
             "cancel": ("cancel", "-y", "4-7"), "wait": ("wait", "4"),
             "retry": ("retry", "--failed", "3")}
    for name, call in calls.items():
        done = history(call[0], "--json", *call[1:])
        assert done.code == (130 if name == "wait" else 0), done
        assert done.stdout.count(b"\n") == 1, "one object on one line"
        check_shape(history, f"json-{name}", done)


# --- behaviour ---------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb(tutti, verb):
    asked = tutti.ok("help", verb)
    assert verb in asked.out
    assert tutti.ok(verb, "--help").out == asked.out
    assert tutti.leftovers() == {}


def test_help_lists_every_verb(tutti):
    text = tutti.ok("help").out
    for verb in VERBS:
        assert re.search(rf"^\s+{verb}\b", text, re.M), verb
    assert tutti.ok("--help").out == text


def test_no_verb_is_a_usage_error_that_shows_help(tutti):
    done = tutti()
    assert done.code == 2
    assert "submit" in done.out + done.err


def test_version(tutti):
    assert re.fullmatch(r"tutti \d+\.\d+\.\d+\S*\n", tutti.ok("--version").out)
    assert tutti.ok("version").out == tutti.ok("--version").out


@pytest.mark.parametrize("wrong, meant", [("sumbit", "submit"), ("lst", "ls"), ("log", "logs"),
                                          ("explian", "explain"), ("cancle", "cancel")])
def test_mistyped_verb_suggests_the_nearest(tutti, wrong, meant):
    done = tutti(wrong)
    assert done.code == 2
    assert f"did you mean '{meant}'" in done.err
    assert tutti.leftovers() == {}


@pytest.mark.parametrize("verb", ["submit", "run", "batch"])
def test_mistyped_option_suggests_the_nearest(tutti, verb):
    done = tutti(verb, "--cpsu", "2", "x")
    assert done.code == 2
    assert "did you mean '--cpus'" in done.err


@pytest.mark.parametrize("call", [("submit",), ("run", "--"), ("batch",), ("show",), ("logs",),
                                  ("explain",), ("cancel",), ("wait",), ("retry",), ("daemon",),
                                  ("completions",), ("show", "1", "2"), ("submit", "--cpus"),
                                  ("ls", "--json=5"), ("show", "1-3"),
                                  ("logs", "--attempt", "0", "1")])
def test_wrong_call_is_2(tutti, call):
    done = tutti(*call)
    assert done.code == 2, done
    assert done.stdout == b""
    assert "Try 'tutti help" in done.err


def test_errors_in_json_are_one_object_with_error(daemon):
    for call, code in [(("show", "--json", "99"), 1), (("ls", "--json", "--state", "x"), 2),
                       (("submit", "--json", "--cpus", "64", "true"), 1),
                       (("foo", "--json"), 2), (("--json",), 2)]:
        done = daemon(*call)
        assert done.code == code, done
        error = done.json()["error"]
        assert error["code"] and error["message"]
        assert done.stderr == b""


def test_aliases(daemon):
    job = daemon.submit("--", "true")
    daemon.wait(job)
    assert daemon.ok("ps", "-q").out == daemon.ok("ls", "-q").out == daemon.ok("queue", "-q").out
    assert daemon.ok("why", job).out == daemon.ok("explain", job).out


def test_selectors(daemon):
    for _ in range(6):
        daemon.submit("--", "true")
    daemon.ok("wait", "all")
    assert daemon.ok("ls", "-q", "2,4-5").out.split() == ["5", "4", "2"]
    assert daemon.ok("ls", "-q", "last").out == "6\n"
    assert len(daemon.ok("ls", "-q", "all").out.split()) == 6
    assert daemon("show", "9-3").code == 2
    assert daemon("ls", "1,all").code == 2


def test_last_without_a_job_is_a_clear_error(daemon):
    for verb in ("show", "logs", "explain", "wait", "cancel", "retry"):
        done = daemon(verb, "last")
        assert done.code == 1
        assert "no job" in done.err


def test_ls_filters_and_limits(daemon):
    good = daemon.submit("-n", "good", "--", "true")
    bad = daemon.submit("-n", "bad", "--", "false")
    daemon.ok("ls")
    daemon("wait", "all")
    assert daemon.ok("ls", "-q", "--state", "failed").out == f"{bad}\n"
    assert daemon.ok("ls", "-q", "--name", "good").out == f"{good}\n"
    assert daemon.ok("ls", "-q", "-n", "1").out == f"{bad}\n"
    assert daemon.ok("ls", "-q", "--user", "nobody-here").out == ""


def test_ls_shows_the_newest_ten_finished_and_all_with_all(daemon):
    daemon.api.post("/v1/jobs", {"jobs": [{"command": "true", "workdir": "/tmp"}] * 15})
    daemon.ok("wait", "all")
    assert len(daemon.ok("ls", "-q").out.split()) == 10
    assert len(daemon.ok("ls", "-q", "--all").out.split()) == 15


def test_wait_returns_the_first_bad_code_of_several(daemon):
    ids = [daemon.submit("--", "sh", "-c", f"exit {code}") for code in (0, 4, 5)]
    assert daemon.wait(f"{ids[0]}-{ids[2]}") == 4
    assert daemon.wait(ids[0]) == 0


def test_wait_gives_up_after_its_timeout(daemon):
    job = daemon.submit("--", "sleep", "600")
    done = daemon("wait", "--timeout", "200ms", job)
    assert done.code == 124
    assert daemon.state(job) == "running" or daemon.until_state(job, "running")


def test_wait_json(daemon):
    job = daemon.submit("--", "sh", "-c", "exit 3")
    done = daemon("wait", "--json", job)
    assert done.code == 3
    assert done.json()["jobs"] == [{"id": job, "state": "failed", "exit_code": 3}]


def test_logs_tail_and_streams(daemon):
    job = daemon.submit("--", "sh", "-c", "seq 1 100; seq 1 5 >&2")
    daemon.wait(job)
    assert daemon.ok("logs", "--tail", "2", job).stdout == b"99\n100\n"
    only = daemon.ok("logs", "--stderr", job)
    assert (only.stdout, only.stderr) == (b"", b"1\n2\n3\n4\n5\n")
    assert daemon.ok("logs", "--stdout", job).stderr == b""


def test_logs_follow_to_the_last_byte_and_return_the_code(daemon, work):
    job = daemon.submit("--", "sh", "-c",
                        f"echo one; {UNTIL_GO}; printf 'no newline'; exit 5")
    child = daemon.spawn("logs", "-f", job)
    assert child.stdout.readline() == b"one\n"
    (work / "go").touch()
    out, err = child.communicate(timeout=60)
    assert out == b"no newline"
    assert child.returncode == 5


@pytest.mark.parametrize("verb", ["logs", "submit"])
def test_following_ends_when_nobody_reads_and_the_job_goes_on(daemon, verb):
    command = ["--", "sh", "-c", "while echo y; do sleep 0.02; done"]
    words = ["logs", "-f", daemon.submit(*command)] if verb == "logs" else ["submit", "-f", *command]
    child = daemon.spawn(*words)
    child.stdout.readline()
    child.stdout.close()
    assert child.wait(60) == 141
    assert daemon.state(1) == "running"
    daemon.ok("cancel", 1)


def test_logs_of_a_job_that_has_not_started_are_empty_or_say_so(daemon):
    daemon.submit("--cpus", "2", "--", "sleep", "600")
    job = daemon.submit("--", "true")
    done = daemon("logs", job)
    assert done.stdout == b""
    assert done.code in (0, 1)


def test_logs_of_many_tasks_need_a_choice(daemon):
    job = daemon.batch(["echo a", "echo b"])
    daemon.wait(job)
    done = daemon("logs", job)
    assert done.code == 2 and f"{job}.1" in done.err
    assert daemon.ok("logs", "--all", job).out == f"==> {job}.1 <==\na\n==> {job}.2 <==\nb\n"
    assert daemon.ok("logs", "--task", "2", job).out == "b\n"
    assert daemon.ok("logs", "--rank", "2", job).out == "b\n"


def test_mass_cancel_on_a_pipe_needs_yes(daemon):
    nothing = daemon("cancel", "all")
    assert (nothing.code, nothing.out) == (daemon("cancel", "-y", "all").code, daemon("cancel", "-y", "all").out)
    assert "-y" not in nothing.err
    first = daemon.submit("--", "sleep", "600")
    daemon.submit("--", "sleep", "600")
    done = daemon("cancel", "all")
    assert done.code == 2 and "-y" in done.err
    daemon.until_state(first, "running")
    assert "2 jobs" in daemon.ok("cancel", "-y", "all").out
    assert daemon.wait(first) == 130


def test_cancel_of_what_has_ended_is_an_error(daemon):
    job = daemon.submit("--", "true")
    daemon.wait(job)
    done = daemon("cancel", job)
    assert done.code == 1
    assert "nothing left to cancel" in done.err


def test_cancel_of_a_queued_job_never_starts_it(daemon, work):
    blocker = daemon.submit("--cpus", "2", "--", "sh", "-c", UNTIL_GO)
    job = daemon.submit("--", "touch", "ran")
    daemon.ok("cancel", job)
    assert daemon.state(job) == "cancelled"
    (work / "go").touch()
    assert daemon.wait(blocker) == 0
    assert not (work / "ran").exists()


def test_submit_prints_the_id_in_three_forms(daemon):
    assert daemon.ok("submit", "--", "true").out == "Submitted job 1.\n"
    assert daemon.ok("submit", "-q", "--", "true").out == "2\n"
    assert daemon.ok("submit", "--json", "--", "true").json() == {"api": 1, "id": 3, "ids": [3]}


def test_output_to_a_closed_pipe_is_no_crash(daemon):
    daemon.api.post("/v1/jobs", {"jobs": [{"command": "true", "workdir": "/tmp"}] * 300})
    child = daemon.spawn("ls", "--all")
    child.stdout.close()
    child.wait(60)
    assert child.returncode in (0, 141), child.returncode


def test_a_full_disk_under_stdout_is_an_error_that_is_told(daemon):
    with open("/dev/full", "wb") as full:
        done = daemon("ls", "--json", stdout=full)
    assert (done.code, done.err) == (1, "tutti: cannot write to stdout: No space left on device\n")


def test_no_colour_off_a_terminal(daemon):
    daemon.wait(daemon.submit("--", "false"))
    assert b"\x1b" not in daemon.ok("ls").stdout


def test_colour_on_a_terminal_unless_refused(daemon):
    daemon.wait(daemon.submit("--", "false"))
    for refusal, coloured in ((None, True), ("1", False)):
        master, slave = os.openpty()
        child = daemon.spawn("ls", env={"TERM": "xterm", "NO_COLOR": refusal}, stdin=slave,
                             stdout=slave, stderr=slave)
        os.close(slave)
        text = b""
        wait_until(lambda: child.poll() is not None)
        try:
            while piece := os.read(master, 65536):
                text += piece
        except OSError:
            pass
        os.close(master)
        assert (b"\x1b[" in text) == coloured, text


def test_watched_table_goes_on_when_the_daemon_is_started_again(daemon):
    master, slave = os.openpty()
    child = daemon.spawn("ls", "-w", stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    daemon.submit("-n", "before", "--", "true")
    while b"before" not in shown:
        shown += os.read(master, 65536)
    daemon.ok("daemon", "restart")
    daemon.submit("-n", "afterwards", "--", "true")
    while b"afterwards" not in shown:
        shown += os.read(master, 65536)
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 0
    os.close(master)
