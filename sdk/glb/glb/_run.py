"""glb-run: commands at the same time, beside a daemon that hands out the GPUs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from types import FrameType
from typing import List, Optional

import tutti
from tutti import _client, _home

_USAGE = """Usage: glb-run "CMD" ["CMD"...]

Starts the server if none runs, runs the commands at the same time and returns the exit code of the
first that failed. Decorated functions in them get their GPUs from the server."""


def _shell(command: str) -> "subprocess.Popen[bytes]":
    environment = dict(os.environ, TUTTI_HOME=_home.home_folder())
    return subprocess.Popen(["/bin/sh", "-c", command], env=environment)


def _code(child: "subprocess.Popen[bytes]") -> int:
    """As a shell would tell it."""
    while True:
        try:
            code = child.wait()
        except KeyboardInterrupt:
            continue  # the terminal has told the child, too
        return code if code >= 0 else 128 - code


def run(commands: List[str]) -> int:
    """Runs shell commands at the same time; the exit code of the first that failed, or 0.

    Example::

        glb._run.run(["python a.py", "python b.py"])
    """
    _client.exchange("GET", "/v1/status")
    children: List["subprocess.Popen[bytes]"] = []

    def pass_on(number: int, frame: Optional[FrameType]) -> None:
        for child in children:
            if child.poll() is None:
                child.send_signal(number)

    before = signal.signal(signal.SIGTERM, pass_on)
    try:
        children.extend(_shell(command) for command in commands)
        codes = [_code(child) for child in children]
    finally:
        signal.signal(signal.SIGTERM, before)
    return next((code for code in codes if code != 0), 0)


def main(arguments: Optional[List[str]] = None) -> int:
    """The command line.

    Example::

        glb-run "doit -n 9" "python evaluate.py"
    """
    commands = sys.argv[1:] if arguments is None else arguments
    if not commands or commands in (["-h"], ["--help"]):
        print(_USAGE, file=sys.stdout if commands else sys.stderr)
        return 0 if commands else 2
    try:
        return run(commands)
    except tutti.Error as error:
        print("glb-run: %s" % error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
