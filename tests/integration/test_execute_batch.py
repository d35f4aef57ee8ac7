"""The batch command over SSH, with real servers."""

import os
import shutil
import signal
import subprocess
import threading

import pytest

from waiting import SLOW, wait_until

BATCH = """\
echo "one job"
echo "another job"

# a comment is no job
echo "another job" && echo "a combined job (bash syntax applies)"
bash examples/local.sh && echo "local files are copied"
"""


@pytest.fixture
def boxes(tutti, home, work, make_machine):
    """Two machines with a machine file each, and a batch."""
    made = [make_machine(name=name) for name in ("m1", "m2")]
    config = home / "ssh_config"
    config.write_text("".join(one.ssh_config() for one in made))
    (work / "examples").mkdir()
    (work / "examples" / "local.sh").write_text("echo hello from a local file\n")
    (work / "examples" / "batch.sh").write_text(BATCH)
    for one in made:
        (work / f"{one.name}.yaml").write_text(f"ip: {one.name}\n")
    tutti.start(env={"TUTTI_SSH_CONFIG": str(config)})
    return made


OPTIONS = ("--machines", "m1.yaml", "m2.yaml", "--no-gpu-required", "--memory-required", "100")


def batch(tutti, *more, code=0, file="examples/batch.sh", env=None):
    done = tutti("execute_batch", file, *OPTIONS, *more, env=env)
    assert done.code == code, done
    return done


def spawn(tutti, file):
    """The same, while it runs."""
    return tutti.spawn("execute_batch", file, *OPTIONS)


def ssh_of(tutti):
    """For calls that may start a daemon."""
    return {"TUTTI_SSH_CONFIG": str(tutti.home / "ssh_config")}


def result(work, name):
    return (work / "job_results" / name).read_text()


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def running_there(boxes, words):
    """The command lines with these words that run on the machines."""
    return [line for one in boxes for line in one.work().values() if words in line]


def until(path):
    return f"while test ! -e '{path}'; do sleep 0.02; done"


def change_files(folder, stop):
    """Writes, makes and removes files until it is told to stop."""
    number = 0
    while not stop.is_set():
        number += 1
        (folder / str(number % 200)).write_text("y" * (number % 3000))
        (folder / f"new-{number}").touch()
        (folder / f"new-{number - 20}").unlink(missing_ok=True)


def test_the_example_runs_on_two_machines_and_its_results_come_back(tutti, work, boxes):
    out = batch(tutti).out
    assert "machine limits:  {'m1.yaml': " in out
    for line in (1, 2, 5, 6):
        assert f"started: examples_batch.sh.{line};  " in out
        assert f"finished: examples_batch.sh.{line}; " in out
    results = work / "job_results"
    assert (results / "examples_batch.sh.1.out").read_text() == "one job\n"
    assert (results / "examples_batch.sh.1.err").read_text() == ""
    assert (results / "examples_batch.sh.6.out").read_text() == (
        "hello from a local file\nlocal files are copied\n")
    assert (results / "examples_batch.sh.6" / "examples" / "local.sh").exists()
    again = batch(tutti).out
    assert "WARNING: job results already exists for line 6, skipping evaluation" in again
    assert "started:" not in again


def test_files_that_a_job_makes_come_back_and_blanks_are_no_trouble(tutti, work, boxes):
    (work / "my batch.sh").write_text("mkdir 'a folder' && echo ü > 'a folder/x y'\n")
    batch(tutti, "--copy-backwards", "a folder", file="my batch.sh")
    folder = work / "job_results" / "my batch.sh.1"
    assert (folder / "a folder" / "x y").read_text() == "ü\n"
    assert not (folder / "examples").exists()


def test_a_failed_line_is_the_exit_status_and_runs_again_when_asked(tutti, work, boxes):
    (work / "b.sh").write_text("test -e flag || { echo no >&2; exit 3; }\ntrue\n")
    out = batch(tutti, code=1, file="b.sh").out
    assert "failed: b.sh.1; " in out and "finished: b.sh.2; true" in out
    assert (work / "job_results" / "b.sh.1.err").read_text() == "no\n"
    (work / "flag").touch()
    out = batch(tutti, code=1, file="b.sh").out
    assert "WARNING: line 1 failed before" in out and "started:" not in out
    out = batch(tutti, "--rerun-failed", file="b.sh").out
    assert "finished: b.sh.1; " in out
    assert "started: b.sh.2" not in out


def test_a_dead_machine_does_not_stop_the_batch(tutti, work, boxes):
    boxes[1].stop()
    done = batch(tutti)
    assert "machine m2.yaml is not used" in done.err
    assert "finished: examples_batch.sh.6; " in done.out


