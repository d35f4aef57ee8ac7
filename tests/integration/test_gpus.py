"""Emulated GPUs: found, measured, shared, watched, and their faults."""

import contextlib
import json
import os
import signal
import socket
import subprocess

import pytest

import processes
from driver import UNTIL_GO
from waiting import BINARY, wait_until

EMULATOR = BINARY.parent / "emulator" / "tutti-gpu-emulator"


class Lease:
    """A raw connection that holds a lease."""

    def __init__(self, tutti, **request):
        body = json.dumps({"kind": "test.py::f", **request}).encode()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(tutti.home / "run/tutti.sock"))
        self.socket.sendall(b"POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json"
                            b"\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        self.text = b""

    def event(self, name, seconds=30):
        """The data of the first event of this name; waits for it."""
        mark = b"event: " + name.encode() + b"\ndata: "
        self.socket.settimeout(seconds)
        while mark not in self.text or b"\n" not in self.text.split(mark, 1)[1]:
            piece = self.socket.recv(65536)
            assert piece, f"the stream ended without {name}: {self.text!r}"
            self.text += piece
        return json.loads(self.text.split(mark, 1)[1].split(b"\n", 1)[0])

    def close(self):
        self.socket.close()


@pytest.fixture
def gpus(tutti):
    """A daemon with four emulated GPUs."""
    return tutti.start("--emulate-gpus", "4xA100-80G", slots=64)


def work(*options):
    return [str(EMULATOR), "work", *map(str, options)]


def emulator(tutti, *arguments):
    subprocess.run([EMULATOR, "--file", tutti.home / "run/emulated-gpus", *map(str, arguments)],
                   check=True, capture_output=True)


def listed(tutti):
    return tutti.ok("gpus", "--json").json()["gpus"]


def only_task(tutti, job):
    return tutti.api.get(f"/v1/jobs/{job}/tasks")["tasks"][0]


def test_gpus_lists_what_is_there(gpus):
    found = listed(gpus)
    assert [gpu["index"] for gpu in found] == [0, 1, 2, 3]
    for gpu in found:
        assert gpu["memory_mib"] == 81920 and gpu["emulated"] is True
        assert gpu["attempts"] == gpu["leases"] == gpu["foreign"] == []
    assert gpus.ok("gpus").out.count("emulated") == 4


def test_without_gpus_a_gpu_job_is_refused_with_a_reason(daemon):
    done = daemon("submit", "-g", "1", "--", "true")
    assert done.code == 1 and "GPU" in done.err, done
    assert daemon.ok("gpus", "--json").json()["gpus"] == []


def test_bad_specs_are_refused_by_name(tutti):
    done = tutti("daemon", "start", "--emulate-gpus", "4xA100-")
    assert done.code != 0 and "--emulate-gpus" in done.err, done


def test_a_job_sees_its_gpus_only(gpus):
    job = gpus.submit("-g", "2", "--exclusive", "--", "sh", "-c",
                      "echo $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER $NVIDIA_VISIBLE_DEVICES")
    assert gpus.wait(job) == 0
    visible, order, nvidia = gpus.ok("logs", job).out.split()
    uuids = {gpu["uuid"] for gpu in listed(gpus)}
    assert len(visible.split(",")) == 2 and set(visible.split(",")) <= uuids
    assert (order, nvidia) == ("PCI_BUS_ID", visible)
    none = gpus.submit("--", "sh", "-c", "echo \"[$CUDA_VISIBLE_DEVICES]\"")
    assert gpus.wait(none) == 0
    assert gpus.ok("logs", none).out == "[]\n"


def test_first_run_of_a_kind_is_measured_alone_then_kinds_are_packed(gpus):
    first = gpus.submit("-g", "1", "--kind", "k", "--", *work("--mem", "10G", "--util", "0.2",
                                                               "--seconds", 1))
    second = gpus.submit("-g", "1", "--kind", "k", "--", *work("--mem", "10G", "--util", "0.2",
                                                               "--seconds", 0.5))
    gpus.until_state(first, "running")
    reasons = gpus.api.get(f"/v1/jobs/{second}/explain")["reasons"]
    assert [reason["code"] for reason in reasons] == ["profile"]
    assert f"waiting for profile of k, job {first}" in reasons[0]["text"]
    assert gpus.wait(first) == 0
    assert gpus.wait(second) == 0
    profile = gpus.ok("profile", "show", "k", "--json").json()
    [on] = profile["gpus"]
    assert on["type"] == "A100-80G" and on["peak_mib"] == 10240 and on["need_mib"] > 10240
    work_until_go = f'"$0" "$@" & {UNTIL_GO}; kill $!'
    many = [gpus.submit("-g", "1", "--kind", "k", "--", "sh", "-c", work_until_go,
                        *work("--mem", "10G", "--util", "0.2", "--seconds", 600))
            for _ in range(12)]
    wait_until(lambda: sum(gpus.state(job) == "running" for job in many) == 12,
               what=lambda: gpus.ok("gpus").out)
    held = {gpu["index"]: len(gpu["attempts"]) for gpu in listed(gpus)}
    assert sum(held.values()) == 12 and max(held.values()) >= 3, held
    (gpus.work / "go").touch()
    for job in many:
        assert gpus.wait(job) == 0


def test_two_unknown_kinds_are_measured_at_once(gpus):
    jobs = [gpus.submit("-g", "1", "--kind", kind, "--", "sh", "-c", UNTIL_GO)
            for kind in ("a", "b", "a", "b")]
    for job in jobs[:2]:
        gpus.until_state(job, "running")
    assert [gpus.state(job) for job in jobs[2:]] == ["queued", "queued"]
    (gpus.work / "go").touch()
    for job in jobs:
        assert gpus.wait(job) == 0


def test_a_failed_first_run_frees_its_gpu_and_another_is_measured(gpus):
    first = gpus.submit("-g", "1", "--kind", "k", "--", "false")
    second = gpus.submit("-g", "1", "--kind", "k", "--", *work("--mem", "1G", "--seconds", 0.3))
    assert gpus.wait(first) == 1
    assert gpus.wait(second) == 0
    assert gpus.ok("profile", "show", "k", "--json").json()["gpus"][0]["samples"] == 1


def test_children_count_and_a_late_allocator_finds_its_memory(gpus):
    teach = gpus.submit("-g", "1", "--kind", "late", "--",
                        *work("--mem", "30G", "--children", 3, "--seconds", 0.5))
    assert gpus.wait(teach) == 0
    assert only_task(gpus, teach)["gpu_peak_mib"] == 30720
    late = [gpus.submit("-g", "1", "--kind", "late", "--",
                        *work("--start-mem", "1G", "--mem", "30G", "--grow-after", 0.5, "--seconds",
                              1)) for _ in range(10)]
    for job in late:
        assert gpus.wait(job) == 0, gpus.ok("logs", job).out
        assert only_task(gpus, job)["oom_retries"] == 0


def test_out_of_memory_is_its_own_ending_and_is_retried_with_more(gpus):
    job = gpus.submit("--gpu-mem", "10G", "--kind", "greedy", "--",
                      "sh", "-c", "test $TUTTI_GPU_MEMORY_MIB -ge 15000 && exit 0; "
                      "echo 'torch.cuda.OutOfMemoryError: CUDA out of memory.' >&2; exit 1")
    assert gpus.wait(job) == 0
    task = only_task(gpus, job)
    assert (task["oom_retries"], task["attempt"]) == (1, 2)
    hopeless = gpus.submit("-g", "1", "--exclusive", "--kind", "hopeless", "--", "sh", "-c",
                           "echo 'RESOURCE_EXHAUSTED: Out of memory' >&2; exit 3")
    assert gpus.wait(hopeless) == 3
    task = only_task(gpus, hopeless)
    assert (task["ending"], task["attempt"]) == ("gpu_out_of_memory", 1)
    refused = gpus("submit", "-g", "1", "--kind", "hopeless", "--", "true")
    assert refused.code == 1 and "profile forget hopeless" in refused.err, refused


def test_a_gang_of_which_one_rank_runs_out_of_memory_runs_again_with_more(gpus):
    (gpus.work / "gang.yaml").write_text("""\
command: |
  test $TUTTI_RANK = 0 || test $TUTTI_GPU_MEMORY_MIB -ge 15000 && exit 0
  echo 'torch.cuda.OutOfMemoryError: CUDA out of memory.' >&2
  exit 1
kind: greedy gang
workers: 2
cpus: 0.1
gpus: 1
gpu_mem: 10G
""")
    job = gpus.submit("gang.yaml")
    assert gpus.wait(job) == 0
    tasks = gpus.api.get(f"/v1/jobs/{job}/tasks")["tasks"]
    assert [(one["attempt"], one["oom_retries"]) for one in tasks] == [(2, 0), (2, 1)]


def test_who_takes_more_than_granted_is_stopped_when_neighbours_would_suffer(gpus):
    quiet = gpus.submit("--gpu-mem", "50G", "-g", "A100:1", "--kind", "quiet", "--",
                        *work("--start-mem", "1G", "--mem", "50G", "--grow-after", 4, "--seconds",
                              6))
    gpus.until_state(quiet, "running")
    where = only_task(gpus, quiet)["devices"]
    greedy = gpus.submit("--gpu-mem", "10G", "--kind", "glutton", "--",
                         *work("--start-mem", "9G", "--mem", "40G", "--grow-after", 1, "--seconds",
                               3))
    gpus.until_state(greedy, "running")
    assert only_task(gpus, greedy)["devices"] == where, "they must meet for this test"
    wait_until(lambda: only_task(gpus, greedy)["oom_retries"] >= 1, 60)
    assert gpus.wait(quiet) == 0
    assert gpus.wait(greedy) == 0


def test_preallocation_is_recognised_and_the_cure_is_named(gpus):
    job = gpus.submit("-g", "1", "--kind", "jaxlike", "--",
                      *work("--prealloc", "--mem", "2G", "--seconds", 0.5))
    assert gpus.wait(job) == 0
    assert "XLA_PYTHON_CLIENT_PREALLOCATE=false" in gpus.ok("show", job).out
    assert gpus.ok("profile", "show", "jaxlike", "--json").json()["gpus"][0]["preallocates"]
    told = gpus.ok("run", "-g", "1", "--kind", "jaxlike", "--",
                   *work("--prealloc", "--mem", "2G", "--seconds", 0.5)).err
    assert "XLA_PYTHON_CLIENT_PREALLOCATE=false" in told


def test_foreign_processes_are_named_and_worked_around(gpus):
    uuids = [gpu["uuid"] for gpu in listed(gpus)]
    environment = {**os.environ, "TUTTI_EMULATED_GPUS": str(gpus.home / "run/emulated-gpus"),
                   "CUDA_VISIBLE_DEVICES": uuids[0]}
    other = subprocess.Popen(work("--mem", "70G", "--seconds", 60), env=environment)
    try:
        wait_until(lambda: listed(gpus)[0]["foreign"])
        [seen] = listed(gpus)[0]["foreign"]
        assert seen["pid"] == other.pid and seen["used_mib"] == 71680
        assert "work" in seen["command"] and seen["user"]
        jobs = [gpus.submit("-g", "1", "--exclusive", "--", "sh", "-c", UNTIL_GO) for _ in range(4)]
        for job in jobs[:3]:
            gpus.until_state(job, "running")
        assert "0" not in [only_task(gpus, job)["devices"][0] for job in jobs[:3]]
        assert gpus.state(jobs[3]) == "queued"
        assert "others have" in gpus.ok("explain", jobs[3]).out
    finally:
        other.kill()
        other.wait()
        (gpus.work / "go").touch()
    for job in jobs:
        assert gpus.wait(job) == 0


class Foreign:
    """Somebody else's process on a GPU. Returns when it has its memory, without waking the daemon."""

    def __init__(self, gpus, index, memory):
        state = gpus.home / "run/emulated-gpus"
        self.process = subprocess.Popen(
            work("--mem", memory, "--seconds", 600),
            env={**os.environ, "TUTTI_EMULATED_GPUS": str(state), "CUDA_VISIBLE_DEVICES": str(index)})
        wait_until(lambda: f" {self.process.pid} " in subprocess.run(
            [EMULATOR, "--file", state, "show"], check=True, capture_output=True, text=True).stdout)

    def end(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def foreign(gpus):
    """Starts processes of others; none is left."""
    started = []

    def start(index, memory):
        started.append(Foreign(gpus, index, memory))
        return started[-1]

    yield start
    for one in started:
        one.end()


HOLD = """
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
b = json.dumps({"kind": "h", **json.loads(sys.argv[2])}).encode()
s.sendall(b"POST /v1/leases HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(b), b))
for line in s.makefile():
    if line.startswith("event: "): event = line.split()[1]
    if line.startswith("data: "): print(event, line[6:].strip(), flush=True)
"""


@contextlib.contextmanager
def holder(tutti, **request):
    """A process of its own that asks for a lease: those that a test starts are children of the test. Gives
    a function that waits for an event and returns its data."""
    process = subprocess.Popen(["python3", "-c", HOLD, str(tutti.home / "run/tutti.sock"),
                                json.dumps(request)], stdout=subprocess.PIPE, text=True)

    def event(name):
        for line in process.stdout:
            if line.startswith(name + " "):
                return json.loads(line.split(" ", 1)[1])
        raise AssertionError(f"the stream ended without {name}")

    try:
        yield event
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_job_that_waits_for_others_starts_when_they_end_though_nothing_runs(gpus, foreign):
    others = [foreign(index, "70G") for index in range(4)]
    job = gpus.submit("-g", "1", "--exclusive", "--", "true")
    wait_until(lambda: "others have" in gpus.ok("explain", job).out)
    assert gpus.state(job) == "queued"
    others[2].end()
    assert gpus.wait(job) == 0
    processes.until_asleep(gpus.pid())


def test_a_queued_job_is_looked_after_by_the_next_daemon_too(gpus, foreign):
    others = [foreign(index, "70G") for index in range(4)]
    job = gpus.submit("-g", "1", "--exclusive", "--", "true")
    wait_until(lambda: "others have" in gpus.ok("explain", job).out)
    gpus.kill9()
    gpus.start("--emulate-gpus", "4xA100-80G", slots=64)
    assert gpus.state(job) == "queued"
    others[1].end()
    assert gpus.wait(job) == 0


def test_a_lease_that_waits_for_others_is_granted_when_they_end(gpus, foreign):
    others = [foreign(index, "8G") for index in range(4)]
    with holder(gpus, share="never") as event:
        event("queued")
        others[3].end()
        assert event("granted")["gpus"][0]["index"] == 3
        with holder(gpus, share="never") as gives_up:
            gives_up("queued")
    processes.until_asleep(gpus.pid())


def test_an_idle_daemon_gives_no_gpu_that_others_took_meanwhile(gpus, foreign):
    processes.until_asleep(gpus.pid())
    foreign(0, "70G")
    job = gpus.submit("--gpu-mem", "20G", "--kind", "k", "--", *work("--mem", "18G", "--seconds", 0.3))
    assert gpus.wait(job) == 0
    task = only_task(gpus, job)
    assert (task["attempt"], task["oom_retries"]) == (1, 0) and task["devices"] != ["0"], task
    processes.until_asleep(gpus.pid())
    foreign(1, "70G")
    with holder(gpus, gpu_mem="20G") as event:
        assert event("granted")["gpus"][0]["index"] == 2


@pytest.mark.parametrize("fault", ["lost", "vanished"])
def test_an_idle_daemon_gives_no_gpu_that_died_meanwhile(gpus, fault):
    processes.until_asleep(gpus.pid())
    emulator(gpus, "set", 0, fault)
    jobs = [gpus.submit("-g", "1", "--exclusive", "--", "true") for _ in range(2)]
    for job in jobs:
        assert gpus.wait(job) == 0
        task = only_task(gpus, job)
        assert task["devices"] != ["0"] and task["attempt"] == 1, task


def test_a_gang_is_placed_again_when_a_gpu_died_meanwhile(gpus):
    processes.until_asleep(gpus.pid())
    emulator(gpus, "set", 0, "lost")
    (gpus.work / "gang.yaml").write_text(
        "command: ['true']\nworkers:\n  w: {count: 3, gpus: 1}\n")
    job = gpus.submit("gang.yaml")
    assert gpus.wait(job) == 0
    tasks = gpus.api.get(f"/v1/jobs/{job}/tasks")["tasks"]
    assert "0" not in [task["devices"][0] for task in tasks], tasks


def test_memory_that_others_took_teaches_nothing_and_the_job_runs_again(gpus, foreign):
    job = gpus.submit("--gpu-mem", "20G", "--kind", "k", "--", "sh", "-c",
                      f'test -e go || : >began; {UNTIL_GO}; exec "$0" "$@"',
                      *work("--mem", "18G", "--seconds", 0.3))
    wait_until(lambda: (gpus.work / "began").exists())
    foreign(int(only_task(gpus, job)["devices"][0]), "70G")
    (gpus.work / "go").touch()
    assert gpus.wait(job) == 0
    assert only_task(gpus, job)["oom_retries"] == 1
    [learnt] = gpus.ok("profile", "show", "k", "--json").json()["gpus"]
    assert learnt["need_mib"] < 20480, learnt


@pytest.mark.parametrize("fault, word", [("ecc", "ECC"), ("lost", "lost"), ("vanished", "vanish")])
def test_a_sick_gpu_gets_no_work_and_says_why(gpus, fault, word):
    sick = listed(gpus)[1]["uuid"]
    emulator(gpus, "set", sick, fault)
    wait_until(lambda: not listed(gpus)[1]["healthy"], what=lambda: gpus.ok("gpus").out)
    assert word in listed(gpus)[1]["reason"], listed(gpus)[1]
    jobs = [gpus.submit("-g", "1", "--exclusive", "--", "sh", "-c", UNTIL_GO) for _ in range(4)]
    for job in jobs[:3]:
        gpus.until_state(job, "running")
    assert gpus.state(jobs[3]) == "queued"
    emulator(gpus, "set", sick, "ok")
    gpus.until_state(jobs[3], "running", seconds=60)
    (gpus.work / "go").touch()
    for job in jobs:
        assert gpus.wait(job) == 0


def test_a_gpu_that_vanishes_while_in_use_is_not_given_to_others(gpus):
    job = gpus.submit("-g", "1", "--exclusive", "--", "sh", "-c", UNTIL_GO)
    gpus.until_state(job, "running")
    [index] = only_task(gpus, job)["devices"]
    emulator(gpus, "set", index, "vanished")
    wait_until(lambda: not listed(gpus)[int(index)]["healthy"])
    others = [gpus.submit("-g", "1", "--exclusive", "--", "sh", "-c", UNTIL_GO) for _ in range(3)]
    for other in others:
        gpus.until_state(other, "running")
    assert index not in [only_task(gpus, other)["devices"][0] for other in others]
    (gpus.work / "go").touch()
    for one in (job, *others):
        assert gpus.wait(one) == 0


def test_a_driver_that_starts_to_fail_is_told_and_comes_back(gpus):
    emulator(gpus, "fail", 999)
    wait_until(lambda: gpus.ok("gpus", "--json").json()["trouble"])
    assert "not answer" in gpus.ok("gpus").out or "fail" in gpus.ok("gpus").out
    emulator(gpus, "fail", 0)
    wait_until(lambda: all(gpu["healthy"] for gpu in listed(gpus)), 60)
    assert gpus("run", "-g", "1", "--exclusive", "--", "true").code == 0


def test_a_child_that_holds_memory_while_its_parent_is_gone_keeps_the_gpu_taken(gpus):
    job = gpus.submit("-g", "1", "--kind", "orphans", "--",
                      *work("--mem", "20G", "--children", 1, "--seconds", 60))
    task = gpus.until_state(job, "running") and only_task(gpus, job)
    wait_until(lambda: listed(gpus)[int(task["devices"][0])]["used_mib"] > 20000)
    processes.kill(task["pid"])
    gpus.until_final(job)
    assert all(gpu["used_mib"] < 1000 and not gpu["attempts"] for gpu in listed(gpus))


# ---- leases


def test_a_lease_is_granted_listed_and_released(gpus):
    lease = Lease(gpus, gpu_mem="8G")
    grant = lease.event("granted")
    assert grant["gpus"][0]["granted_mib"] == 8192 and not grant["measuring"]
    assert grant["env"]["CUDA_VISIBLE_DEVICES"] == grant["gpus"][0]["uuid"]
    [seen] = listed(gpus)[grant["gpus"][0]["index"]]["leases"]
    assert (seen["lease"], seen["pid"], seen["granted_mib"]) == (grant["lease"], os.getpid(), 8192)
    assert gpus.api.delete(f"/v1/leases/{grant['lease']}")["lease"] == grant["lease"]
    assert lease.event("ended")["message"] == "released"
    assert gpus.api.request("GET", f"/v1/jobs/{grant['lease']}").status == 404
    lease.close()


def test_a_lease_that_no_gpu_can_satisfy_is_refused(gpus):
    lease = Lease(gpus, gpu_mem="81G")
    assert b"400" in lease.socket.recv(65536).split(b"\r\n")[0]
    lease.close()
    for bad in ({"gpu_util": 2}, {"gpus": 0}, {"share": "perhaps"}, {"what": 1}, {"kind": ""}):
        lease = Lease(gpus, **bad)
        assert b"400" in lease.socket.recv(65536).split(b"\r\n")[0], bad
        lease.close()


def test_closing_the_connection_ends_the_lease_at_once_and_the_next_is_granted(gpus):
    first = [Lease(gpus, share="never") for _ in range(4)]
    ids = [lease.event("granted")["lease"] for lease in first]
    waiting = Lease(gpus, share="never")
    waiting.event("queued")
    first[2].close()
    assert waiting.event("granted")["gpus"]
    wait_until(lambda: gpus.state(ids[2]) == "failed")
    assert "hung up" in gpus.ok("show", ids[2]).out
    gave_up = Lease(gpus, share="never")
    number = gave_up.event("queued")["lease"]
    gave_up.close()
    wait_until(lambda: gpus.state(number) == "cancelled")
    for lease in (*first, waiting):
        lease.close()


def test_a_killed_leaseholder_frees_its_gpu(gpus, tmp_path):
    script = tmp_path / "hold.py"
    script.write_text(
        "import json,socket,sys,time\n"
        "s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        "b=json.dumps({'kind':'h','gpus':4,'share':'never'}).encode()\n"
        "s.sendall(b'POST /v1/leases HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: %d\\r\\n\\r\\n%s'"
        " % (len(b),b))\n"
        "t=b''\n"
        "while b'granted' not in t: t+=s.recv(65536)\n"
        "print('held', flush=True); time.sleep(600)\n")
    holder = subprocess.Popen(["python3", str(script), str(gpus.home / "run/tutti.sock")],
                              stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    waiting = Lease(gpus, gpus=4, share="never")
    waiting.event("queued")
    holder.send_signal(signal.SIGKILL)
    waiting.event("granted")
    holder.wait()
    waiting.close()


@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_leases_survive_the_daemons_end_and_are_never_doubled(gpus, end):
    held = [Lease(gpus, gpu_mem="4G") for _ in range(50)]
    grants = [lease.event("granted") for lease in held]
    reserved = {gpu["uuid"]: gpu["reserved_mib"] for gpu in listed(gpus)}
    assert sum(reserved.values()) == 50 * 4096
    waiting = Lease(gpus, share="never", gpus=4)
    number = waiting.event("queued")["lease"]
    gpus.kill9() if end == "killed" else gpus.ok("daemon", "stop")
    gpus.start("--emulate-gpus", "4xA100-80G", slots=64)
    assert {gpu["uuid"]: gpu["reserved_mib"] for gpu in listed(gpus)} == reserved
    wait_until(lambda: gpus.state(number) == "cancelled")
    for grant in grants[:25]:
        gpus.api.delete(f"/v1/leases/{grant['lease']}")
    wait_until(lambda: sum(gpu["reserved_mib"] for gpu in listed(gpus)) == 25 * 4096)
    for grant in grants[25:]:
        gpus.api.delete(f"/v1/leases/{grant['lease']}")
    wait_until(lambda: sum(gpu["reserved_mib"] for gpu in listed(gpus)) == 0)
    for lease in (*held, waiting):
        lease.close()


def test_a_client_that_never_reads_holds_nobody_up(gpus):
    mute = [Lease(gpus, gpu_mem="1G") for _ in range(20)]
    other = Lease(gpus, gpu_mem="1G")
    other.event("granted")
    for lease in (*mute, other):
        lease.close()
    wait_until(lambda: sum(gpu["reserved_mib"] for gpu in listed(gpus)) == 0)


def test_a_cancelled_lease_is_told(gpus):
    lease = Lease(gpus, gpu_mem="1G")
    number = lease.event("granted")["lease"]
    gpus.ok("cancel", number)
    assert "cancelled" in lease.event("ended")["message"]
    lease.close()
    holder, waiting = Lease(gpus, gpus=4, share="never"), Lease(gpus, gpus=4, share="never")
    holder.event("granted")
    gpus.ok("cancel", waiting.event("queued")["lease"])
    assert "cancelled" in waiting.event("ended")["message"]
    for one in (holder, waiting):
        one.close()


# ---- profiles


def test_profiles_are_exported_forgotten_and_imported(gpus, tmp_path):
    assert gpus.wait(gpus.submit("-g", "1", "--kind", "a/b::c", "--",
                                 *work("--mem", "3G", "--seconds", 0.3))) == 0
    before = gpus.ok("profile", "show", "a/b::c", "--json").json()
    file = tmp_path / "profiles.json"
    gpus.ok("profile", "export", file)
    gpus.ok("profile", "forget", "a/b::c")
    assert gpus("profile", "show", "a/b::c").code == 1
    gpus.ok("profile", "import", file)
    assert gpus.ok("profile", "show", "a/b::c", "--json").json() == before
    file.write_text('{"version": 2, "profiles": []}')
    assert gpus("profile", "import", file).code == 2
    assert "a/b::c" in gpus.ok("profile", "ls").out


def test_gpu_time_counts_in_fair_share(gpus):
    """The user who has used GPUs comes after the one who has not."""
    assert gpus.wait(gpus.submit("-g", "4", "--exclusive", "--project", "hungry", "--", "sleep",
                                 "0.5")) == 0
    blocker = gpus.submit("-g", "4", "--exclusive", "--project", "other", "--time", "60", "--", "sh",
                          "-c", UNTIL_GO)
    gpus.until_state(blocker, "running")
    first = gpus.submit("-g", "4", "--exclusive", "--project", "hungry", "--", "sleep", "0.3")
    second = gpus.submit("-g", "4", "--exclusive", "--project", "fresh", "--", "sleep", "0.3")
    (gpus.work / "go").touch()
    assert gpus.wait(first) == 0 and gpus.wait(second) == 0
    assert gpus.job(second)["started_at"] < gpus.job(first)["started_at"]
