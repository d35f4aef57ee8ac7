"""Scripts with #TUTTI lines, YAML job files, snapshots."""

import textwrap

import pytest

from driver import UNTIL_GO

SCRIPT = """\
#!/bin/bash
#TUTTI --name from-script --cpus 0.5
#TUTTI --env WHERE='the script'  # a comment
echo "$TUTTI_JOB_NAME|$TUTTI_CPUS|$WHERE|$0|$*"
"""


@pytest.fixture
def write(work):
    def to(name, text):
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path
    return to


def test_directives_of_a_script_are_options(daemon, write):
    write("train.sh", SCRIPT)
    out = daemon.ok("run", "train.sh", "--lr", "0.1").out.strip().split("|")
    assert out[:3] == ["from-script", "0.5", "the script"]
    assert out[4] == "--lr 0.1"


def test_command_line_wins_over_directives(daemon, write):
    write("train.sh", SCRIPT)
    out = daemon.ok("run", "-n", "mine", "--env", "WHERE=here", "train.sh").out.split("|")
    assert out[:3] == ["mine", "0.5", "here"]


def test_script_is_taken_as_it_is_at_submission(daemon, write, work):
    blocker = daemon.submit("--cpus", "2", "--", "sh", "-c", UNTIL_GO)
    write("train.sh", "#TUTTI --name x\necho old\n")
    job = daemon.submit("train.sh")
    write("train.sh", "#TUTTI --name x\necho new\n")
    (work / "go").touch()
    assert daemon.wait(blocker) == 0
    assert daemon.wait(job) == 0
    assert daemon.ok("logs", job).stdout == b"old\n"


def test_script_in_another_language_runs_by_its_first_line(daemon, write):
    write("train.py", "#!/usr/bin/python3\n#TUTTI --name py\nimport sys; print(sys.argv[1:])\n")
    assert daemon.ok("run", "train.py", "a b").out == "['a b']\n"


@pytest.mark.parametrize("verb", [["submit"], ["submit", "--dry-run"], ["run"]])
def test_a_work_directory_that_is_not_there_is_refused(daemon, write, work, verb):
    write("job.yaml", "name: x\ncommand: pwd\nworkdir: nonexistent\n")
    done = daemon(*verb, "job.yaml")
    assert done.code == 1, done
    # A long path is cut.
    told = f"job.yaml:3: workdir: cannot use '{work}/nonexistent"[:60]
    assert told in done.err and "No such file" in done.err, done
    assert daemon("submit", "-C", "nonexistent", "--", "true").code == 1
    assert daemon.ok("run", "-C", "/", "job.yaml").out == "/\n"


def test_bad_directive_names_file_line_and_nearest(daemon, write):
    write("train.sh", "#!/bin/bash\n#TUTTI --cpu 4\ntrue\n")
    done = daemon("submit", "train.sh")
    assert done.code == 2
    assert "train.sh:2" in done.err and "--cpus" in done.err


def test_late_directive_is_warned_about(daemon, write):
    write("train.sh", "#TUTTI --name x\ntrue\n#TUTTI --cpus 64\n")
    done = daemon.ok("submit", "train.sh")
    assert "train.sh:3" in done.err


YAML = """\
name: sweep
command: echo "$TUTTI_ARRAY_INDEX $X" >> ran
array: 1-3
cpus: 0.5
time: 1h
env:
  X: "from yaml"
"""


def test_job_file_is_submitted(daemon, write, work):
    write("sweep.yaml", YAML)
    job = daemon.submit("sweep.yaml")
    assert daemon.wait(job) == 0
    lines = sorted((work / "ran").read_text().splitlines())
    assert lines == [f"{n} from yaml" for n in (1, 2, 3)]
    told = daemon.job(job)
    assert (told["name"], told["cpus"], told["time_limit_s"]) == ("sweep", 0.5, 3600)


def test_job_file_with_a_word_list_is_executed_directly(daemon, write):
    write("job.yaml", "command: [printf, '%s|', a b, $HOME]\n")
    assert daemon.ok("run", "job.yaml").out == "a b|$HOME|"


def test_command_line_wins_over_the_job_file(daemon, write):
    write("sweep.yml", "name: a\ncommand: echo $TUTTI_JOB_NAME $X\nenv: {X: file}\n")
    assert daemon.ok("run", "-n", "b", "--env", "X=line", "sweep.yml").out == "b line\n"


def test_job_file_with_several_jobs(daemon, write):
    write("jobs.yaml", """\
        jobs:
          - name: one
            command: "true"
          - name: two
            lines: [echo a, echo b]
        """)
    done = daemon.ok("submit", "-q", "jobs.yaml")
    assert done.out == "1\n2\n"
    daemon.ok("wait", "1,2")
    assert daemon.job(2)["tasks"] == 2


def test_several_jobs_are_taken_all_or_none(daemon, write):
    write("jobs.yaml", """\
        jobs:
          - command: "true"
          - command: "true"
            cpus: 64
        """)
    done = daemon("submit", "jobs.yaml")
    assert done.code in (1, 2) and "64" in done.err
    assert daemon.api.get("/v1/jobs")["jobs"] == []


