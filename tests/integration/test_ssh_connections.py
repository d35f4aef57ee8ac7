"""Connections as they are in labs: through another machine, and with as few sessions as sshd allows."""

import subprocess

from test_ssh import gate, pool, until  # noqa: F401 - fixtures


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
