"""Jobs in containers, with a real podman, offline: an image of nothing but busybox."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import machines
import processes
from waiting import wait_until

CONF = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
{engine}
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
STORAGE = """
[storage]
driver = "{driver}"
graphroot = "{folder}/images"
runroot = "{folder}/run"
"""
DOCKERFILE = """
FROM scratch
COPY busybox /bin/busybox
RUN ["/bin/busybox", "--install", "/bin"]
"""
BASE = "tutti-test/box"


class Podman:
    """Podman with a storage of its own. `env` is what jobs need to use the same."""

    def __init__(self, folder, engine, driver):
        self.folder = Path(folder)
        self.env = {"CONTAINERS_CONF": str(self.folder / "containers.conf"),
                    "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf"),
                    "XDG_CACHE_HOME": str(self.folder / "cache")}
        (self.folder / "containers.conf").write_text(CONF.format(engine=engine))
        (self.folder / "storage.conf").write_text(STORAGE.format(folder=folder, driver=driver))

    def run(self, *words, check=True):
        done = subprocess.run(["podman", *words], env={**os.environ, **self.env}, text=True,
                              capture_output=True, timeout=120)
        assert not check or done.returncode == 0, f"podman {words}: {done.stderr}"
        return done

    def build(self, name, dockerfile, *more):
        folder = self.folder / "context"
        folder.mkdir(exist_ok=True)
        shutil.copy(shutil.which("busybox"), folder / "busybox")
        (folder / "Dockerfile").write_text(dockerfile)
        return self.run("build", "--network=host", "-t", name, *more, str(folder), check=False)

    def containers(self):
        return self.run("ps", "-a", "--format", "{{.Names}}").stdout.split()

    def images(self):
        return self.run("images", "--format", "{{.Repository}}:{{.Tag}}").stdout.split()

    def remove(self):
        self.run("rm", "-af", "-t", "0", check=False)
        self.run("rmi", "-af", check=False)
        for place in ("images", "images/overlay", "run"):
            subprocess.run(["umount", "-l", str(self.folder / place)], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def podman():
    if not shutil.which("podman") or not shutil.which("busybox"):
        pytest.skip("podman and busybox-static are needed: tools/install-packages containers")
    if subprocess.run(["ldd", shutil.which("busybox")], capture_output=True).returncode == 0:
        pytest.skip("busybox must not need libraries: install busybox-static")
    failures = []
    for engine in ("", 'runtime = "runc"', 'runtime = "crun"'):
        made = Podman(tempfile.mkdtemp(prefix="ttpod", dir="/tmp"), engine,
                      "overlay" if os.getuid() == 0 else "vfs")
        built = made.build(BASE, DOCKERFILE)
        tried = built if built.returncode else made.run("run", "--rm", "--network=host", BASE, "true",
                                                        check=False)
        if tried.returncode == 0:
            yield made
            made.remove()
            return
        failures.append(tried.stderr.strip().splitlines()[-1:])
        made.remove()
    pytest.skip(f"podman cannot run containers here: {failures}")


@pytest.fixture
def box(make_tutti, podman):
    """A daemon of four slots whose jobs use that podman; no container may be left of it."""
    tutti = make_tutti()
    tutti.start(slots=4, env=podman.env)
    yield Box(tutti, podman)
    wait_until(lambda: not podman.containers(), what=lambda: f"left: {podman.containers()}")


class Box:
    def __init__(self, tutti, podman, machine=None):
        self.tutti, self.podman, self.machine = tutti, podman, machine

    def __call__(self, *words, **more):
        return self.tutti(*words, env={**self.podman.env, **more.pop("env", {})}, **more)

    def file(self, **fields):
        """A job file in the work directory; values are JSON, which YAML is."""
        fields.setdefault("image", BASE)
        path = self.tutti.work / "job.yaml"
        path.write_text("".join(f"{k}: {json.dumps(v)}\n" for k, v in fields.items()
                                if v is not None))
        return path

    def run(self, command, *words, env=None, **fields):
        return self("run", *words, self.file(command=command, **fields), env=env or {})

    def submit(self, command, *words, **fields):
        done = self("submit", "-q", *words, self.file(command=command, **fields))
        assert done.code == 0, done
        return int(done.out)


def kill_podman(verb, name, value):
    """SIGKILL to the podman that carries out a verb with NAME=value in its environment."""
    found = [pid for pid, command in processes.with_variable(name, str(value)).items()
             if command.startswith(f"{shutil.which('podman')} {verb} ")]
    assert found
    for pid in found:
        processes.kill(pid)


def test_a_command_runs_in_the_image(box):
    done = box.run("echo hello from $(cat /proc/1/comm) && test ! -e /etc/debian_version")
    assert (done.code, done.out) == (0, "hello from podman-init\n"), done


def test_its_exit_code_is_the_jobs(box):
    assert box.run("exit 7").code == 7
    missing = box.run(["/no/such/program"])
    assert missing.code != 0 and "No such file" in missing.err


def test_the_work_directory_is_there_and_writable_as_the_submitter(box):
    work = box.tutti.work
    (work / "in").write_text("data")
    done = box.run('pwd; cat in; id -u; echo made > out')
    assert done.out == f"{work}\ndata{os.getuid()}\n", done
    assert (work / "out").read_text() == "made\n"
    assert (work / "out").stat().st_uid == os.getuid()


def test_variables_of_the_job_reach_it_and_those_of_the_submitter_do_not(box):
    done = box.run('echo "$A|$B|$TUTTI_JOB_NAME|${MINE-none}"; env | grep -c ^TUTTI_KEEPER= || true',
                   "--env", "B=x y\nz", name="named", env={"MINE": "here"})
    assert done.out.startswith("|x y\nz|named|none\n0"), done


def test_env_of_the_file_reaches_it(box):
    done = box("run", box.file(command="echo $A $PATH", env={"A": "it's", "PATH": "/bin:/none"}))
    assert done.out == "it's /bin:/none\n", done


def test_mounts_and_read_only_mounts(box, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/f").write_text("from outside")
    done = box("run", box.file(image=None, container={
        "image": BASE, "mounts": [f"{tmp_path}/data:/rw", f"{tmp_path}/data:/ro:ro"]},
        command="cat /ro/f; echo x > /rw/g; echo x > /ro/h || echo refused"))
    assert done.out == "from outsiderefused\n", done
    assert (tmp_path / "data/g").exists() and not (tmp_path / "data/h").exists()


def test_a_script_runs_in_it(box):
    script = box.tutti.work / "s.sh"
    script.write_text("#!/bin/sh\necho script $0 in $(cat /proc/1/comm)\n")
    done = box("run", box.file(script="s.sh"))
    assert done.out == "script /.tutti-script in podman-init\n", done


def test_no_privileges_are_left(box):
    done = box.run("grep -E 'NoNewPrivs|CapEff' /proc/self/status; mount -t tmpfs none /mnt || echo no")
    assert "NoNewPrivs:\t1" in done.out and done.out.endswith("no\n"), done


def test_no_container_runs_the_command_as_a_process(box):
    done = box.run("cat /proc/1/comm", "--no-container")
    assert done.code == 0 and "podman-init" not in done.out
    assert "without a container" in done.err


def test_memory_is_limited_by_the_runtime(box):
    done = box.run(["sh", "-c", "cat /sys/fs/cgroup/memory/memory.limit_in_bytes "
                                "/sys/fs/cgroup/memory.max 2>/dev/null"], "--mem", "64M")
    if not done.out.strip():
        pytest.skip("control groups are not visible in containers here")
    assert done.out.strip() == str(64 << 20)


def test_more_memory_than_the_limit_ends_it_with_a_word(box):
    done = box.run(["dd", "if=/dev/zero", "of=/dev/null", "bs=300M", "count=1"], "--mem", "50M")
    assert done.code == 137, done
    assert "memory limit of 50 MiB" in done.err


def test_cancel_reaches_the_container(box):
    job = box.submit("trap 'echo told > told; exit 3' TERM; touch up; while :; do sleep 0.1; done")
    wait_until((box.tutti.work / "up").exists)
    assert len(box.podman.containers()) == 1
    box.tutti.ok("cancel", job)
    box.tutti.until_state(job, "cancelled")
    assert (box.tutti.work / "told").exists()
    assert box.podman.containers() == []


def test_what_ignores_the_cancel_is_killed_after_its_grace(box):
    job = box.submit("trap '' TERM; touch up; while :; do sleep 0.1; done", "--grace", "1s")
    wait_until((box.tutti.work / "up").exists)
    box.tutti.ok("cancel", job)
    box.tutti.until_state(job, "cancelled")
    assert box.podman.containers() == []


def test_a_time_limit_ends_it(box):
    done = box.run("touch up; sleep 600", "--time", "2s", "--grace", "1s")
    assert done.code == 124, done
    assert box.podman.containers() == []


def test_a_container_killed_from_outside_is_a_failed_job(box):
    job = box.submit("touch up; sleep 600")
    wait_until((box.tutti.work / "up").exists)
    box.podman.run("kill", *box.podman.containers())
    assert box.tutti.until_state(job, "failed")["exit_code"] == 137


def test_podman_killed_leaves_no_container(box):
    job = box.submit("touch up; sleep 600")
    wait_until((box.tutti.work / "up").exists)
    kill_podman("run", "TUTTI_HOME", box.tutti.home)
    assert box.tutti.until_state(job, "failed")["exit_code"] == 137
    assert box.podman.containers() == []


def test_wrapper_killed_leaves_no_container(box):
    job = box.submit("touch up; sleep 600")
    wait_until((box.tutti.work / "up").exists)
    processes.kill(box.tutti.api.tasks(job)[0]["pid"])
    box.tutti.until_state(job, "failed")
    assert box.podman.containers() == []


def test_keeper_killed_leaves_no_container(box):
    job = box.submit("touch up; sleep 600")
    wait_until((box.tutti.work / "up").exists)
    box.tutti.kill_keeper()
    box.tutti.until_state(job, "failed", "lost")
    assert box.podman.containers() == []


def test_daemon_killed_goes_on(box):
    job = box.submit("touch up; while test ! -e go; do sleep 0.05; done; echo done > out")
    wait_until((box.tutti.work / "up").exists)
    box.tutti.kill9()
    (box.tutti.work / "go").touch()
    box.tutti.start(slots=4, env=box.podman.env)
    assert box.tutti.wait(job) == 0
    assert (box.tutti.work / "out").exists()


def test_a_gang_of_three_in_containers(box):
    path = box.file(command=["sh", "-c", "df -k /dev/shm | tail -1 | awk '{print $2}' > shm.$TUTTI_RANK; "
                             "echo $TUTTI_RANK of $TUTTI_WORLD_SIZE in $(cat /proc/1/comm)"],
                    workers=[{"name": "W", "count": 3, "cpus": 1, "shm": "40M"}])
    done = box("run", path, timeout=90)
    assert done.code == 0, done
    told = box.tutti.ok("logs", "--all", "1").out
    for rank in range(3):
        assert f"{rank} of 3 in podman-init" in told, told
        assert (box.tutti.work / f"shm.{rank}").read_text() == f"{40 << 10}\n"


def test_one_failing_rank_ends_the_others_containers(box):
    path = box.file(command=["sh", "-c", "test $TUTTI_RANK = 1 && exit 5; sleep 600"],
                    workers=[{"name": "W", "count": 3, "cpus": 1}])
    done = box("run", path, timeout=90)
    assert done.code == 5, done


def test_an_image_that_is_not_there_says_so(box):
    done = box.run("true", image="no-such-image")
    assert done.code == 126, done
    assert "image no-such-image is not on " in done.err


def test_no_runtime_says_so(box):
    # Nothing but a shell and what it needs: neither podman nor docker.
    done = box.run("true", container={"image": BASE, "runtime": "docker"}, image=None,
                   env={"DOCKER_HOST": "unix:///nowhere"})
    assert done.code == 126, done
    assert "no container runtime" in done.err or "docker does not work" in done.err


MANIFEST = """
kind: AIchorManifest
apiVersion: 0.2.1
builder: {image: demo, dockerfile: Dockerfile, context: .}
spec:
  operator: tf
  image: demo
  command: "sh -c 'cat built; echo $TF_CONFIG'"
  types: {Worker: {count: 2, resources: {cpus: 1, ramRatio: 1, shmSizeGB: 0}}}
