"""`simulate`: work on a virtual clock, with the real program."""

import json
import re

import pytest

from waiting import BINARY

WORK = """\
cluster:
  - {nodes: 1, cpus: 4, mem: 8G}
jobs:
  - {name: wide, submit: 0, runs: 100s, cpus: 3, time: 100s}
  - {name: all, submit: 10s, runs: 50s, cpus: 4, time: 50s}
  - {name: small, submit: 20s, runs: 30s, cpus: 1, time: 30s, deadline: 1m}
"""


@pytest.fixture
def work_file(tutti, work):
    (work / "work.yaml").write_text(WORK)
    return "work.yaml"


def usage_error(tutti, *arguments):
    done = tutti("simulate", *arguments)
    assert done.code == 2, done
    assert done.stdout == b""
    return done.err


def test_table_has_the_figures_that_follow_by_hand(tutti, work_file):
    told = tutti.ok("simulate", work_file, "--policy", "fifo").out
    assert told.startswith("work.yaml  3 jobs on 1 node: 4 cores\n")
    # Ends at 100, 150 and 180 after submissions at 0, 10 and 20.
    assert re.search(r"^completion, mean +2m13s", told, re.M)
    assert re.search(r"^makespan +3m$", told, re.M)
    assert re.search(r"^queueing, mean +1m13s", told, re.M)
    assert re.search(r"^deadlines met +0.0 %", told, re.M)


def test_json_has_every_job_and_the_summary(tutti, work_file):
    told = tutti.ok("simulate", work_file, "--policy", "backfill", "--json").json()
    assert (told["api"], told["policy"], told["workload"]) == (1, "backfill", "work.yaml")
    assert [(job["name"], job["finish_s"], job["jct_s"], job["queue_s"]) for job in told["jobs"]] == [
        ("wide", 100, 100, 0), ("all", 150, 140, 90), ("small", 50, 30, 0)]
    assert [job["submit_s"] for job in told["jobs"]] == [0, 10, 20]
    assert told["summary"]["finished"] == 3
    assert told["summary"]["mean_jct_s"] == pytest.approx((100 + 140 + 30) / 3)
    assert told["summary"]["deadlines_met"] == 1
    assert told["summary"]["device_use"] == pytest.approx(530 / 600, abs=1e-6)


def test_same_seed_gives_the_same_bytes(tutti, work, work_file):
    arguments = ("simulate", work_file, "--jobs-scale", "7.5", "--json", "--seed")
    first = tutti.ok(*arguments, "5")
    assert tutti.ok(*arguments, "5").stdout == first.stdout
    assert 21 <= len(first.json()["jobs"]) <= 24
    for name in ("a.html", "b.html"):
        tutti.ok("simulate", work_file, "--report", name)
    assert (work / "a.html").read_bytes() == (work / "b.html").read_bytes()


def test_compare_marks_the_best(tutti, work_file):
    told = tutti.ok("simulate", work_file, "--compare", "fifo,backfill").out
    line = next(line for line in told.splitlines() if line.startswith("completion, mean"))
    assert re.search(r"2m13s +1m30s +\*$", line)
    runs = tutti.ok("simulate", work_file, "--compare", "fair,fifo,backfill,srtf,las", "--json").json()["runs"]
    assert [run["policy"] for run in runs] == ["fair", "fifo", "backfill", "srtf", "las"]
    assert all(run["summary"]["finished"] == 3 for run in runs)


def test_more_nodes_and_another_cluster(tutti, work, work_file):
    wider = tutti.ok("simulate", work_file, "--add-nodes", "2xcpu:4", "--json").json()
    assert wider["summary"]["mean_queue_s"] == 0
    assert wider["devices"] == 12
    (work / "cluster.yaml").write_text("cluster:\n  - {nodes: 1, cpus: 64}\n")
    other = tutti.ok("simulate", work_file, "--cluster", "cluster.yaml", "--json").json()
    assert other["devices"] == 64


