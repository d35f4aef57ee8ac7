"""Requests to the daemon over kept-alive connections, from any thread; safe to fork."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import socket
import threading
import time
from typing import Any, AsyncIterator, Callable, Iterator, List, Optional, Set
from urllib.parse import quote, urlencode

from . import _errors, _home
from ._errors import Error, Timeout, Unavailable
from ._http import Event, EventReader, ProtocolError, Response, encode_request

ANSWER_PATIENCE_S = 60.0
_MOST_IDLE = 8
_RECEIVE_BYTES = 64 * 1024


class Deadline:
    """A moment at which waiting ends; None for never."""

    def __init__(self, seconds: Optional[float]) -> None:
        self._seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> Optional[float]:
        """Seconds that are left; None for never. Raises Timeout when none are."""
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise self.error()
        return left

    def error(self) -> Timeout:
        return Timeout("not within %g s" % (self._seconds or 0), "timeout")


class Connection:
    """One connection and the answer that arrives on it. Used by one thread at a time."""

    def __init__(self, sock: socket.socket, endpoint: _home.Endpoint) -> None:
        self.sock = sock
        self.endpoint = endpoint
        self.response = Response()
        self._timeout: Optional[float] = None

    def close(self) -> None:
        self.sock.close()

    def usable(self) -> bool:
        """Whether the daemon still listens on this idle connection."""
        self._wait_at_most(0.0)
        try:
            self.sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False  # closed, or bytes that nobody asked for

    def send(self, method: str, target: str, body: Optional[bytes]) -> None:
        self.response = Response()
        self._wait_at_most(None)
        self.sock.sendall(encode_request(method, target, body, self.endpoint.token))

    def receive(self, left: Optional[float]) -> None:
        """Waits for bytes and parses them. Raises socket.timeout, OSError or ProtocolError."""
        self._wait_at_most(left)
        self.response.feed(self.sock.recv(_RECEIVE_BYTES))

    def receive_present(self) -> None:
        """Parses what is there already; never waits."""
        self._wait_at_most(0.0)
        try:
            data = self.sock.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        self.response.feed(data)

    def finish(self, left: Optional[float]) -> bytes:
        """The rest of the body."""
        while not self.response.complete:
            self.receive(left)
        return self.response.take_body()

    async def send_async(self, method: str, target: str, body: Optional[bytes]) -> None:
        self.response = Response()
        self._wait_at_most(0.0)
        loop = asyncio.get_running_loop()
        data = encode_request(method, target, body, self.endpoint.token)
        await loop.sock_sendall(self.sock, data)

    async def receive_async(self) -> None:
        self._wait_at_most(0.0)
        loop = asyncio.get_running_loop()
        self.response.feed(await loop.sock_recv(self.sock, _RECEIVE_BYTES))

    def _wait_at_most(self, seconds: Optional[float]) -> None:
        if seconds != self._timeout or seconds:
            self.sock.settimeout(seconds)
            self._timeout = seconds


class Client:
    """The connections of this process. One exists per process; see current()."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._lock = threading.Lock()
        self._idle: List[Connection] = []
        self._open: Set[Connection] = set()

    def take(self, autostart: bool = True) -> Connection:
        """A connection on which nothing is under way; starts a daemon when none runs."""
        endpoint = _home.find_endpoint()
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                break
            if connection.endpoint == endpoint and connection.usable():
                return connection
            self.drop(connection)
        connection = Connection(_home.connect_or_start(endpoint, autostart), endpoint)
        with self._lock:
            self._open.add(connection)
        return connection

    async def take_async(self) -> Connection:
        """As take(); only starting a daemon takes long enough to need a thread."""
        try:
            return self.take(autostart=False)
        except Unavailable:
            await in_thread(_start_if_none)
        return self.take(autostart=False)

    def give_back(self, connection: Connection) -> None:
        """Keeps a connection for the next request, if it can be."""
        with self._lock:
            if (connection.response.complete and connection.response.reusable
                    and len(self._idle) < _MOST_IDLE):
                self._idle.append(connection)
                return
        self.drop(connection)

    def drop(self, connection: Connection) -> None:
        with self._lock:
            self._open.discard(connection)
        connection.close()

    def forget(self) -> None:
        """In a forked child: lets go of the parent's connections without a word to the daemon."""
        for connection in list(self._open):
            connection.close()


