"""Speeds of models: measured, imported, planned with; jobs that may run on one of several configurations."""

import json

import pytest

from driver import UNTIL_GO

SPEEDS = {"optimal": {
    "bert_1.3B_256": {"1_v100_1_n_4_d": 15.0, "1_a100_1_n_2_d": 10.5},
    "bert_1.3B_128": {"1_v100_1_n_4_d": 7.5, "1_a100_1_n_2_d": 5.5, "1_a100_1_n_1_d": -1.0},
}}


@pytest.fixture
def mixed(tutti):
    """A daemon with two emulated A100 and four V100."""
    return tutti.start("--emulate-gpus", "2xA100-80G,4xV100-32G", slots=64)


@pytest.fixture
def speeds(mixed):
    (mixed.work / "speeds.json").write_text(json.dumps(SPEEDS))
    assert "Imported 5 speeds" in mixed.ok("profile", "import", "speeds.json").out
    return mixed


def taken(tutti, job):
    answer = tutti.api.get(f"/v1/jobs/{job}/explain")
    return [one["gpus"] for one in answer["configurations"] if one["taken"]]


def test_speeds_are_kept_exported_and_forgotten(speeds):
    speeds.ok("daemon", "restart", "--emulate-gpus", "2xA100-80G,4xV100-32G")
    assert json.loads(speeds.ok("profile", "export", "--speeds").out) == SPEEDS
    speeds.ok("profile", "export", "--speeds", "speeds.csv")
    lines = (speeds.work / "speeds.csv").read_text().splitlines()
    assert lines[0] == "model,parameters,batch,type,nodes,devices_per_node,seconds"
    assert "bert,1.3B,128,a100,1,1,-1" in lines
    assert "does not fit" in speeds.ok("profile", "ls", "--speeds").out
    assert "Forgot 5 speeds" in speeds.ok("profile", "forget", "--speeds", "bert").out
    assert "No speeds" in speeds.ok("profile", "ls", "--speeds").out
    assert "Imported 5 speeds" in speeds.ok("profile", "import", "speeds.csv").out
    assert speeds.ok("profile", "ls", "--speeds", "--json").json()["optimal"] == SPEEDS["optimal"]


def test_a_bad_table_is_refused_with_its_line(mixed):
    (mixed.work / "bad.json").write_text('{"optimal": {\n"bert_1B_2": {"1_a_2_n_1_d": 1}}}')
    done = mixed("profile", "import", "bad.json")
    assert done.code == 2 and "bad.json:2: " in done.err, done
    for text, said in ((b"parameters,model\n", "x.csv:1: the header must be model,parameters"),
                       (b"\n", "'x.csv' is empty")):
        (mixed.work / "x.csv").write_bytes(text)
        done = mixed("profile", "import", "x.csv")
        assert done.code == 2 and said in done.err, done


def test_a_table_of_another_program_is_read(mixed):
    (mixed.work / "x.csv").write_bytes(
        b'\xef\xbb\xbf"model","parameters","batch","type","nodes","devices_per_node","seconds"\r\n'
        b'"bert","1.3B",128,"a100",1,2,5.5\r\n')
    assert "Imported 1 speed" in mixed.ok("profile", "import", "x.csv").out


def test_plan_works_without_a_daemon(tutti):
    (tutti.work / "speeds.json").write_text(json.dumps(SPEEDS))
    plan = tutti.ok("plan", "-m", "bert", "-p", "1.3B", "-b", "256", "--file", "speeds.json",
                    "--gpus", "2xA100-80G,8xV100", "--json").json()
    cells = {(cell["type"], cell["devices"], cell["stages"]): cell for cell in plan["cells"]}
    assert [key for key in cells if key[:2] == ("V100", 8)] == [("V100", 8, n) for n in (1, 2, 4, 8)]
    assert cells["A100-80G", 2, 1]["measured"] and cells["A100-80G", 2, 1]["seconds"] == 10.5
    assert not cells["A100-80G", 2, 2]["measured"] and 10.5 < cells["A100-80G", 2, 2]["seconds"] < 12
    assert not cells["V100", 8, 2]["measured"] and 5 < cells["V100", 8, 2]["seconds"] < 12
    chosen = plan["cells"][plan["chosen"]]
    assert chosen["seconds"] == min(cell["seconds"] for cell in plan["cells"] if cell["fits"])
    text = tutti.ok("plan", "-m", "bert", "-p", "1.3B", "-b", "256", "--file", "speeds.json").out
    assert "10.5s" in text and "Taken: " in text and "█" in text
    done = tutti("plan", "-m", "gpt", "-p", "1B", "-b", "1", "--file", "speeds.json")
    assert done.code == 1 and "known are bert" in done.err
    assert not (tutti.home / "run").exists()