"""


def write_context(work, text="one"):
    (work / "manifest.yaml").write_text(MANIFEST)
    (work / "Dockerfile").write_text(f"FROM {BASE}\nWORKDIR /app\nCOPY data /app/data\n"
                                     "RUN cp data built && echo building\n")
    (work / "data").write_text(text + "\n")
    (work / ".dockerignore").write_text("*.log\n.dockerignore\nmanifest.yaml\n")


def image_of(done):
    """The image that a submission said to be built."""
    assert "builds the image " in done.err, done
    return done.err.split("builds the image ")[1].split(";")[0]


def test_builder_builds_once_per_content(box):
    work = box.tutti.work
    write_context(work)
    done = box("run", "manifest.yaml", timeout=120)
    assert done.code == 0, done
    assert "builds the image tutti/demo:" in done.err
    assert box.tutti.ok("logs", "--all", "2").out.count("one") == 2
    assert "building" in box.tutti.ok("logs", "1").out
    (work / "noise.log").write_text("not a part of it")
    again = box("run", "manifest.yaml", timeout=120)
    assert again.code == 0 and "builds" not in again.err, again
    write_context(work, "two")
    other = box("run", "manifest.yaml", timeout=120)
    assert other.code == 0 and "builds the image" in other.err, other
    assert len([i for i in box.podman.images() if "tutti/demo" in i]) == 2


def test_a_build_that_fails_has_a_log_and_the_gang_is_skipped(box):
    write_context(box.tutti.work, "fails")
    (box.tutti.work / "Dockerfile").write_text(f"FROM {BASE}\nRUN echo half way && false\n")
    done = box("submit", "manifest.yaml")
    assert done.code == 0, done
    assert box.tutti.until_state(1, "failed")["exit_code"] == 126
    box.tutti.until_state(2, "skipped")
    log = box.tutti("logs", "1")
    assert "half way" in log.out + log.err
    assert "failed" in log.out + log.err


def test_podman_killed_during_a_build_leaves_no_half_image(box):
    write_context(box.tutti.work, "killed")
    (box.tutti.work / "Dockerfile").write_text(f"FROM {BASE}\nRUN echo here && sleep 600\n")
    image = image_of(box("submit", "manifest.yaml"))
    wait_until(lambda: "here" in box.tutti("logs", "1").out)
    kill_podman("build", "TUTTI_HOME", box.tutti.home)
    box.tutti.until_state(1, "failed")
    box.tutti.until_state(2, "skipped")
    assert not [i for i in box.podman.images() if i.endswith(image)]


def test_an_image_that_is_gone_again_is_built_by_the_job(box):
    work = box.tutti.work
    write_context(work, "gone")
    (work / "manifest.yaml").write_text(MANIFEST.replace("cat built;", "test -e $TUTTI_WORKDIR/go;")
                                        .replace("echo $TF_CONFIG", "exec test -e $TUTTI_WORKDIR/go"))
    done = box("run", "manifest.yaml", timeout=120)
    assert done.code == 1, done
    box.podman.run("rmi", "-f", image_of(done))
    (work / "go").touch()
    box.tutti.ok("retry", 2)
    assert box.tutti.wait(2, timeout=120) == 0
    assert image_of(done) in " ".join(box.podman.images())


FAKE_DOCKER = """#!/bin/sh
printf '%s\\n' "$@" -- >> {log}
case $1 in
  --version) echo Docker version 99 ;;
  info) echo '[]' ;;
  image) exit {image} ;;
  run) {run} ;;
  inspect) echo true ;;
