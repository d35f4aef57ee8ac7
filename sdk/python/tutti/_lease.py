"""Leases: a GPU for as long as a block of code needs it."""

from __future__ import annotations

import contextvars
import dataclasses
import json
import logging
import os
import pwd
import socket
import threading
import time
import warnings
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from . import _client, _environment, _errors, _frameworks, _home, _watcher
from ._client import Connection, Deadline
from ._errors import Error, NotFound, Refused, TuttiWarning, Unavailable
from ._http import Event, EventReader, ProtocolError

log = logging.getLogger("tutti")

_LONGEST_MESSAGE = 500

_innermost: contextvars.ContextVar[Optional["Lease"]] = contextvars.ContextVar(
    "tutti_lease", default=None)
# How long a release waits for a daemon that is being restarted, in seconds.
_PATIENCE = 1.0
# Leases whose release did not reach the daemon: told with the next request.
_owed: List[Tuple[int, Dict[str, str]]] = []
_last_devices: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Gpu:
    """A GPU as a lease grants it.

    Example::

        with tutti.lease() as lease:
            for gpu in lease.gpus:
                print(gpu.index, gpu.name, gpu.granted_mib, "of", gpu.memory_mib, "MiB")
    """

    index: int
    uuid: str
    name: str
    type: str
    memory_mib: int
    granted_mib: int
    emulated: bool


class Lease:
    """A granted lease. It lives until release(), or until the process that asked for it ends.

    ``id`` is its number, or None if the code runs without a daemon (``on_unavailable="continue"``);
    ``gpus`` what was granted; ``env`` the variables that choose the GPUs, which are set in
    ``os.environ`` meanwhile; ``measuring`` whether it has a GPU to itself because its kind is not
    known yet; ``warnings`` what the daemon had to say about it so far; ``ended`` why the daemon
    ended it before it was released, or None.

    Example::

        with tutti.lease(mem="8G") as lease:
            subprocess.run(["./render"], env={**os.environ, **lease.env}, check=True)
    """

    def __init__(self, kind: str, connection: Optional[Connection] = None,
                 reader: Optional[EventReader] = None,
                 granted: Optional[Mapping[str, Any]] = None) -> None:
        granted = granted or {}
        self.kind = kind
        self.id: Optional[int] = granted.get("lease")
        self.gpus: List[Gpu] = [_gpu(one) for one in granted.get("gpus", [])]
        self.env: Dict[str, str] = dict(granted.get("env", {}))
        self.measuring: bool = bool(granted.get("measuring", False))
        self.warnings: List[str] = []
        self.ended: Optional[str] = None
        self._pid = os.getpid()
        self._connection = connection
        self._reader = reader or EventReader()
        self._lock = threading.Lock()
        self._released = False

    def __repr__(self) -> str:
        return "<tutti.Lease %s of %s on %s>" % (
            self.id, self.kind, ",".join(str(gpu.index) for gpu in self.gpus) or "no GPU")

    @property
    def live(self) -> bool:
        """Whether this process holds it. A forked child does not hold its parent's leases."""
        return not self._released and self._pid == os.getpid()

    def release(self, outcome: str = "succeeded", message: str = "") -> None:
        """Gives the GPUs back. What was measured counts if the outcome is ``"succeeded"``;
        ``"out_of_memory"`` makes the kind's next lease larger; ``"failed"`` is the third.

        Releasing twice, or in a forked child, does nothing.

        Example::

            lease = tutti.lease().acquire()
            try:
                train()
            finally:
                lease.release()
        """
        if self._pid != os.getpid():
            self._let_go_in_child()
            return
        with self._lock:
            if self._released:
                return
            self._released = True
            connection, self._connection = self._connection, None
        _environment.pop(self.env)
        body = {"outcome": outcome}
        if message:
            body["message"] = message[:_LONGEST_MESSAGE]
        told = self.id is None or self.ended is not None
        if connection is not None and connection.response.reusable and not told:
            self._tell_on(connection, body)
            return
        if connection is not None:
            _let_go_of(connection)
        if self.id is not None and not told:
            _tell_release(self.id, body)

    def _hold(self) -> None:
        """From now on the daemon's words about this lease are heard, and its variables are set."""
        if self.env:
            _warn_if_too_late(self)
            _environment.push(self.env)
        if self._connection is not None:
            _watcher.current().watch(self._connection.sock.fileno(), self._on_bytes)

    def _let_go_in_child(self) -> None:
        """Its variables are of no use here, and only the parent may end it."""
        if not self._released:
            self._released = True
            _environment.pop(self.env)

    def _tell_on(self, connection: Connection, body: Dict[str, str]) -> None:
        """Releases it where it was granted and does not wait for the answer: what is asked there
        next is carried out after it. If the daemon goes away before it answers, it is told again."""
        number = self.id or 0
        client = _client.current()
        _watcher.current().watch_for_end(connection.sock.fileno(),
                                         lambda: client.hung_up(connection))
        try:
            connection.tell("DELETE", "/v1/leases/%d" % number, json.dumps(body).encode("utf-8"),
                            lambda: _tell_release(number, body, connection.endpoint))
        except OSError:
            client.drop(connection)
        except BaseException:
            client.drop(connection)
            raise
        else:
            client.keep(connection)

    def _on_bytes(self) -> None:
        """On the watcher's thread: the daemon said something, or is gone."""
        with self._lock:
            connection = self._connection
            if connection is None or self._released:
                return
            try:
                connection.receive_present()
                self._take_events(self._reader.feed(connection.response.take_body()))
                if not connection.response.complete:
                    return
            except (OSError, ProtocolError):
                # The lease outlives a restart of the daemon; release() finds the new one.
                pass
            self._connection = None
        _let_go_of(connection)

    def _take_events(self, events: List[Event]) -> None:
        for event in events:
            message = _client.plain(event.data.get("message", ""))
            if event.name == "warning":
                self.warnings.append(message)
                log.warning("lease %s (%s): %s", self.id, self.kind, message)
            elif event.name == "ended":
                self.ended = message
                log.warning("lease %s (%s) was ended: %s", self.id, self.kind, message)


