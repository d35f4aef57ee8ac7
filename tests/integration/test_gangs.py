"""Many workers that start together: on this machine and on others."""

import importlib.util
import json
import os
import re
import signal
import socket
import sys
import textwrap
from pathlib import Path

import pytest

import processes
from driver import UNTIL_GO
from test_ssh import pool  # noqa: F401 - a fixture
from waiting import wait_until

MANIFEST = """\
kind: AIchorManifest
apiVersion: 0.2.1

builder:
  image: tf-multi-jobs
  dockerfile: ./Dockerfile
  context: .

spec:
  operator: tf
  image: tf-multi-jobs
  command: "python3 -u src/main.py"

  types:
    Worker:
      count: 5
      resources:
        cpus: 1
        ramRatio: 1
        shmSizeGB: 0
"""

# The program of that manifest, with gates instead of sleeps.
MAIN = """\
import json
import os
import time

def get_rank():
    raw = os.environ.get("TF_CONFIG")
    return 0 if raw is None else int(json.loads(raw)["task"]["index"])

rank = get_rank()
gate = {0: "first", 1: "second"}.get(rank)
print(f"hey i am rank {rank}", flush=True)
while gate and not os.path.exists(gate):
    time.sleep(0.02)
"""


@pytest.fixture
def wide(tutti):
    """A daemon with room for many small ranks."""
    return tutti.start(slots=16)


@pytest.fixture
def gang(work):
    """Writes a job file and returns its name."""

    def write(text, name="gang.yaml"):
        (work / name).write_text(textwrap.dedent(text))
        return name

    return write


def ranks(tutti, job):
    return tutti.api.get(f"/v1/jobs/{job}/tasks?limit=1000")["tasks"]


def states(tutti, job):
    return [one["state"] for one in ranks(tutti, job)]


def lines(tutti, job, rank):
    return tutti.ok("logs", job, "--rank", rank).out.splitlines()


def test_workers_of_a_manifest_run_as_they_are_let(wide, work):
    (work / "manifest.yaml").write_text(MANIFEST)
    (work / "src").mkdir()
    (work / "src/main.py").write_text(MAIN)
    job = int(wide.ok("submit", "-q", "--no-container", "manifest.yaml").out)
    wait_until(lambda: states(wide, job) == ["running"] * 2 + ["succeeded"] * 3,
               what=lambda: f"ranks 2 to 4 complete first: {states(wide, job)}")
    shown = wide.ok("show", job).out
    assert re.search(r"RANK +GROUP +STATE", shown)
    assert re.search(r" 0 +Worker +running", shown) and re.search(r" 4 +Worker +succeeded", shown)
    (work / "first").touch()
    wait_until(lambda: states(wide, job)[0] == "succeeded", what="worker 0 completes")
    (work / "second").touch()
    assert wide.wait(job) == 0
    for rank in range(5):
        assert lines(wide, job, rank) == [f"hey i am rank {rank}"]
    assert sorted(wide.ok("logs", "--all", job).out.splitlines()) == [
        f"[{rank}] hey i am rank {rank}" for rank in range(5)]


def test_run_shows_each_line_with_its_rank_and_returns_the_first_failing_code(wide, gang):
    name = gang("""
        command: echo "I am $TUTTI_RANK of $TUTTI_WORLD_SIZE"; test $TUTTI_RANK != 2 || exit 7
        workers: 3
        cpus: 0.5
        """)
    done = wide("run", name)
    assert done.code == 7
    assert set(done.out.splitlines()) <= {f"[{rank}] I am {rank} of 3" for rank in range(3)}
    assert "[2] I am 2 of 3" in done.out
    first = r"rank 2 failed first \(exit 7\); see 'tutti logs 1\.2' \(/.*\)\n"
    assert re.search("tutti: job 1: " + first, done.err)
    assert re.search("tutti: job 1: " + first, wide("logs", "-f", "1").err)
    assert re.search("\n" + first, wide("show", "1").out)


