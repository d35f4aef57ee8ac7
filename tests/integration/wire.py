"""The HTTP/JSON API as any client would use it, over the unix socket or TCP."""

import http.client
import json
import socket

from waiting import SLOW


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("tutti", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        """The error object of a refusal; fails when the answer is none."""
        error = self.json()["error"]
        assert set(error) >= {"code", "message"} and error["message"], error
        return error


class Event:
    def __init__(self, name, data):
        self.name = name
        self.data = data

    def __repr__(self):
        return f"Event({self.name}, {self.data})"


class Api:
    """One request per connection, so that tests do not depend on each other's connections."""

    def __init__(self, socket_path=None, address=None, token=None):
        self.socket_path = socket_path
        self.address = address
        self.token = token

    def connection(self, timeout=60):
        if self.address:
            return http.client.HTTPConnection(*self.address, timeout=timeout * SLOW)
        return UnixConnection(self.socket_path, timeout * SLOW)

    def headers(self):
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def request(self, method, target, body=None, headers=None, timeout=60):
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        connection = self.connection(timeout)
        try:
            connection.request(method, target, body, {**self.headers(), **(headers or {})})
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def get(self, target, **more):
        answer = self.request("GET", target, **more)
        assert answer.status == 200, (target, answer.status, answer.body[:500])
        return answer.json()

    def post(self, target, body=None, expect=(200, 201)):
        answer = self.request("POST", target, {} if body is None else body)
        assert answer.status in expect, (target, answer.status, answer.body[:500])
        return answer.json()

    def delete(self, target, body=None):
        answer = self.request("DELETE", target, body)
        assert answer.status == 200, (target, answer.status, answer.body[:500])
        return answer.json()

    def submit(self, **job):
        job.setdefault("workdir", "/tmp")
        job.setdefault("env", {"PATH": "/usr/bin:/bin"})
        return self.post("/v1/jobs", job)["id"]

    def tasks(self, job, **query):
        """All tasks of a job, over as many pages as it takes."""
        tasks, start = [], None
        while True:
            parts = [f"{key}={value}" for key, value in query.items()]
            parts += [f"from={start}"] if start is not None else []
            page = self.get(f"/v1/jobs/{job}/tasks?{'&'.join(parts)}")
            tasks += page["tasks"]
            start = page["next_from"]
            if start is None:
                return tasks

    def events(self, target, timeout=60):
        """Yields server-sent events until the server ends the stream."""
        connection = self.connection(timeout)
        try:
            connection.request("GET", target, headers=self.headers())
            response = connection.getresponse()
            assert response.status == 200, response.read()
            assert response.getheader("Content-Type").startswith("text/event-stream")
            name, data = "message", []
            while True:
                line = response.readline()
                if not line:
                    return
                line = line.rstrip(b"\r\n").decode()
                if not line:
                    if data:
                        yield Event(name, json.loads("\n".join(data)))
                    name, data = "message", []
                elif line.startswith("event:"):
                    name = line[6:].strip()
                elif line.startswith("data:"):
                    data.append(line[5:].removeprefix(" "))
        finally:
            connection.close()
