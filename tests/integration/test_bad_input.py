"""Input that nobody should send, and that somebody will."""

import hashlib
import json
import socket
import threading
import time

import pytest

import processes
from waiting import SANITIZED, SLOW, wait_until
from wire import Api


def raw(tutti, data, read=True, timeout=20):
    """Sends bytes to the socket and reads until the other side closes or nothing more comes."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout * SLOW)
    connection.connect(str(tutti.api.socket_path))
    got = b""
    try:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        while read:
            piece = connection.recv(65536)
            if not piece:
                break
            got += piece
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        connection.close()
    return got


def still_serves(tutti, pid):
    assert tutti.pid() == pid
    assert tutti.ok("run", "--", "echo", "fine").stdout == b"fine\n"


def test_argument_that_linux_cannot_pass_is_refused_with_the_reason(daemon):
    job = {"command": ["echo", "x" * (1 << 20)], "workdir": "/tmp"}
    answer = daemon.api.request("POST", "/v1/jobs", job)
    assert answer.status == 400
    assert "1048576 bytes" in answer.error["message"]


def test_shell_line_of_a_megabyte_runs(daemon):
    job = daemon.api.submit(command="echo " + "x" * (1 << 20) + " | wc -c")
    assert daemon.wait(job) == 0
    assert daemon.ok("logs", job).stdout == b"1048577\n"
    assert len(daemon.ok("ls").stdout) < 3 << 20


def test_largest_argument_that_linux_takes_runs(daemon):
    word = "y" * 131071
    done = daemon.ok("run", "--", "printf", "%s", word[:131000])
    assert len(done.stdout) == 131000


@pytest.mark.parametrize("name, told", [
    (b"two\nlines", "newline"), (b"esc\x1b[2J", "control"), (b"\xff\xfe", "UTF-8"),
    (b"n" * 300, "300 bytes")])
def test_bad_name_is_refused_and_not_printed_raw(daemon, name, told):
    done = daemon("submit", "--name", name, "--", "true")
    assert done.code in (1, 2), done
    assert told in done.err
    assert b"\x1b" not in done.stderr and b"\xff" not in done.stderr


def test_names_in_other_scripts_are_fine(daemon):
    job = daemon.submit("-n", "学习 №1 🚀", "--", "true")
    assert daemon.job(job)["name"] == "学习 №1 🚀"
    assert "学习 №1 🚀" in daemon.ok("ls").out


def test_command_with_control_characters_cannot_drive_the_terminal(daemon):
    job = daemon.submit("--", "printf", "%s", b"\x1b[2J\n\xff")
    daemon.wait(job)
    for verb in ("ls", "show"):
        shown = daemon.ok(verb, str(job)).stdout
        assert b"\x1b" not in shown and b"\xff" not in shown
        assert b"[2J" in shown
    assert daemon.ok("logs", job).stdout == b"\x1b[2J\n\xff"


@pytest.mark.parametrize("option", ["--cpus", "--mem", "--time", "--grace", "--retries",
                                    "--backoff", "--array", "--max-parallel", "--gpus"])
def test_nonsense_quantities_are_refused(daemon, option):
    for value in ("-1", "99999999999999999999999", "nan", "1e9", "0x10", "", " ", "1..2", "--5"):
        done = daemon("submit", f"{option}={value}", "--", "true")
        assert done.code in (1, 2), done
        assert done.err.startswith("tutti submit:")
    assert daemon.api.get("/v1/jobs")["jobs"] == []


def test_refusals_begin_with_the_option_once(daemon):
    for option, value, told in [("--after", "1:foo", "after '1:foo': write"),
                                ("--mem", "-5G", "mem '-5G': write"),
                                ("--time", "soon", "time 'soon': write"),
                                ("--mem", "9" * 30 + "G", f"mem '{'9' * 30}G': is more than")]:
        done = daemon("submit", f"{option}={value}", "--", "true")
        assert done.code == 2 and done.err.startswith(f"tutti submit: {told}"), done
    assert "slots '0': must be more than zero" in daemon("daemon", "restart", "--slots", "0").err


def test_priority_out_of_range_is_refused(daemon):
    for value in ("99999999999", "-99999999999", "1.5", "high", ""):
        done = daemon("submit", f"--priority={value}", "--", "true")
        assert done.code in (1, 2), done


def test_array_of_a_million_is_accepted_shown_and_cancelled(daemon):
    job = daemon.submit("--array", "1-1000000", "--cpus", "2", "--", "sleep", "600")
    daemon.until_state(job, "running")
    assert daemon.ok("show", job).out.count("\n") < 60
    assert "1000000" in daemon.ok("ls").out.replace(",", "")
    assert daemon.ok("explain", f"{job}.999999")
    memory = processes.resident_mib(daemon.pid())
    assert memory < (2000 if SANITIZED else 200), f"{memory} MiB"
    daemon.ok("cancel", job)
    told = daemon.until_final(job)
    assert told["counts"]["cancelled"] == 1_000_000
    assert daemon.ok("run", "--", "echo", "next").stdout == b"next\n"


def test_array_that_is_too_large_or_odd_is_refused(daemon):
    for array in ("1-1000000000000", "1-10000001", "5-1", "1-5:0", "1-5%0", "1,5"):
        done = daemon("submit", "--array", array, "--", "true")
        assert done.code in (1, 2)
        assert array in done.err


GARBAGE = {
    "not HTTP": b"\x00\x01\x02\xff" * 100,
    "TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200,
    "old version": b"GET /v1/status HTTP/0.9\r\n\r\n",
    "no version": b"GET /v1/status\r\n\r\n",
    "line without end": b"GET /" + b"a" * 200_000,
    "huge header": b"GET /v1/status HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 1_000_000 + b"\r\n\r\n",
    "many headers": b"GET /v1/status HTTP/1.1\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
    "negative length": b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n{}",
    "two lengths": b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                   b"Content-Length: 9\r\n\r\n{}",
    "huge length": b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\n"
                   b"Content-Length: 99999999999999999\r\n\r\n{",
    "bad chunk": b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    "length and chunks": b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bad escape": b"GET /v1/jobs/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "folder above": b"GET /v1/../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "unknown method": b"BREW /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
}


def test_garbage_on_the_socket_is_refused_and_others_are_served(daemon):
    pid = daemon.pid()
    for kind, data in GARBAGE.items():
        answer = raw(daemon, data)
        assert not answer.startswith(b"HTTP/1.1 2"), (kind, answer[:300])
        still_serves(daemon, pid)


def test_half_requests_that_never_end_do_not_stop_others(daemon):
    pid = daemon.pid()
    held = []
    for n in range(30):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(daemon.api.socket_path))
        whole = b'POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"command":'
        connection.sendall(whole[:1 + n * 2])
        held.append(connection)
    still_serves(daemon, pid)
    for connection in held:
        connection.close()
    still_serves(daemon, pid)
    assert len(daemon.api.get("/v1/jobs")["jobs"]) == 2


def test_body_that_is_too_large_is_413_or_closed(daemon):
    pid = daemon.pid()
    head = b"POST /v1/cancel HTTP/1.1\r\nHost: x\r\nContent-Length: 900000000\r\n\r\n"
    answer = raw(daemon, head + b" " * (1 << 20))
    assert answer == b"" or b" 413 " in answer.split(b"\r\n")[0], answer[:200]
    still_serves(daemon, pid)


BAD_JOBS = [
    ("", "JSON"), ("{", "JSON"), ("[]", "object"), ("null", "object"), ("{}", "command"),
    ('{"command": "true", "comand": "x"}', "'command'"),
    ('{"command": "true", "command": "false"}', "twice"),
    ('{"command": "true", "cpus": "many"}', "many"),
    ('{"command": "true", "cpus": -1}', "-1"),
    ('{"command": "true", "cpus": 1e400}', "JSON"),
    ('{"command": "true", "mem": true}', "mem"),
    ('{"command": 5}', "command"), ('{"command": []}', "command"),
    ('{"command": ["a", 5]}', "command"), ('{"command": ["a\\u0000b"]}', "NUL"),
    ('{"command": {"base64": "***"}}', "base64"),
    ('{"command": "true", "lines": ["a"]}', "one of"),
    ('{"command": "true", "env": {"A=B": "c"}}', "env"),
    ('{"command": "true", "workdir": "relative"}', "absolute"),
    ('{"command": "true", "after": ["x"]}', "'x'"),
    ('{"command": "true", "snapshot": "../../etc"}', "snapshot"),
    ('{"jobs": []}', "jobs"), ('{"jobs": [], "x": 1}', "'x'"),
    ('{"command": "true"} {}', "JSON"), ("\ufeff{}", "JSON"),
    ('{"command": "\ud800"}'.encode("utf-8", "surrogatepass"), "JSON"),
]


def test_bad_job_is_refused_with_the_reason(daemon):
    for body, told in BAD_JOBS:
        body = body.encode() if isinstance(body, str) else body
        answer = daemon.api.request("POST", "/v1/jobs", body)
        assert answer.status == 400, (body, answer.body)
        assert answer.error["code"] == "invalid_input"
        assert told in answer.error["message"], (body, answer.error)
    assert daemon.api.get("/v1/jobs")["jobs"] == []


@pytest.mark.parametrize("open_, close", [("[", "]"), ('{"a":', "}")])
def test_deep_json_is_refused(daemon, open_, close):
    pid = daemon.pid()
    body = '{"command":' + open_ * 500_000 + "1" + close * 500_000 + "}"
    answer = daemon.api.request("POST", "/v1/jobs", body)
    assert answer.status == 400
    assert "deep" in answer.error["message"]
    still_serves(daemon, pid)


def test_bad_query_is_400_with_the_reason(daemon):
    for place in ("/0", "/-1", "/abc", "/99999999999999999999", "?limit=0", "?limit=x",
                  "?state=sleeping", "?before=-1", "?ids=1,,2", "?unknown=1", "?limit=99999"):
        answer = daemon.api.request("GET", f"/v1/jobs{place}")
        assert answer.status == 400, (place, answer.status, answer.body)
        assert answer.error["message"]


def test_what_is_not_there_is_404(daemon):
    for place in ("/v1/jobs/77", "/v1/jobs/77/tasks", "/v1/jobs/77/logs", "/v1/jobs/77/stream",
                  "/v1/jobs/77/explain", "/", "/v1", "/v2/jobs"):
        assert daemon.api.request("GET", place).status == 404, place


def test_token_is_needed_over_tcp(tutti):
    port = tutti.listen()
    token_path = tutti.home / "token"
    assert token_path.stat().st_mode & 0o777 == 0o600
    token = token_path.read_text().strip()
    assert len(token) >= 32
    address = ("127.0.0.1", port)
    assert Api(address=address, token=token).get("/v1/status")["pid"] == tutti.pid()
    for wrong in (None, "x", token[:-1], token + "x", token.swapcase() + "-", ""):
        answer = Api(address=address, token=wrong).request("GET", "/v1/status")
        assert answer.status in (401, 403), (wrong, answer.status)
        assert "pid" not in answer.body.decode()
    refused = Api(address=address).request("POST", "/v1/jobs", {"command": "touch /tmp/never"})
    assert refused.status in (401, 403)
    remote = {"TUTTI_HOST": f"127.0.0.1:{port}", "TUTTI_TOKEN": token}
    assert tutti.ok("run", "--", "echo", "tcp", env=remote).stdout == b"tcp\n"
    done = tutti("ls", env={**remote, "TUTTI_TOKEN": "wrong"})
    assert done.code == 1 and "token" in done.err


def test_files_are_read_by_the_daemon_only_for_who_is_on_its_machine(tutti, work):
    port = tutti.listen()
    (work / "secret").write_text("secret")
    status = (work / "secret").stat()
    file = {"path": str(work / "secret"), "device": status.st_dev, "inode": status.st_ino,
            "size": status.st_size, "modified": status.st_mtime_ns, "changed": status.st_ctime_ns}
    token = (tutti.home / "token").read_text().strip()
    away = Api(address=("127.0.0.1", port), token=token)
    for wish in (file, {**file, "as_found": True}):
        assert away.post("/v1/blobs", {"files": [wish]}) == {"digests": [None]}
    assert not (tutti.home / "blobs").exists()
    sha256 = hashlib.sha256(b"secret").hexdigest()
    assert tutti.api.post("/v1/blobs", {"files": [file]}) == {"digests": [sha256]}
    # Over TCP the same files are sent.
    remote = {"TUTTI_HOST": f"127.0.0.1:{port}", "TUTTI_TOKEN": token}
    (work / "secret").write_text("other")
    done = tutti.ok("run", "--snapshot", "--", "cat", "secret", cwd=work, env=remote)
    assert done.out == "other"


def test_socket_is_for_this_user_only(daemon):
    path = daemon.home / "run/tutti.sock"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_client_that_stops_reading_harms_nobody(daemon):
    count = 500 if SANITIZED else 2000
    stuck = []
    for target in ["/v1/events"] * 3:
        connection = socket.socket(socket.AF_UNIX)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(str(daemon.api.socket_path))
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        stuck.append(connection)
    before = processes.resident_mib(daemon.pid())
    jobs = [{"command": ["true"], "workdir": "/tmp", "name": "n" * 200} for _ in range(count)]
    ids = daemon.api.post("/v1/jobs", {"jobs": jobs})["ids"]
    daemon.until_final(ids[-1], seconds=120)
    daemon.ok("wait", "all", timeout=120)
    after = processes.resident_mib(daemon.pid())
    assert after - before < (300 if SANITIZED else 40), f"{before} → {after} MiB"
    assert daemon.api.get("/v1/status")["jobs"]["succeeded"] == count
    for connection in stuck:
        connection.close()
    assert daemon.ok("run", "--", "echo", "served").stdout == b"served\n"


def test_log_follower_that_stops_reading_does_not_fill_the_daemon(daemon):
    job = daemon.submit("--", "sh", "-c", "head -c 50000000 /dev/zero | tr '\\0' 'x'")
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(daemon.api.socket_path))
    connection.sendall(f"GET /v1/jobs/{job}/stream?logs=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert daemon.wait(job) == 0
    assert processes.resident_mib(daemon.pid()) < (600 if SANITIZED else 60)
    connection.close()


def test_client_that_goes_away_while_it_submits_leaves_no_half_job(daemon):
    body = json.dumps({"lines": [f"echo {n}" for n in range(10000)], "workdir": "/tmp"}).encode()
    head = f"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    raw(daemon, head + body[:len(body) // 2], read=False)
    assert daemon.ok("run", "--", "true").code == 0
    assert len(daemon.api.get("/v1/jobs")["jobs"]) == 1


def test_many_connections_come_and_go(daemon):
    pid = daemon.pid()

    def hammer():
        for n in range(40):
            raw(daemon, b"GET /v1/status HTTP/1.1\r\nHost: x\r\n"[:n % 40], read=False)

    threads = [threading.Thread(target=hammer) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    still_serves(daemon, pid)
    start = time.monotonic()
    wait_until(lambda: daemon.ok("daemon", "status"))
    assert time.monotonic() - start < 10 * SLOW