def test_when_one_fails_the_others_are_ended_and_say_why(wide, gang, work):
    name = gang(f"""
        command: test $TUTTI_RANK = 1 && exit 3; echo up > up.$TUTTI_RANK; trap "" TERM; {UNTIL_GO}
        workers: 3
        cpus: 0.5
        grace: 1s
        """)
    job = wide.submit(name)
    assert wide.wait(job) == 3
    told = ranks(wide, job)
    assert [one["state"] for one in told] == ["cancelled", "failed", "cancelled"]
    assert told[0]["message"] == f"ended because rank 1 on {told[1]['node']} failed"
    assert told[0]["ending"] == "rank_failed"


def test_a_killed_rank_is_a_failure(wide, gang):
    name = gang("""
        command: exec sleep 1000
        workers: 3
        cpus: 0.5
        """)
    job = wide.submit(name)
    wait_until(lambda: states(wide, job) == ["running"] * 3, what="all run")
    os.kill(ranks(wide, job)[2]["pid"], signal.SIGKILL)
    assert wide.wait(job) == 128 + 9
    assert states(wide, job) == ["cancelled", "cancelled", "failed"]


def test_a_rank_may_restart_alone(wide, gang, work):
    name = gang(f"""
        command: {UNTIL_GO}
        cpus: 0.5
        backoff: 0s
        workers:
          - name: steady
          - name: shaky
            failure: restartWorker(2)
            ports: 1
            command: |
              echo "$TUTTI_ATTEMPT $TUTTI_PORTS" >> tries.1
              test $TUTTI_ATTEMPT = 3 || exit 1
              touch go
        """)
    job = wide.submit(name)
    assert wide.wait(job) == 0
    attempts, ports = zip(*(line.split() for line in (work / "tries.1").read_text().splitlines()))
    assert attempts == ("1", "2", "3")
    assert len(set(ports)) == 1, "the others know it by its first port"


def test_all_run_again_where_the_job_may_be_retried(wide, gang, work):
    name = gang("""
        command: |
          echo $TUTTI_ATTEMPT >> tries.$TUTTI_RANK
          test $TUTTI_RANK = 0 && exit
          # The first may be ended before it has written anything.
          while test ! -s tries.0; do sleep 0.01; done
          test $TUTTI_ATTEMPT = 2
        workers: 2
        cpus: 0.5
        retries: 1
        backoff: 0s
        """)
    assert wide.wait(wide.submit(name)) == 0
    assert (work / "tries.0").read_text().split() == ["1", "2"]
    assert (work / "tries.1").read_text().split() == ["1", "2"]


def test_ranks_wait_until_all_of_them_fit(daemon, gang, work):
    blocker = daemon.submit("--", "sh", "-c", UNTIL_GO)
    daemon.until_state(blocker, "running")
    name = gang("""
        command: "true"
        workers: 2
        """)
    job = daemon.submit(name)
    why = daemon.ok("explain", job).out
    assert "2 ranks start together, and there is room for 1" in why
    assert states(daemon, job) == ["queued"] * 2
    (work / "go").touch()
    assert daemon.wait(job) == 0


def test_what_never_fits_together_is_refused(daemon, gang):
    done = daemon("submit", gang("command: 'true'\nworkers: 3\n"))
    assert done.code != 0
    assert "its 3 workers start together" in done.err


def test_ports_are_disjoint_and_told_to_all(wide, gang):
    name = gang("""
        command: echo "$TUTTI_PORTS $TUTTI_MASTER_ADDR $TUTTI_MASTER_PORT"
        framework: pytorch
        cpus: 0.5
        workers: {Worker: {count: 4, ports: 2}}
        """)
    job = wide.submit(name)
    assert wide.wait(job) == 0
    told = [lines(wide, job, rank)[0].split() for rank in range(4)]
    ports = [port for one in told for port in one[0].split(",")]
    assert len(set(ports)) == 8
    assert {one[1] for one in told} == {"127.0.0.1"}
    assert {one[2] for one in told} == {told[0][0].split(",")[0]}


