"""Machines over SSH: real servers, and their faults."""

import contextlib
import fcntl
import getpass
import os
import re
import shutil
import struct
import subprocess
import termios
import time
from datetime import datetime

import pytest

import machines
import processes
from waiting import SANITIZED, wait_until


class Pool:
    """The program, and machines that its daemon knows by the names that ssh knows them by."""

    def __init__(self, tutti, config):
        self.tutti = tutti
        self.config = config
        self.machines = {}
        self.env = {"TUTTI_SSH_CONFIG": str(config)}

    def know(self, *machines):
        """ssh knows these by their names."""
        for one in machines:
            self.machines[one.name] = one
        self.config.write_text("".join(m.ssh_config() for m in self.machines.values()))

    def add(self, *machines, **options):
        self.know(*machines)
        # What ranks keep in /tmp is named after their ports, and these machines share it.
        options.setdefault("ports", self.tutti.ports.text)
        words = [w for name, value in options.items() for w in ("--" + name.replace("_", "-"), value)]
        self.tutti.ok("nodes", "add", *words, *[m.name for m in machines])

    def node(self, name="m1"):
        nodes = self.tutti.api.get("/v1/nodes")["nodes"]
        return next(one for one in nodes if one["name"] == name)

    def until(self, state, name="m1", seconds=30):
        wait_until(lambda: self.node(name)["state"] == state, seconds,
                   what=lambda: f"{name} is {state}: {self.node(name)}")
        return self.node(name)

    def submit(self, text, *options, on="m1"):
        return self.tutti.submit(*options, "--label", on, "--", "sh", "-c", text)

    def run(self, text, *options, on="m1"):
        job = self.submit(text, *options, on=on)
        self.tutti.until_final(job)
        return job

    def output(self, job):
        return self.tutti.ok("logs", job).out

    def restart(self):
        self.tutti.start(env=self.env)


@pytest.fixture
def pool(tutti, home):
    made = Pool(tutti, home / "ssh_config")
    made.know()
    tutti.start(env=made.env)
    return made


@pytest.fixture
def gate(work):
    """A file that jobs wait for, whichever machine they run on."""
    return work / "go"


def until(gate):
    return f"while test ! -e '{gate}'; do sleep 0.02; done"


def test_a_job_runs_there_and_its_output_is_here(pool, make_machine):
    machine = make_machine()
    pool.add(machine)
    job = pool.run('echo "home $HOME"; echo "node $TUTTI_NODE"; echo oops >&2; exit 3')
    assert pool.tutti.state(job) == "failed"
    assert f"home {machine.home}\nnode m1\n" in pool.output(job)
    assert pool.tutti.ok("logs", job).err == "oops\n"
    assert pool.tutti("wait", job).code == 3


def test_work_stays_here_unless_it_is_meant_for_elsewhere(pool, make_machine):
    pool.add(make_machine())
    job = pool.tutti.submit("--", "sh", "-c", "echo $TUTTI_NODE")
    pool.tutti.until_final(job)
    assert pool.output(job).strip() != "m1"


def test_words_reach_the_job_as_they_are(pool, make_machine):
    pool.add(make_machine())
    words = ["a b", "it's", '"', "$(exit 9)", "`x`", "\\", "ü✓", "-n", "", "two\nlines", "*", "~"]
    job = pool.tutti.submit("--label", "m1", "--", "printf", "%s|", *words)
    pool.tutti.until_final(job)
    assert pool.tutti.ok("logs", job).out == "".join(f"{w}|" for w in words)


def test_a_script_runs_there(pool, make_machine, work):
    pool.add(make_machine())
    (work / "job.py").write_text("#!/usr/bin/env python3\nimport sys\nprint('args', sys.argv[1:])\n")
    job = pool.tutti.submit("--label", "m1", "--workdir", "/", work / "job.py", "x y")
    pool.tutti.until_final(job)
    assert pool.output(job) == "args ['x y']\n"


def test_only_what_was_set_for_the_job_is_in_its_environment(pool, make_machine):
    pool.add(make_machine())
    job = pool.tutti.submit("--label", "m1", "--env", "SEED=1 2", "--", "env", env={"SECRET": "x"})
    pool.tutti.until_final(job)
    assert "SECRET" not in pool.output(job)


