"""Where the daemon is, and how to start it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import struct
import subprocess
from typing import NamedTuple, Optional

from ._errors import Error, Refused, Unavailable

_LONGEST_SOCKET_PATH = 100
_SEND_PATIENCE_S = 30
_START_PATIENCE_S = 60


class Endpoint(NamedTuple):
    """Where a daemon listens: a unix socket, or a host and port with a token."""

    home: str
    path: Optional[str]
    host: str = ""
    port: str = ""
    token: str = ""

    @property
    def name(self) -> str:
        return self.path or "%s:%s" % (self.host, self.port)


def home_folder() -> str:
    """$TUTTI_HOME, else $XDG_DATA_HOME/tutti, else ~/.local/share/tutti."""
    home = os.environ.get("TUTTI_HOME")
    if home:
        return os.path.abspath(home)
    xdg = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification says that a relative path is to be ignored.
    if xdg.startswith("/"):
        return os.path.abspath(xdg + "/tutti")
    user = os.environ.get("HOME")
    if not user:
        try:
            user = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            raise Unavailable("neither TUTTI_HOME nor HOME is set; set TUTTI_HOME to a folder of "
                              "yours") from None
    return os.path.abspath(user + "/.local/share/tutti")


def socket_path(home: str) -> str:
    """The daemon's socket; a short path stands in for one that the kernel would refuse."""
    path = os.fsencode(home) + b"/run/tutti.sock"
    if len(path) <= _LONGEST_SOCKET_PATH:
        return os.fsdecode(path)
    value = 0xCBF29CE484222325
    for byte in os.fsencode(home):
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return "/tmp/tutti-%d-%016x/tutti.sock" % (os.getuid(), value)


def find_endpoint() -> Endpoint:
    home = home_folder()
    address = os.environ.get("TUTTI_HOST")
    if not address:
        return Endpoint(home, socket_path(home))
    host, colon, port = address.rpartition(":")
    if not (host and colon and port):
        raise Refused("TUTTI_HOST=%s is not of the form host:port" % address)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    token = os.environ.get("TUTTI_TOKEN", "")
    if not token:
        try:
            with open(home + "/token", encoding="ascii") as file:
                token = file.readline().strip()
        except (OSError, ValueError):
            pass
    if not token:
        raise Refused("TUTTI_HOST needs a token: set TUTTI_TOKEN, or put the daemon's token into "
                      "%s/token" % home)
    return Endpoint(home, None, host, port, token)


def connect(endpoint: Endpoint) -> socket.socket:
    """A connected, blocking socket. Raises OSError, or Refused if a stranger listens."""
    if endpoint.path is None:
        sock = socket.create_connection((endpoint.host, endpoint.port), _SEND_PATIENCE_S)
        sock.settimeout(None)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Bounds connect() too, which waits while the daemon's backlog is full.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO,
                        struct.pack("ll", _SEND_PATIENCE_S, 0))
        sock.connect(endpoint.path)
        _check_peer(sock, endpoint.path)
    except BaseException:
        sock.close()
        raise
    return sock


def _check_peer(sock: socket.socket, path: str) -> None:
    # In a shared folder such as /tmp somebody else could listen in the daemon's place.
    _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if uid not in (0, os.getuid()) and os.getuid() != 0:
        raise Refused("user %d listens at %s, not you" % (uid, path), "denied")


def autostart_forbidden() -> bool:
    return os.environ.get("TUTTI_NO_AUTOSTART", "") not in ("", "0")


def find_program() -> Optional[str]:
    """The tutti binary: $TUTTI_BINARY, or the one on PATH."""
    return os.environ.get("TUTTI_BINARY") or shutil.which("tutti")


def start_daemon(endpoint: Endpoint) -> None:
    """Starts the daemon of this home as the command line does; returns when it answers."""
    if autostart_forbidden():
        raise Unavailable("no daemon listens at %s, and TUTTI_NO_AUTOSTART is set; start one with "
                          "'tutti daemon start'" % endpoint.name, "unavailable")
    program = find_program()
    if program is None:
        raise Unavailable("no daemon listens at %s, and there is no program 'tutti' on PATH to "
                          "start one; install it, or set TUTTI_BINARY" % endpoint.name,
                          "unavailable")
    environment = dict(os.environ, TUTTI_HOME=endpoint.home)
    try:
        done = subprocess.run([program, "daemon", "start"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env=environment, timeout=_START_PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable("cannot start a daemon with %s: %s" % (program, error),
                          "unavailable") from None
    if done.returncode != 0:
        told = done.stderr.decode("utf-8", "replace").strip()
        raise Unavailable("cannot start a daemon with %s: %s" % (program, told), "unavailable")


def connect_or_start(endpoint: Endpoint, autostart: bool = True) -> socket.socket:
    """Connects; starts a daemon when none listens. Raises Unavailable."""
    try:
        return connect(endpoint)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        if endpoint.path is None or not autostart:
            raise Unavailable("no daemon listens at %s; start one with 'tutti daemon start'"
                              % endpoint.name, "unavailable") from error
    except PermissionError as error:
        raise Unavailable("not allowed to use the daemon at %s; it belongs to another user, choose "
                          "your own home with TUTTI_HOME" % endpoint.name, "denied") from error
    except OSError as error:
        raise _cannot_connect(endpoint, error) from error
    start_daemon(endpoint)
    try:
        return connect(endpoint)
    except OSError as error:
        raise _cannot_connect(endpoint, error) from error


def _cannot_connect(endpoint: Endpoint, error: OSError) -> Error:
    return Unavailable("cannot connect to the daemon at %s: %s" % (endpoint.name, error),
                       "unavailable")
