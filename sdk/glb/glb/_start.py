"""glb-start: the daemon in this terminal."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from types import FrameType
from typing import List, Optional

import tutti
from tutti import _client, _home

_BANNER = r"""
   ___   _      ___
  / __| | |    | _ )     GPU load balancing
 | (_ | | |__  | _ \     GPU-Master, by Tutti
  \___| |____| |___/
"""
_PATIENCE_S = 30.0


class _Asked(Exception):
    """Somebody pressed Ctrl-C, or wants this process to end."""


def _ask(number: int, frame: Optional[FrameType]) -> None:
    raise _Asked


def _say(text: str) -> None:
    print(time.strftime("[%m/%d/%y %H:%M:%S] INFO     ") + text, flush=True)


def _managed() -> str:
    # Leases are of this machine's GPUs alone, and so are these.
    here = [node for node in _client.request("GET", "/v1/nodes")["nodes"] if not node["address"]]
    return "{%s}" % ", ".join(str(gpu["index"]) for node in here for gpu in node["devices"])


def _answers() -> bool:
    try:
        _client.request("GET", "/v1/status", autostart=False)
        return True
    except tutti.Unavailable:
        return False


def _wait_for(daemon: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + _PATIENCE_S
    while not _answers():
        if daemon.poll() is not None:
            raise tutti.Unavailable("the daemon ended at once, with code %d" % daemon.returncode)
        if time.monotonic() > end:
            raise tutti.Unavailable("the daemon was started but does not answer")
        time.sleep(0.02)


def _stop(daemon: "subprocess.Popen[bytes]") -> None:
    if daemon.poll() is None:
        daemon.terminate()
    daemon.wait()


def _run(arguments: List[str]) -> int:
    print(_BANNER, flush=True)
    if _answers():
        _say("Managing GPUs " + _managed())
        _say("The server runs already; stop it with 'tutti daemon stop'")
        return 0
    program = _home.find_program()
    if program is None:
        raise tutti.Unavailable("there is no program 'tutti' on PATH; install it, or set "
                                "TUTTI_BINARY")
    # A session of its own: Ctrl-C must reach it through us, after our last word.
    daemon = subprocess.Popen([program, "daemon", "run", *arguments], stdin=subprocess.DEVNULL,
                              start_new_session=True)
    try:
        _wait_for(daemon)
        _say("Managing GPUs " + _managed())
        return daemon.wait()
    except _Asked:
        _say("[GPUMaster] Cleaning up...")
        return 0
    finally:
        _stop(daemon)


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the daemon until Ctrl-C.

    Example::

        glb-start --emulate-gpus 4xA100-80G
    """
    words = sys.argv[1:] if arguments is None else arguments
    if words in (["-h"], ["--help"]):
        print("Usage: glb-start [OPTIONS]\n\nRuns the server in this terminal until Ctrl-C. "
              "OPTIONS are those of 'tutti daemon run'.")
        return 0
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _ask)
    try:
        return _run(words)
    except _Asked:
        return 0
    except tutti.Error as error:
        print("glb-start: %s" % error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