def test_logs_are_followed_while_it_runs(pool, make_machine, gate):
    pool.add(make_machine())
    job = pool.submit(f"echo first; {until(gate)}; echo last")
    follower = pool.tutti.spawn("logs", "-f", job, stdout=subprocess.PIPE)
    assert follower.stdout.readline() == b"first\n"
    gate.touch()
    assert follower.stdout.read() == b"last\n"
    assert follower.wait() == 0


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox sh", "zsh"])
def test_any_login_shell_will_do(pool, make_machine, shell):
    pool.add(make_machine(shell=shell))
    assert pool.output(pool.run("echo fine")) == "fine\n"


def test_a_login_that_talks_does_not_matter(pool, make_machine):
    pool.add(make_machine(noise="Welcome!\nE 1.0.1 0 0 0 -\nno newline at the end"))
    assert pool.output(pool.run("echo fine")) == "fine\n"


def test_a_login_that_fails_is_told(pool, make_machine):
    machine = make_machine(shell="/bin/false")
    pool.know(machine)
    done = pool.tutti("nodes", "add", "m1")
    assert done.code == 1
    assert "start-up files" in done.err
    assert "m1" not in pool.tutti.ok("nodes").out


def test_a_refused_key_is_told(pool, make_machine):
    machine = make_machine()
    pool.know(machine)
    (machine.folder / "authorized_keys").write_text("")
    done = pool.tutti("nodes", "add", "m1", "--keep")
    assert done.code == 1
    assert "refused every key" in done.err
    by_hand = re.search(r"try: (ssh .* true)\. ", pool.node()["reason"])[1]
    assert subprocess.run(by_hand, shell=True, capture_output=True).returncode == 255
    shutil.copy(machine.folder / "user_key.pub", machine.folder / "authorized_keys")
    assert subprocess.run(by_hand, shell=True).returncode == 0
    # Without waiting for the next try.
    assert pool.tutti("nodes", "check", "m1").code == 0
    assert pool.node()["state"] == "up"


def test_what_to_try_by_hand_has_user_port_and_key(pool, make_machine):
    machine = make_machine()
    key = machine.folder / "no key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    pool.config.write_text(f'UserKnownHostsFile "{machine.folder}/known_hosts"\n')
    address = f"{getpass.getuser()}@127.0.0.1:{machine.port}"
    done = pool.tutti("nodes", "add", address, "--key", key)
    assert done.code == 1
    assert f"-p {machine.port} -o IdentitiesOnly=yes -i '{key}' {address.split(':')[0]} true" in done.err


@pytest.fixture
def agent(home):
    """An ssh-agent that has a key with a passphrase. Gives its socket and the key's file."""
    socket, key, asks = home / "agent", home / "guarded", home / "asks"
    asks.write_text("#!/bin/sh\necho 'open sesame'\n")
    asks.chmod(0o755)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "open sesame", "-f", key], check=True)
    server = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL)
    try:
        wait_until(socket.exists)
        env = dict(os.environ, SSH_AUTH_SOCK=str(socket), SSH_ASKPASS=str(asks),
                   SSH_ASKPASS_REQUIRE="force", DISPLAY=":0")
        subprocess.run(["ssh-add", "-q", key], check=True, env=env, stdin=subprocess.DEVNULL)
        yield socket, key
    finally:
        server.terminate()
        server.wait()


def test_aliases_are_added_by_a_pattern_and_kept_until_they_are_back(pool, make_machine):
    machines = [make_machine(name=f"gpu0{number}.lab") for number in (1, 2, 3)]
    pool.know(*machines)
    machines[1].stop()
    done = pool.tutti("nodes", "add", "gpu[01-03].lab", "--keep", "--label", "lab")
    assert done.code == 1 and done.out.startswith("gpu01.lab  ")
    assert "gpu02.lab is kept" in done.err
    assert "gpu02.lab cannot be reached" in pool.tutti.ok("nodes").out
    machines[1].start()
    pool.until("up", "gpu02.lab")
    assert pool.output(pool.run("echo $TUTTI_NODE", on="gpu02.lab")) == "gpu02.lab\n"


def test_a_key_with_a_passphrase_works_by_way_of_the_agent(tutti, home, make_machine, agent):
    socket, key = agent
    machine = make_machine()
    shutil.copy(f"{key}.pub", machine.folder / "authorized_keys")
    config = home / "ssh_config"
    config.write_text(machine.ssh_config().replace("  IdentityAgent none\n", "")
                      .replace(f"{machine.folder}/user_key", str(key)))
    tutti.start(env={"TUTTI_SSH_CONFIG": str(config), "SSH_AUTH_SOCK": str(socket)})
    tutti.ok("nodes", "add", "m1")
    assert tutti.ok("run", "--on", "m1", "--no-copy", "-C", "/", "echo", "here").out == "here\n"


