"""The HTTP API as other programs use it."""

import base64
import hashlib
import http.client
import json
import threading

import pytest
import yaml

from waiting import ROOT, wait_until

ROUTES = {
    ("get", "/v1/status"), ("post", "/v1/jobs"), ("get", "/v1/jobs"), ("get", "/v1/jobs/last"),
    ("get", "/v1/jobs/{id}"), ("get", "/v1/jobs/{id}/tasks"), ("get", "/v1/jobs/{id}/logs"),
    ("get", "/v1/jobs/{id}/stream"), ("get", "/v1/jobs/{id}/explain"),
    ("post", "/v1/jobs/{id}/retry"), ("post", "/v1/cancel"), ("post", "/v1/prune"), ("get", "/v1/nodes"),
    ("post", "/v1/nodes"), ("delete", "/v1/nodes/{name}"), ("post", "/v1/nodes/{name}/check"),
    ("post", "/v1/nodes/{name}/limit"), ("post", "/v1/blobs"),
    ("post", "/v1/nodes/{name}/state"), ("get", "/v1/events"), ("post", "/v1/snapshots"),
    ("put", "/v1/blobs/{sha256}"), ("post", "/v1/daemon/stop"), ("post", "/v1/leases"),
    ("delete", "/v1/leases/{id}"), ("get", "/v1/gpus"), ("get", "/v1/profiles"),
    ("post", "/v1/profiles"), ("get", "/v1/profiles/{kind}"), ("delete", "/v1/profiles/{kind}"),
    ("get", "/v1/speeds"), ("post", "/v1/speeds"), ("delete", "/v1/speeds/{model}"),
}


@pytest.fixture(scope="module")
def document():
    return yaml.safe_load((ROOT / "docs/api/openapi.yaml").read_text())


def documented(document):
    prefix = ""
    servers = document.get("servers") or [{}]
    if servers[0].get("url", "").rstrip("/").endswith("/v1"):
        prefix = "/v1"
    for path, item in document["paths"].items():
        for method in item:
            if method in ("get", "post", "put", "delete", "patch", "head"):
                yield method, path if path.startswith("/v1") else prefix + path


def test_document_lists_exactly_the_routes(document):
    assert set(documented(document)) == ROUTES


def test_every_documented_route_answers(daemon, document):
    daemon.wait(daemon.submit("--", "true"))
    node = daemon.api.get("/v1/nodes")["nodes"][0]["name"]
    sha256 = hashlib.sha256(b"{}").hexdigest()
    routes = sorted(documented(document), key=lambda route: (route[1].endswith("/daemon/stop"), route[0] == "delete"))
    for method, path in routes:
        target = path.format(id=1, name=node, sha256=sha256, kind="true", model="none")
        if target == "/v1/events":
            assert stream_opens(daemon, target)
            continue
        answer = daemon.api.request(method.upper(), target, None if method == "get" else "{}")
        if method == "delete" and path == "/v1/leases/{id}":
            assert "no live lease" in answer.error["message"]
            continue
        if path == "/v1/speeds/{model}":
            assert "none" in answer.error["message"]
            continue
        assert answer.status not in (404, 405, 500, 501), (method, path, answer.status, answer.body)


def stream_opens(tutti, target):
    connection = tutti.api.connection()
    connection.request("GET", target)
    opened = connection.getresponse().status == 200
    connection.close()
    return opened


def test_undocumented_methods_are_405_and_say_what_is_allowed(daemon, document):
    known = set(documented(document))
    for path in sorted({path for _, path in known}):
        if ("delete", path) in known:
            continue
        answer = daemon.api.request("DELETE", path.format(id=1, name="x", sha256="0" * 64, kind="k", model="m"))
        assert answer.status == 405, (path, answer.status)
        assert answer.headers["Allow"]