_client = Client()


def current() -> Client:
    """The client of this process."""
    global _client
    if _client.pid != os.getpid():
        _client = Client()
    return _client


def _start_anew_in_child() -> None:
    global _client
    _client.forget()
    _client = Client()


os.register_at_fork(after_in_child=_start_anew_in_child)
# Without a word too: only so that nothing is left open when Python looks.
atexit.register(lambda: _client.forget())


def _start_if_none() -> None:
    endpoint = _home.find_endpoint()
    _home.connect_or_start(endpoint).close()


def text(value: str) -> Any:
    """A string for JSON; bytes that are no UTF-8 travel as base64."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        import base64
        return {"base64": base64.b64encode(os.fsencode(value)).decode("ascii")}
    return value


def plain(value: Any) -> str:
    """A string of an answer, whichever way it travelled."""
    if isinstance(value, dict):
        import base64
        return os.fsdecode(base64.b64decode(value["base64"]))
    return str(value)


def path(*parts: Any, **query: Any) -> str:
    """A target such as /v1/jobs/12?tail=5; queries that are None are left out."""
    target = "/v1/" + "/".join(quote(str(part), safe="") for part in parts)
    kept = {key: value for key, value in query.items() if value is not None}
    return target + ("?" + urlencode(kept) if kept else "")


def broken(error: Exception) -> Unavailable:
    if isinstance(error, socket.timeout):
        return Unavailable("the daemon does not answer; look at it with 'tutti daemon status'",
                           "unavailable")
    return Unavailable("the connection to the daemon broke: %s" % error, "unavailable")


def exchange(method: str, target: str, body: Any = None, autostart: bool = True) -> bytes:
    """One request; the body of its answer. Raises Error."""
    client = current()
    data = None if body is None else json.dumps(body).encode("utf-8")
    connection = client.take(autostart)
    try:
        connection.send(method, target, data)
        answer = connection.finish(ANSWER_PATIENCE_S)
    except (OSError, ProtocolError) as error:
        client.drop(connection)
        raise broken(error) from error
    except BaseException:
        client.drop(connection)
        raise
    status = connection.response.status
    client.give_back(connection)
    if not 200 <= status < 300:
        raise _errors.from_answer(status, answer)
    return answer


def request(method: str, target: str, body: Any = None, autostart: bool = True) -> Any:
    """One request; its decoded JSON answer."""
    answer = exchange(method, target, body, autostart)
    try:
        return json.loads(answer)
    except ValueError:
        raise Error("the daemon's answer to %s %s is no JSON" % (method, target)) from None


def events(target: str, deadline: Deadline) -> Iterator[Event]:
    """Server-sent events until the daemon ends the stream; Unavailable if it breaks."""
    client = current()
    connection = client.take()
    reader = EventReader()
    try:
        connection.send("GET", target, None)
        while not connection.response.complete:
            connection.receive(deadline.left())
            yield from _events_of(connection, reader)
    except socket.timeout:
        raise deadline.error() from None
    except (OSError, ProtocolError) as error:
        raise broken(error) from error
    finally:
        client.drop(connection)


async def events_async(target: str) -> AsyncIterator[Event]:
    """As events(), for asyncio; time limits are the caller's."""
    client = current()
    connection = await client.take_async()
    reader = EventReader()
    try:
        await connection.send_async("GET", target, None)
        while not connection.response.complete:
            await connection.receive_async()
            for event in _events_of(connection, reader):
                yield event
    except (OSError, ProtocolError) as error:
        raise broken(error) from error
    finally:
        client.drop(connection)


def _events_of(connection: Connection, reader: EventReader) -> List[Event]:
    response = connection.response
    if response.status == 200:
        return reader.feed(response.take_body())
    if response.complete:
        raise _errors.from_answer(response.status, response.take_body())
    return []


async def in_thread(call: Callable[..., Any], *arguments: Any) -> Any:
    """Runs a call that is short but may block. Its effect is not undone by cancelling."""
    return await asyncio.get_running_loop().run_in_executor(None, call, *arguments)