def test_a_key_with_a_passphrase_without_an_agent_is_told(tutti, home, make_machine, agent):
    key = agent[1]
    machine = make_machine()
    shutil.copy(f"{key}.pub", machine.folder / "authorized_keys")
    config = home / "ssh_config"
    config.write_text(machine.ssh_config().replace(f"{machine.folder}/user_key", str(key)))
    tutti.start(env={"TUTTI_SSH_CONFIG": str(config)})
    done = tutti("nodes", "add", "m1")
    assert done.code == 1
    assert "Keys with a passphrase need ssh-agent" in done.err


def test_a_changed_host_key_is_told(pool, make_machine):
    machine = make_machine()
    pool.add(machine)
    machine.stop()
    for name in ("host_key", "host_key.pub"):
        (machine.folder / name).unlink()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                    str(machine.folder / "host_key")], check=True)
    machine.start()
    wait_until(lambda: "ssh-keygen" in pool.node()["reason"], 60, what=pool.node)
    by_hand = re.search(r"with: (ssh-keygen .*)", pool.node()["reason"])[1]
    subprocess.run(by_hand, shell=True, check=True, capture_output=True)
    assert pool.tutti("nodes", "check", "m1").code == 0
    assert pool.node()["state"] == "up"


def test_a_node_that_stays_down_is_checked_and_says_so(pool, make_machine):
    machine = make_machine()
    pool.add(machine)
    machine.stop()
    pool.until("down")
    assert "cannot be reached" in pool.tutti("nodes", "check", "m1").out + pool.node()["reason"]
    assert pool.node()["state"] == "down"


def test_an_unknown_host_is_told(pool):
    done = pool.tutti("nodes", "add", "nobody.invalid")
    assert done.code == 1
    assert "nobody.invalid" in done.err


def test_cancel_reaches_what_ignores_it(pool, make_machine):
    machine = make_machine()
    pool.add(machine)
    job = pool.submit("trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 1000' & sleep 1000",
                      "--grace", "1s")
    pool.tutti.until_state(job, "running")
    pool.tutti.ok("cancel", job)
    pool.tutti.until_state(job, "cancelled")
    wait_until(lambda: not any("sleep 1000" in line for line in machine.work().values()),
               what=machine.work)


def test_what_reads_from_a_pipe_there_may_read_the_rest(pool, make_machine):
    pool.add(make_machine())
    assert pool.output(pool.run("bash -c 'echo tail > >(sleep 0.1; cat)'")) == "tail\n"


def test_a_time_limit_holds_there(pool, make_machine):
    pool.add(make_machine())
    job = pool.run("sleep 1000", "--time", "1s", "--grace", "1s")
    assert pool.tutti.job(job)["state"] == "failed"
    assert "time" in pool.tutti.ok("show", job).out


def test_a_job_outlives_the_daemon_and_is_collected(pool, make_machine, gate):
    pool.add(make_machine())
    job = pool.submit(f"echo one; {until(gate)}; echo two")
    pool.tutti.until_state(job, "running")
    pool.tutti.kill9()
    gate.touch()
    pool.restart()
    assert pool.tutti.until_final(job)["state"] == "succeeded"
    assert pool.output(job) == "one\ntwo\n"


def test_a_job_outlives_the_server_and_runs_once(pool, make_machine, gate, work):
    machine = make_machine()
    pool.add(machine)
    job = pool.submit(f"echo x >>'{work}/count'; {until(gate)}; echo done")
    pool.tutti.until_state(job, "running")
    machine.stop()
    assert "m1" in pool.until("down")["reason"]
    gate.touch()
    machine.start()
    assert pool.tutti.until_final(job, 90)["state"] == "succeeded"
    assert (work / "count").read_text() == "x\n"
    assert pool.output(job) == "done\n"


def test_a_silent_host_is_noticed_and_comes_back(pool, make_machine, gate, work):
    machine = make_machine()
    pool.add(machine)
    job = pool.submit(f"echo x >>'{work}/count'; {until(gate)}")
    pool.tutti.until_state(job, "running")
    machine.freeze()
    pool.until("down", seconds=10)
    machine.thaw()
    pool.until("up", seconds=60)
    gate.touch()
    assert pool.tutti.until_final(job)["state"] == "succeeded"
    assert (work / "count").read_text() == "x\n"