def test_answers_have_the_documented_fields(daemon, document):
    """Every field of an answer is in the document: names are a promise."""
    schemas = document["components"]["schemas"]
    daemon.wait(daemon.batch(["true", "false"]))
    answers = {"Job": daemon.api.get("/v1/jobs")["jobs"][0],
               "Task": daemon.api.get("/v1/jobs/1/tasks")["tasks"][0],
               "Node": daemon.api.get("/v1/nodes")["nodes"][0],
               "Status": daemon.api.get("/v1/status")}
    for name, answer in answers.items():
        assert name in schemas, sorted(schemas)
        missing = set(answer) - set(properties(schemas, schemas[name]))
        assert not missing, f"{name} in the document lacks {missing}"


def properties(schemas, schema):
    found = dict(schema.get("properties") or {})
    for part in schema.get("allOf") or []:
        if "$ref" in part:
            part = schemas[part["$ref"].rsplit("/", 1)[1]]
        found.update(properties(schemas, part))
    return found


def test_one_connection_serves_many_requests(daemon):
    connection = daemon.api.connection()
    for _ in range(20):
        connection.request("GET", "/v1/status")
        response = connection.getresponse()
        assert response.status == 200
        response.read()
    connection.close()


def test_pipelined_requests_are_answered_in_order(daemon):
    connection = daemon.api.connection()
    connection.connect()
    one = b"GET /v1/jobs/last HTTP/1.1\r\nHost: x\r\n\r\n"
    two = b"GET /v1/nodes HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    connection.sock.sendall(one + two)
    data = b""
    while piece := connection.sock.recv(65536):
        data += piece
    assert data.count(b"HTTP/1.1 ") == 2
    assert data.index(b"404") < data.index(b'"nodes"')


def test_job_and_its_spec(daemon):
    job = daemon.api.submit(name="n", command="true", cpus="500m", mem="1G", time="1h30m",
                            priority=-3, env={"SECRET": "x", "PATH": "/bin"})
    told = daemon.job(job)
    assert (told["cpus"], told["memory_mib"], told["time_limit_s"]) == (0.5, 1024, 5400)
    assert (told["name"], told["priority"], told["shape"], told["tasks"]) == ("n", -3, "single", 1)
    assert "SECRET" not in str(told), "the environment is told only when asked for"
    assert "SECRET" in str(daemon.api.get(f"/v1/jobs/{job}?env=1")["spec"]["env"])
    daemon.wait(job)


def test_text_that_is_not_utf8_goes_both_ways_as_base64(daemon):
    word = b"\xff\xfe!"
    encoded = {"base64": base64.b64encode(word).decode()}
    job = daemon.api.submit(command=["printf", "%s", encoded])
    assert daemon.wait(job) == 0
    assert daemon.ok("logs", job).stdout == word
    assert encoded in daemon.job(job)["spec"]["command"]


def test_jobs_come_newest_first_in_pages(daemon):
    ids = [daemon.api.submit(command=["true"], name=f"n{n % 2}") for n in range(7)]
    page = daemon.api.get("/v1/jobs?limit=3")
    assert [j["id"] for j in page["jobs"]] == ids[:3:-1]
    rest = daemon.api.get(f"/v1/jobs?limit=100&before={page['next_before']}")
    assert [j["id"] for j in rest["jobs"]] == ids[3::-1]
    assert rest["next_before"] is None
    assert daemon.api.get("/v1/jobs/last")["id"] == ids[-1]
    named = daemon.api.get("/v1/jobs?name=n1")["jobs"]
    assert [j["id"] for j in named] == ids[1::2][::-1]
    chosen = daemon.api.get(f"/v1/jobs?ids={ids[0]},{ids[2]}")["jobs"]
    assert [j["id"] for j in chosen] == [ids[2], ids[0]]
    daemon.ok("wait", "all")
    assert daemon.api.get("/v1/jobs?state=running,queued")["jobs"] == []
    assert len(daemon.api.get("/v1/jobs?state=succeeded")["jobs"]) == 7