def test_a_port_that_others_have_is_not_used(wide, gang):
    name = gang("""
        command: echo "$TUTTI_PORTS"
        cpus: 0.5
        workers: 2
        """)
    first = wide.submit(name)
    assert wide.wait(first) == 0
    ports = [int(lines(wide, first, rank)[0]) for rank in range(2)]
    # The next job's ports lie so much farther on.
    begin, end = (int(one) for one in wide.ports.text.split("-"))
    wanted = begin + (ports[0] - begin + 64 * 16) % (end + 1 - begin)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("0.0.0.0", wanted))
        taken.listen()
        second = wide.submit(name)
        assert wide.wait(second) == 0
        now = [int(lines(wide, second, rank)[0]) for rank in range(2)]
    assert wanted not in now
    # Tests that run meanwhile may have taken others.
    tries = [one["attempt"] for one in ranks(wide, second)]
    assert min(tries) == max(tries) >= 2


def test_what_forks_into_the_background_ends_with_its_rank(wide, gang, work):
    name = gang("""
        command: setsid sleep 1000 & echo $! > left.$TUTTI_RANK
        workers: 2
        cpus: 0.5
        """)
    assert wide.wait(wide.submit(name)) == 0
    for rank in range(2):
        assert not processes.alive(int((work / f"left.{rank}").read_text()))


def test_cancel_ends_all_ranks(wide, gang):
    job = wide.submit(gang("command: exec sleep 1000\nworkers: 4\ncpus: 0.5\n"))
    wait_until(lambda: states(wide, job) == ["running"] * 4, what="all run")
    wide.ok("cancel", job)
    assert wide.wait(job) == 130
    assert states(wide, job) == ["cancelled"] * 4


def test_running_ranks_survive_the_daemon(wide, gang, work):
    job = wide.submit(gang(f"command: {UNTIL_GO}\nworkers: 3\ncpus: 0.5\n"))
    wait_until(lambda: states(wide, job) == ["running"] * 3, what="all run")
    attempts = [one["attempt"] for one in ranks(wide, job)]
    wide.kill9()
    wide.start(slots=16)
    assert states(wide, job) == ["running"] * 3
    (work / "go").touch()
    assert wide.wait(job) == 0
    assert [one["attempt"] for one in ranks(wide, job)] == attempts


def test_sixty_four_ranks(tutti, gang):
    tutti.start(slots=64)
    job = tutti.submit(gang("command: 'true'\nworkers: 64\n"))
    assert tutti.wait(job) == 0
    assert states(tutti, job) == ["succeeded"] * 64


@pytest.fixture
def two(pool, make_machine):  # noqa: F811
    """A pool of two machines that take one rank each."""
    machines = [make_machine("m1"), make_machine("m2")]
    pool.add(*machines, max_jobs=1)
    for one in machines:
        pool.until("up", one.name)
    return pool


ACROSS = """
    command: {}
    labels: [pool]
    cpus: 0.1
    workers: 2
    framework: tf
    start_timeout: {}
    """


def test_ranks_on_two_machines_know_each_other(two, gang):
    job = two.tutti.submit(gang(ACROSS.format("echo $TUTTI_NODE $TF_CONFIG", "60s")))
    assert two.tutti.wait(job) == 0
    told = [lines(two.tutti, job, rank)[0].split(" ", 1) for rank in range(2)]
    assert {one[0] for one in told} == {"m1", "m2"}
    configs = [json.loads(one[1]) for one in told]
    assert configs[0]["cluster"] == configs[1]["cluster"]
    assert [one["task"]["index"] for one in configs] == [0, 1]
    for worker in configs[0]["cluster"]["worker"]:
        assert re.fullmatch(r"127\.0\.0\.1:[23]\d{4}", worker)


