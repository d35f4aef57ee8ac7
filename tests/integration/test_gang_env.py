"""What ranks are told, read by those for whom it is meant: PyTorch, JAX, TensorFlow, Ray, MPI."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from waiting import SLOW, wait_until

SDK = Path(__file__).resolve().parents[2] / "sdk/python"

TORCH = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
assert rank == int(os.environ["TUTTI_RANK"])
total = torch.tensor([float(rank)])
dist.all_reduce(total)
torch.manual_seed(rank)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.randn(8, 4)).sum().backward()
optimizer.step()
weights = [torch.zeros(1, 4) for _ in range(size)]
dist.all_gather(weights, model.module.weight.data)
print("sum", int(total), "same", all(torch.equal(weights[0], one) for one in weights))
dist.barrier()
dist.destroy_process_group()
"""

JAX = """
import os
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize()
from jax.experimental import multihost_utils
assert jax.process_index() == int(os.environ["TUTTI_RANK"])
seen = multihost_utils.process_allgather(jax.numpy.array([jax.process_index()]))
print("processes", jax.process_count(), "devices", jax.device_count(), "sum", int(seen.sum()))
"""

TENSORFLOW = """
import tensorflow as tf
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
cluster = resolver.cluster_spec()
print(resolver.task_type, resolver.task_id, cluster.num_tasks("worker"), cluster.num_tasks("ps"))
"""

RAY = """
import ray, sys
ray.init(logging_level="ERROR")
squares = [ray.remote(lambda i: i * i).remote(i) for i in range(4)]
print("nodes", len(ray.nodes()), "cpus", int(ray.cluster_resources()["CPU"]), "sum",
      sum(ray.get(squares)), sys.argv[1:])
"""

MPI = """
import os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
sys.stdout.write(f"process {world.rank} of {world.size} in {os.environ['TUTTI_RANK']} sum "
                 f"{world.allreduce(world.rank)}\\n")
sys.exit(int((sys.argv + ["0"])[1]))
"""


def needs(module, package=None):
    return pytest.mark.skipif(importlib.util.find_spec(module) is None,
                              reason=f"{module} cannot be imported: "
                                     f"{sys.executable} -m pip install {package or module}")


@pytest.fixture
def gang(tutti, work):
    """Runs a program in a gang, and gives what ended. Ranks are small and many."""
    tutti.start(slots=16)

    def run(program, fields, arguments=(), ranks_per_core=4, code=0, **more):
        (work / "program.py").write_text(textwrap.dedent(program))
        job = {"command": [sys.executable, "program.py", *arguments], "cpus": 1 / ranks_per_core,
               "mem": "256M", **fields}
        (work / "job.yaml").write_text(json.dumps(job))  # JSON is YAML
        done = tutti("run", "job.yaml", timeout=150, **more)
        assert done.code == code, done
        return done

    return run


@needs("torch")
def test_pytorch_trains_in_parallel(gang):
    done = gang(TORCH, {"framework": "pytorch", "workers": 4})
    assert done.out.count("sum 6 same True") == 4


@needs("jax")
@pytest.mark.parametrize("framework", ["jax", "none"])
def test_jax_initialises_without_arguments(gang, framework):
    """Without a framework by the names of Slurm."""
    done = gang(JAX, {"framework": framework, "workers": 2})
    assert done.out.count("processes 2 devices 2 sum 1") == 2


@needs("tensorflow", "tensorflow-cpu")
def test_tensorflow_resolves_the_cluster(gang):
    done = gang(TENSORFLOW, {"framework": "tf", "workers": {"PS": 1, "Worker": 2}})
    for words in ("ps 0 2 1", "worker 0 2 1", "worker 1 2 1"):
        assert words in done.out


def test_every_item_falls_to_one_rank_of_a_shell_script(gang, work):
    script = "seq $TUTTI_SHARD_BEGIN $((TUTTI_SHARD_END - 1)) >$TUTTI_RANK"
    gang("", {"command": script, "workers": 3, "env": {"TUTTI_SHARD_TOTAL": "100"}})
    done = [int(i) for rank in range(3) for i in (work / str(rank)).read_text().split()]
    assert done == list(range(100))