def test_tasks_come_in_pages(daemon):
    job = daemon.batch(["true"] * 25 + ["false"])
    daemon.wait(job)
    page = daemon.api.get(f"/v1/jobs/{job}/tasks?limit=10")
    assert [t["task"] for t in page["tasks"]] == list(range(1, 11))
    assert page["next_from"] == 11
    assert [t["task"] for t in daemon.api.tasks(job, limit=10)] == list(range(1, 27))
    failed = daemon.api.get(f"/v1/jobs/{job}/tasks?state=failed")
    assert [t["task"] for t in failed["tasks"]] == [26]


def test_array_tasks_that_have_not_started_are_listed_too(daemon):
    job = daemon.submit("--array", "10-100:10%1", "--", "sleep", "600")
    tasks = daemon.api.tasks(job, limit=3)
    assert [t["task"] for t in tasks] == list(range(10, 101, 10))
    assert tasks[-1]["state"] == "queued"


def test_logs_are_the_files_bytes(daemon):
    job = daemon.submit("--", "sh", "-c", "printf 'a\\nb\\nc'; printf 'e\\377' >&2")
    daemon.wait(job)
    answer = daemon.api.request("GET", f"/v1/jobs/{job}/logs")
    assert answer.body == b"a\nb\nc"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert daemon.api.request("GET", f"/v1/jobs/{job}/logs?stream=stderr").body == b"e\xff"
    assert daemon.api.request("GET", f"/v1/jobs/{job}/logs?tail=2").body == b"b\nc"
    assert daemon.api.request("GET", f"/v1/jobs/{job}/logs?tail=0").body == b""
    task = daemon.api.tasks(job)[0]
    assert open(task["stdout"], "rb").read() == b"a\nb\nc"


def streamed_text(events):
    out = {}
    for event in events:
        if event.name != "log":
            continue
        text = event.data["text"]
        text = base64.b64decode(text["base64"]) if isinstance(text, dict) else text.encode()
        key = event.data["stream"]
        out[key] = out.get(key, b"") + text
    return out


def test_stream_has_all_logs_then_the_end(daemon, work):
    script = ("i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo line $i; "
              "printf '\\377%d' $i >&2; done; sleep 0.3; printf last")
    job = daemon.submit("--", "sh", "-c", script)
    events = list(daemon.api.events(f"/v1/jobs/{job}/stream?logs=1"))
    assert events[-1].name == "end"
    assert events[-1].data["state"] == "succeeded"
    assert events[-2].name in ("job", "log")
    task = daemon.api.tasks(job)[0]
    text = streamed_text(events)
    assert text["stdout"] == open(task["stdout"], "rb").read()
    assert text["stdout"].endswith(b"last")
    assert text["stderr"] == open(task["stderr"], "rb").read()
    states = [e.data["state"] for e in events if e.name == "job"]
    order = ["queued", "starting", "running", "succeeded"]
    assert states == sorted(states, key=order.index)


def test_stream_of_a_finished_job_is_complete_too(daemon):
    job = daemon.submit("--", "echo", "done")
    daemon.wait(job)
    events = list(daemon.api.events(f"/v1/jobs/{job}/stream?logs=1"))
    assert streamed_text(events) == {"stdout": b"done\n"}
    assert [e.name for e in events].count("end") == 1


def test_stream_without_logs_has_only_changes(daemon):
    job = daemon.submit("--", "sh", "-c", "echo x; sleep 0.2")
    assert {e.name for e in daemon.api.events(f"/v1/jobs/{job}/stream")} <= {"job", "end"}


def test_stream_follows_one_task_of_many(daemon):
    job = daemon.batch(["echo one", "echo two; sleep 0.2; echo three"])
    text = streamed_text(daemon.api.events(f"/v1/jobs/{job}/stream?logs=1&task=2"))
    assert text == {"stdout": b"two\nthree\n"}