def _let_go_of(connection: Connection) -> None:
    _watcher.current().unwatch(connection.sock.fileno())
    _client.current().drop(connection)


def _gpu(one: Mapping[str, Any]) -> Gpu:
    return Gpu(int(one["index"]), str(one["uuid"]), str(one["name"]), str(one["type"]),
               int(one["memory_mib"]), int(one["granted_mib"]), bool(one.get("emulated", False)))


def _warn_if_too_late(lease: Lease) -> None:
    """A framework that has chosen its GPUs does not look at the variables again."""
    global _last_devices
    devices = lease.env.get("CUDA_VISIBLE_DEVICES")
    before, _last_devices = _last_devices, devices
    if devices == before:
        return
    framework = _frameworks.with_gpu_in_use()
    if framework is not None:
        _warn_once("late", "%s has used a GPU in this process before it got lease %s, so it stays "
                   "on that GPU and ignores CUDA_VISIBLE_DEVICES=%s; take the lease before the "
                   "first CUDA call, or run each in a process of its own"
                   % (framework, lease.id, devices))


_warned: Dict[str, bool] = {}


def _warn_once(key: str, message: str) -> None:
    if not _warned.setdefault(key, False):
        _warned[key] = True
        warnings.warn(message, TuttiWarning, stacklevel=2)


def _tell_release(number: int, body: Dict[str, str],
                  endpoint: Optional[_home.Endpoint] = None) -> None:
    """Reaches a daemon that is being restarted; otherwise the release is owed. With `endpoint` only
    the daemon there is meant: the number is another lease's elsewhere."""
    end = time.monotonic() + _PATIENCE
    pause = 0.01
    while True:
        if endpoint is not None and _home.find_endpoint() != endpoint:
            return
        try:
            _client.request("DELETE", "/v1/leases/%d" % number, body, autostart=False)
            return
        except NotFound:
            return
        except Unavailable as error:
            if time.monotonic() > end:
                log.warning("lease %d could not be released now: %s; it ends with this process, or "
                            "with its next lease", number, error)
                _owed.append((number, body))
                return
        time.sleep(pause)
        pause *= 2


def _pay_owed() -> None:
    while _owed:
        number, body = _owed.pop()
        try:
            _client.request("DELETE", "/v1/leases/%d" % number, body)
        except NotFound:
            pass
        except Unavailable:
            _owed.append((number, body))
            raise


def outcome_of(error: Optional[BaseException]) -> Tuple[str, str]:
    """How a block ended, in the words of release()."""
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return "succeeded", ""
    message = "%s: %s" % (type(error).__name__, error)
    return ("out_of_memory" if _frameworks.is_out_of_memory(error) else "failed"), message