def test_without_nvidia_smi_a_batch_that_needs_gpus_fits_nowhere(tutti, work, boxes):
    done = tutti("execute_batch", "examples/batch.sh", "--machines", "m1.yaml")
    assert done.code == 1
    assert "m1.yaml: no GPU" in done.err


def test_one_command_runs_on_one_machine(tutti, work, boxes):
    for word in ("first", "second"):
        done = tutti("execute_remote", f"echo {word} > made", "--machine", "m1.yaml",
                     "--no-gpu-required", "--memory-required", "100")
        assert done.code == 0, done
        made = work / "job_results" / "execute_remote.1" / "made"
        assert made.read_text() == word + "\n"


# ---- machines that go away


def test_lines_of_a_machine_that_dies_go_elsewhere(tutti, work, boxes):
    # Known before, so that nobody waits two minutes for it.
    tutti.ok("nodes", "add", "m1", "--patience", "1s")
    (work / "b.sh").write_text(
        f"echo $TUTTI_NODE >>'{work}/ran'; test $TUTTI_NODE = m2 || sleep 1000\n" * 4)
    running = spawn(tutti, "b.sh")
    wait_until(lambda: "m1" in lines_of(work / "ran"))
    boxes[0].kill()
    out, err = running.communicate(timeout=60 * SLOW)
    assert running.returncode == 0, (out + err).decode()
    for line in range(1, 5):
        assert (work / "job_results" / f"b.sh.{line}").is_dir()
    assert lines_of(work / "ran").count("m2") == 4


def test_a_known_machine_that_is_down_is_left_out(tutti, work, boxes):
    batch(tutti)
    boxes[1].stop()
    (work / "b.sh").write_text("echo $TUTTI_NODE\n" * 3)
    done = batch(tutti, file="b.sh")
    assert "machine m2.yaml is not used" in done.err
    assert [result(work, f"b.sh.{n}.out") for n in (1, 2, 3)] == ["m1\n"] * 3


def test_another_key_in_the_machine_file_is_used_for_a_known_machine(tutti, work, boxes):
    wrong = tutti.home / "wrong"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", wrong], check=True)
    config = tutti.home / "ssh_config"
    config.write_text("".join(line for line in config.read_text().splitlines(True)
                              if "IdentityFile" not in line))
    assert tutti("nodes", "add", "m1", "m2", "--key", wrong, "--keep").code == 1
    for one in boxes:
        (work / f"{one.name}.yaml").write_text(f"ip: {one.name}\nssh_key_path: {one.folder}/user_key\n")
    batch(tutti)


def test_without_any_machine_nothing_is_submitted(tutti, work, boxes):
    for one in boxes:
        one.stop()
    done = batch(tutti, code=1)
    assert "none of the machines can be used" in done.err
    assert tutti.ok("ls", "--json").json()["jobs"] == []


def test_a_machine_that_is_busy_is_no_error(tutti, work, boxes):
    busy = [subprocess.Popen(["nice", "-n", "19", "sh", "-c", "while :; do :; done"])
            for _ in range(2 * os.cpu_count())]
    try:
        out = batch(tutti).out
    finally:
        for one in busy:
            one.kill()
            one.wait()
    assert out.count("finished: ") == 4


# ---- the user goes away


def test_ctrl_c_ends_what_runs_there_and_collects_what_there_is(tutti, work, boxes):
    (work / "b.sh").write_text(f"echo half; echo x >made; touch '{work}/begun'; sleep 1000\n")
    running = spawn(tutti, "b.sh")
    wait_until((work / "begun").exists)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30 * SLOW)
    assert running.returncode == 1, err
    assert b"failed: b.sh.1; " in out
    assert result(work, "b.sh.1.out") == "half\n"
    assert result(work, "b.sh.1/made") == "x\n"
    wait_until(lambda: not running_there(boxes, "sleep 1000"), what=lambda: running_there(boxes, "sleep 1000"))
    assert "WARNING: line 1 failed before" in batch(tutti, code=1, file="b.sh").out


def test_a_second_ctrl_c_leaves_at_once(tutti, work, boxes):
    (work / "b.sh").write_text(f"trap '' TERM; touch '{work}/begun'; while :; do sleep 0.1; done\n")
    running = spawn(tutti, "b.sh")
    wait_until((work / "begun").exists)
    running.send_signal(signal.SIGINT)
    wait_until(lambda: b"cancelling" in running.stderr.readline())
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=8 * SLOW)
    assert running.returncode == 1
    assert b"Job 1 goes on" in err
    assert tutti.until_final("1")["state"] == "cancelled"
    wait_until(lambda: not running_there(boxes, "while :"), what=lambda: running_there(boxes, ""))


