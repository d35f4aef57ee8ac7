"""Full disk, few descriptors, read-only homes, damaged and foreign databases."""

import os
import pwd
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

import processes
from driver import UNTIL_GO
from waiting import SLOW, wait_until


def database(tutti):
    found = [p for p in tutti.home.rglob("*") if p.is_file() and p.suffix in (".db", ".sqlite")]
    assert len(found) == 1, list(tutti.home.rglob("*"))
    return found[0]


def stop(tutti):
    pids = list(tutti.leftovers())
    tutti.ok("daemon", "stop")
    wait_until(lambda: not any(processes.alive(pid) for pid in pids), what="daemon and keeper end")


def fill(folder):
    path = folder / "filler"
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return path


@pytest.fixture
def small_disk():
    """A folder on a file system of 24 MB; None where mounting is not permitted."""
    folder = Path(tempfile.mkdtemp(prefix="ttd", dir="/tmp"))
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tutti-test", str(folder)],
                          capture_output=True)
    yield folder if done.returncode == 0 else None
    if done.returncode == 0:
        subprocess.run(["umount", "-l", str(folder)], check=True)
    folder.rmdir()


def test_full_disk_is_a_clear_error_and_loses_nothing(small_disk, make_tutti):
    if small_disk is None:
        return full_by_file_size(make_tutti())
    tutti = make_tutti(small_disk / "h")
    tutti.start()
    before = tutti.submit("--", "true")
    assert tutti.wait(before) == 0
    filler = fill(small_disk)
    os.truncate(filler, filler.stat().st_size - (1 << 20))  # room for a few
    acknowledged, refused = [], None
    big = "x" * 100_000
    for _ in range(100):
        done = tutti("submit", "-q", "--", "true", env={"BIG": big + str(len(acknowledged))})
        if done.code != 0:
            refused = done
            break
        acknowledged.append(int(done.out))
    assert acknowledged, refused
    assert refused, "a full disk took a hundred submissions"
    assert refused.code == 1
    assert "space" in refused.err.lower() or "full" in refused.err.lower(), refused
    assert "succeeded" in tutti.ok("explain", before).out
    doctor = tutti("doctor", env={"TUTTI_NO_AUTOSTART": "1"})
    assert doctor.code != 0
    assert "disk: - free" not in doctor.out
    assert "space" in doctor.out.lower() or "full" in doctor.out.lower(), doctor
    filler.unlink()
    wait_until(lambda: tutti("run", "--", "true").code == 0, what="it goes on when there is room")
    for job in [before, *acknowledged]:
        wait_until(lambda: tutti.state(job) in ("succeeded", "failed"))
        assert tutti.state(job) == "succeeded", tutti.ok("show", job)


def full_by_file_size(tutti):
    """No file may grow beyond a limit: the same to a program as a disk that is full."""
    tutti.start()
    before = tutti.submit("--", "true")
    assert tutti.wait(before) == 0
    resource.prlimit(tutti.pid(), resource.RLIMIT_FSIZE, (1 << 16, resource.RLIM_INFINITY))
    big, refused = "x" * 100_000, None
    for n in range(100):
        done = tutti("submit", "-q", "--", "true", env={"BIG": big + str(n),
                                                        "TUTTI_NO_AUTOSTART": "1"})
        if done.code != 0:
            refused = done
            break
    assert refused and refused.code == 1 and refused.err
    stop(tutti)
    assert tutti.ok("run", "--", "true").code == 0
    assert tutti.state(before) == "succeeded"


def test_results_wait_in_the_keeper_while_the_disk_is_full(small_disk, make_tutti):
    if small_disk is None:
        pytest.skip("mounting is not permitted here; the file size limit stops the database only")
    tutti = make_tutti(small_disk / "h")
    tutti.start()
    job = tutti.submit("-o", "/dev/null", "--error", "/dev/null", "--", "sh", "-c",
                       f"{UNTIL_GO}; exit 7")
    tutti.until_state(job, "running")
    filler = fill(small_disk)
    for n in range(100):
        if tutti("submit", "-q", "--", "true", env={"BIG": "y" * 100_000 + str(n)}).code != 0:
            break
    (tutti.work / "go").touch()
    wait_until(lambda: not [c for c in tutti.leftovers().values() if c.startswith("sh -c")])
    filler.unlink()
    assert tutti.wait(job) == 7