def test_a_host_that_stays_away_gives_its_work_to_another(pool, make_machine, gate, work):
    first, second = make_machine("m1"), make_machine("m2")
    pool.add(first, patience="1s")
    job = pool.submit(f"echo $TUTTI_NODE >>'{work}/ran'; test $TUTTI_NODE = m2 || {until(gate)}",
                      on="m1|m2")
    pool.tutti.until_state(job, "running")
    pool.add(second)
    first.kill()
    assert pool.tutti.until_final(job)["state"] == "succeeded"
    assert (work / "ran").read_text() == "m1\nm2\n"


def test_after_a_restart_of_the_host_its_work_runs_again(pool, make_machine, gate, work):
    machine = make_machine()
    pool.add(machine)
    job = pool.submit(f"echo x >>'{work}/count'; test -e '{gate}' || sleep 1000")
    pool.tutti.until_state(job, "running")
    wait_until(lambda: (work / "count").exists())
    machine.kill()
    gate.touch()
    machine.start()
    assert pool.tutti.until_final(job, 90)["state"] == "succeeded"
    assert (work / "count").read_text() == "x\nx\n"


def test_a_drained_host_keeps_what_it_runs(pool, make_machine, gate):
    pool.add(make_machine())
    job = pool.submit(until(gate))
    pool.tutti.until_state(job, "running")
    pool.tutti.ok("nodes", "drain", "m1", "--reason", "new disk")
    waiting = pool.submit("true")
    assert "new disk" in pool.tutti.ok("explain", waiting).out
    gate.touch()
    assert pool.tutti.until_final(job)["state"] == "succeeded"
    assert pool.tutti.state(waiting) == "queued"
    pool.tutti.ok("nodes", "resume", "m1")
    assert pool.tutti.until_final(waiting)["state"] == "succeeded"


def test_a_host_with_work_is_removed_only_by_force(pool, make_machine, gate):
    machine = make_machine()
    pool.add(machine)
    job = pool.submit(until(gate))
    pool.tutti.until_state(job, "running")
    assert pool.tutti("nodes", "rm", "m1").code == 1
    assert pool.tutti.state(job) == "running"
    pool.tutti.ok("nodes", "rm", "m1", "--force")
    assert "m1" not in [n["name"] for n in pool.tutti.api.get("/v1/nodes")["nodes"]]
    pool.add(make_machine("m2"))
    assert pool.output(pool.run("echo other", on="m2")) == "other\n"


def test_a_machine_runs_at_most_as_many_as_it_may(pool, make_machine, gate):
    pool.add(make_machine(), max_jobs=2)
    jobs = [pool.submit(until(gate), "--cpus", "0.1") for _ in range(3)]
    for job in jobs[:2]:
        pool.tutti.until_state(job, "running")
    assert pool.tutti.state(jobs[2]) == "queued"
    assert "as many as it may" in pool.tutti.ok("explain", jobs[2]).out
    gate.touch()
    for job in jobs:
        pool.tutti.until_final(job)


def test_a_wrong_clock_there_does_not_matter(pool, make_machine):
    machine = make_machine()
    machine.add_program("date", "exec /usr/bin/date -d '+3 hours' \"$@\"\n")
    pool.add(machine)
    job = pool.run("sleep 0.2")
    shown = pool.tutti.job(job)
    assert shown["submitted_at"] <= shown["started_at"] <= shown["finished_at"]
    took = [datetime.fromisoformat(shown[name]) for name in ("submitted_at", "finished_at")]
    assert (took[1] - took[0]).total_seconds() < 60


SMI = r"""
case "$*" in
  *query-gpu*)
    echo '0, GPU-aaa, NVIDIA A100-SXM4-80GB, 00000000:07:00.0, 81920, 500, 3, 0, 40'
    echo '1, GPU-bbb, NVIDIA A100-SXM4-80GB, 00000000:08:00.0, 81920, 60000, 90, 0, 60' ;;
  *) echo "1, GPU-bbb, 59000" ;;
esac
"""


