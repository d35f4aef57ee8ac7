"""tutti prune: what goes, what stays, and that it may be killed at any moment."""

import os
import pty
import sqlite3
import subprocess
import time

import pytest

from driver import UNTIL_GO
from waiting import SANITIZED, SLOW, wait_until

LINES = 4000 if SANITIZED else 20000
INTERRUPTED = 2000
TABLES = ("specs", "tasks", "lines", "earlier_attempts")
AT_ONCE = ("prune", "-y", "--older-than", "0")


def rows(tutti, question, *values):
    with sqlite3.connect(f"file:{tutti.home}/tutti.db?mode=ro", uri=True) as database:
        return database.execute(question, values).fetchall()


def rows_of(tutti, job):
    """How many rows of a job there are in each table, but for those with none."""
    counts = {t: rows(tutti, f"SELECT count(*) FROM {t} WHERE job = ?", job)[0][0] for t in TABLES}
    return {table: count for table, count in counts.items() if count}


def output(tutti):
    return sorted(p.name for p in (tutti.home / "logs/0").glob("*"))


def kept(tutti, folder):
    """The files in a folder of the home, which nobody has used for a day."""
    files = sorted(p for p in (tutti.home / folder).glob("**/*") if p.is_file())
    for path in files:
        os.utime(path, (time.time() - 86400, path.stat().st_mtime))
    return [str(p.relative_to(tutti.home / folder)) for p in files]


def ran(tutti, *arguments, **more):
    job = tutti.submit(*arguments, **more)
    tutti.until_final(job)
    return job


def test_rows_output_and_copies_go_and_the_rest_stays(daemon, work):
    (work / "file").write_text("content")
    own = ran(daemon, "--output", work / "own.txt", "--", "echo", "mine")
    array = ran(daemon, "--array", "1-3", "--retries", "1", "--backoff", "10ms", "--", "false")
    copied = ran(daemon, "--snapshot", "--", "sh", "-c", "mkdir made; chmod 500 made; cat file")
    daemon.ok("retry", array)
    daemon.until_final(array)
    last = ran(daemon, "--", "echo", "kept")
    (daemon.home / "logs/0/notes.txt").write_text("somebody's")
    profiles = daemon.ok("profile", "ls", "--json").json()
    assert rows_of(daemon, array)["earlier_attempts"] >= 3
    kept(daemon, "blobs"), kept(daemon, "snapshots")

    said = daemon.ok(*AT_ONCE, "--json", f"1-{copied}").json()
    assert said["jobs"] == [own, array, copied] and said["tasks"] == 5
    assert said["kept"] == {"unfinished": 0, "needed": 0, "recent": 0}
    assert said["files"] >= 2 + 12 + 3 and said["bytes"] > 0 and said["stuck_files"] == 0
    for job in (own, array, copied):
        assert rows_of(daemon, job) == {}
    assert output(daemon) == sorted(["notes.txt", f"{last}.err", f"{last}.out"])
    assert (work / "own.txt").read_text() == "mine\n"
    assert list((daemon.home / "work").iterdir()) == []
    assert kept(daemon, "blobs") == [] and kept(daemon, "snapshots") == []
    assert daemon.ok("logs", last).out == "kept\n"
    assert [job["id"] for job in daemon.ok("ls", "--json").json()["jobs"]] == [last]
    assert daemon.ok("profile", "ls", "--json").json() == profiles


def test_a_dry_run_says_it_and_changes_nothing(daemon):
    job = ran(daemon, "--", "echo", "hello")
    said = daemon.ok("prune", "--dry-run", "--older-than", "0")
    assert said.out.startswith("Would forget 1 job (1 task) and 2 files (")
    assert daemon.ok("logs", job).out == "hello\n"
    assert daemon.ok("prune", "--dry-run", "--json", "all").json()["kept"]["recent"] == 1
    assert daemon.ok("prune").out == "Nothing to forget.\nKept: 1 job that ended in the last 30d.\n"
    assert daemon.ok("logs", job).out == "hello\n"