def test_256_descriptors_are_enough_for_200_jobs_and_50_clients(tutti, work):
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    tutti.start(slots=40, preexec_fn=limit)
    children = []
    job = tutti.batch(["sleep 0.3; echo $TUTTI_TASK"] * 200, "--cpus", "0.2")
    for _ in range(50):
        children.append(tutti.spawn("wait", job))
    single = [tutti.submit("--", "sh", "-c", f"exit {n}") for n in range(3)]
    for child in children:
        out, err = child.communicate(timeout=120 * SLOW)
        assert child.returncode == 0, (out, err)
    assert [tutti.wait(job) for job in single] == [0, 1, 2]
    assert tutti.job(job)["counts"]["succeeded"] == 200
    for n in (1, 100, 200):
        assert tutti.ok("logs", f"{job}.{n}").stdout == b"%d\n" % n


def test_more_clients_than_descriptors_are_served_one_after_the_other(tutti):
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    tutti.start(slots=2, preexec_fn=limit)
    pid = tutti.pid()
    idle = []
    try:
        for _ in range(400):
            connection = tutti.api.connection()
            try:
                connection.connect()
            except OSError:
                break
            idle.append(connection)
    finally:
        for connection in idle:
            connection.close()
    wait_until(lambda: tutti("run", "--", "true", timeout=20).code == 0)
    assert tutti.pid() == pid
    # Of the daemon, not of the shell that asks.
    assert "descriptors: only 256 files" in tutti("doctor").out


def test_of_too_many_connections_the_last_are_refused_at_once(tutti):
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    tutti.start(slots=2, preexec_fn=limit)
    idle = [tutti.api.connection() for _ in range(300)]
    try:
        for connection in idle:
            connection.connect()
        done = tutti("ls", timeout=15)
        assert done.code == 1 and "too many connections" in done.err, done
        status = tutti("daemon", "status", timeout=15)
        assert status.code == 1 and "too many connections" in status.err, status
        doctor = tutti("doctor").out
        assert "too many connections" in doctor and "only 256 files" in doctor, doctor
    finally:
        for connection in idle:
            connection.close()
    wait_until(lambda: tutti("run", "--", "true", timeout=20).code == 0)


def test_home_under_a_file_is_a_clear_error(make_tutti, work):
    (work / "file").write_text("")
    tutti = make_tutti(work / "file" / "home")
    done = tutti("run", "--", "true")
    assert done.code == 1
    assert str(work / "file") in done.err
    assert tutti("doctor").code == 1


def test_read_only_home_is_a_clear_error(make_tutti, home, work):
    """As an ordinary user, since root may write everywhere."""
    nobody = pwd.getpwnam("nobody")
    if os.getuid() == 0:
        program = home / "tutti"
        home.chmod(0o755)
        shutil.copy(make_tutti().binary, program)
        locked = home / "locked"
        locked.mkdir(mode=0o755)
        options = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        tutti = make_tutti(locked / "h", program)
    else:
        locked = home / "locked"
        locked.mkdir(mode=0o555)
        options = {}
        tutti = make_tutti(locked / "h")
    done = tutti("run", "--", "true", cwd="/", **options)
    assert done.code == 1, done
    assert str(locked) in done.err and "ermission denied" in done.err
    doctor = tutti("doctor", cwd="/", **options)
    assert doctor.code == 1
    assert str(locked) in doctor.out + doctor.err


def test_damaged_database_is_refused_named_and_left_alone(daemon):
    daemon.ok("run", "--", "true")
    stop(daemon)
    path = database(daemon)
    damaged = b"this is no database".ljust(4096, b"!") + path.read_bytes()[4096:]
    path.write_bytes(damaged)
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    doctor = daemon("doctor")
    assert doctor.code == 1 and str(path) in doctor.out, doctor
    assert path.read_bytes() == damaged
    done = daemon("ls")
    assert done.code == 1
    assert str(path) in done.err, done
    assert path.read_bytes() == damaged
    doctor = daemon("doctor")
    assert doctor.code == 1
    assert path.name in doctor.out