class Wish:
    """What a lease is asked for with, and whether to go on without a daemon."""

    def __init__(self, mem: Union[str, int, None], util: Optional[float], gpus: int,
                 type: Optional[str], kind: str, exclusive: bool, policy: str, priority: int,
                 timeout: Optional[float], on_unavailable: str, name: Optional[str] = None,
                 project: Optional[str] = None) -> None:
        if policy not in ("pack", "spread"):
            raise ValueError("policy must be 'pack' or 'spread', not %r" % (policy,))
        if on_unavailable not in ("raise", "continue"):
            raise ValueError("on_unavailable must be 'raise' or 'continue', not %r"
                             % (on_unavailable,))
        self.kind = kind
        self.timeout = timeout
        self.gpus = gpus
        self.goes_on = on_unavailable == "continue"
        wanted: Dict[str, Any] = {
            "kind": _client.text(kind), "user": _client.text(user_name()), "gpus": gpus,
            "policy": policy, "gpu_mem": mem, "gpu_util": util, "gpu_type": type,
            "priority": priority or None, "share": "never" if exclusive else None, "name": name,
            "project": project,
        }
        kept = {key: value for key, value in wanted.items() if value is not None}
        self.body = json.dumps(kept).encode("utf-8")

    def joined(self) -> Optional[Lease]:
        """The lease that this code runs under already. Asking for another one could wait for ever:
        for the GPU that one's own caller holds. A job that was given GPUs has them already, too."""
        lease = _innermost.get()
        if lease is not None and lease.live:
            return lease if self.gpus <= max(1, len(lease.gpus)) else None
        given = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        if given and os.environ.get("TUTTI_JOB_ID") and self.gpus <= given.count(",") + 1:
            return Lease(self.kind)
        return None

    def without(self, error: Unavailable) -> Lease:
        """A lease of nothing, if that is wanted."""
        if not self.goes_on:
            raise error
        _warn_once("unavailable", "running without a GPU lease, beside whatever else uses the "
                   "GPUs: %s" % error)
        return Lease(self.kind)

    def too_long(self) -> Error:
        return _errors.Timeout(
            "no GPU for %s within %g s; see who holds them with 'tutti gpus', or wait longer with "
            "timeout=" % (self.kind, self.timeout or 0), "timeout")

    def acquire(self) -> Lease:
        """Waits for a grant."""
        deadline = Deadline(self.timeout)
        try:
            _pay_owed()
            while True:
                lease = _Asking(self).ask(deadline)
                if lease is not None:
                    break
        except Unavailable as error:
            lease = self.without(error)
        lease._hold()
        return lease

    async def acquire_async(self) -> Lease:
        """Waits for a grant without holding up other tasks; cancelling gives the request up."""
        try:
            while True:
                lease = await _Asking(self).ask_async()
                if lease is not None:
                    break
        except Unavailable as error:
            lease = self.without(error)
        lease._hold()
        return lease


class _Asking:
    """One request for a lease, from the question to the grant."""

    def __init__(self, wish: Wish) -> None:
        self._wish = wish
        self._reader = EventReader()
        self._number: Optional[int] = None
        self._client = _client.current()

    def ask(self, deadline: Deadline) -> Optional[Lease]:
        """A lease, or None if the daemon went away meanwhile: ask again."""
        connection = self._client.take()
        try:
            connection.send("POST", "/v1/leases", self._wish.body)
            while True:
                connection.receive(deadline.left())
                lease = self._look(connection)
                if lease is not None:
                    return lease
        except socket.timeout:
            self._client.drop(connection)
            raise self._wish.too_long() from None
        except _errors.Timeout:
            self._client.drop(connection)
            raise self._wish.too_long() from None
        except (OSError, ProtocolError) as error:
            self._client.drop(connection)
            self._lost(error)
            return None
        except BaseException:
            # Closing the connection gives the request up, and also a grant that nobody saw.
            self._client.drop(connection)
            raise

    async def ask_async(self) -> Optional[Lease]:
        connection = await self._client.take_async()
        try:
            await connection.send_async("POST", "/v1/leases", self._wish.body)
            while True:
                await connection.receive_async()
                lease = self._look(connection)
                if lease is not None:
                    return lease
        except (OSError, ProtocolError) as error:
            self._client.drop(connection)
            self._lost(error)
            return None
        except BaseException:
            self._client.drop(connection)
            raise

    def _look(self, connection: Connection) -> Optional[Lease]:
        response = connection.response
        if response.status == 0:
            return None
        if response.status != 200:
            if response.complete:
                raise self._refusal(response.status, response.take_body())
            return None
        events = self._reader.feed(response.take_body())
        for index, event in enumerate(events):
            if event.name == "queued":
                self._number = event.data["lease"]
            elif event.name == "granted":
                lease = Lease(self._wish.kind, connection, self._reader, event.data)
                lease._take_events(events[index + 1:])
                return lease
            elif event.name == "ended":
                raise Refused(_client.plain(event.data.get("message", "the lease was ended")))
        if response.complete:
            raise ProtocolError("the daemon ended the request without an answer")
        return None

    def _refusal(self, status: int, body: bytes) -> Error:
        error = _errors.from_answer(status, body)
        if isinstance(error, NotFound):
            return Unavailable("the daemon knows no leases: it is older than this package; restart "
                               "it with 'tutti daemon restart'", "unavailable")
        return error

    def _lost(self, error: Exception) -> None:
        """The daemon went away while we waited. It may have granted before, without our knowing;
        after its restart it would keep that lease for as long as this process lives."""
        if self._number is None:
            raise _client.broken(error) from error
        _tell_release(self._number, {"outcome": "failed", "message": "the connection broke"})


_user: Optional[Tuple[int, str]] = None


def user_name() -> str:
    global _user
    uid = os.getuid()
    if _user is None or _user[0] != uid:
        try:
            _user = uid, pwd.getpwuid(uid).pw_name
        except KeyError:
            _user = uid, str(uid)
    return _user[1]


def enter(lease: Lease) -> contextvars.Token[Optional[Lease]]:
    return _innermost.set(lease)


def leave(token: contextvars.Token[Optional[Lease]]) -> None:
    try:
        _innermost.reset(token)
    except ValueError:
        pass  # left in another context than it was entered in; that one ends by itself