def test_what_ends_while_nobody_watches_is_collected(tutti, work, boxes):
    (work / "b.sh").write_text(f"{until(work / 'go')}; echo x >made; echo out\n" * 2)
    running = spawn(tutti, "b.sh")
    assert b"machine limits" in running.stdout.readline()
    wait_until(lambda: running.stdout.readline().startswith(b"started: "))
    running.kill()
    running.communicate()
    again = batch(tutti, code=1, file="b.sh").out
    assert "WARNING: line 1 is still under way" in again and "started" not in again
    (work / "go").touch()
    for line in (1, 2):
        wait_until((work / "job_results" / f"b.sh.{line}").is_dir)
    tutti.until_final("1")
    assert result(work, "b.sh.1.out") == "out\n" and result(work, "b.sh.2/made") == "x\n"
    assert "already exists for line 2" in batch(tutti, file="b.sh").out


# ---- slots


def slots_of(tutti, work, name):
    """A batch of three lines, one at a time on m1, as it runs. A line fails if another one of it runs."""
    (work / f"{name}.sh").write_text(
        f"mkdir '{work}/{name}.runs' && echo >>'{work}/{name}.begun' && {until(work / 'go')} && "
        f"rmdir '{work}/{name}.runs'\n" * 3)
    running = tutti.spawn("execute_batch", f"{name}.sh", "--machines", "m1.yaml", "--no-gpu-required",
                          "--memory-required", "100", "--num-cpus", "0.1", "--reserve")
    wait_until((work / f"{name}.begun").exists, what=lambda: running.poll())
    return running


def why(tutti, job):
    return [one["code"] for one in tutti.ok("explain", job, "--json").json()["reasons"]]


def max_jobs(tutti):
    return {one["name"]: one["max_jobs"] for one in tutti.ok("nodes", "--json").json()["nodes"]}["m1"]


def test_a_batch_that_is_killed_leaves_no_limit_and_keeps_to_its_slots(tutti, work, boxes):
    tutti.ok("nodes", "add", "m1", "--max-jobs", "7")
    running = slots_of(tutti, work, "a")
    running.kill()
    running.communicate()
    assert max_jobs(tutti) == 7
    assert why(tutti, "1.2") == ["node_limit"]
    tutti.kill9()
    tutti.start(env=ssh_of(tutti))
    assert why(tutti, "1.2") == ["node_limit"]
    (work / "go").touch()
    assert tutti.until_final("1")["state"] == "succeeded"
    assert max_jobs(tutti) == 7


def test_two_batches_at_once_keep_each_to_its_own_slots(tutti, work, boxes):
    both = [slots_of(tutti, work, name) for name in ("a", "b")]
    for job in ("1", "2"):
        wait_until(lambda: tutti.ok("show", job, "--json").json()["counts"]["running"] == 1,
                   what="its line there is known to run")
        assert why(tutti, f"{job}.2") == ["node_limit"]
    (work / "go").touch()
    for one in both:
        out, err = one.communicate(timeout=60 * SLOW)
        assert one.returncode == 0, out + err
    assert max_jobs(tutti) == 0


# ---- results


def test_a_result_that_was_not_copied_whole_does_not_count(tutti, work, boxes):
    for one in boxes:
        # The first try, and the one that goes on with it.
        for name, sends in (("tar", "-c*"), ("rsync", "*--sender*")):
            one.add_program(name, f"""
case "$*" in {sends}) touch '{work}/copying'; {until(work / 'go')} ;; esac
exec /usr/bin/{name} "$@"
""")
    (work / "b.sh").write_text("echo x >made\n")
    running = spawn(tutti, "b.sh")
    wait_until((work / "copying").exists)
    running.kill()
    running.communicate()
    tutti.kill9()
    assert not (work / "job_results" / "b.sh.1").exists()
    again = batch(tutti, code=1, file="b.sh", env=ssh_of(tutti)).out
    assert "line 1 is still under way" in again
    (work / "go").touch()
    assert tutti.until_final("1")["state"] == "succeeded"
    assert result(work, "b.sh.1/made") == "x\n"
    assert "already exists for line 1" in batch(tutti, file="b.sh").out