def test_gpus_there_are_found_and_what_others_use_is_left_alone(pool, make_machine):
    machine = make_machine()
    machine.add_program("nvidia-smi", SMI)
    pool.add(machine)
    assert [d["uuid"] for d in pool.node()["devices"]] == ["GPU-aaa", "GPU-bbb"]
    shown = pool.tutti.ok("gpus", "--json").json()["gpus"]
    assert [(gpu["used_mib"], gpu["utilization"]) for gpu in shown] == [(500, 0.03), (60000, 0.9)]
    job = pool.run("echo $CUDA_VISIBLE_DEVICES", "-g", "1", "--gpu-mem", "40G")
    assert pool.output(job) == "GPU-aaa\n"


def test_gpus_keep_their_numbers_where_some_are_left_out(pool, make_machine):
    machine = make_machine()
    machine.add_program("nvidia-smi", SMI)
    pool.know(machine)
    added = pool.tutti.ok("nodes", "add", "m1", "--gpus", "1,7,9")
    assert added.err == "tutti nodes: m1 has no GPU 7, 9, which --gpus names\n"
    assert [gpu["index"] for gpu in pool.node()["measured"]["gpus"]] == [1]


def test_a_machine_is_not_added_twice_and_its_gpus_are_given_away_once(pool, make_machine):
    machine = make_machine()
    machine.add_program("nvidia-smi", SMI)
    pool.add(machine)
    again = pool.tutti("nodes", "add", "m1", "--name", "again")
    assert again.code == 1 and "node 'm1' is m1 already" in again.err, again
    # Only ssh knows that this is the same.
    with pool.config.open("a") as config:
        config.write(machine.ssh_config().replace("Host m1\n", "Host alias\n"))
    pool.tutti.ok("nodes", "add", "alias")
    shown = pool.tutti.ok("gpus", "--json").json()["gpus"]
    of = {name: [gpu for gpu in shown if gpu["node"] == name] for name in ("m1", "alias")}
    assert all(gpu["healthy"] for gpu in of["m1"])
    assert [gpu["reason"] for gpu in of["alias"]] == ["belongs to node m1, which is the same machine"] * 2
    assert pool.tutti("submit", "-g", "1", "--on", "alias", "--", "true").code == 1
    pool.tutti.ok("nodes", "rm", "m1")
    wait_until(lambda: all(gpu["healthy"] for gpu in pool.tutti.ok("gpus", "--json").json()["gpus"]))


def test_a_cable_that_is_pulled_for_two_seconds_goes_unnoticed(pool, make_namespace_machine, gate):
    machine = make_namespace_machine()
    pool.add(machine)
    job = pool.submit(f"{until(gate)}; echo fine")
    pool.tutti.until_state(job, "running")
    machine.link_down()
    pulled_at = time.monotonic()
    wait_until(lambda: time.monotonic() > pulled_at + 2)  # a span of time is what is tried here
    machine.link_up()
    gate.touch()
    assert pool.tutti.until_final(job, 60)["state"] == "succeeded"
    assert pool.output(job) == "fine\n"


def test_a_pulled_cable_is_noticed_and_its_work_goes_on(pool, make_namespace_machine, gate, work):
    machine = make_namespace_machine()
    pool.add(machine)
    job = pool.submit(f"echo x >>'{work}/count'; {until(gate)}; echo fine")
    pool.tutti.until_state(job, "running")
    machine.link_down()
    reason = pool.until("down", seconds=6)["reason"]
    assert re.search("cut off|reach", reason), reason
    gate.touch()
    machine.link_up()
    assert pool.tutti.until_final(job, 90)["state"] == "succeeded"
    assert (work / "count").read_text() == "x\n"
    assert pool.output(job) == "fine\n"


def tree_of(folder, files=1, size=10):
    folder.mkdir(exist_ok=True)
    for number in range(files):
        (folder / f"file {number}").write_bytes(os.urandom(size))
    return folder


def partial(machine):
    """What of staged files has arrived, but not whole."""
    return list(machine.home.glob(".cache/tutti/*/*/files/*.new-*"))


def test_files_go_there_once_and_results_come_back(pool, make_machine, work):
    machine = make_machine()
    pool.add(machine)
    tree = tree_of(work / "tree", 3)
    (tree / "näme ✓").write_text("content")
    (tree / "link").symlink_to("näme ✓")
    (tree / ".tuttiignore").write_text("file 2\n")
    lines = ["cat link > 'out ✓'; ls"] * 2
    job = pool.tutti.batch(lines, "--on", "m1", "--results", "out ✓", cwd=tree)
    assert pool.tutti.until_final(job)["state"] == "succeeded"
    for task in (1, 2):
        assert (tree / f"results/{job}.{task}/out ✓").read_text() == "content"
        assert [p.name for p in (tree / f"results/{job}.{task}").iterdir()] == ["out ✓"]
    assert "file 2" not in pool.tutti.ok("logs", f"{job}.1").out
    assert len(list(machine.home.glob(".cache/tutti/*/*/files/*"))) == 1


