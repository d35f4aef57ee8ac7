"""The batch command over SSH, with real servers."""

import pytest

SEED = """\
echo "one job"
echo "another job"

# a comment is no job
echo "another job" && echo "a combined job (bash syntax applies)"
bash examples/local.sh && echo "local files are copied"
"""


@pytest.fixture
def boxes(tutti, home, work, make_machine):
    """Two machines with a machine file each, and the seed's batch."""
    made = [make_machine(name=name) for name in ("m1", "m2")]
    config = home / "ssh_config"
    config.write_text("".join(one.ssh_config() for one in made))
    (work / "examples").mkdir()
    (work / "examples" / "local.sh").write_text("echo hello from a local file\n")
    (work / "examples" / "batch.sh").write_text(SEED)
    for one in made:
        (work / f"{one.name}.yaml").write_text(f"ip: {one.name}\n")
    tutti.start(env={"TUTTI_SSH_CONFIG": str(config)})
    return made


def batch(tutti, *more, code=0, file="examples/batch.sh"):
    done = tutti("execute_batch", file, "--machines", "m1.yaml", "m2.yaml", "--no-gpu-required",
                 "--memory-required", "100", *more)
    assert done.code == code, done
    return done


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