def test_a_pipe_needs_yes_and_a_terminal_is_asked(daemon):
    job = ran(daemon, "--", "true")
    refused = daemon("prune", "--older-than", "0")
    assert refused.code == 2 and "-y" in refused.err and daemon.state(job) == "succeeded"
    assert daemon("prune", "--older-than", "0", "--json").code == 2
    for answer, code in ((b"n\n", 1), (b"y\n", 0)):
        terminal, ours = pty.openpty()
        child = daemon.spawn("prune", "--older-than", "0", stdin=ours, stderr=subprocess.PIPE)
        os.write(terminal, answer)
        told = child.communicate(timeout=30 * SLOW)
        daemon.children.remove(child)
        os.close(terminal), os.close(ours)
        assert child.returncode == code, told
        assert b"Forget 1 job (1 task) and 2 files" in told[0] + told[1]
    assert daemon.api.request("GET", f"/v1/jobs/{job}").status == 404


def test_unfinished_and_needed_jobs_are_kept_and_that_is_said(daemon, work):
    (work / "file").touch()
    first = ran(daemon, "--", "true")
    host = ran(daemon, "--snapshot", "--", "true")
    running = daemon.submit("--", "sh", "-c", UNTIL_GO)
    guest = daemon.submit("--after", running, "--", "sh", "-c", "cat file > seen",
                          cwd=daemon.home / "work" / str(host))
    waiting = daemon.submit("--after", f"{first},{running}", "--", "true")
    daemon.until_state(running, "running")
    said = daemon.ok(*AT_ONCE)
    assert said.out == ("Nothing to forget.\nKept: 3 jobs that have not ended, 2 jobs that jobs which "
                        "have not ended need.\n")
    assert daemon.ok(*AT_ONCE, running).out.endswith("Kept: 1 job that has not ended.\n")
    (work / "go").touch()
    assert daemon.wait(waiting) == 0 and daemon.wait(guest) == 0
    assert daemon.ok(*AT_ONCE, "--json").json()["jobs"] == [first, host, running, guest, waiting]


def test_a_pruned_job_is_not_there_for_any_verb_and_its_number_is_not_used_again(daemon):
    ran(daemon, "--", "true")
    job = ran(daemon, "--", "false")
    daemon.ok(*AT_ONCE, "last")
    for verb in ("show", "logs", "wait", "retry", "explain", "cancel"):
        gone = daemon(verb, job)
        assert gone.code == 1 and f"there is no job {job}" in gone.err, (verb, gone)
    after = daemon("submit", "--after", job, "--", "true")
    assert after.code == 1 and "there is no such job" in after.err
    assert "there is no job" in daemon("prune", "-y", job).err
    assert daemon("prune", "-y", "1.0").code == 2
    daemon.ok(*AT_ONCE)
    assert daemon.ok("ls").out == "No jobs.\n"
    daemon.ok("daemon", "restart")
    assert daemon.submit("--", "true") == job + 1


def test_a_snapshot_stays_while_one_job_needs_it(daemon, work):
    (work / "file").write_text("shared")
    command = ("sh", "-c", f"cd {work}; {UNTIL_GO}; cd - > /dev/null; cat file")
    ran(daemon, "--snapshot", "--", "true")
    needs = daemon.submit("--snapshot", "--cpus", "2", "--", *command)
    behind = daemon.submit("--snapshot", "--cpus", "2", "--", "cat", "file")
    daemon.until_state(needs, "running")
    blobs, snapshots = kept(daemon, "blobs"), kept(daemon, "snapshots")
    daemon.ok(*AT_ONCE)
    assert kept(daemon, "blobs") == blobs and kept(daemon, "snapshots") == snapshots
    (work / "go").touch()
    assert daemon.wait(needs) == 0 and daemon.wait(behind) == 0
    assert daemon.ok("logs", behind).out == "shared"
    # It was sent a moment ago: who has sent it may be about to submit a job with it.
    os.utime(daemon.home / "snapshots" / snapshots[0])
    daemon.ok(*AT_ONCE)
    assert kept(daemon, "snapshots") == snapshots and kept(daemon, "blobs") == blobs
    daemon.ok(*AT_ONCE)
    assert kept(daemon, "snapshots") == [] and kept(daemon, "blobs") == []


def test_snapshots_that_are_submitted_meanwhile_are_whole(daemon, work):
    """Every content is old and unused whenever a prune looks, but for those who are about to use it."""
    (work / "file").write_text("again")
    for _ in range(8):
        kept(daemon, "blobs"), kept(daemon, "snapshots")
        pruning = daemon.spawn(*AT_ONCE)
        job = daemon.submit("--snapshot", "--", "cat", "file")
        assert pruning.wait(30 * SLOW) == 0
        assert daemon.wait(job) == 0 and daemon.ok("logs", job).out == "again"