def staged(machine, name):
    """Inodes of a file in all that was staged there."""
    return [path.stat().st_ino for path in machine.home.glob(f".cache/tutti/*/*/files/*/{name}")]


@pytest.mark.parametrize("tools", ["the system's", "busybox's"])
def test_of_changed_files_only_the_change_is_sent(pool, make_machine, work, tools):
    machine = make_machine()
    for name in ("cp", "mv", "rm", "tar") if tools == "busybox's" else ():
        (machine.bin / name).symlink_to(shutil.which("busybox"))
    pool.add(machine)
    tree = tree_of(work / "tree", 2, 1 << 20)
    (tree / "part").mkdir()
    (tree / "part/old").write_text("to be removed")
    (tree / "train.py").write_text("one")
    pool.tutti.ok("run", "--on", "m1", "--", "sh", "-c", "echo spoilt > train.py", cwd=tree)
    (tree / "train.py").write_text("two")
    shutil.rmtree(tree / "part")
    (tree / "part").write_text("a file now")
    seen = pool.tutti.ok("run", "--on", "m1", "--", "sh", "-c", "cat train.py part; ls", cwd=tree)
    assert seen.out == "twoa file nowfile 0\nfile 1\npart\ntrain.py\n"
    assert len(staged(machine, "file 0")) == 2 and len(set(staged(machine, "file 0"))) == 1
    assert len(set(staged(machine, "train.py"))) == 2
    (tree / "train.py").write_text("one")
    (tree / "part").unlink()
    shutil.rmtree(next(machine.home.glob(".cache/tutti/*/*/files")))
    assert pool.tutti.ok("run", "--on", "m1", "cat", "train.py", cwd=tree).out == "one"
    assert not partial(machine)


@pytest.fixture(params=["tar", "rsync"])
def holed(request, make_machine, work):
    """A machine, and a file with data here and there: one that tar brings back, and one that rsync does.

    rsync, which goes on where tar was cut off, sends zeros for holes: its file is smaller.
    """
    machine = make_machine()
    if request.param == "rsync":
        machine.add_program("tar", f"""
case "$*" in -c*) test -e '{work}/once' || {{ touch '{work}/once'; exit 255; }} ;; esac
exec /usr/bin/tar "$@"
""")
        return machine, {0: b"begin", 12345678: b"between", (20 << 20) - 3: b"end"}
    return machine, {0: b"begin", (4 << 30) + 12345: b"beyond 4 GiB", (4 << 30) + (1 << 20): b"end"}


def test_holes_of_files_stay_holes_there_and_back(pool, holed, work):
    machine, parts = holed
    pool.add(machine)
    tree = tree_of(work / "tree")
    with open(tree / "big", "wb") as file:
        for at, text in parts.items():
            file.seek(at)
            file.write(text)
        whole = file.tell()
    look = "; ".join(f"tail -c +{at + 1} big | head -c {len(text)}; echo" for at, text in parts.items())
    done = pool.tutti.ok("run", "--on", "m1", "--results", "back", "--", "sh", "-c",
                         f"stat -c '%s %b' big; {look}; mv big back", cwd=tree)
    first, *pieces = done.out.splitlines()
    size, blocks = map(int, first.split())
    assert size == whole
    assert blocks * 512 < 4 << 20
    assert pieces == [text.decode() for text in parts.values()]
    (result,) = tree.glob("results/*/back")
    assert result.stat().st_size == whole
    assert result.stat().st_blocks * 512 < 4 << 20
    with open(result, "rb") as file:
        for at, text in parts.items():
            file.seek(at)
            assert file.read(len(text)) == text


def test_who_follows_is_told_that_results_are_missing(pool, make_machine, work):
    pool.add(make_machine())
    tree = tree_of(work / "tree")
    (tree / "b.txt").write_text("true\n")
    options = ("--on", "m1", "--results", "missing")
    calls = [("run", *options, "true"), ("submit", "-f", *options, "true"), ("batch", *options, "b.txt"),
             ("run", *options, "--array", "1-2", "true"), ("wait", "1")]
    for words in calls:
        done = pool.tutti(*words, cwd=tree)
        assert done.code == 1, words
        assert "its results could not be fetched" in done.err and "missing" in done.err, (words, done.err)