def test_every_item_falls_to_one_rank_of_a_python_program(gang, work):
    program = "import tutti; open(str(tutti.rank()), 'w').write(repr(list(tutti.shard(10))))"
    gang(program, {"workers": 4, "env": {"PYTHONPATH": str(SDK)}})
    done = [json.loads((work / str(rank)).read_text()) for rank in range(4)]
    assert sum(done, []) == list(range(10))


def test_total_of_items_that_is_no_number_is_refused(gang):
    done = gang("", {"workers": 2, "env": {"TUTTI_SHARD_TOTAL": "ten"}}, code=2)
    assert "TUTTI_SHARD_TOTAL='ten'" in done.err


def ray_folders():
    return set(Path("/tmp").glob("tutti-ray.*"))


@pytest.fixture
def ray_cluster(gang):
    """Runs a program on a head and two workers; nothing of Ray is left after it."""
    before = ray_folders()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def run(program, **more):
        return gang(program, {"framework": "ray", "workers": {"Head": 1, "Workers": 2},
                              "mem": "2G", "env": {"PATH": path}}, ranks_per_core=1, **more)

    yield run
    # Tests that run meanwhile have some, too, as long as they run.
    wait_until(lambda: not ray_folders() - before, what=lambda: f"left: {ray_folders() - before}")


@needs("ray")
def test_ray_has_all_nodes_when_the_command_begins(ray_cluster):
    done = ray_cluster(RAY, arguments=["a b", "$HOME"])
    assert "nodes 3 cpus 3 sum 14 ['a b', '$HOME']" in done.out


@needs("ray")
def test_failed_command_of_ray_is_the_job_s(ray_cluster):
    ray_cluster("import sys; sys.exit(7)", code=7)


@needs("ray")
def test_ray_node_that_dies_fails_the_job(ray_cluster):
    """Killed by the command itself, which then waits to be ended."""
    kill_one = """
    import os, ray, signal, time
    ray.init(logging_level="ERROR")
    head = ray.get_runtime_context().get_node_id()
    other = next(one for one in ray.nodes() if one["NodeID"] != head)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/cmdline").read().split("\\0")
        except OSError:
            continue
        if f"--node_manager_port={other['NodeManagerPort']}" in words:
            os.kill(int(pid), signal.SIGKILL)
    time.sleep(600)
    """
    done = ray_cluster(kill_one, code=1)
    assert "ray start ended with" in done.out + done.err


def test_missing_ray_is_named(gang):
    done = gang("", {"framework": "ray", "workers": {"Head": 1, "Workers": 1},
                     "env": {"PATH": "/usr/bin:/bin"}}, code=127)
    assert "there is no ray on the PATH of" in done.out + done.err


def folders_of_mpi():
    return {one for above in ("/tmp", "/dev/shm") for one in Path(above).glob("tutti-mpi.*")}


@pytest.fixture
def mpi(gang):
    """Runs a command with mpirun in it, on a launcher and two workers of two slots."""
    before = folders_of_mpi()

    def run(command, workers={"Launcher": 1, "Worker": 2}, **more):
        return gang(MPI, {"framework": "mpi", "workers": workers, "command": command,
                          "env": {"TUTTI_MPI_SLOTS": "2", "PYTHON": sys.executable}}, **more)

    yield run
    wait_until(lambda: not folders_of_mpi() - before,
               what=lambda: f"left: {folders_of_mpi() - before}")


def test_mpirun_starts_processes_in_the_workers(mpi):
    done = mpi("mpirun.openmpi $PYTHON program.py")
    for process, worker in enumerate((1, 1, 2, 2)):
        assert f"[0] process {process} of 4 in {worker} sum 6" in done.out


def test_without_a_launcher_rank_0_is_a_worker_as_well(mpi):
    done = mpi("mpirun.openmpi $PYTHON program.py", workers=2)
    for process, worker in enumerate((0, 0, 1, 1)):
        assert f"[0] process {process} of 4 in {worker} sum 6" in done.out


def test_mpich_finds_the_workers_too(mpi):
    done = mpi("mpiexec.hydra sh -c 'echo process $PMI_RANK of $PMI_SIZE in $TUTTI_RANK'")
    for process, worker in enumerate((1, 1, 2, 2)):
        assert f"[0] process {process} of 4 in {worker}" in done.out


