"""Requests to the daemon over kept-alive connections, from any thread; safe to fork."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import socket
import threading
import time
from typing import Any, AsyncIterator, Callable, Iterator, List, Optional, Set, Tuple
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
    """One connection and the answers that arrive on it. Used by one thread at a time.

    `response` is the answer to the newest request. Requests may be sent before the answers to
    earlier ones have come; these are then dropped as they arrive."""

    def __init__(self, sock: socket.socket, endpoint: _home.Endpoint) -> None:
        self.sock = sock
        self.endpoint = endpoint
        self.response = Response()
        self.response.complete = True  # nothing was asked
        self._earlier: List[Response] = []
        self._unheard: Optional[Tuple[Response, Callable[[], None]]] = None
        self._timeout: Optional[float] = None
        self.closed_there = False  # the daemon closed it while it was in use

    def close(self) -> None:
        self.sock.close()

    def usable(self) -> bool:
        """Whether the daemon still listens on this idle connection."""
        try:
            while True:
                self._feed(self._present())
        except BlockingIOError:
            return True
        except (OSError, ProtocolError):
            return False  # closed, or bytes that nobody asked for

    def send(self, method: str, target: str, body: Optional[bytes]) -> None:
        data = self._begin(method, target, body)
        self._wait_at_most(None)
        self.sock.sendall(data)

    def tell(self, method: str, target: str, body: bytes, unheard: Callable[[], None]) -> None:
        """Sends a request and waits for no answer. If the connection ends before it came, `unheard`
        is called when the connection is dropped."""
        data = self._begin(method, target, body)
        self._unheard = self.response, unheard
        self._wait_at_most(None)
        self.sock.sendall(data)

    def take_unheard(self) -> Optional[Callable[[], None]]:
        unheard, self._unheard = self._unheard, None
        return None if unheard is None or unheard[0].complete else unheard[1]

    def _begin(self, method: str, target: str, body: Optional[bytes]) -> bytes:
        if not self.response.complete:
            self._earlier.append(self.response)
        self.response = Response()
        return encode_request(method, target, body, self.endpoint.token)

    def receive(self, left: Optional[float]) -> None:
        """Waits for bytes and parses them. Raises socket.timeout, OSError or ProtocolError."""
        self._wait_at_most(left)
        self._feed(self.sock.recv(_RECEIVE_BYTES))

    def receive_present(self) -> None:
        """Parses what is there already; never waits."""
        try:
            data = self._present()
        except BlockingIOError:
            return
        self._feed(data)

    def _present(self) -> bytes:
        if self._timeout:
            self._wait_at_most(0.0)  # with a time limit Python waits in spite of the flag
        return self.sock.recv(_RECEIVE_BYTES, socket.MSG_DONTWAIT)

    def _feed(self, data: bytes) -> None:
        while self._earlier:
            data = self._earlier[0].feed(data)
            if not self._earlier[0].complete:
                return
            del self._earlier[0]
            if not data:
                return
        if self.response.complete or self.response.feed(data):
            raise ProtocolError("bytes after the end of the answer")

    def finish(self, left: Optional[float]) -> bytes:
        """The rest of the body."""
        while not self.response.complete:
            self.receive(left)
        return self.response.take_body()

    async def send_async(self, method: str, target: str, body: Optional[bytes]) -> None:
        data = self._begin(method, target, body)
        self._wait_at_most(0.0)
        await asyncio.get_running_loop().sock_sendall(self.sock, data)

    async def receive_async(self) -> None:
        self._wait_at_most(0.0)
        loop = asyncio.get_running_loop()
        self._feed(await loop.sock_recv(self.sock, _RECEIVE_BYTES))

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
        if connection.response.complete and connection.response.reusable:
            self.keep(connection)
        else:
            self.drop(connection)

    def keep(self, connection: Connection) -> None:
        """As give_back(), though an answer that nobody waits for is still to come."""
        with self._lock:
            closed_there = connection.closed_there
            room = len(self._idle) < _MOST_IDLE and not closed_there
            if room:
                self._idle.append(connection)
        if closed_there:  # not here: what was not heard may have to be told for a while
            threading.Thread(target=self._drop_hung_up, args=(connection,), daemon=True).start()
        elif not room:
            self.drop(connection)

    def drop(self, connection: Connection) -> None:
        with self._lock:
            self._open.discard(connection)
        connection.close()
        unheard = connection.take_unheard()
        if unheard is not None:
            unheard()

    def hung_up(self, connection: Connection) -> None:
        """The daemon closed it. Who is using it notices, at the latest when it is kept."""
        with self._lock:
            if connection not in self._idle:
                connection.closed_there = True
                return
            self._idle.remove(connection)
        self._drop_hung_up(connection)

    def _drop_hung_up(self, connection: Connection) -> None:
        connection.usable()  # an answer may have come before
        self.drop(connection)

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