def test_a_daemon_that_dies_while_it_sends_files_sends_them_again(pool, make_machine, work):
    machine = make_machine()
    pool.add(machine)
    tree = tree_of(work / "tree", 4, 20_000_000)
    job = pool.tutti.submit("--on", "m1", "--", "sh", "-c", "cat file* | wc -c", cwd=tree)
    wait_until(lambda: partial(machine) or pool.tutti.state(job) == "succeeded")
    pool.tutti.kill9()
    pool.restart()
    assert pool.tutti.until_final(job)["state"] == "succeeded"
    assert pool.output(job).strip() == "80000000"


def test_a_daemon_that_dies_while_it_fetches_results_fetches_them_again(pool, make_machine, work):
    pool.add(make_machine())
    tree = tree_of(work / "tree")
    job = pool.tutti.submit("--on", "m1", "--results", "made", "--", "sh", "-c",
                            "mkdir made; for i in 1 2 3 4; do head -c 20000000 /dev/zero >made/$i; done",
                            cwd=tree)
    folder = tree / f"results/{job}"
    wait_until(lambda: folder.exists() or folder.with_name(f"{job}.partial").exists())
    pool.tutti.kill9()
    pool.restart()
    assert pool.tutti.until_final(job)["state"] == "succeeded"
    assert [(folder / "made" / str(i)).stat().st_size for i in (1, 2, 3, 4)] == [20_000_000] * 4
    assert not folder.with_name(f"{job}.partial").exists()


def test_ten_thousand_result_files_come_back(pool, make_machine, work):
    pool.add(make_machine())
    tree = tree_of(work / "tree")
    job = pool.tutti.submit("--on", "m1", "--results", "made", "--", "sh", "-c",
                            "mkdir made; cd made; seq 10000 | split -l 1 -a 4", cwd=tree)
    assert pool.tutti.until_final(job)["state"] == "succeeded"
    assert len(list((tree / f"results/{job}/made").iterdir())) == 10000


class Terminal:
    """What a verb draws on a terminal."""

    def __init__(self, tutti, *words, **more):
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.process = tutti.spawn(*words, stdout=slave, stderr=slave, **more)
        os.close(slave)
        os.set_blocking(self.master, False)
        self.text = ""

    def read(self):
        # Nothing yet, or the other end is closed.
        with contextlib.suppress(BlockingIOError, OSError):
            self.text += os.read(self.master, 100_000).decode()
        return self.text

    def until(self, words):
        wait_until(lambda: words in self.read(), what=lambda: f"{words!r} in {self.text!r}")

    def wait(self):
        wait_until(lambda: self.read() is not None and self.process.poll() is not None)
        os.close(self.master)
        return self.process.returncode


def test_copies_are_shown_while_they_are_under_way(pool, make_machine, work, gate):
    machine = make_machine()
    back = work / "back"
    machine.add_program("tar", f"""
case "$*" in -x*) {until(gate)} ;; -c*) {until(back)} ;; esac
exec /usr/bin/tar "$@"
""")
    pool.add(machine)
    tree = tree_of(work / "tree", 2, 20_000_000)
    size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file())
    shown = Terminal(pool.tutti, "run", "--on", "m1", "--results", "made", "--",
                     "sh", "-c", "head -c 3000000 /dev/zero >made", cwd=tree)
    # As much as fits between here and there goes, while nobody unpacks it.
    wait_until(lambda: any(one["bytes"] for one in pool.node()["transfers"]))
    there = pool.node()["transfers"]
    assert [(one["direction"], one["jobs"], one["total_bytes"]) for one in there] == [("to", [1], size)]
    assert 0 < there[0]["bytes"] < size and there[0]["seconds"] > 0
    assert "files of job 1: " in pool.tutti.ok("nodes", "show", "m1").out
    shown.until("copying to m1  [")
    gate.touch()
    wait_until(lambda: [one["direction"] for one in pool.node()["transfers"]] == ["from"])
    wait_until(lambda: 3_000_000 <= (pool.node()["transfers"][0]["total_bytes"] or 0) < 3_100_000)
    shown.until("copying results from m1  ")
    back.touch()
    assert shown.wait() == 0
    assert pool.node()["transfers"] == []
    assert (tree / "results/1/made").stat().st_size == 3_000_000