def test_traces_are_read(tutti, work):
    (work / "t.swf").write_text("; MaxProcs: 4\n"
                                "1 0 -1 100 2 -1 -1 4 200 -1 1 1 1 1 1 -1 -1 -1\n"
                                "2 50 -1 100 2 -1 -1 4 200 -1 1 1 1 1 1 -1 -1 -1\n")
    told = tutti.ok("simulate", "t.swf", "--json").json()
    assert [job["finish_s"] for job in told["jobs"]] == [100, 200]
    (work / "t.csv").write_text("job_id,submit,duration,num_gpu,gpu_type\na,0,10,8,A100\nb,0,10,16,A100\n")
    assert "says nothing of a cluster" in usage_error(tutti, "t.csv")
    told = tutti.ok("simulate", "t.csv", "--add-nodes", "2xA100:8", "--json").json()
    assert [(job["finish_s"], job["devices"]) for job in told["jobs"]] == [(10, 8), (20, 16)]


def test_what_fits_nowhere_is_told(tutti, work):
    (work / "w.yaml").write_text(
        "cluster: [{nodes: 1, cpus: 2}]\njobs: [{runs: 1s}, {name: big, runs: 1s, gpus: 1}]\n")
    told = tutti.ok("simulate", "w.yaml").out
    assert "Note: 1 job fits no node and is not counted; the first: no node" in told
    assert told.endswith(", or add a node.\n")


def test_what_time_limits_end_is_told(tutti, work):
    (work / "w.yaml").write_text(
        "cluster: [{nodes: 1, cpus: 1}]\njobs: [{runs: 1h, time: 1m, deadline: 2m, count: 2}, {runs: 1s}]\n")
    told = tutti.ok("simulate", "w.yaml", "--json").json()
    assert [job["timed_out"] for job in told["jobs"]] == [True, True, False]
    assert told["summary"]["deadlines_met"] == 0
    assert told["notes"] == ["2 jobs were ended by their time limit."]


def test_report_is_one_page_with_everything(tutti, work, work_file):
    done = tutti.ok("simulate", work_file, "--compare", "fair,fifo", "--report", "out.html")
    assert "The report is in out.html." in done.out
    page = (work / "out.html").read_text()
    assert "http" not in page and "src=" not in page
    data = re.search(r"const DATA = (\{.*\});", page)[1]
    runs = json.loads(data)["runs"]
    assert [run["policy"] for run in runs] == ["fair", "fifo"]
    assert len(runs[0]["jobs"]) == 3 and runs[0]["nodes"][0]["rows"] == 4
    done = tutti("simulate", work_file, "--report", "no/such/folder.html")
    assert done.code == 1 and "cannot be written" in done.err


@pytest.fixture
def arena(work):
    """A small cluster of arena-1280 and a trace for it, as words of `simulate`."""
    speeds = {"1_a100_1_n_1_d": 10, "1_a100_1_n_2_d": 5, "1_a100_1_n_4_d": 2.5}
    (work / "prof_database.json").write_text(json.dumps({"optimal": {"bert_760M_128": speeds}}))
    (work / "sim_cluster_spec.json").write_text('[{"a100": {"node_num": 2}}]')
    (work / "trace.csv").write_text(
        "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,gpu_type\n"
        "one,0,300,bert__760M,9000,128,2,a100\n"
        "odd,0,300,gpt__1B,9000,128,2,a100\n")
    return ("simulate", "--benchmark", "arena-1280", "--data", ".", "--workload", "trace.csv",
            "--rounds", "9")


def test_benchmarks_give_the_same_bytes_unless_asked_for_timing(tutti, work, arena):
    for name in ("a.html", "b.html"):
        tutti.ok(*arena, "--report", name)
    assert (work / "a.html").read_bytes() == (work / "b.html").read_bytes()
    told = tutti.ok(*arena, "--json")
    assert tutti.ok(*arena, "--json").stdout == told.stdout
    assert told.json()["summary"]["decision_ms_median"] is None
    assert tutti.ok(*arena, "--json", "--timing").json()["summary"]["decision_ms_median"] > 0
    assert "decision, median" not in tutti.ok(*arena).out
    assert "decision, median" in tutti.ok(*arena, "--timing").out


def test_the_report_of_a_benchmark_has_every_device(tutti, work, arena):
    assert "2 jobs on 2 nodes: 8 a100" in tutti.ok(*arena, "--report", "out.html").out
    data = re.search(r"const DATA = (\{.*\});", (work / "out.html").read_text())[1]
    assert [(node["name"], node["rows"]) for node in json.loads(data)["runs"][0]["nodes"]] == [
        ("a100-0", 4), ("a100-1", 4)]