esac
"""


def run_in_docker(box, tmp_path, *words, **fake):
    """Runs words in a docker that only notes what it is told."""
    program = tmp_path / "bin/docker"
    program.parent.mkdir()
    program.write_text(FAKE_DOCKER.format(log=tmp_path / "log", image=0, **fake))
    program.chmod(0o755)
    return box.run(list(words), "--mem", "64M", image=None,
                   container={"image": "some/image", "runtime": "docker"},
                   env={"PATH": f"{program.parent}:{os.environ['PATH']}"})


def test_a_container_that_its_runtime_killed_for_memory_is_out_of_memory(box, tmp_path):
    done = run_in_docker(box, tmp_path, "true", run="exit 137")
    assert done.code == 137 and "exceeded its memory limit of 64 MiB" in done.err, done
    assert box.tutti.job(1)["ending"] == "out_of_memory"


def test_docker_is_given_the_same(box, tmp_path):
    log = tmp_path / "log"
    done = run_in_docker(box, tmp_path, "echo", "a b", run="echo ran")
    assert (done.code, done.out) == (0, "ran\n"), done
    calls = [call.split("\n") for call in log.read_text().split("\n--\n")]
    run = next(call for call in calls if call[0] == "run")
    text = "\n".join(run)
    for part in ("--network\nhost", "--init", f"--user\n{os.getuid()}:{os.getgid()}", "--memory\n64m",
                 f"--workdir\n{box.tutti.work}", "--cap-drop\nall", "--env\nTUTTI_JOB_ID"):
        assert part in text, text
    assert run[-4:] == ["", "some/image", "echo", "a b"]
    name = run[run.index("--name") + 1]
    wait_until(lambda: f"rm\n--force\n{name}" in log.read_text())


def test_doctor_names_the_runtime(box):
    done = box("doctor")
    assert "containers: podman version " in done.out, done


@pytest.fixture
def far(make_tutti, make_machine, podman, home):
    """The same with a machine over SSH, whose podman it is."""
    machine = make_machine()
    wrapper = machine.bin / "podman"
    wrapper.write_text("#!/bin/sh\n" + "".join(f"export {k}='{v}'\n" for k, v in podman.env.items())
                       + f"exec {shutil.which('podman')} \"$@\"\n")
    wrapper.chmod(0o755)
    config = home / "ssh_config"
    config.write_text(machine.ssh_config())
    tutti = make_tutti().start(env={"TUTTI_SSH_CONFIG": str(config)})
    tutti.ok("nodes", "add", machine.name)
    yield Box(tutti, podman, machine)
    wait_until(lambda: not podman.containers(), what=lambda: f"left: {podman.containers()}")


def test_on_another_machine_the_image_is_built_from_the_files_that_were_sent(far):
    write_context(far.tutti.work, "far away")
    done = far("run", "--on", "m1", "manifest.yaml", timeout=120)
    assert done.code == 0, done
    told = far.tutti.ok("logs", "--all", "1").out
    assert told.count("far away") == 2, told


def test_cancel_reaches_a_container_on_another_machine(far):
    job = far.submit("trap 'touch /seen/told; exit 3' TERM; touch /seen/up; while :; do sleep 0.1; done",
                     "--on", "m1", image=None,
                     container={"image": BASE, "mounts": [f"{far.tutti.work}:/seen"]})
    wait_until((far.tutti.work / "up").exists)
    far.tutti.ok("cancel", job)
    far.tutti.until_state(job, "cancelled")
    assert (far.tutti.work / "told").exists()
    assert far.podman.containers() == []


def test_podman_killed_on_another_machine_leaves_no_container(far):
    job = far.submit("touch /seen/up; sleep 600", "--on", "m1", image=None,
                     container={"image": BASE, "mounts": [f"{far.tutti.work}:/seen"]})
    wait_until((far.tutti.work / "up").exists)
    kill_podman("run", machines.VARIABLE, far.machine.folder)
    far.tutti.until_state(job, "failed")
    assert far.podman.containers() == []
