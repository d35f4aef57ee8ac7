"""submit, map and the rest against the real daemon. Needs no GPU."""

import asyncio
import os
import threading

import pytest

import sweep_functions
import tutti
from waiting import wait_until

pytestmark = pytest.mark.jobs


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(os.path.dirname(__file__))


def test_daemon_is_started_when_none_runs(make_daemon, home):
    daemon = make_daemon()
    daemon.ok("daemon", "stop")
    assert tutti.submit("true").wait(60) == "succeeded"


def test_command_prints_its_result(daemon, tmp_path):
    assert tutti.submit("echo $((1+1))").result(60) == "2\n"
    assert tutti.submit("echo", "a b").result(60) == "a b\n"
    assert tutti.submit(["pwd"], workdir=tmp_path).result(60) == f"{tmp_path}\n"
    assert tutti.submit("echo $COLOUR", env={"COLOUR": "red"}).result(60) == "red\n"


def test_jobs_have_the_umask_of_whoever_submits(daemon, monkeypatch):
    monkeypatch.setenv("TUTTI_UMASK", "0111")  # as in a job
    before = os.umask(0o027)
    try:
        assert tutti.submit("umask").result(60) == "0027\n"
        assert tutti.submit("umask", env={"TUTTI_UMASK": "0002"}).result(60) == "0002\n"
    finally:
        os.umask(before)


def test_failed_command_raises_with_its_output(daemon):
    job = tutti.submit("echo out; echo oops >&2; exit 3")
    with pytest.raises(tutti.JobFailed, match="oops") as caught:
        job.result(60)
    assert caught.value.exit_code == 3 == job.exit_code and caught.value.job == job.id
    assert job.state == "failed"
    assert job.logs(stream="stderr") == "oops\n"


def test_jobs_are_listed_found_cancelled_and_explained(daemon):
    first = tutti.submit("sleep 1000", name="first")
    second = tutti.submit("true", after=first)
    assert tutti.jobs(limit=1) == [second] and tutti.job(first.id) == first
    assert second in tutti.jobs(state=["queued", "running"])
    assert second.explain()["reasons"]
    with pytest.raises(tutti.Timeout):
        first.wait(0.05)
    first.cancel()
    assert first.wait(60) == "cancelled" and second.wait(60) == "skipped"
    with pytest.raises(tutti.NotFound):
        tutti.job(999)
    with pytest.raises(tutti.Refused, match="mem"):
        tutti.submit("true", mem="lots")


def test_array_takes_counts_and_ranges(daemon):
    assert tutti.submit("true", array=3).show()["tasks"] == 3
    assert tutti.submit("true", array=range(2, 9, 3)).show()["spec"]["array"].startswith("2-8")


def test_names_that_are_no_utf8_survive(daemon, monkeypatch):
    monkeypatch.setenv("ODD", "\udcff")
    assert tutti.submit("printenv ODD | od -An -tx1").result(60).split() == ["ff", "0a"]


def test_function_runs_as_a_job_and_leaves_nothing(daemon, home):
    job = tutti.submit(sweep_functions.add, 1, kwargs={"b": 2})
    assert job.show()["kind"] == "sweep_functions.py::add"
    assert tutti.job(job.id).result(60) == 3
    assert list((home / "calls").iterdir()) == []
    with pytest.raises(tutti.JobFailed, match="fetched before"):
        job.result(60)
    assert tutti.submit(sweep_functions.add_async, 1, 2).result(60) == 3


def test_functions_nobody_can_find_are_refused(daemon):
    with pytest.raises(TypeError, match="lambda"):
        tutti.submit(lambda: 1)
    with pytest.raises(TypeError, match="method of an object"):
        tutti.submit(sweep_functions.Point(1).shifted)


def test_map_gives_results_in_order(daemon, home):
    assert tutti.map(sweep_functions.square, range(5)) == [0, 1, 4, 9, 16]
    assert tutti.map(sweep_functions.square, []) == []
    assert list((home / "calls").iterdir()) == []


def test_map_raises_the_tasks_own_exception(daemon, home):
    with pytest.raises(ZeroDivisionError) as caught:
        tutti.map(sweep_functions.one_over, [1, 0, 2])
    cause = caught.value.__cause__
    assert isinstance(cause, tutti.JobFailed) and cause.task == 2
    assert "return 1 / number" in str(cause) and "dividing by 0" in str(cause)
    assert list((home / "calls").iterdir()) == []


def test_map_can_return_exceptions(daemon):
    good, bad, dead = tutti.map(sweep_functions.trouble, ["good", "bad", "dead"],
                                return_exceptions=True)
    assert good == "good" and isinstance(bad, sweep_functions.OddError)
    assert isinstance(dead, tutti.JobFailed) and dead.exit_code == 137


def test_exception_that_cannot_travel_becomes_job_failed(daemon):
    with pytest.raises(tutti.JobFailed, match="StubbornError"):
        tutti.map(sweep_functions.stubborn, [1])


def test_map_that_takes_too_long_cancels_its_job(daemon, home):
    with pytest.raises(tutti.Timeout):
        tutti.map(sweep_functions.sleep, [1000, 1000], timeout=0.3)
    assert tutti.jobs(limit=1)[0].wait(60) == "cancelled"
    assert list((home / "calls").iterdir()) == []


def test_functions_and_classes_of_a_script_work(daemon, run_python):
    done = run_python("""
import sys, tutti

class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

def swap(pair):
    return Pair(pair.b, pair.a)

if __name__ == "__main__":
    print("main", file=sys.stderr)
    found = tutti.map(swap, [Pair(1, 2), Pair(3, 4)])
    assert all(type(pair) is Pair for pair in found)
    print([(pair.a, pair.b) for pair in found])
""")
    assert done.stdout == "[(2, 1), (4, 3)]\n" and done.stderr == "main\n"


def test_async_twins(daemon):
    async def scene():
        job = await tutti.submit_async("echo hi")
        assert await job.wait_async() == "succeeded" and await job.result_async() == "hi\n"
        assert await tutti.map_async(sweep_functions.square, [2, 3]) == [4, 9]
        task = asyncio.ensure_future(tutti.map_async(sweep_functions.sleep, [1000]))
        while not tutti.jobs(state="running", name="sleep"):
            await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(scene())
    assert tutti.jobs(limit=1)[0].wait(60) == "cancelled"


def test_waiting_survives_a_restart_of_the_daemon(daemon, tmp_path):
    job = tutti.submit("while test ! -e go; do sleep 0.02; done", workdir=tmp_path)
    wait_until(lambda: job.state == "running")
    states = []
    thread = threading.Thread(target=lambda: states.append(job.wait(60)))
    thread.start()
    daemon.kill9()
    daemon.start()
    (tmp_path / "go").touch()
    thread.join(60)
    assert states == ["succeeded"]