def test_truncated_database_is_refused(daemon):
    job = daemon.batch(["true"] * 500)
    daemon.wait(job)
    stop(daemon)
    path = database(daemon)
    path.write_bytes(path.read_bytes()[:path.stat().st_size // 2 // 4096 * 4096])
    done = daemon("ls")
    assert done.code == 1, done
    assert "damaged" in done.err or "malformed" in done.err or "corrupt" in done.err


def test_a_database_that_was_emptied_is_refused(daemon):
    assert daemon("run", "--", "echo", "before").code == 0
    database = daemon.home / "tutti.db"
    log = daemon.home / "tutti.db-wal"
    daemon.kill9()
    kept, logged = database.read_bytes(), log.read_bytes()
    assert logged
    for content in (b"", None):
        database.write_bytes(content) if content is not None else database.unlink()
        done = daemon("ls")
        assert done.code == 1 and "its write-ahead log is there" in done.err
        assert "its write-ahead log is there" in daemon("doctor").out
        assert log.read_bytes() == logged
    database.write_bytes(kept)
    assert daemon.ok("logs", "1").stdout == b"before\n"
    daemon.ok("daemon", "stop")
    database.write_bytes(b"")
    done = daemon("ls")
    assert done.code == 1 and "there is output of its jobs" in done.err


def test_a_new_database_overwrites_no_output(daemon):
    assert daemon("run", "--", "echo", "before").code == 0
    daemon.ok("daemon", "stop")
    (daemon.home / "tutti.db").rename(daemon.home / "away.db")
    assert daemon("run", "--", "echo", "after").out == "after\n"
    told = [path.read_bytes() for path in sorted(daemon.home.glob("logs*/0/1.out"))]
    assert told == [b"after\n", b"before\n"]


def test_a_job_of_a_new_database_runs_in_a_copy_of_its_own(daemon, work):
    (work / "code").write_text("before\n")
    assert daemon("run", "--snapshot", "--", "sh", "-c", "cat code; echo > made").out == "before\n"
    daemon.ok("daemon", "stop")
    (daemon.home / "tutti.db").unlink()
    # As if a daemon had been killed when it had set one of the folders aside.
    (daemon.home / "logs").rename(daemon.home / "logs.1")
    (work / "code").write_text("after\n")
    assert daemon("run", "--snapshot", "--", "sh", "-c", "ls; cat code").out == "code\nafter\n"
    assert (daemon.home / "work.1/1/made").exists() and not (daemon.home / "logs.2").exists()


def test_no_new_database_while_jobs_of_the_earlier_one_run(daemon, work):
    job = daemon.submit("--", "sh", "-c", f"echo $$ > pid; echo before; {UNTIL_GO}")
    wait_until((work / "pid").exists)
    keeper = daemon.keeper_pid()
    daemon.ok("daemon", "stop")
    database = daemon.home / "tutti.db"
    database.rename(daemon.home / "away.db")
    done = daemon("ls")
    assert done.code == 1 and f"'kill {keeper}'" in done.err, done
    assert not database.exists() and not (daemon.home / "logs.1").exists()
    (daemon.home / "away.db").rename(database)
    daemon.ok("daemon", "start")
    assert daemon.state(job) == "running"
    daemon.ok("daemon", "stop")
    database.unlink()
    processes.kill(keeper, signal.SIGTERM)
    assert daemon("run", "--", "echo", "after").out == "after\n"
    assert (daemon.home / "logs.1/0/1.out").read_text() == "before\n"
    assert not processes.alive(int((work / "pid").read_text()))


def test_newer_database_is_refused_and_not_changed(daemon):
    daemon.ok("run", "--", "true")
    stop(daemon)
    path = database(daemon)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute(f"PRAGMA user_version = {version + 1000}")
    connection.close()
    before = path.read_bytes()
    done = daemon("ls")
    assert done.code == 1
    assert "newer" in done.err
    assert path.read_bytes() == before
    doctor = daemon("doctor")
    assert doctor.code == 1 and "newer" in doctor.out
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    assert daemon("doctor").code == 0
    assert "succeeded" in daemon.ok("ls").out


def test_foreign_database_is_not_touched(tutti, daemon):
    stop(daemon)
    path = database(daemon)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine(x)")
    connection.close()
    before = path.read_bytes()
    done = daemon("ls")
    assert done.code == 1
    assert path.read_bytes() == before


def test_second_daemon_on_one_home_refuses_and_names_the_first(daemon):
    pid = daemon.pid()
    done = daemon("daemon", "run", timeout=20)
    assert done.code == 1
    assert str(pid) in done.err, done
    assert daemon.pid() == pid
    assert daemon.ok("run", "--", "true").code == 0


def test_many_verbs_at_once_start_one_daemon(tutti):
    children = [tutti.spawn("run", "--", "echo", str(n)) for n in range(8)]
    for n, child in enumerate(children):
        out, err = child.communicate(timeout=60 * SLOW)
        assert (child.returncode, out) == (0, b"%d\n" % n), err
    daemons = [c for c in tutti.leftovers().values() if " daemon run" in c]
    assert len(daemons) == 1, daemons


def test_stale_socket_and_lock_of_a_crash_are_no_obstacle(daemon):
    daemon.kill9()
    assert (daemon.home / "run/tutti.sock").exists()
    assert daemon.ok("run", "--", "echo", "x").stdout == b"x\n"


def test_very_long_home_works(make_tutti, work):
    folder = work / ("long" * 20) / ("name" * 20)
    folder.mkdir(parents=True)
    tutti = make_tutti(folder)
    assert tutti.ok("run", "--", "echo", "x").stdout == b"x\n"
    tutti.ok("daemon", "stop")


def test_daemon_whose_process_is_stopped_is_named_by_every_verb(daemon):
    daemon.ok("submit", "--", "sh", "-c", UNTIL_GO)
    pid = daemon.pid()
    processes.freeze(pid)
    try:
        verbs = [("ls",), ("doctor",), ("daemon", "stop"), ("submit", "--", "true"), ("wait", "1")]
        children = [daemon.spawn(*verb) for verb in verbs]
        for verb, child in zip(verbs, children):
            out, err = child.communicate(timeout=60 * SLOW)
            assert child.returncode == 1, verb
            assert b"(pid %d) does not answer: its process is stopped" % pid in out + err, verb
    finally:
        os.kill(pid, signal.SIGCONT)
    assert daemon.pid() == pid
    (daemon.work / "go").touch()


def test_daemon_elsewhere_that_is_stopped_is_not_waited_for(tutti, work):
    host = f"127.0.0.1:{tutti.listen()}"
    token = (tutti.home / "token").read_text().strip()
    there = {"TUTTI_HOST": host, "TUTTI_TOKEN": token}
    job = tutti.submit("--", "sh", "-c", UNTIL_GO)
    pid = tutti.pid()
    quiet = tutti.spawn("wait", job, env=there)
    processes.freeze(pid)
    try:
        children = [quiet, tutti.spawn("ls", env=there), tutti.spawn("logs", "-f", job, env=there)]
        for child in children:
            _, err = child.communicate(timeout=60 * SLOW)
            assert child.returncode == 1
            assert b"the daemon at %s does not answer" % host.encode() in err
    finally:
        os.kill(pid, signal.SIGCONT)
    (work / "go").touch()


def test_stream_of_a_daemon_elsewhere_may_be_quiet(tutti, work):
    host = f"127.0.0.1:{tutti.listen()}"
    token = (tutti.home / "token").read_text().strip()
    job = tutti.submit("--", "sh", "-c", UNTIL_GO)
    late = tutti("wait", "--timeout", "8s", job, env={"TUTTI_HOST": host, "TUTTI_TOKEN": token})
    assert late.code == 124, late
    (work / "go").touch()


def test_daemon_that_goes_on_in_time_answers(daemon):
    pid = daemon.pid()
    processes.freeze(pid)
    child = daemon.spawn("run", "--", "echo", "x")
    os.kill(pid, signal.SIGCONT)
    out, err = child.communicate(timeout=60 * SLOW)
    assert out == b"x\n"


def test_clients_of_all_kinds_at_once(daemon):
    problems = []

    def one(n):
        try:
            assert daemon.ok("run", "--", "echo", str(n)).stdout == b"%d\n" % n
            daemon.ok("ls")
            daemon.ok("show", "1")
        except AssertionError as problem:
            problems.append(problem)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


@pytest.fixture
def endless_snapshot(daemon, work):
    """A client whose snapshot the daemon has begun and would not finish in this test's time."""
    with open(work / "endless", "wb") as file:
        file.truncate(1 << 42)
    client = daemon.spawn("submit", "--snapshot", "--", "true")
    wait_until(lambda: copies_begun(daemon), what="the daemon copies")
    return client


def copies_begun(daemon):
    return list((Path(daemon.home) / "blobs").glob("new.*"))


def test_a_snapshot_that_nobody_waits_for_is_given_up(daemon, endless_snapshot, work):
    endless_snapshot.send_signal(signal.SIGINT)
    assert endless_snapshot.wait(30 * SLOW) == -signal.SIGINT
    wait_until(lambda: not copies_begun(daemon), what="the copy is gone")
    (work / "endless").unlink()
    assert daemon.ok("run", "--snapshot", "--", "echo", "here").out == "here\n"


def test_a_daemon_stops_while_it_makes_a_snapshot(daemon, endless_snapshot):
    daemon.ok("daemon", "stop")
    assert endless_snapshot.wait(30 * SLOW) == 1
    assert not copies_begun(daemon)