def test_number_of_slots_that_is_none_is_named(gang):
    done = gang("", {"framework": "mpi", "workers": 2, "command": "mpirun.openmpi true",
                     "env": {"TUTTI_MPI_SLOTS": "many"}}, code=1)
    assert "TUTTI_MPI_SLOTS='many' must be a number" in done.out + done.err


def test_code_of_a_process_of_mpi_is_the_job_s(mpi):
    done = mpi("mpirun.openmpi $PYTHON program.py 5", code=5)
    assert "exit code" in done.out.lower() + done.err.lower()


def test_commands_in_a_row_each_start_anew(mpi):
    done = mpi("for i in 1 2; do mpirun.openmpi -n 3 sh -c 'echo here'; done")
    assert done.out.count("here") == 6


def test_worker_of_mpi_that_is_killed_fails_the_job(tutti, work, mpi):
    (work / "job.yaml").write_text(json.dumps(
        {"framework": "mpi", "workers": 2, "cpus": 0.25, "mem": "256M",
         "command": "mpirun.openmpi sh -c 'touch up.$TUTTI_RANK; sleep 1000'"}))
    job = tutti.submit("job.yaml")
    wait_until(lambda: all((work / f"up.{rank}").exists() for rank in range(2)), what="all are up")
    os.kill(tutti.api.get(f"/v1/jobs/{job}/tasks")["tasks"][1]["pid"], signal.SIGKILL)
    assert tutti.wait(job) == 128 + 9


RANK_PROGRAM = "".join((SDK.parents[1] / "src/core/spec" / name).read_text()
                       for name in ("rank_common.py", "mpi_rank.py"))


def test_rank_of_mpi_takes_no_orders_from_strangers():
    """Somebody who got hold of the launcher's port, and does not know the key."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        env = {"TUTTI_JOB_ID": "1", "TUTTI_RANK": "1", "TUTTI_WORLD_SIZE": "2",
               "TUTTI_NODE_COUNT": "1", "TUTTI_MASTER_ADDR": "127.0.0.1", "TUTTI_GROUP": "Worker",
               "TUTTI_MASTER_PORT": str(listener.getsockname()[1]), "TUTTI_MPI_SLOTS": "1",
               "TUTTI_PORTS": "1",
               "TUTTI_JOB_KEY": "secret"}
        rank = subprocess.Popen([sys.executable, "-c", RANK_PROGRAM, "true"], env=env,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        link = listener.accept()[0]
        link.sendall(b'{"challenge": "0"}\n{"proof": "0"}\n{"number": 1, "run": "echo ran"}\n')
        out, err = rank.communicate(timeout=SLOW * 30)
    assert (out, rank.returncode) == ("", 1)
    assert "is not rank 0 of this job" in err


def test_launcher_of_mpi_gives_no_orders_to_strangers():
    """Somebody who connects before the workers do; the worker that comes then is taken."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {"TUTTI_JOB_ID": "1", "TUTTI_WORLD_SIZE": "2", "TUTTI_NODE_COUNT": "1",
           "TUTTI_MASTER_ADDR": "127.0.0.1", "TUTTI_MASTER_PORT": str(port), "PATH": os.defpath,
           "TUTTI_GROUP": "Worker", "TUTTI_MPI_SLOTS": "1", "TUTTI_JOB_KEY": "secret"}

    def start(rank):
        return subprocess.Popen([sys.executable, "-c", RANK_PROGRAM, "echo", "begun"],
                                env={**env, "TUTTI_RANK": rank, "TUTTI_PORTS": f"{port}{rank}"},
                                stdout=subprocess.PIPE, text=True)

    launcher = start("0")
    stranger = None

    def reach():
        nonlocal stranger
        try:
            stranger = socket.create_connection(("127.0.0.1", port))
        except OSError:
            return False
        return True

    wait_until(reach, what="rank 0 listens")
    with stranger:
        stranger.sendall(b'{"rank": 1, "slots": 1, "challenge": "0", "proof": "0"}\n')
        heard = stranger.makefile("rb").read()  # until it is sent away
    worker = start("1")
    assert launcher.communicate(timeout=SLOW * 30)[0] == "begun\n"
    assert (launcher.returncode, worker.wait(timeout=SLOW * 30)) == (0, 0)
    assert b"challenge" in heard and b"proof" not in heard
    worker.stdout.close()