def test_a_result_that_cannot_be_copied_is_a_failure_and_runs_again(tutti, work, boxes):
    for one in boxes:
        one.add_program("rsync", "exit 11\n")
        one.add_program("tar", 'case "$*" in -c*) exit 11 ;; esac\nexec /usr/bin/tar "$@"\n')
    (work / "b.sh").write_text("echo x >made\n")
    done = batch(tutti, code=1, file="b.sh")
    assert "failed: b.sh.1; " in done.out and "result" in done.out
    assert not (work / "job_results" / "b.sh.1").exists()
    for one in boxes:
        for name in ("rsync", "tar"):
            (one.bin / name).unlink()
    assert "failed before" in batch(tutti, code=1, file="b.sh").out
    assert "finished: b.sh.1; " in batch(tutti, "--rerun-failed", file="b.sh").out
    assert result(work, "b.sh.1/made") == "x\n"


def test_files_that_change_while_they_are_copied_fail_no_job(tutti, work, boxes):
    (work / "data").mkdir()
    for number in range(200):
        (work / "data" / f"{number}").write_text("x" * 1000)
    stop = threading.Event()
    changing = threading.Thread(target=change_files, args=(work / "data", stop))
    changing.start()
    try:
        for attempt in range(3):
            (work / f"b{attempt}.sh").write_text("ls data | wc -l\n" * 3)
            out = batch(tutti, file=f"b{attempt}.sh").out
            assert out.count("finished: ") == 3
    finally:
        stop.set()
        changing.join()


def test_blanks_in_every_path_are_no_trouble(tutti, work, boxes):
    here = work / "my project"
    (here / "in put").mkdir(parents=True)
    (here / "in put" / "a b").write_text("content\n")
    (here / "my batch.sh").write_text("cat 'in put/a b' | tee 'out put'\n")
    key = work / "my key"
    shutil.copy(boxes[0].folder / "user_key", key)
    (here / "my machine.yaml").write_text(f"ip: m1\nssh_key_path: {key}\n")
    done = tutti("execute_batch", "my batch.sh", "--machines", "my machine.yaml", "--no-gpu-required",
                 "--memory-required", "100", "--copy-forward", "in put",
                 "--copy-backwards", "out put", cwd=here)
    assert done.code == 0, done
    assert "{'my machine.yaml': " in done.out
    assert (here / "job_results" / "my batch.sh.1" / "out put").read_text() == "content\n"


# ---- GPUs, and what does not fit

GPUS = """
case "$*" in
  *query-gpu*)
    echo '0, GPU-aaa, NVIDIA RTX, 00000000:07:00.0, 6000, 69, 0, 0, 40'
    echo '1, GPU-bbb, NVIDIA RTX, 00000000:08:00.0, 6000, 69, 0, 0, 40' ;;
esac
"""


def gpu_batch(tutti, *more, file="b.sh"):
    done = tutti("execute_batch", file, "--machines", "m1.yaml", "--memory-required", "100",
                 "--num-cpus", "0.1", *more)
    assert done.code == 0, done
    return done.out


def test_a_gpu_is_for_one_job_unless_they_may_share(tutti, work, boxes):
    boxes[0].add_program("nvidia-smi", GPUS)
    # Each waits for another GPU's.
    meet = f"touch '{work}'/$CUDA_VISIBLE_DEVICES; until test -e '{work}/GPU-aaa' -a -e '{work}/GPU-bbb'"
    (work / "b.sh").write_text(f"{meet}; do sleep 0.02; done; echo $CUDA_VISIBLE_DEVICES\n" * 2)
    out = gpu_batch(tutti)
    assert "machine gpu choices: [[0, 1]]" in out
    for gpu in (0, 1):
        assert f";  export CUDA_VISIBLE_DEVICES={gpu} && touch" in out
    assert {result(work, f"b.sh.{n}.out") for n in (1, 2)} == {"GPU-aaa\n", "GPU-bbb\n"}

    # All ten are there at once.
    meet = f"touch '{work}/here'.$TUTTI_TASK; until test $(ls '{work}' | grep -c ^here) = 10"
    (work / "c.sh").write_text(f"{meet}; do sleep 0.05; done\n" * 10)
    out = gpu_batch(tutti, "--no-reserve-gpu", "--gpu-utilization", "0.1", file="c.sh")
    assert "machine gpu choices: [[0, 1, 0, 1, 0, 1, 0, 1, 0, 1]]" in out
    assert out.count("finished: ") == 10


def test_a_batch_that_fits_nowhere_says_why_for_each_machine(tutti, work, boxes):
    done = batch(tutti, "--memory-required", "900000000", code=1)
    assert "a job fits on none of the machines" in done.err
    for name in ("m1.yaml", "m2.yaml"):
        assert f"{name}: " in done.err and "memory" in done.err
    assert tutti.ok("ls", "--json").json()["jobs"] == []
    assert not (work / "job_results").exists()