def test_large_output_comes_whole_while_the_daemon_stays_small(pool, make_machine):
    size = 200_000_000 if SANITIZED else 1_000_000_000
    machine = make_machine()
    pool.add(machine)
    before = processes.resident_mib(pool.tutti.pid())
    job = pool.submit(f"head -c {size} /dev/zero | tr '\\0' x; echo end")
    assert pool.tutti.until_final(job, 240)["state"] == "succeeded"
    log = pool.tutti.home / f"logs/0/{job}.out"
    assert log.stat().st_size == size + 4
    with log.open("rb") as file:
        file.seek(-6, os.SEEK_END)
        assert file.read() == b"xxend\n"
    # A sanitizer keeps what was freed for a while.
    assert processes.resident_mib(pool.tutti.pid()) < before + (400 if SANITIZED else 50)
    log.unlink()


def test_a_full_disk_there_is_told(pool, make_machine, work):
    machine = make_machine()
    if not machines.succeeds("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", machine.home):
        pytest.skip("a small disk cannot be mounted here")
    try:
        pool.add(machine)
        tree = tree_of(work / "tree", 1, 5_000_000)
        job = pool.tutti.submit("--on", "m1", "--", "true", cwd=tree)
        assert pool.tutti.until_final(job)["state"] == "failed"
        shown = pool.tutti.ok("show", job).out
        assert "could not be copied to m1" in shown and "No space left" in shown, shown
    finally:
        pool.tutti("nodes", "rm", "--force", "m1")
        machine.kill()
        subprocess.run(["umount", "-l", machine.home], check=True)


def test_noise_at_login_does_not_get_into_results(pool, make_machine, work):
    pool.add(make_machine(noise="Welcome!\nmany words\n"))
    tree = tree_of(work / "tree")
    job = pool.tutti.submit("--on", "m1", "--results", ".", "--", "sh", "-c", "echo x >made", cwd=tree)
    assert pool.tutti.until_final(job)["state"] == "succeeded"
    assert (tree / f"results/{job}/made").read_text() == "x\n"


USED_SMI = r"""
case "$*" in
  *query-gpu*)
    used=100
    test ! -e "$HOME/gpu.pid" || used=7100
    echo "0, GPU-aaa, NVIDIA A100-SXM4-80GB, 00000000:07:00.0, 81920, $used, 40, 0, 40" ;;
  *) test ! -e "$HOME/gpu.pid" || echo "$(cat "$HOME/gpu.pid"), GPU-aaa, 7000" ;;
esac
"""


def test_what_a_kind_needs_there_is_learnt(pool, make_machine, gate):
    machine = make_machine()
    machine.add_program("nvidia-smi", USED_SMI)
    pool.add(machine)
    job = pool.submit(f"echo $$ >$HOME/gpu.pid; {until(gate)}", "-g", "1", "--kind", "train")
    pool.tutti.until_state(job, "running")
    wait_until(lambda: pool.node()["measured"]["gpus"][0]["used_mib"] == 7100, what=pool.node)
    gate.touch()
    pool.tutti.until_final(job)
    device = pool.tutti.api.get("/v1/profiles/train")["gpus"][0]
    assert device["type"] == "A100-80G"
    assert 7000 in device["peaks_mib"], device


ROCM_SMI = r"""
case "$*" in
  *--json*)
    printf '{"card0": {"GPU ID": "0x740f", "Unique ID": "0x1a2b", "Card Series": "AMD Instinct MI210", '
    printf '"PCI Bus": "0000:C3:00.0", "VRAM Total Memory (B)": "68702699520", '
    printf '"VRAM Total Used Memory (B)": "1073741824", "GPU use (%%)": "37"}}\n' ;;
  *)
    printf 'KFD process information:\nPID    \tPROCESS NAME\tGPU(s)\tVRAM USED\tSDMA USED\tCU OCCUPANCY\t\n'
    printf 'PID 71 is using 0 DRM device(s)\n' ;;
esac
"""


def test_gpus_of_the_other_vendor_are_found(pool, make_machine):
    machine = make_machine()
    machine.add_program("rocm-smi", ROCM_SMI)
    pool.add(machine)
    (device,) = pool.node()["devices"]
    assert device["type"].startswith("MI210")
    job = pool.run("echo $ROCR_VISIBLE_DEVICES $HIP_VISIBLE_DEVICES", "-g", "1", "--gpu-mem", "8G")
    assert pool.output(job) == f"{device['uuid']} 0\n"