def test_stream_goes_on_over_retries(daemon):
    job = daemon.submit("--retries", "1", "--backoff", "100ms", "--", "sh", "-c",
                        "echo try $TUTTI_ATTEMPT; test $TUTTI_ATTEMPT = 2")
    events = list(daemon.api.events(f"/v1/jobs/{job}/stream?logs=1"))
    attempts = {e.data["attempt"]: e.data["text"] for e in events if e.name == "log"}
    assert attempts == {1: "try 1\n", 2: "try 2\n"}


def test_events_tell_every_jobs_way_in_order(daemon):
    seen, ready, done = [], threading.Event(), threading.Event()

    def watch():
        try:
            connection = daemon.api.connection()
            connection.request("GET", "/v1/events")
            response = connection.getresponse()
            ready.set()
            name = None
            while not done.is_set():
                line = response.readline().decode().rstrip("\r\n")
                if line.startswith("event:"):
                    name = line[6:].strip()
                elif line.startswith("data:") and name == "job":
                    seen.append(json.loads(line[5:]))
                elif not line and response.isclosed():
                    return
        except (OSError, http.client.HTTPException):
            pass

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    assert ready.wait(20)
    first = daemon.submit("--", "sleep", "0.3")
    second = daemon.submit("--after", first, "--", "false")
    daemon.wait(second)
    wait_until(lambda: any(j["id"] == second and j["state"] == "failed" for j in seen))
    order = ["queued", "starting", "running", "succeeded", "failed"]
    for job in (first, second):
        states = [j["state"] for j in seen if j["id"] == job]
        assert states == sorted(states, key=order.index)
        assert "running" in states or job == second
    done.set()


def test_cancel_and_retry(daemon):
    job = daemon.submit("--grace", "1s", "--", "sleep", "600")
    daemon.until_state(job, "running")
    answer = daemon.api.post("/v1/cancel", {"jobs": [{"id": job}]})
    assert answer == {"tasks": 1, "jobs": [job]}
    daemon.until_final(job)
    again = daemon.api.request("POST", "/v1/cancel", {"jobs": [{"id": job}]})
    assert again.status == 409
    assert daemon.api.post(f"/v1/jobs/{job}/retry", {})["tasks"] == 1
    assert daemon.api.request("POST", f"/v1/jobs/{job}/retry", {}).status == 409
    daemon.api.post("/v1/cancel", {"all": True})
    assert daemon.until_final(job)["state"] == "cancelled"


def test_snapshot_is_stored_only_when_complete(daemon):
    content = b"#!/bin/sh\necho from the snapshot\n"
    sha256 = hashlib.sha256(content).hexdigest()
    files = {"files": [{"path": "run.sh", "mode": 0o755, "sha256": sha256}]}
    first = daemon.api.post("/v1/snapshots", files)
    assert first["missing"] == [sha256]
    wrong = daemon.api.request("PUT", f"/v1/blobs/{sha256}", b"other")
    assert wrong.status == 400
    assert daemon.api.request("PUT", f"/v1/blobs/{sha256}", content).status == 201
    second = daemon.api.post("/v1/snapshots", files)
    assert second["missing"] == []
    job = daemon.api.submit(command=["./run.sh"], snapshot=second["digest"])
    assert daemon.wait(job) == 0
    assert daemon.ok("logs", job).stdout == b"from the snapshot\n"


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../up", "", ".", "a//b", "a\0b"])
def test_snapshot_cannot_reach_outside(daemon, path):
    files = {"files": [{"path": path, "mode": 0o644, "sha256": "0" * 64}]}
    assert daemon.api.request("POST", "/v1/snapshots", files).status == 400


def test_errors_are_objects_with_code_and_message(daemon):
    for target in ("/nowhere", "/v1/jobs/9", "/v1/jobs/x"):
        answer = daemon.api.request("GET", target)
        assert answer.headers["Content-Type"].startswith("application/json")
        assert answer.error
