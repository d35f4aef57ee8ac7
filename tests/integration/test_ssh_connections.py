"""Connections as they are in labs: through another machine, with as few sessions as sshd allows, away for a while."""

import subprocess
import time

from test_ssh import gate, pool, until  # noqa: F401 - fixtures
from waiting import wait_until


def logins(machine):
    return (machine.folder / "sshd.log").read_text().count("Accepted publickey")


def test_a_machine_behind_another_is_reached_through_it(pool, make_machine, work):  # noqa: F811
    gateway, machine = make_machine("gateway"), make_machine()
    # Whoever jumps has been there before: ssh asks for nothing on the way.
    pool.add(gateway)
    pool.know(machine)
    pool.config.write_text(pool.config.read_text() + "  ProxyJump gateway\n")
    before = logins(gateway)
    pool.tutti.ok("nodes", "add", "m1")
    assert logins(gateway) > before
    tree = work / "tree"
    tree.mkdir()
    (tree / "in").write_text("content")
    job = pool.tutti.submit("--on", "m1", "--results", "out", "--", "cp", "in", "out", cwd=tree)
    assert pool.tutti.wait(job) == 0
    assert (tree / f"results/{job}/out").read_text() == "content"
    gateway.stop()
    pool.until("down", seconds=60)
    gateway.start()
    pool.until("up", seconds=120)
    assert pool.output(pool.run("echo again")) == "again\n"


def test_ten_sessions_are_enough_for_many_jobs(pool, make_machine, gate, work):  # noqa: F811
    machine = make_machine(max_sessions=10)
    pool.add(machine)
    tree = work / "tree"
    tree.mkdir()
    (tree / "in").write_text("content")
    jobs = [pool.tutti.spawn("run", "--on", "m1", "--cpus", "0.01", "--results", "out", "--", "sh", "-c",
                             f"echo begin; {until(gate)}; echo {number}; cp in out", cwd=tree,
                             stderr=subprocess.DEVNULL)
            for number in range(16)]
    for job in jobs:
        assert job.stdout.readline() == b"begin\n"
    gate.touch()
    assert [job.stdout.read() for job in jobs] == [b"%d\n" % number for number in range(16)]
    assert [job.wait() for job in jobs] == [0] * 16
    assert [path.read_text() for path in tree.glob("results/*/out")] == ["content"] * 16
    assert "no more sessions" not in (machine.folder / "sshd.log").read_text()


def test_work_of_a_machine_that_was_away_for_a_minute_is_collected(pool, make_namespace_machine, gate,  # noqa: F811
                                                                   work):
    machine = make_namespace_machine()
    pool.add(machine)
    text = f"echo x >>'{work}/count'; {until(gate)}; echo fine"
    job = pool.submit(text)
    pool.tutti.until_state(job, "running")
    machine.link_down()
    pulled_at = time.monotonic()
    pool.until("down", seconds=6)
    later = pool.submit("echo later")
    gate.touch()  # it ends while nobody can hear of it
    wait_until(lambda: time.monotonic() > pulled_at + 60, 90)  # a span of time is what is tried here
    assert pool.tutti.state(job) == "running"
    machine.link_up()
    for one, output in ((job, "fine\n"), (later, "later\n")):
        assert pool.tutti.until_final(one, 90)["state"] == "succeeded"
        assert pool.output(one) == output
    assert (work / "count").read_text() == "x\n"
