"""The parser of answers: strict, and indifferent to how the bytes are cut."""

import pytest

from tutti._http import EventReader, ProtocolError, Response

CHUNKED = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
           b"5\r\nhello\r\nA;x=y\r\n world abc\r\n0\r\n\r\n")
PLAIN = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"


def parsed(data, piece):
    response = Response()
    for at in range(0, len(data), piece):
        response.feed(data[at:at + piece])
    return response


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 1000])
def test_any_cut_gives_the_same_answer(piece):
    chunked = parsed(CHUNKED, piece)
    assert (chunked.status, chunked.complete, chunked.reusable) == (200, True, True)
    assert chunked.take_body() == b"hello world abc"
    plain = parsed(PLAIN, piece)
    assert (plain.status, plain.complete, plain.take_body()) == (404, True, b"{}")


def test_body_without_length_lasts_until_the_end():
    response = parsed(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc", 4)
    assert not response.complete
    response.feed(b"")
    assert response.complete and not response.reusable and response.take_body() == b"abc"


def test_continue_is_no_answer():
    response = parsed(b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN, 5)
    assert response.status == 404 and response.complete


@pytest.mark.parametrize("data", [
    b"HTTP/1.0 200 OK\r\n\r\n",
    b"HTTP/1.1 2x0 OK\r\n\r\n",
    b"nonsense\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n",
    b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70000,
])
def test_nonsense_is_refused(data):
    with pytest.raises(ProtocolError):
        parsed(data, 100000)


def test_what_follows_an_answer_is_given_back():
    response = Response()
    assert response.feed(PLAIN[:10]) == b""
    assert response.feed(PLAIN[10:] + CHUNKED) == CHUNKED
    assert response.complete and response.take_body() == b"{}"


@pytest.mark.parametrize("data", [b"HTTP/1.1 200", PLAIN[:-1], CHUNKED[:-2]])
def test_broken_off_is_refused(data):
    response = parsed(data, 1000)
    with pytest.raises(ProtocolError):
        response.feed(b"")


@pytest.mark.parametrize("piece", [1, 4, 100])
def test_events_come_when_they_are_complete(piece):
    text = b': keep-alive\n\nevent: queued\ndata: {"lease":\ndata: 1}\n\nevent: x\ndata:{}\n\nevent'
    reader = EventReader()
    events = []
    for at in range(0, len(text), piece):
        events += reader.feed(text[at:at + piece])
    assert events == [("queued", {"lease": 1}), ("x", {})]


def test_event_that_is_no_json_is_refused():
    with pytest.raises(ProtocolError):
        EventReader().feed(b"data: {\n\n")