def test_benchmarks_tell_what_never_runs_and_nothing_that_is_not_known(tutti, arena):
    told = tutti.ok(*arena, "--json").json()
    assert (told["summary"]["finished"], told["summary"]["unfair"]) == (1, None)
    assert "which never run: 1; the first: 'odd'" in told["notes"][0]
    assert told["jobs"][1]["queue_s"] == told["jobs"][1]["jct_s"]
    shown = tutti.ok(*arena).out
    assert "the first: 'odd'" in shown and "fair share" not in shown


def test_options_that_change_nothing_in_a_benchmark_are_said_to(tutti, arena):
    notes = tutti.ok(*arena, "--knowledge", "warm", "--json").json()["notes"]
    assert notes[-1] == "--knowledge changes nothing: all speeds of arena-1280 are measured."
    assert not any("--" in note for note in tutti.ok(*arena, "--restart-cost", "others", "--json").json()["notes"])


@pytest.mark.parametrize("benchmark, own", [("sia-64", "sia/workloads/philly"), ("arena-1280", "arena")])
def test_a_folder_or_a_workload_that_is_missing_is_named(tutti, work, benchmark, own):
    missing = ("simulate", "--benchmark", benchmark, "--workload", "w.csv", "--data")
    done = tutti(*missing, "/no/folder")
    assert done.code == 1 and "data: there is no folder '/no/folder'" in done.err
    (work / "there").mkdir()
    done = tutti(*missing, "there")
    assert done.code == 1
    assert f"there is no file 'w.csv', neither here nor in 'there' or 'there/{own}/'" in done.err


def test_a_comparison_of_one_is_a_list(tutti, arena):
    assert len(tutti.ok(*arena, "--compare", "fifo", "--json").json()["runs"]) == 1


@pytest.mark.parametrize("arguments, said", [
    ([], "what shall be simulated?"),
    (["work.yaml", "--from-history"], "exclude each other"),
    (["work.yaml", "--policy", "fast"], "none of fair, fifo, backfill, srtf, las"),
    (["work.yaml", "--policy", "tutti"], "'tutti' is for --benchmark; other work takes fair, fifo,"),
    (["work.yaml", "--compare", "fair,sia"], "'sia' is for --benchmark"),
    (["work.yaml", "--policy", "fair", "--compare", "fair,fifo"], "exclude each other"),
    (["work.yaml", "--compare", "fair,fair"], "is there twice"),
    (["work.yaml", "--since", "7d"], "--since needs --from-history"),
    (["--from-history", "--since", "soon"], "since: "),
    (["work.yaml", "--add-nodes", "lots"], "2xA100:8"),
    (["work.yaml", "--jobs-scale", "-1"], "jobs-scale: '-1' is no number above 0"),
    (["work.yaml", "--format", "csv"], "none of yaml, philly, swf"),
    (["work.yaml", "--format", "swf"], "work.yaml:1: field 1"),
    (["work.yaml", "--seed", "x"], "seed: 'x' is no whole number"),
    (["work.yaml", "--knowledge", "warm"], "--knowledge needs --benchmark"),
    (["--benchmark", "sia-65"], "did you mean 'sia-64'?"),
    (["--benchmark", "sia-64"], "needs --data FOLDER and --workload FILE"),
    (["--benchmark", "sia-64", "--data", "d", "--workload", "w", "--add-nodes", "1xA100:8"],
     "not for benchmarks"),
    (["--benchmark", "sia-64", "--data", "d", "--workload", "."], "'.' is a folder; name a file"),
    (["--benchmark", "sia-64", "--data", "d", "--workload", "w", "--policy", "optimus"],
     "it is for pollux-64"),
    (["--benchmark", "arena-1280", "--data", "d", "--workload", "w", "--policy", "optimus"],
     "it is for pollux-64"),
    (["work.yaml", "--cluster", "."], "'.' is a folder; name a file"),
    (["work.yaml", "--timing"], "--timing needs --benchmark"),
    (["--benchmark", "sia-64", "--data", "d", "--workload", "w", "--length", "long"],
     "none of declared, oblivious, noisy"),
])
def test_what_is_wrong_is_said_with_what_is_possible(tutti, work_file, arguments, said):
    assert said in usage_error(tutti, *arguments)