def test_plan_shows_the_gpus_of_the_daemon(speeds):
    plan = speeds.ok("plan", "-m", "bert", "-p", "1.3B", "-b", "256", "--json").json()
    shapes = [(cell["type"], cell["devices"], cell["stages"]) for cell in plan["cells"]]
    assert shapes == [("A100-80G", 1, 1), ("A100-80G", 2, 1), ("A100-80G", 2, 2),
                      ("V100-32G", 1, 1), ("V100-32G", 2, 1), ("V100-32G", 2, 2),
                      ("V100-32G", 4, 1), ("V100-32G", 4, 2), ("V100-32G", 4, 4)]
    assert "profile check" not in speeds.ok("profile", "check").out


def test_the_fastest_configuration_that_is_free_is_taken(speeds):
    options = ("--configurations", "4xV100,2xA100", "--model", "bert_1.3B_256", "--exclusive")
    dry = speeds.ok("submit", "--dry-run", *options, "--", "true").out
    assert "▶ 2xA100: 10.5s an iteration (measured), it would start there now" in dry
    first = speeds.submit(*options, "--", "sh", "-c", UNTIL_GO)
    speeds.until_state(first, "running")
    assert taken(speeds, first) == ["2xA100"]
    second = speeds.submit(*options, "--", "sh", "-c", UNTIL_GO)
    speeds.until_state(second, "running")
    assert taken(speeds, second) == ["4xV100"]
    third = speeds.submit(*options, "--", "true")
    text = speeds.ok("explain", third).out
    assert "Configurations, the best first:" in text and "- 2xA100: 10.5s" in text
    shown = speeds.ok("show", first).out
    assert "one of 4xV100,2xA100" in shown and "▶ 2xA100" in shown and "it runs there" in shown
    assert speeds.ok("show", first, "--json").json()["configurations"] == "4xV100,2xA100"
    (speeds.work / "go").touch()
    assert [speeds.wait(job) for job in (first, second, third)] == [0, 0, 0]


def test_an_unknown_kind_starts_on_another_configuration_at_once(mixed):
    options = ("--configurations", "2xA100,2xV100", "--model", "bert_1.3B_256", "--kind", "new", "--")
    jobs = [mixed.submit(*options, "sh", "-c", UNTIL_GO) for _ in range(2)]
    for job, gpus in zip(jobs, ("2xA100", "2xV100")):
        mixed.until_state(job, "running")
        assert taken(mixed, job) == [gpus]
    (mixed.work / "go").touch()
    assert [mixed.wait(job) for job in jobs] == [0, 0]


def test_job_files_list_configurations(speeds):
    (speeds.work / "job.yaml").write_text(
        "command: [sh, -c, 'echo $CUDA_VISIBLE_DEVICES']\n"
        "configurations: [4xV100, 2xA100]\n"
        "model: {name: bert, params: 1.3B, batch: 128}\n")
    job = speeds.submit("job.yaml")
    assert speeds.wait(job) == 0
    assert len(speeds.ok("logs", job).out.strip().split(",")) == 2


def test_what_cannot_be_is_refused(mixed):
    for options, words in ((("--configurations", "8xH100,4xA100"), "no node could ever run it"),
                           (("--configurations", "A100"), "such as 4xA100"),
                           (("--configurations", "2xA100", "-g", "1"), "cannot be combined"),
                           (("--model", "bert"), "MODEL_SIZE_BATCH")):
        done = mixed("submit", *options, "--", "true")
        assert done.code != 0 and words in done.err, done


def test_a_run_is_measured_with_the_letters_of_the_seed(mixed):
    command = "for t in 9 0.5 0.25 0.75; do echo step iteration_time: $t; done"
    done = mixed.ok("profile", "run", "-x", "1_A100", "-n", "1", "-d", "2", "-m", "bert", "-p", "1.3B",
                    "-b", "32", "-l", "16", "-c", "2", "-o", "--json", "--", "sh", "-c", command).json()
    log = ("profile_result/1_nodes_2_devices_per_node/1_A100/bert_none/"
           "bs_32_params_1.3B_layers_16_mb_2_dp_try_0.log")
    assert done["log"] == log and "iteration_time: 0.25" in (mixed.work / log).read_text()
    assert done["seconds"] == 0.5 and done["iterations"] == 4
    table = mixed.ok("profile", "ls", "--speeds", "--json").json()["optimal"]
    assert table == {"bert_1.3B_32": {"1_A100_1_n_2_d_1_s": 0.5}}


