"""Runs the real program in a home of its own."""

import fcntl
import json
import os
import random
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import processes
from waiting import BINARY, SLOW, wait_until
from wire import Api

# For the shell line of a job that is to go on when the test says so.
UNTIL_GO = "while test ! -e go; do sleep 0.02; done"
FINAL = ("succeeded", "failed", "cancelled", "skipped")


class Finished:
    """One call of the program that has ended."""

    def __init__(self, arguments, code, stdout, stderr):
        self.arguments = arguments
        self.code = code
        self.stdout = stdout
        self.stderr = stderr

    @property
    def out(self):
        return self.stdout.decode(errors="replace")

    @property
    def err(self):
        return self.stderr.decode(errors="replace")

    def json(self):
        return json.loads(self.stdout)

    def __repr__(self):
        shown = [a if len(a) < 200 else a[:200] + "…" for a in map(str, self.arguments)]
        return (f"tutti {' '.join(shown)}\n  exit {self.code}\n  stdout {self.stdout[-2000:]!r}\n"
                f"  stderr {self.stderr[-2000:]!r}")


class PortRange:
    """Ports below those that the kernel chooses from, for one daemon. Those of tests that run meanwhile
    number their jobs alike, and must not meet at ports: each has a range of its own as long as there
    are any. It begins anywhere, because connections of the test before may still close."""

    BLOCKS = range(20000, 32000, 3000)
    SIZE = 2400

    def __init__(self):
        self._lock = None
        block = random.choice(self.BLOCKS)
        for start in self.BLOCKS:
            lock = open(f"/tmp/tutti-test-ports-{os.getuid()}-{start}", "w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                continue
            self._lock, block = lock, start
            break
        first = block + random.randrange(self.BLOCKS.step - self.SIZE)
        self.text = f"{first}-{first + self.SIZE - 1}"

    def give_back(self):
        if self._lock:
            self._lock.close()


class Tutti:
    """The program with one home. Calling it runs a verb; the other methods are shorthands."""

    def __init__(self, home, work, binary=BINARY):
        self.home = Path(home)
        self.work = Path(work)
        self.binary = Path(binary)
        self.children = []
        self.ports = None
        self.api = Api(self.home / "run/tutti.sock")

    def environment(self, more=None):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")}
        kept.update(TUTTI_HOME=str(self.home), LC_ALL="C.UTF-8")
        for name, value in (more or {}).items():
            if value is None:
                kept.pop(name, None)
            else:
                kept[name] = value
        return kept

    def __call__(self, *arguments, input=None, cwd=None, env=None, timeout=60, **popen):
        child = self.spawn(*arguments, cwd=cwd, env=env,
                           stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL,
                           **popen)
        if isinstance(input, str):
            input = input.encode()
        try:
            out, err = child.communicate(input, timeout * SLOW)
        except subprocess.TimeoutExpired:
            story = self.story()
            child.kill()
            out, err = child.communicate()
            raise AssertionError(f"did not end within {timeout * SLOW:g} s: "
                                 f"{Finished(arguments, None, out, err)}\n{story}") from None
        self.children.remove(child)
        return Finished(arguments, child.returncode, out, err)

    def spawn(self, *arguments, cwd=None, env=None, stdin=subprocess.DEVNULL,
              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen):
        words = [a if isinstance(a, bytes) else str(a) for a in arguments]
        child = subprocess.Popen([str(self.binary), *words], cwd=cwd or self.work,
                                 env=self.environment(env), stdin=stdin, stdout=stdout,
                                 stderr=stderr, **popen)
        self.children.append(child)
        return child

    def ok(self, *arguments, **more):
        done = self(*arguments, **more)
        assert done.code == 0, done
        return done

    def start(self, *more, slots=2, **popen):
        self.ports = self.ports or PortRange()
        self.ok("daemon", "start", "--slots", slots, "--ports", self.ports.text, *more, **popen)
        return self

    def listen(self):
        """Starts a daemon that listens on TCP, too; returns the port."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.start("--listen", f"127.0.0.1:{port}")
        return port

    def status(self):
        return self.ok("daemon", "status", "--json").json()

    def pid(self):
        return self.api.get("/v1/status")["pid"]

    def keeper_pid(self):
        return self.api.get("/v1/status")["keeper_pid"]

    def kill9(self):
        """Kills the daemon as a crash would; returns when it is gone."""
        pid = self.pid()
        processes.kill(pid)
        wait_until(lambda: not processes.alive(pid), what="the killed daemon is gone")
        return pid

    def kill_keeper(self):
        """Kills the keeper as a crash would; returns when the daemon has a new one."""
        pid = self.keeper_pid()
        processes.kill(pid)
        wait_until(lambda: not processes.alive(pid), what="the killed keeper is gone")
        wait_until(lambda: self.keeper_pid() not in (None, pid), what="there is a new keeper")

    def submit(self, *arguments, **more):
        return int(self.ok("submit", "-q", *arguments, **more).out)

    def batch(self, lines, *arguments, **more):
        """Submits lines as a batch; returns the job's id."""
        text = lines if isinstance(lines, (str, bytes)) else "".join(f"{x}\n" for x in lines)
        return int(self.ok("batch", "--detach", "-q", *arguments, "-", input=text, **more).out)

    def wait(self, job, **more):
        return self("wait", job, **more).code

    def job(self, job):
        return self.api.get(f"/v1/jobs/{job}")

    def state(self, job):
        return self.job(job)["state"]

    def until_state(self, job, *states, seconds=30):
        wait_until(lambda: self.state(job) in states, seconds,
                   what=lambda: f"job {job} is {states}: {self.job(job)}")
        return self.job(job)

    def until_final(self, job, seconds=60):
        return self.until_state(job, *FINAL, seconds=seconds)

    def leftovers(self):
        return processes.with_variable("TUTTI_HOME", self.home)

    def story(self):
        """What its logs and processes tell, for who has to find out why it hangs."""
        told = []
        for name in ("daemon.log", "run/keeper.log"):
            path = self.home / name
            lines = path.read_text(errors="replace").splitlines() if path.exists() else []
            told += [f"  {name}: {line}" for line in lines[-10:]]
        told += [f"  {processes.describe(pid)}" for pid in self.leftovers()]
        try:
            told += [f"  {job}" for job in self.api.get("/v1/jobs?limit=5")["jobs"]]
        except (OSError, AssertionError) as failure:
            told.append(f"  no daemon answers: {failure}")
        return "\n".join(told)

    def end(self):
        """Ends everything of this home; returns what had to be killed, as {pid: what it was}."""
        for child in self.children:
            child.kill()
            child.wait()
        if self.leftovers():
            # Starts a daemon where only a keeper is left: that stays for as long as it has results
            # that no daemon has recorded.
            self._best_effort("cancel", "all", "-y")
            self._best_effort("wait", "--timeout", "15s", "all")
            self._best_effort("daemon", "stop")
        deadline = time.monotonic() + 15 * SLOW
        while self.leftovers() and time.monotonic() < deadline:
            time.sleep(0.01)
        left = {pid: processes.describe(pid) for pid in self.leftovers()}
        for pid in left:
            processes.kill(pid)
        if self.ports:
            self.ports.give_back()
        return left

    def _best_effort(self, *arguments, **more):
        try:
            self(*arguments, timeout=20, **more)
        except AssertionError:
            pass


@contextmanager
def nothing_left():
    """A list for programs with homes of their own: afterwards all of them have ended, and it is a
    failure if one had to be killed."""
    made = []
    yield made
    left = {}
    for one in made:
        left.update(one.end())
    assert not left, f"processes were left behind: {left}"