MEET = """\
import os, socket, sys, time
place = os.environ["TUTTI_MASTER_ADDR"], int(os.environ["TUTTI_MASTER_PORT"])
if os.environ["TUTTI_RANK"] == "0":
    with socket.create_server(("", place[1])) as server:
        print(server.accept()[1][0])
else:
    for _ in range(500):
        try:
            socket.create_connection(place).close()
            sys.exit()
        except ConnectionRefusedError:
            time.sleep(0.02)
    sys.exit("nobody listens at %s:%s" % place)
"""


def test_a_rank_on_this_machine_is_found_by_one_elsewhere(pool, make_namespace_machine, gang, work):  # noqa: F811
    machine = make_namespace_machine()
    pool.add(machine)
    here = next(one["name"] for one in pool.tutti.api.get("/v1/nodes")["nodes"] if one["name"] != "m1")
    (work / "meet.py").write_text(MEET)
    job = pool.tutti.submit(gang(f"""
        command: python3 {work}/meet.py
        cpus: 0.1
        workers:
          Here: {{count: 1, labels: [{here}]}}
          There: {{count: 1, labels: [m1]}}
        """))
    assert pool.tutti.wait(job) == 0, pool.tutti("logs", job)
    assert lines(pool.tutti, job, 0) == [machine.address]


def test_mpirun_reaches_ranks_on_two_machines(two, gang, work):
    """Each has a copy of the work folder, of another name there."""
    (work / "word").write_text("staged")
    name = gang("""
        command: mpirun.openmpi sh -c 'echo "$OMPI_COMM_WORLD_RANK in $TUTTI_RANK on $TUTTI_NODE, $(cat word)"'
        labels: [pool]
        cpus: 0.1
        workers: 2
        framework: mpi
        """)
    job = two.tutti.submit(name)
    assert two.tutti.wait(job) == 0, two.tutti.ok("logs", "--all", job)
    nodes = {one["node"]: rank for rank, one in enumerate(ranks(two.tutti, job))}
    assert set(nodes) == {"m1", "m2"}
    assert sorted(lines(two.tutti, job, 0)) == sorted(
        f"{rank} in {rank} on {node}, staged" for node, rank in nodes.items())


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray cannot be imported here")
def test_a_ray_cluster_spans_two_machines(two, gang, work):
    (work / "program.py").write_text(
        "import ray\nray.init(logging_level='ERROR')\n"
        "print('nodes', sum(one['Alive'] for one in ray.nodes()), open('word').read())\n")
    (work / "word").write_text("staged")
    name = gang(f"""
        command: python program.py
        labels: [pool]
        mem: 1G
        env: {{PATH: "{Path(sys.executable).parent}:/usr/bin:/bin"}}
        framework: ray
        workers: {{Head: 1, Workers: 1}}
        """)
    job = two.tutti.submit(name)
    assert two.tutti.wait(job, timeout=150) == 0, two.tutti.ok("logs", "--all", job)
    assert {one["node"] for one in ranks(two.tutti, job)} == {"m1", "m2"}
    assert "nodes 2 staged" in lines(two.tutti, job, 0)


def test_nobody_begins_before_all_are_ready(two, gang, work):
    machine = two.machines["m2"]
    machine.freeze()
    try:
        job = two.tutti.submit(gang(ACROSS.format(f"touch {work}/begun.$TUTTI_RANK", "60s")))
        wait_until(lambda: states(two.tutti, job) == ["starting"] * 2, what="both are placed")
        two.tutti.kill9()
        assert not list(work.glob("begun.*"))
    finally:
        machine.thaw()
    two.restart()
    assert two.tutti.wait(job) == 0
    assert len(list(work.glob("begun.*"))) == 2