def test_stages_are_measured_kept_and_planned_with(mixed):
    run = ("profile", "run", "-x", "1_V100", "-d", "4", "-m", "bert", "-p", "1.3B", "-b", "32", "--stages")
    line = 'echo "iteration_time: $TUTTI_PROFILE_STAGES"'
    command = ("--", "sh", "-c", f"{line}; {line}")
    done = mixed.ok(*run, "2", "--json", *command).json()
    assert done["cell"] == "1_V100_1_n_4_d_2_s" and done["seconds"] == 2
    assert done["log"].endswith("/bs_32_params_1.3B_stages_2_auto_try_0.log")
    assert "on 4 × V100 in 4 stages: 4s" in mixed.ok(*run, "4", *command).out
    refused = mixed(*run, "5", *command)
    assert refused.code == 2 and "--stages must be a whole number from 1 to 4" in refused.err
    mixed.ok("daemon", "restart", "--emulate-gpus", "2xA100-80G,4xV100-32G")
    mixed.ok("profile", "export", "--speeds", "speeds.csv")
    assert "bert,1.3B,32,V100,1,4,4,4" in (mixed.work / "speeds.csv").read_text().splitlines()
    plan = mixed.ok("plan", "-m", "bert", "-p", "1.3B", "-b", "32", "-f", "speeds.csv", "--json").json()
    known = {cell["stages"]: cell["seconds"] for cell in plan["cells"] if cell["stages_basis"] == "known"}
    assert known == {2: 2, 4: 4} and plan["cells"][plan["chosen"]]["stages"] == 2
    dry = mixed.ok("submit", "--dry-run", "--configurations", "4xV100,2xA100", "--model", "bert_1.3B_32",
                   "--", "true").out
    assert "▶ 4xV100: 2s an iteration (measured)" in dry


def test_stages_that_cannot_be_are_refused_with_their_line(mixed):
    (mixed.work / "bad.csv").write_text(
        "model,parameters,batch,type,nodes,devices_per_node,seconds,stages\nbert,1B,2,a100,1,4,1,5\n")
    done = mixed("profile", "import", "bad.csv")
    assert done.code == 2 and "bad.csv:2: stages must be a whole number from 1 to 4" in done.err, done


def test_out_of_gpu_memory_is_a_cell_that_does_not_fit(mixed):
    done = mixed.ok("profile", "run", "-x", "1_V100", "-m", "bert", "-p", "13B", "-b", "32", "--", "sh",
                    "-c", "echo 'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB' >&2; exit 1")
    assert "does not fit" in done.out
    table = mixed.ok("profile", "ls", "--speeds", "--json").json()["optimal"]
    assert table == {"bert_13B_32": {"1_V100_1_n_1_d": -1.0}}
    done = mixed.ok("profile", "run", "-x", "1_V100", "-d", "2", "-m", "bert", "-p", "13B", "-b", "32", "--",
                    "sh", "-c", "for i in 1 2; do echo iteration_time: 3; done")
    assert "on 2 × V100: 3s an iteration" in done.out


def test_a_kind_that_ran_out_of_memory_may_have_more_gpus(mixed):
    job = ("--model", "bert_1.3B_256", "--kind", "large", "--exclusive", "--", "sh", "-c",
           'case $CUDA_VISIBLE_DEVICES in *,*) ;; *) echo "CUDA out of memory" >&2; exit 1;; esac')
    assert mixed("run", "--configurations", "1xA100", *job).code != 0
    refused = mixed("submit", "--configurations", "1xA100", *job)
    assert refused.code != 0 and "no GPU is large enough" in refused.err
    both = ("--configurations", "1xA100,2xA100", *job)
    dry = mixed.ok("submit", "--dry-run", *both).out
    assert "▶ 2xA100" in dry and "1xA100: runs of its kind ran out of its memory" in dry
    assert mixed.wait(mixed.submit(*both)) == 0


def test_a_run_that_reports_nothing_says_what_is_missing(mixed):
    done = mixed("profile", "run", "-x", "1_V100", "-m", "bert", "-p", "1B", "-b", "32", "--", "true")
    assert done.code == 1 and "has no line such as 'iteration_time: 0.123'" in done.err, done
    done = mixed("profile", "run", "-x", "1_V100", "-m", "bert", "-p", "1B", "-b", "32", "--", "echo",
                 "iteration_time: 9")
    assert done.code == 1 and "one line only" in done.err and "warming up" in done.err, done
    assert mixed.ok("profile", "ls", "--speeds", "--json").json()["optimal"] == {}


def test_several_workers_are_measured_as_the_cell_that_they_were(mixed):
    done = mixed.ok("profile", "run", "-x", "2_V100", "-d", "1", "-m", "bert", "-p", "1B", "-b", "32", "-s",
                    "wiki", "--json", "--", "sh", "-c",
                    "for i in 1 2; do echo iteration_time=0.5 $TUTTI_RANK; done").json()
    # Both workers found room on the one node that there is.
    assert done["cell"] == "1_V100_1_n_2_d" and done["seconds"] == 0.5
    assert done["log"].startswith("profile_result/2_nodes_1_devices_per_node/2_V100/bert_wiki/bs_32")
    assert done["log"].endswith("_try_0.rank0.log")
    assert (mixed.work / done["log"].replace("rank0", "rank1")).exists()
