"""What the ranks of Ray and of MPI share. In the program that a rank runs, this stands before
ray_rank.py or mpi_rank.py (CMakeLists.txt); all of it is of the standard library."""

import sys

if sys.path[0] == "":  # by -c: what lies in the job's folder is no module of ours
    del sys.path[0]

import os
import shutil
import signal
import socket
import subprocess
import threading
import time

PATIENCE = 300  # seconds until all ranks are in
GRACE = 3  # seconds that a child has to end; a job has ten for all


class Failed(Exception):
    """The rank cannot go on."""


def stop(process):
    if process is None or process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def connected(address, until, check=lambda: None):
    """A connection to somebody who may not be there yet."""
    while True:
        check()
        try:
            return socket.create_connection(address, 5)
        except OSError as error:
            if time.monotonic() > until:
                raise Failed(f"{address[0]}:{address[1]} cannot be reached: {error}") from None
            time.sleep(0.05)


def as_exit_code(code):
    return code if code >= 0 else 128 - code


class Folder:
    """A folder of this rank alone, named after a port that is granted to it. One that a killed
    rank has left there is removed first; Tutti removes this one when the rank has been killed."""

    def __init__(self, name, port, above="/tmp"):
        # Not in TMPDIR: there are sockets in it, whose paths may have 107 bytes.
        self.path = f"{above}/tutti-{name}.{os.getuid()}-{port}"
        shutil.rmtree(self.path, ignore_errors=True)
        os.mkdir(self.path, 0o700)

    def file(self, name):
        return os.path.join(self.path, name)

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


def find_interface():
    """The interface of the default route, by which machines reach each other."""
    try:
        with open("/proc/net/route") as routes:
            for line in routes:
                words = line.split()
                if len(words) > 1 and words[1] == "00000000":
                    return words[0]
    except OSError:
        pass
    return None


def ended_as(rank, act):
    """The exit code of a rank, which does what `act` says. A stop is passed on in good order."""

    def leave(number, frame):
        signal.signal(number, signal.SIG_IGN)  # what is being ended is not left half way
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    try:
        return act()
    except (Failed, OSError) as error:
        print(f"tutti: rank {rank}: {error}", file=sys.stderr)
        return 1