def test_a_rank_that_is_never_ready_is_named(two, gang, work):
    machine = two.machines["m2"]
    machine.freeze()
    try:
        job = two.tutti.submit(gang(ACROSS.format(f"touch {work}/begun.$TUTTI_RANK", "1s")))
        wait_until(lambda: "failed" in states(two.tutti, job), 30, what="it has failed")
        failed = [one for one in ranks(two.tutti, job) if one["state"] == "failed"]
        assert re.fullmatch(r"rank \d on m2 was not ready to start in time", failed[0]["message"])
        assert not list(work.glob("begun.*"))
    finally:
        machine.thaw()
    two.tutti.until_final(job)


def test_ranks_go_on_when_a_machines_server_dies(two, gang, work):
    gate = work / "go"
    job = two.tutti.submit(gang(ACROSS.format(f"while test ! -e {gate}; do sleep 0.02; done", "60s")))
    wait_until(lambda: states(two.tutti, job) == ["running"] * 2, 30, what="both run")
    two.machines["m2"].stop()
    two.until("down", "m2")
    gate.touch()
    two.machines["m2"].start()
    assert two.tutti.wait(job) == 0


HERE_AND_THERE = """
    command: >-
      echo $TUTTI_NODE $$ >>{work}/ran;
      while test ! -e {work}/go; do sleep 0.02; done
    cpus: 0.1
    workers:
      Here: {{count: 1, labels: [{here}]}}
      There: {{count: 2, labels: [pool], failure: {failure}}}
    """


@pytest.fixture
def spread(pool, make_namespace_machine, gang, work):  # noqa: F811
    """Starts a gang with a rank here and one on each of two machines that are given up soon."""
    machines = [make_namespace_machine("m1"), make_namespace_machine("m2")]
    pool.add(*machines, max_jobs=1, patience="1s")
    for one in machines:
        pool.until("up", one.name)
    here = next(one["name"] for one in pool.tutti.api.get("/v1/nodes")["nodes"] if one["name"][0] != "m")

    def start(failure):
        job = pool.tutti.submit(gang(HERE_AND_THERE.format(work=work, here=here, failure=failure)))
        wait_until(lambda: states(pool.tutti, job) == ["running"] * 3, 30, what="all run")
        return job

    start.pool = pool
    return start


def test_a_machine_that_is_lost_for_good_ends_all_ranks(spread, work):
    tutti, machines = spread.pool.tutti, spread.pool.machines
    job = spread("failFast")
    machines["m2"].link_down()
    assert tutti.until_final(job)["state"] == "failed"
    told = {one["node"]: one for one in ranks(tutti, job)}
    lost = told.pop("m2")
    assert (lost["state"], lost["message"]) == ("failed", "m2 was cut off for 1 s")
    assert len(told) == 2
    for other in told.values():
        assert (other["state"], other["ending"]) == ("cancelled", "rank_failed")
        assert other["message"] == f"ended because rank {lost['task']} on m2 failed"
    first = f"rank {lost['task']} failed first (preempted): m2 was cut off for 1 s"
    assert first in tutti("wait", job).err
    ran = [line.split() for line in (work / "ran").read_text().splitlines()]
    assert [node for node, pid in ran if processes.alive(int(pid))] == ["m2"]


def test_a_rank_of_a_lost_machine_may_restart_on_another(spread, make_namespace_machine, work):
    pool = spread.pool  # noqa: F811
    job = spread("restartWorker(1)")
    pool.add(make_namespace_machine("m3"), max_jobs=1)
    pool.until("up", "m3")
    pool.machines["m2"].kill()
    wait_until(lambda: (work / "ran").read_text().count("\n") == 4, 30, what="it runs elsewhere")
    (work / "go").touch()
    assert pool.tutti.wait(job) == 0
    tries = {one["node"]: one["attempt"] for one in ranks(pool.tutti, job) if one["group"] == "There"}
    assert tries == {"m1": 1, "m3": 2}
