"""`explain`: every cause, what would help, and when."""

import re

import pytest

from waiting import wait_until


@pytest.fixture
def busy(daemon):
    """A daemon of two slots, both taken for an hour at most."""
    job = daemon.submit("-n", "greedy", "--cpus", "2", "--time", "1h", "--", "sleep", "600")
    daemon.until_state(job, "running")
    return daemon


def explain(tutti, job):
    return tutti.ok("explain", "--json", job).json()


def codes(explanation):
    return [reason["code"] for reason in explanation["reasons"]]


def test_waiting_for_cpus_names_the_numbers(busy):
    job = busy.submit("--cpus", "2", "--", "true")
    told = explain(busy, job)
    assert codes(told) == ["cpus"]
    assert re.search(r"wants 2 CPUs, \S+ has 0 of 2 free", told["reasons"][0]["text"])
    assert told["state"] == "queued"


def test_remedies_name_the_job_whose_end_would_help(busy):
    job = busy.submit("--", "true")
    assert any("cancel 1" in remedy for remedy in explain(busy, job)["remedies"])


def test_smaller_request_is_offered_when_something_is_free(tutti):
    tutti.start(slots=3)
    tutti.until_state(tutti.submit("--cpus", "2", "--time", "1h", "--", "sleep", "600"), "running")
    told = explain(tutti, tutti.submit("--cpus", "2", "--", "true"))
    assert any("--cpus 1" in remedy for remedy in told["remedies"])


def test_expected_start_comes_from_the_time_limit(busy):
    job = busy.submit("--", "true")
    expected = explain(busy, job)["expected_start"]
    assert expected["p50"] and expected["p90"]
    assert expected["p50"] <= expected["p90"]
    assert expected["basis"]
    assert re.search(r"Expected start: in (59m|1h)", busy.ok("why", job).out)


def test_dependency_is_named(busy):
    job = busy.submit("--after", "1:any", "--", "true")
    told = explain(busy, job)
    assert codes(told) == ["dependency", "cpus"]
    assert "until job 1 ends" in told["reasons"][0]["text"]


def test_array_limit_is_named(tutti):
    tutti.start(slots=4)
    job = tutti.submit("--array", "1-3%1", "--", "sleep", "600")
    tutti.until_state(job, "running")
    told = explain(tutti, f"{job}.3")
    assert codes(told) == ["array_limit"]
    assert told["task"] == 3
    assert "1 task at once" in told["reasons"][0]["text"]


def test_back_off_is_named_with_its_end(daemon):
    job = daemon.submit("--retries", "1", "--backoff", "5m", "--", "false")
    wait_until(lambda: "backoff" in codes(explain(daemon, job)))
    told = explain(daemon, job)
    assert re.search(r"runs again in [45] minutes", told["reasons"][0]["text"])
    assert told["expected_start"]["p50"]


def test_those_before_it_are_counted(busy):
    first = busy.submit("--", "true")
    busy.submit("--", "true")
    told = explain(busy, busy.submit("--", "true"))
    behind = next(r for r in told["reasons"] if r["code"] == "behind")
    assert behind["text"] == f"2 tasks are before it in the queue; the first is of job {first}"


def test_memory_is_named_too(tutti):
    tutti.start("--mem", "1G", slots=2)
    job = tutti.submit("--cpus", "2", "--mem", "800M", "--", "sleep", "600")
    tutti.until_state(job, "running")
    told = explain(tutti, tutti.submit("--mem", "500M", "--", "true"))
    # Every cause, not only the first.
    assert codes(told) == ["cpus", "memory"]
    assert "500 MiB" in told["reasons"][1]["text"]


def test_running_and_finished_jobs_are_said_to_be_so(busy):
    assert "running" in busy.ok("explain", "1").out
    busy.ok("cancel", "1")
    busy.wait(1)
    assert "cancelled" in busy.ok("explain", "1").out


def test_a_task_is_told_by_its_own_name_and_state(daemon):
    job = daemon.submit("--array", "1-2", "--", "sh", "-c", 'exit $((TUTTI_TASK - 1))')
    assert daemon.wait(job) == 1
    assert daemon.ok("explain", job).out == f"Job {job} does not wait: its state is failed.\n"
    for task, state in [(1, "succeeded"), (2, "failed")]:
        told = f"Task {job}.{task} does not wait: its state is {state}.\n"
        assert daemon.ok("explain", f"{job}.{task}").out == told
        assert daemon.ok("explain", "-q", f"{job}.{task}").out == f"{state}\n"
    blocker = daemon.submit("--cpus", "2", "--", "sleep", "600")
    daemon.until_state(blocker, "running")
    waiting = daemon.submit("--array", "1-2", "--", "true")
    assert daemon.ok("explain", f"{waiting}.2").out.startswith(f"Task {waiting}.2 waits:\n")
    assert daemon.ok("explain", waiting).out.startswith(f"Job {waiting} waits:\n")


def test_room_kept_for_an_older_job_is_named(tutti):
    tutti.start(slots=2)
    tutti.until_state(tutti.submit("--time", "1h", "--", "sleep", "600"), "running")
    head = tutti.submit("--cpus", "2", "--", "true")
    # One core is free, but this one might take for ever and delay the head.
    late = tutti.submit("--", "sh", "-c", "sleep 600")
    told = explain(tutti, late)
    assert "reserved" in codes(told), told
    assert f"job {head}" in " ".join(r["text"] for r in told["reasons"])
    # A short one may pass.
    assert tutti.wait(tutti.submit("--time", "1m", "--", "true")) == 0


def test_unknown_job_is_an_error(daemon):
    done = daemon("explain", "77")
    assert done.code == 1
    assert "77" in done.err
