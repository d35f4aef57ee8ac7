"""`run` is as good as calling the command: its output, its exit code, its death."""

import hashlib
import os
import signal
import subprocess
import sys

import pytest

import processes
from waiting import SANITIZED, wait_until

# Leaves a grandchild in a session of its own that ignores SIGTERM, and says its number.
ESCAPE = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with open(sys.argv[1] + ".new", "w") as f:
            f.write(str(os.getpid()))
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        time.sleep(600)
    os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(600)
"""


def escaped_pid(work):
    path = work / "escaped"
    wait_until(path.exists, what="the grandchild has told its number")
    return int(path.read_text())


@pytest.mark.parametrize("code", [0, 1, 2, 3, 77, 255])
def test_exit_code_is_the_commands_own(daemon, code):
    assert daemon("run", "--", "sh", "-c", f"exit {code}").code == code


@pytest.mark.parametrize("name", ["TERM", "KILL", "SEGV", "INT"])
def test_signal_n_becomes_128_plus_n(daemon, name):
    number = getattr(signal, f"SIG{name}")
    done = daemon("run", "--", "sh", "-c", f"kill -{name} $$")
    assert done.code == 128 + number, done
    assert f"signal {int(number)}" in done.err


def test_command_that_does_not_exist_is_127_and_named(daemon):
    done = daemon("run", "--", "no-such-command-here", "x")
    assert done.code == 127, done
    assert "no-such-command-here" in done.err


def test_file_that_is_not_executable_is_126(daemon, work):
    (work / "plain").write_text("just text")
    done = daemon("run", "--", "./plain")
    assert done.code == 126, done


def test_work_directory_that_does_not_exist_is_named(daemon):
    done = daemon("run", "-C", "/no/such/folder", "--", "true")
    assert done.code != 0
    assert "/no/such/folder" in done.err


def test_stdout_and_stderr_stay_apart(daemon):
    done = daemon("run", "--", "sh", "-c", "echo one; echo two >&2; echo three; exit 4")
    assert (done.code, done.stdout, done.stderr) == (4, b"one\nthree\n", b"two\n")


def test_last_line_without_a_newline_is_shown(daemon):
    assert daemon.ok("run", "--", "printf", "a\nb").stdout == b"a\nb"


def test_binary_output_arrives_unchanged(daemon, work):
    data = bytes(range(256)) * 400 + b"\xff\xfe\x00\r\n\x1b[2J" + b"\xc3"
    (work / "data").write_bytes(data)
    done = daemon.ok("run", "--", "sh", "-c", "cat data; cat data >&2")
    assert done.stdout == data
    assert done.stderr == data
    assert daemon.ok("logs", "last").stdout == data


def test_megabytes_arrive_complete(daemon, work):
    blocks = 320 if SANITIZED else 1600
    size = blocks * 64 * 1024
    script = f"import sys\nfor i in range({blocks}): sys.stdout.buffer.write((b'%07d\\n' % i) * 8192)"
    (work / "big.py").write_text(script)
    path = work / "received"
    with open(path, "wb") as file:
        child = daemon.spawn("run", "--", sys.executable, "big.py", stdout=file)
        assert child.wait(200) == 0, child.stderr.read()
    expected = hashlib.sha256()
    for i in range(blocks):
        expected.update((b"%07d\n" % i) * 8192)
    assert path.stat().st_size == size
    with open(path, "rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == expected.hexdigest()
    path.unlink()
    # Big output is nothing that the daemon holds in memory; the address sanitizer keeps what is freed.
    if not SANITIZED:
        assert processes.resident_mib(daemon.pid()) < 100


def test_environment_arguments_and_folder_are_the_callers(daemon, work):
    odd = b"a b\tc'd\"e$HOME`x`\\n*\xff"
    done = daemon("run", "--", "sh", "-c", 'pwd; printf "%s" "$ODD" "$1"', "sh", odd,
                  env={"ODD": "x\ny  z"})
    assert done.code == 0, done
    assert done.stdout == str(work).encode() + b"\n" + b"x\ny  z" + odd


def test_stdin_is_empty_not_the_terminal(daemon):
    assert daemon.ok("run", "--", "cat", timeout=20).stdout == b""


def test_task_finds_its_place_in_the_environment(daemon):
    done = daemon.ok("run", "-n", "place", "--cpus", "1", "--", "env")
    found = dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line)
    assert found["TUTTI_JOB_NAME"] == "place"
    assert found["TUTTI_JOB_ID"] == "1"
    assert found["TUTTI_ATTEMPT"] == "1"
    assert found["TUTTI_TASK_COUNT"] == "1"


def test_run_starts_the_daemon_by_itself(tutti):
    assert tutti.ok("run", "--", "echo", "hello").stdout == b"hello\n"
    assert tutti.status()["pid"] > 0


def test_without_autostart_a_missing_daemon_is_an_error(tutti):
    done = tutti("run", "--", "true", env={"TUTTI_NO_AUTOSTART": "1"})
    assert done.code == 1
    assert "daemon start" in done.err


def test_ctrl_c_cancels_and_leaves_no_process(daemon, work):
    child = daemon.spawn("run", "--grace", "1s", "--", sys.executable, "-c", ESCAPE, "escaped")
    escaped = escaped_pid(work)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    wait_until(lambda: not processes.alive(escaped), what="the grandchild is gone")
    assert daemon.state(1) == "cancelled"


def test_a_job_that_prints_for_nobody_is_cancelled_as_a_pipe_would(daemon):
    read, write = os.pipe()
    child = daemon.spawn("run", "--", "sh", "-c", "while echo y; do sleep 0.02; done", stdout=write)
    os.close(write)
    os.read(read, 100)
    os.close(read)
    assert child.wait(60) == 141
    assert b"nobody reads its output: cancelling job 1" in child.stderr.read()
    assert daemon.until_final(1)["state"] == "cancelled"


def test_output_that_nobody_reads_of_a_job_that_has_ended_is_no_error(daemon):
    child = daemon.spawn("run", "--", "seq", "1000000", stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    child.stdout.read(1)
    daemon.until_final(1)
    child.stdout.close()
    assert child.wait(60) == 141
    assert b"nothing left" not in child.stderr.read()


def test_time_limit_is_124_and_says_so(daemon):
    done = daemon("run", "--time", "500ms", "--grace", "1s", "--", "sleep", "600")
    assert done.code == 124, done
    assert "time limit" in done.err
    assert daemon.job(1)["ending"] == "timeout"


def test_time_limit_ends_what_left_the_session_and_ignores_sigterm(daemon, work):
    done = daemon("run", "--time", "2s", "--grace", "1s", "--", sys.executable, "-c", ESCAPE,
                  "escaped")
    assert done.code == 124, done
    escaped = escaped_pid(work)
    wait_until(lambda: not processes.alive(escaped), what="the grandchild is gone")


def test_children_do_not_survive_a_command_that_ends(daemon, work):
    text = ESCAPE.replace("signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)\n",
                          "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n")
    done = daemon("run", "--grace", "1s", "--", sys.executable, "-c", text, "escaped")
    assert done.code == 0, done
    escaped = escaped_pid(work)
    wait_until(lambda: not processes.alive(escaped), what="the grandchild is gone")


def test_command_may_end_cleanly_within_the_grace_period(daemon):
    done = daemon("run", "--time", "500ms", "--grace", "30s", "--", "sh", "-c",
                  'trap "echo saved; exit 0" TERM; while :; do sleep 0.05; done')
    assert done.code == 124
    assert done.stdout == b"saved\n"


def test_json_prints_the_finished_job_and_keeps_the_exit_code(daemon):
    done = daemon("run", "--json", "--", "sh", "-c", "echo hidden; exit 5")
    assert done.code == 5
    job = done.json()
    assert (job["api"], job["state"], job["exit_code"]) == (1, "failed", 5)
    assert daemon.ok("logs", job["id"]).stdout == b"hidden\n"


def test_verbose_tells_id_and_result_on_stderr(daemon):
    done = daemon.ok("run", "-v", "--", "echo", "x")
    assert done.stdout == b"x\n"
    assert "job 1" in done.err and "succeeded" in done.err


def test_job_outlives_the_terminal_from_which_it_was_submitted(daemon, work):
    master, slave = os.openpty()

    def own_terminal():
        os.setsid()
        import fcntl
        import termios
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    command = f"'{daemon.binary}' submit -- sh -c 'sleep 2; echo survived > out'; sleep 600"
    shell = subprocess.Popen(["bash", "-c", command], stdin=slave, stdout=slave, stderr=slave,
                             cwd=work, env=daemon.environment(), preexec_fn=own_terminal)
    os.close(slave)
    wait_until(lambda: daemon.api.get("/v1/jobs")["jobs"], what="the job is there")
    daemon.until_state(1, "running")
    os.killpg(shell.pid, signal.SIGHUP)
    os.close(master)
    shell.wait(30)
    assert daemon.wait(1) == 0
    assert (work / "out").read_text() == "survived\n"


def test_daemon_started_by_a_verb_outlives_that_verbs_session(tutti, work):
    command = f"'{tutti.binary}' submit -q -- sleep 1; sleep 600"
    shell = subprocess.Popen(["bash", "-c", command], cwd=work, env=tutti.environment(),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             start_new_session=True)
    assert shell.stdout.readline() == b"1\n"
    pid = tutti.pid()
    os.killpg(shell.pid, signal.SIGHUP)
    shell.wait(30)
    shell.stdout.close()
    assert tutti.wait(1) == 0
    assert tutti.pid() == pid


def test_stdout_closed_by_the_caller_gets_nothing_and_harms_nothing(daemon):
    for verb in (["run", "--", "echo", "x"], ["logs", "last"]):
        done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", daemon.binary, *verb],
                              env=daemon.environment(), cwd=daemon.work, stderr=subprocess.PIPE)
        assert (done.returncode, done.stderr) == (0, b"")
    assert daemon.ok("logs", "last").stdout == b"x\n"