def test_errors_in_files_have_a_place(tutti, work):
    (work / "bad.yaml").write_text("jobs:\n  - {runs: 1h, gpu: 2}\n")
    assert "bad.yaml:2:16: unknown field 'gpu'" in usage_error(tutti, "bad.yaml")
    done = tutti("simulate", "nothing.yaml")
    assert done.code == 1 and "nothing.yaml: cannot be read" in done.err


def test_history_runs_again_and_the_daemon_is_not_disturbed(daemon, work):
    first = daemon.submit("-n", "first", "--cpus", "2", "--", "sleep", "0.3")
    second = daemon.submit("-n", "second", "--cpus", "2", "--", "sleep", "0.1")
    array = daemon.submit("-n", "array", "--array", "1-4", "--", "true")
    for job in (first, second, array):
        daemon.until_final(job)
    waits = daemon.submit("-n", "waits", "--", "sleep", "600")
    daemon.until_state(waits, "running")
    pid = daemon.pid()
    before = daemon.api.get("/v1/jobs")
    told = daemon.ok("simulate", "--from-history", "--since", "1d", "--json").json()
    assert told["workload"] == "history"
    assert [job["name"] for job in told["jobs"]] == ["first", "second", "array"]
    jobs = {job["name"]: job for job in told["jobs"]}
    assert 0.3 <= jobs["first"]["jct_s"] < 5
    # It had to wait for the first, as it did.
    assert jobs["second"]["finish_s"] > jobs["first"]["finish_s"]
    assert told["devices"] == 2
    assert daemon.pid() == pid and daemon.api.get("/v1/jobs") == before
    shown = daemon.ok("simulate", "--from-history", "--add-nodes", "1xcpu:2").out
    assert "1 job of which no task has run and ended was left out" in shown
    assert "2 nodes: 4 cores" in shown


def test_history_keeps_what_jobs_waited_for(daemon):
    first = daemon.submit("-n", "first", "--cpus", "1", "--", "sleep", "0.3")
    second = daemon.submit("-n", "second", "--cpus", "1", "--after", first, "--", "true")
    for job in (first, second):
        daemon.until_final(job)
    told = daemon.ok("simulate", "--from-history", "--json").json()
    jobs = {job["name"]: job for job in told["jobs"]}
    assert jobs["second"]["first_start_s"] >= jobs["first"]["finish_s"]


def test_history_keeps_that_jobs_waited_for_the_profile_of_their_kind(tutti):
    gpus = tutti.start("--emulate-gpus", "2xA100-80G", slots=64)
    emulator = str(BINARY.parent / "emulator" / "tutti-gpu-emulator")
    run = ("-g", "1", "--kind", "k", "--", emulator, "work", "--mem", "10G", "--seconds", "0.5")
    for job in [gpus.submit(*run), gpus.submit(*run)]:
        assert gpus.wait(job) == 0
    first, second = gpus.ok("simulate", "--from-history", "--json").json()["jobs"]
    assert second["first_start_s"] >= first["finish_s"] > 0


def test_history_counts_all_attempts(daemon):
    job = daemon.submit("--retries", "1", "--backoff", "50ms", "--", "sh", "-c", "sleep 0.4; exit 3")
    daemon.until_final(job)
    told = daemon.ok("simulate", "--from-history", "--json").json()
    assert [0.8 <= job["device_s"] < 5 for job in told["jobs"]] == [True]
    used = sum(job["device_s"] - job["unused_s"] for job in told["jobs"])
    summary = told["summary"]
    assert abs(used / told["devices"] / summary["makespan_s"] - summary["device_use"]) < 1e-4


def test_history_tells_what_time_limits_ended(daemon):
    for limit in ("0.3", "600"):
        daemon.until_final(daemon.submit("--time", limit, "--", "sleep", "1"))
    told = daemon.ok("simulate", "--from-history", "--json").json()
    assert [job["timed_out"] for job in told["jobs"]] == [True, False]
    assert told["notes"] == ["1 job was ended by its time limit."]


def test_history_is_read_without_a_daemon_and_missed_where_there_is_none(tutti):
    done = tutti("simulate", "--from-history")
    assert done.code == 1 and "there is no history in" in done.err
    tutti.start()
    tutti.until_final(tutti.submit("--", "true"))
    tutti.ok("daemon", "stop")
    assert tutti.ok("simulate", "--from-history", "--json").json()["summary"]["finished"] == 1
    assert tutti("daemon", "status").code != 0
