"""HTTP/1.1 answers and server-sent events, parsed strictly and without doing any I/O.

`http.client` takes longer for one answer than a whole lease may take.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

_MOST_HEADER_BYTES = 64 * 1024
_MOST_LINE_BYTES = 1024
_MOST_KNOWN_HEADERS = 64
_HEX_DIGITS = frozenset(b"0123456789abcdefABCDEF")


class ProtocolError(Exception):
    """What came is not an HTTP/1.1 answer; the connection is of no further use."""


def encode_request(method: str, target: str, body: Optional[bytes], token: str = "") -> bytes:
    head = "%s %s HTTP/1.1\r\nHost: tutti\r\n" % (method, target)
    if token:
        head += "Authorization: Bearer %s\r\n" % token
    if body is None:
        return (head + "\r\n").encode("ascii")
    head += "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head.encode("ascii") + body


_Header = Tuple[int, Mapping[bytes, bytes]]
# A daemon's answers begin with the same few texts again and again.
_known_headers: Dict[bytes, _Header] = {}


def _header(text: bytes) -> _Header:
    known = _known_headers.get(text)
    if known is None:
        known = _parse_header(text)
        if len(_known_headers) < _MOST_KNOWN_HEADERS:
            _known_headers[text] = known
    return known


def _parse_header(text: bytes) -> _Header:
    """The status and the headers, their names in lower case."""
    lines = text.split(b"\r\n")
    first = lines[0]
    told = first[9:12].isdigit() and first[12:13] in (b" ", b"")
    if first[:9] != b"HTTP/1.1 " or not told:
        raise ProtocolError("no HTTP/1.1 answer: %r" % first[:40])
    headers: Dict[bytes, bytes] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        if not colon or not name or name != name.strip():
            raise ProtocolError("no header line: %r" % line[:40])
        name = name.lower()
        if name in headers and name in (b"content-length", b"transfer-encoding"):
            raise ProtocolError("two headers of the name %r" % name)
        headers[name] = value.strip()
    return int(first[9:12]), headers


class Response:
    """One answer while it arrives. Feed it what was received; an empty feed is the end. What came
    behind it is returned: it belongs to the next answer."""

    def __init__(self) -> None:
        self.status = 0  # known once the header is complete
        self.headers: Mapping[bytes, bytes] = {}
        self.complete = False
        self.reusable = False  # whether another request may follow on the connection
        self._raw = b""
        self._body: List[bytes] = []
        self._left = 0  # bytes of the body, or of the chunk, that are to come
        self._mode = "header"

    def feed(self, data: bytes) -> bytes:
        if not data:
            self._end()
            return b""
        self._raw = self._raw + data if self._raw else data
        while self._raw and not self.complete and getattr(self, "_read_" + self._mode)():
            pass
        if not self.complete:
            return b""
        rest, self._raw = self._raw, b""
        return rest

    def take_body(self) -> bytes:
        """What has arrived of the body since the last call."""
        body = b"".join(self._body) if len(self._body) != 1 else self._body[0]
        self._body.clear()
        return body

    def _end(self) -> None:
        if self._mode != "until_close":
            raise ProtocolError("the connection ended in the middle of an answer")
        self.complete = True

    def _read_header(self) -> bool:
        end = self._raw.find(b"\r\n\r\n")
        if end < 0:
            if len(self._raw) > _MOST_HEADER_BYTES:
                raise ProtocolError("the header of the answer is too long")
            return False
        self.status, self.headers = _header(self._raw[:end])
        self._raw = self._raw[end + 4:]
        if self.status == 100:
            return True
        self._choose_mode()
        return True

    def _choose_mode(self) -> None:
        self.reusable = self.headers.get(b"connection", b"").lower() != b"close"
        encoding = self.headers.get(b"transfer-encoding")
        length = self.headers.get(b"content-length")
        if encoding is not None:
            if encoding.lower() != b"chunked" or length is not None:
                raise ProtocolError("cannot read a body of encoding %r" % encoding)
            self._mode = "chunk_size"
        elif length is not None:
            if not length.isdigit():
                raise ProtocolError("no length: %r" % length)
            self._left = int(length)
            self._mode = "length"
            self.complete = self._left == 0
        else:
            self._mode = "until_close"
            self.reusable = False

    def _take_left(self) -> bool:
        """Moves bytes of the body; whether all that were announced have come."""
        if len(self._raw) <= self._left:
            piece, self._raw = self._raw, b""
        else:
            piece, self._raw = self._raw[:self._left], self._raw[self._left:]
        self._left -= len(piece)
        self._body.append(piece)
        return self._left == 0

    def _read_length(self) -> bool:
        self.complete = self._take_left()
        return False

    def _read_until_close(self) -> bool:
        self._body.append(self._raw)
        self._raw = b""
        return False

    def _line(self) -> Optional[bytes]:
        end = self._raw.find(b"\r\n")
        if end < 0:
            if len(self._raw) > _MOST_LINE_BYTES:
                raise ProtocolError("a line of the chunked answer is too long")
            return None
        line, self._raw = self._raw[:end], self._raw[end + 2:]
        return line

    def _read_chunk_size(self) -> bool:
        line = self._line()
        if line is None:
            return False
        size = line.partition(b";")[0].strip()
        if not 0 < len(size) <= 16 or not _HEX_DIGITS.issuperset(size):
            raise ProtocolError("no size of a chunk: %r" % line[:40])
        self._left = int(size, 16)
        self._mode = "chunk" if self._left else "trailer"
        return True

    def _read_chunk(self) -> bool:
        if self._take_left():
            self._mode = "chunk_end"
        return True

    def _read_chunk_end(self) -> bool:
        if len(self._raw) < 2:
            return False
        if self._raw[:2] != b"\r\n":
            raise ProtocolError("a chunk is longer than announced")
        self._raw = self._raw[2:]
        self._mode = "chunk_size"
        return True

    def _read_trailer(self) -> bool:
        line = self._line()
        if line is None:
            return False
        self.complete = line == b""
        return not self.complete


class Event(NamedTuple):
    """One server-sent event with its decoded data."""

    name: str
    data: Any


class EventReader:
    """Cuts a text/event-stream body into events. Feed it the body as it arrives."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, body: bytes) -> List[Event]:
        text = self._rest + body if self._rest else body
        blocks = text.split(b"\n\n")
        self._rest = blocks.pop()
        return [event for event in map(_event, blocks) if event is not None]


def _event(block: bytes) -> Optional[Event]:
    name = "message"
    data: List[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if field == b"event":
            name = value.decode("utf-8", "replace")
        elif field == b"data":
            data.append(value)
    if not data:
        return None  # a comment, such as ": keep-alive"
    try:
        return Event(name, json.loads(b"\n".join(data)))
    except ValueError as error:
        raise ProtocolError("an event's data is no JSON: %s" % error) from None