def test_it_is_the_same_after_a_restart_and_the_journal_is_whole(daemon):
    for command in ("true", "false", "true"):
        ran(daemon, "--", command)
    waiting = daemon.submit("--cpus", "2", "--", "sleep", "1000")
    behind = daemon.submit("--after", waiting, "--", "true")
    daemon.until_state(waiting, "running")
    daemon.ok(*AT_ONCE)
    events = rows(daemon, "SELECT min(seq), max(seq), count(*) FROM journal")[0]
    assert events[0] == 1 and events[1] == events[2] >= 3 * 3

    def shown():
        jobs = daemon.ok("ls", "--all", "--json").json()["jobs"]
        return [(job["id"], job["state"]) for job in jobs], rows(daemon, "SELECT * FROM usage")

    before = shown()
    assert [job for job, _ in before[0]] == [behind, waiting]
    daemon.kill9()
    daemon.ok("daemon", "start")
    assert shown() == before
    daemon.ok("cancel", "-y", "all")
    daemon.until_final(waiting)


def test_what_an_interrupted_prune_has_left_goes_with_the_next(daemon):
    job = ran(daemon, "--array", "1-2", "--", "true")
    daemon.ok(*AT_ONCE)
    copy = daemon.home / "work" / str(job)
    (copy / "deep").mkdir(parents=True)
    (copy / "deep/file").touch()
    (daemon.home / "logs/0" / str(job)).mkdir()
    (daemon.home / f"logs/0/{job}/1.out").touch()
    for name in (f"{job}.a2.out", f"{job + 5}.out", "0.out", "01.out", f"{job}.txt"):
        (daemon.home / "logs/0" / name).touch()
    said = daemon.ok(*AT_ONCE, "--json").json()
    assert said["jobs"] == [] and said["files"] == 3
    # A number that no job had yet, and names that Tutti gives to nothing, are somebody else's.
    assert output(daemon) == sorted([f"{job + 5}.out", "0.out", "01.out", f"{job}.txt"])
    assert not copy.exists()


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_ended_in_the_middle_it_goes_on_later(daemon, end):
    job = daemon.batch(["true"] * INTERRUPTED)
    small = ran(daemon, "--", "echo", "small")
    daemon.until_final(job, seconds=180)
    pruning = daemon.spawn("prune", "-y", "--older-than", "0", job)
    wait_until(lambda: not rows(daemon, "SELECT 1 FROM jobs WHERE id = ?", job),
               what="the job's row is gone")
    daemon.kill9() if end == "kill" else daemon.ok("daemon", "stop")
    told = pruning.communicate(timeout=30 * SLOW)[1]
    # It may have come to its end just before.
    assert pruning.returncode == 0 or end == "kill" or b"in the middle of it" in told
    daemon.ok("daemon", "start")
    assert daemon("show", job).code == 1
    assert daemon.ok("logs", small).out == "small\n"
    assert daemon.ok(*AT_ONCE, "--json", small).json()["jobs"] == [small]
    assert rows_of(daemon, job) == {} and output(daemon) == []
    assert rows(daemon, "PRAGMA integrity_check") == [("ok",)]
    assert daemon.submit("--", "true") == small + 1


def test_a_large_batch_goes_while_other_jobs_start(daemon):
    job = daemon.batch([f"echo {n}" for n in range(LINES)], "--output", "/dev/null")
    files = daemon.batch(["true"] * INTERRUPTED)
    daemon.until_final(files, seconds=180)
    pages = rows(daemon, "PRAGMA page_count")[0][0]
    pruning = daemon.spawn(*AT_ONCE, f"{job}-{files}")
    others = []
    while pruning.poll() is None:
        others.append(daemon.api.submit(command=["true"]))
        daemon.until_final(others[-1])
    out, err = pruning.communicate()
    assert pruning.returncode == 0, err
    assert f"Forgot 2 jobs ({LINES + INTERRUPTED:,} tasks)".encode() in out
    assert others
    assert rows_of(daemon, job) == rows_of(daemon, files) == {}
    # What it took is used again.
    again = daemon.batch(["true"] * INTERRUPTED)
    daemon.until_final(again, seconds=180)
    assert rows(daemon, "PRAGMA page_count")[0][0] < pages * 1.3
