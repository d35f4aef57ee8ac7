"""A daemon that knows only leases, by the contract of docs/api: for tests of the client alone.

It grants a lease to a GPU of its own while the kind is unknown, and then lets any number share.
"""

import json
import os
import socket
import threading


class Held:
    """A lease that waits or was granted."""

    def __init__(self, number, body, connection):
        self.number = number
        self.body = body
        self.connection = connection
        self.granted = False
        self.gpu = None
        self.measuring = False


class FakeServer:
    """Listens at a path until close(). Everything it saw is in `requests` and `ended`."""

    def __init__(self, path, gpus=1, chunk=None):
        self.gpus = gpus
        self.known = set()  # kinds with a profile
        self.learns = True
        self.requests = []  # (method, target, decoded body)
        self.ended = []  # (lease, outcome or "abandoned", message)
        self.refuse = None  # a (status, code, message) for every new lease
        self.on_delete = None
        self.chunk = chunk  # send answers in pieces of that many bytes
        self.live = {}
        self.connections = 0
        self._next = 1
        self._open = set()
        self._change = threading.Condition(threading.RLock())
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            os.unlink(path)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(128)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Ends as a killed daemon does: every connection breaks."""
        with self._change:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            for connection in list(self._open):
                connection.shutdown(socket.SHUT_RDWR)

    def wait(self, condition, seconds=20):
        with self._change:
            assert self._change.wait_for(condition, seconds), (self.requests, self.ended, self.live)

    def granted(self):
        return [lease.number for lease in self.live.values() if lease.granted]

    def waiting(self):
        return [lease.number for lease in self.live.values() if not lease.granted]

    def say(self, number, event, data):
        with self._change:
            self._event(self.live[number], event, data)

    def revoke(self, number, message):
        with self._change:
            lease = self.live.pop(number)
            self._event(lease, "ended", {"message": message})
            self._send(lease.connection, b"0\r\n\r\n")
            self._schedule()

    def targets(self):
        return [(method, target) for method, target, _ in self.requests]

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._change:
                self.connections += 1
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        file = connection.makefile("rb")
        try:
            while True:
                line = file.readline()
                if not line:
                    break
                method, target, version = line.decode().split()
                assert version == "HTTP/1.1"
                length = 0
                for header in iter(file.readline, b"\r\n"):
                    name, _, value = header.decode().partition(":")
                    if name.lower() == "content-length":
                        length = int(value)
                body = json.loads(file.read(length)) if length else None
                with self._change:
                    self.requests.append((method, target, body))
                    self._answer(connection, method, target, body)
                    self._change.notify_all()
        except (OSError, ValueError):
            pass
        with self._change:
            self._open.discard(connection)
            for lease in [one for one in self.live.values() if one.connection is connection]:
                del self.live[lease.number]
                self.ended.append((lease.number, "abandoned", None))
            self._schedule()
            self._change.notify_all()
        connection.close()

    def _answer(self, connection, method, target, body):
        if (method, target) == ("POST", "/v1/leases"):
            self._ask(connection, body)
        elif method == "DELETE" and target.startswith("/v1/leases/"):
            self._release(connection, int(target.rsplit("/", 1)[1]), body or {})
        elif (method, target) == ("GET", "/v1/nodes"):
            self._json(connection, 200, {"nodes": [
                {"address": address, "devices": [{"index": 0}, {"index": 1}]}
                for address in ("", "ada@box1")]})
        elif (method, target) == ("GET", "/v1/status"):
            self._json(connection, 200, {})
        elif (method, target) == ("GET", "/v1/gpus"):
            self._json(connection, 200, {"gpus": [{"index": 0}]})
        else:
            self._error(connection, 404, "not_found", f"no {target}")

    def _ask(self, connection, body):
        if self.refuse:
            self._error(connection, *self.refuse)
            return
        lease = Held(self._next, body, connection)
        self._next += 1
        self.live[lease.number] = lease
        self._send(connection, b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               b"Transfer-Encoding: chunked\r\n\r\n")
        self._event(lease, "queued", {"lease": lease.number})
        self._schedule()

    def _release(self, connection, number, body):
        if self.on_delete:
            self.on_delete()
        lease = self.live.pop(number, None)
        if lease is None:
            self._error(connection, 404, "not_found", f"lease {number} is not live")
            return
        outcome = body.get("outcome", "succeeded")
        self.ended.append((number, outcome, body.get("message")))
        if outcome == "succeeded" and self.learns:
            self.known.add(lease.body["kind"])
        self._event(lease, "ended", {"message": "released"})
        self._send(lease.connection, b"0\r\n\r\n")
        self._json(connection, 200, {"lease": number})
        self._schedule()

    def _schedule(self):
        for lease in list(self.live.values()):
            if not lease.granted:
                self._try(lease)

    def _try(self, lease):
        kind = lease.body["kind"]
        held = [other for other in self.live.values() if other.granted]
        measuring = kind not in self.known
        if measuring and any(o.measuring and o.body["kind"] == kind for o in held):
            return
        for gpu in range(self.gpus):
            users = [other for other in held if other.gpu == gpu]
            if measuring and users or any(other.measuring for other in users):
                continue
            lease.granted, lease.gpu, lease.measuring = True, gpu, measuring
            uuid = f"GPU-{gpu}"
            self._event(lease, "granted", {
                "lease": lease.number, "measuring": measuring,
                "gpus": [{"index": gpu, "uuid": uuid, "name": "Fake", "type": "A100-80G",
                          "memory_mib": 81920, "granted_mib": 20480, "emulated": True}],
                "env": {"CUDA_VISIBLE_DEVICES": uuid, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}})
            self._change.notify_all()
            return

    def _event(self, lease, name, data):
        text = f": keep-alive\n\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode()
        self._send(lease.connection, b"%x\r\n%s\r\n" % (len(text), text))

    def _json(self, connection, status, body):
        text = json.dumps(body).encode()
        self._send(connection, b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s"
                   % (status, len(text), text))

    def _error(self, connection, status, code, message):
        self._json(connection, status, {"error": {"code": code, "message": message}})

    def _send(self, connection, data):
        try:
            for at in range(0, len(data), self.chunk or len(data)):
                connection.sendall(data[at:at + (self.chunk or len(data))])
        except OSError:
            pass