def test_script_of_a_job_file_is_read_beside_it(daemon, write, work):
    write("train.sh", "echo \"script $1\"\n")
    write("job.yaml", "script: train.sh\nargs: [x]\n")
    assert daemon.ok("run", "job.yaml").out == "script x\n"


@pytest.mark.parametrize("text, told", [
    ("command: a\nname: x\ncpu: 4\n", ["job.yaml:3", "cpu", "cpus"]),
    ("command: a\ncpus: many\n", ["job.yaml:2", "many"]),
    ("command: a\ncpus: -1\n", ["job.yaml:2", "-1"]),
    ("command: a\ncpus: [1]\n", ["job.yaml:2"]),
    ("command: a\nmem: 99999999999999999999G\n", ["job.yaml:2"]),
    ("command: {a: b}\n", ["job.yaml:1", "command"]),
    ("command: a\nenv: [A]\n", ["job.yaml:2", "env"]),
    ("command: a\ncommand: b\n", ["job.yaml:2", "twice"]),
    ("name: x\n", ["job.yaml:1", "command"]),
    ("command: a\nlines: [b]\n", ["one of command"]),
    ("command: [\n", ["job.yaml"]),
    ("\tcommand: a\n", ["job.yaml:1", "tab"]),
    ("- a\n", ["job.yaml:1"]),
    ("", ["job.yaml", "empty"]),
    ("command: a\ntime: 1 fortnight\n", ["job.yaml:2", "fortnight"]),
    ("a: &a [*a]\n", ["job.yaml"]),
])
def test_bad_job_file_is_a_usage_error_that_says_where(daemon, write, text, told):
    (daemon.work / "job.yaml").write_text(text)
    done = daemon("submit", "job.yaml")
    assert done.code == 2, done
    for word in told:
        assert word in done.err, done.err
    assert daemon.api.get("/v1/jobs")["jobs"] == []


def test_dry_run_of_a_job_file_checks_it(daemon, write):
    write("sweep.yaml", YAML)
    assert daemon.ok("submit", "--dry-run", "sweep.yaml")
    assert daemon.api.get("/v1/jobs")["jobs"] == []


def test_snapshot_is_the_work_directory_as_it_was(daemon, write, work):
    blocker = daemon.submit("--cpus", "2", "--", "sh", "-c",
                            f"while test ! -e {work}/go; do sleep 0.02; done", cwd="/tmp")
    project = work / "project"
    write("project/code.txt", "old")
    write("project/sub/deep.txt", "deep")
    write("project/run.sh", "#!/bin/sh\ncat code.txt sub/deep.txt\n").chmod(0o755)
    write("project/.gitignore", "*.tmp\nbig/\n")
    write("project/skip.tmp", "x")
    write("project/big/data", "x")
    (project / "link").symlink_to("code.txt")
    command = ("./run.sh; readlink link; ls -A | LC_ALL=C sort | tr '\\n' ' '; "
               "echo x > made; echo y > code.txt")
    job = daemon.submit("--snapshot", "--", "sh", "-c", command, cwd=project)
    write("project/code.txt", "new")
    (project / "sub/deep.txt").unlink()
    (work / "go").touch()
    assert daemon.wait(blocker) == 0
    assert daemon.wait(job) == 0, daemon.ok("logs", job)
    assert daemon.ok("logs", job).out == "olddeepcode.txt\n.gitignore code.txt link run.sh sub "
    # What the job wrote stays in its copy, and one is told where that is.
    copy = daemon.home / "work" / str(job)
    assert f"{copy}, a copy of {project}\n" in daemon.ok("show", job).out
    assert daemon.api.get(f"/v1/jobs/{job}")["copy"] == str(copy)
    assert (copy / "made").read_text() == "x\n"
    assert (project / "code.txt").read_text() == "new"
    assert not (project / "made").exists()


def test_snapshot_of_a_part_of_a_repository_heeds_its_rules(daemon, write, work):
    write("repo/.git/info/exclude", "*.log\n")
    write("repo/.gitignore", "data/\n*.ckpt\n")
    for name in ("data/x", "m.ckpt", "a.log", "code.txt"):
        write(f"repo/sub/{name}", "x")
    (work / "repo/sub/empty").mkdir()
    done = daemon.ok("run", "--snapshot", "--", "ls", "-A", ".", "empty", cwd=work / "repo/sub")
    assert done.out == ".:\ncode.txt\nempty\n\nempty:\n"


def test_two_jobs_of_one_snapshot_do_not_see_each_others_files(daemon, write, work):
    write("project/code.txt", "same")
    command = "test ! -e made && touch made && cat code.txt && echo changed > code.txt"
    for _ in range(2):
        job = daemon.submit("--snapshot", "--", "sh", "-c", command, cwd=work / "project")
        assert daemon.wait(job) == 0
        assert daemon.ok("logs", job).out == "same"
