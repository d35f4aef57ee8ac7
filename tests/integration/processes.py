"""What the kernel says about processes."""

import os
import signal
import time
from pathlib import Path

from waiting import SANITIZED, wait_until


def thread_states(pid):
    """The letters of its threads' states; none: there is no such process."""
    states = []
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return states
    for thread in threads:
        try:
            stat = (thread / "stat").read_text()
        except OSError:
            continue
        states.append(stat.rsplit(")", 1)[1].split()[0])
    return states


def alive(pid):
    """Whether a thread of the process still runs: a zombie's other threads may hold its files."""
    return any(state not in "ZX" for state in thread_states(pid))


def freeze(pid):
    """Stops a process. The thread that takes the signal stops the others, and they go on until it
    has its turn."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: set(thread_states(pid)) == {"T"}, what="every thread is stopped")


def with_variable(name, value):
    """The living processes that have NAME=value in their environment, as {pid: command line}."""
    wanted = f"{name}={value}".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if wanted in environment and alive(int(entry.name)):
            found[int(entry.name)] = command.strip()
    return found


def describe(pid):
    """Its command line, state, signals and children, in a line."""
    folder = Path(f"/proc/{pid}")
    try:
        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        facts = dict(line.split(":\t", 1)
                     for line in (folder / "status").read_text().splitlines() if ":\t" in line)
        children = (folder / f"task/{pid}/children").read_text().split()
        states = [(Path(f"/proc/{child}/stat").read_text().split(" ", 3)[1:3]) for child in children]
        waits = (folder / "wchan").read_text()
    except OSError as failure:
        return f"{pid}: {failure}"
    shown = " ".join(f"{name} {facts.get(name)}" for name in ("State", "ShdPnd", "SigBlk"))
    return f"{pid} {command.strip()}: {shown}, in {waits}, children {states}"


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def resident_mib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0


def voluntary_switches(pid):
    """How often the threads of a process went to sleep: each is a wake-up."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                total += int(line.split()[1])
    return total


def until_asleep(pid, most=2):
    """Returns when two seconds have passed in which a process, unasked, woke `most` times at most."""
    def asleep():
        before = voluntary_switches(pid)
        time.sleep(2)
        return voluntary_switches(pid) - before <= (100 if SANITIZED else most)

    wait_until(asleep, 60, f"process {pid} sleeps")
