"""Leases and the decorator against a fake daemon: what the client asks, hears and says."""

import asyncio
import os
import threading
import time
import warnings

import pytest

import tutti
from tutti import _client, _frameworks
from waiting import wait_until


def outcomes(server):
    return [outcome for _, outcome, _ in server.ended]


def heard(server):
    """The outcomes when the server has answered every release: nobody else waits for that."""
    for connection in list(_client.current()._idle):
        connection.finish(20)
    return outcomes(server)


def test_lease_sets_the_variables_for_its_time(server, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    with tutti.lease(mem="20G", kind="k") as lease:
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-0" == lease.env["CUDA_VISIBLE_DEVICES"]
        assert lease.gpus[0].memory_mib == 81920 and lease.gpus[0].emulated
        assert lease.measuring and lease.live
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "7"
    assert "CUDA_DEVICE_ORDER" not in os.environ
    assert heard(server) == ["succeeded"]


def test_lease_asks_for_what_was_said(server):
    with tutti.lease(mem="20G", util=0.5, gpus=1, type="A100", kind="k", exclusive=True,
                     policy="spread", priority=3):
        pass
    body = server.requests[0][2]
    user = body.pop("user")
    assert user and body == {"kind": "k", "gpus": 1, "gpu_mem": "20G", "gpu_util": 0.5,
                             "gpu_type": "A100", "share": "never", "policy": "spread",
                             "priority": 3}


def test_kind_is_file_and_function_by_default(server):
    @tutti.gpu()
    def train():
        pass

    class Model:
        @tutti.gpu()
        def fit(self):
            return self

    train()
    model = Model()
    assert model.fit() is model
    with tutti.lease():
        pass
    kinds = [body["kind"] for method, _, body in server.requests if method == "POST"]
    prefix = "test_lease_client.py::test_kind_is_file_and_function_by_default"
    assert kinds == [prefix + ".train", prefix + ".Model.fit", prefix]


def test_exception_is_reported_and_raised_unchanged(server):
    error = ValueError("broken")
    with pytest.raises(ValueError) as caught:
        with tutti.lease(kind="k"):
            raise error
    assert caught.value is error and error.__cause__ is None
    assert heard(server) == ["failed"] and server.ended[0][2] == "ValueError: broken"


@pytest.mark.parametrize("error", [
    RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("HIP out of memory. Tried"),
    RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate"),
    Exception("OOM when allocating tensor with shape"),
    type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch.cuda"})("x"),
])
def test_out_of_memory_is_told_apart(server, error):
    with pytest.raises(type(error)):
        with tutti.lease(kind="k"):
            raise error
    assert heard(server) == ["out_of_memory"]


def test_out_of_memory_of_a_cause_or_child_counts():
    import subprocess
    outer = ValueError("training failed")
    outer.__cause__ = RuntimeError("CUDA out of memory")
    assert _frameworks.is_out_of_memory(outer)
    assert _frameworks.is_out_of_memory(
        subprocess.CalledProcessError(1, "x", stderr=b"... CUDA out of memory. Tried"))
    assert not _frameworks.is_out_of_memory(MemoryError("host"))


@pytest.mark.parametrize("error, outcome", [
    (KeyboardInterrupt(), "failed"), (SystemExit(0), "succeeded"), (SystemExit(3), "failed")])
def test_interrupts_and_exits_release(server, error, outcome):
    with pytest.raises(type(error)):
        with tutti.lease(kind="k"):
            raise error
    assert heard(server) == [outcome]


def test_timeout_gives_the_request_up(server):
    with tutti.lease(kind="k"):
        started = time.monotonic()
        caught = []

        def wait():
            try:
                with tutti.lease(kind="k", timeout=0.2):
                    pass
            except tutti.Timeout as error:
                caught.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
        assert caught and "0.2 s" in str(caught[0]) and time.monotonic() - started >= 0.2
        server.wait(lambda: (2, "abandoned", None) in server.ended)
    assert heard(server) == ["abandoned", "succeeded"]


def test_refusal_is_an_error_that_says_why(server):
    server.refuse = (400, "impossible", "no GPU has 900 GiB; the largest has 80 GiB")
    with pytest.raises(tutti.Refused, match="largest has 80 GiB") as caught:
        with tutti.lease(mem="900G"):
            pass
    assert caught.value.code == "impossible"
    with pytest.raises(tutti.Refused):
        with tutti.lease(mem="900G", on_unavailable="continue"):
            pass


def test_no_daemon_is_unavailable_and_says_what_to_do(home, monkeypatch):
    monkeypatch.setenv("TUTTI_NO_AUTOSTART", "1")
    with pytest.raises(tutti.Unavailable, match="tutti daemon start"):
        with tutti.lease():
            pass


def test_without_a_program_nothing_can_be_started(home, monkeypatch):
    monkeypatch.delenv("TUTTI_BINARY", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(tutti.Unavailable, match="TUTTI_BINARY"):
        tutti.gpus()


def test_going_on_without_a_daemon_warns_once(home, monkeypatch):
    monkeypatch.setenv("TUTTI_NO_AUTOSTART", "1")

    @tutti.gpu(continue_on_server_unavailable=True)
    def double(x):
        return 2 * x

    with pytest.warns(tutti.TuttiWarning, match="without a GPU lease") as caught:
        assert [double(1), double(2)] == [2, 4]
    assert len(caught) == 1
    with tutti.lease(on_unavailable="continue") as lease:
        assert lease.id is None and lease.gpus == []


def test_connections_are_used_again(server):
    for _ in range(20):
        with tutti.lease(kind="k"):
            pass
    assert server.connections <= 3 and len(heard(server)) == 20


def test_answers_may_come_in_pieces(make_server):
    server = make_server(chunk=3)
    for _ in range(3):
        with tutti.lease(kind="k") as lease:
            assert lease.gpus
    assert heard(server) == ["succeeded"] * 3


def test_lease_within_a_lease_is_the_same(server):
    @tutti.gpu()
    def inner():
        return tutti.lease(kind="z").__enter__().id

    with tutti.lease(kind="outer") as outer:
        assert inner() == outer.id
        assert outer.live
    assert len(heard(server)) == 1


def test_threads_have_leases_of_their_own(make_server):
    server = make_server(gpus=4)
    barrier = threading.Barrier(4)

    def work(number):
        with tutti.lease(kind=f"k{number}"):
            barrier.wait(30)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard(server) == ["succeeded"] * 4
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_forked_child_neither_ends_nor_uses_the_parents_lease(make_server):
    server = make_server(gpus=2)
    lease = tutti.lease(kind="k").acquire()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            lease.release()
            with tutti.lease(kind="child") as own:
                status = 0 if own.id != lease.id and not lease.live else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert server.granted() == [lease.id]
    server.wait(lambda: [number for number, _, _ in server.ended] == [2])
    lease.release()
    assert heard(server)[-1] == "succeeded" and server.ended[-1][0] == lease.id


def test_parents_death_ends_its_lease_though_a_child_lives(server, run_python, tmp_path):
    run_python("""
import os, signal, time, tutti
lease = tutti.lease(kind="k").acquire()
if os.fork() == 0:
    os.close(1); os.close(2)
    while not os.path.exists("go"):
        time.sleep(0.01)
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
""", check=False)
    server.wait(lambda: outcomes(server) == ["abandoned"])
    (tmp_path / "go").touch()


def test_warnings_of_the_daemon_are_heard_at_once(server, caplog):
    with tutti.lease(kind="k") as lease:
        server.say(lease.id, "warning", {"message": "uses 9000 MiB, granted 100"})
        wait_until(lambda: lease.warnings)
    assert lease.warnings == ["uses 9000 MiB, granted 100"]
    assert "granted 100" in caplog.text
    assert heard(server) == ["succeeded"]


def test_revoked_lease_says_so_and_is_not_released_again(server):
    with tutti.lease(kind="k") as lease:
        server.revoke(lease.id, "used too much")
        wait_until(lambda: lease.ended)
    assert lease.ended == "used too much"
    assert ("DELETE", "/v1/leases/1") not in server.targets()


def test_lease_outlives_a_restart_of_the_daemon(make_server):
    first = make_server()
    with tutti.lease(kind="k") as lease:
        first.close()
        second = make_server()
    assert ("DELETE", f"/v1/leases/{lease.id}") in second.targets()


def test_release_that_nobody_heard_is_made_up_for(make_server):
    first = make_server()
    with tutti.lease(kind="k") as lease:
        first.close()
        os.unlink(os.path.join(os.environ["TUTTI_HOME"], "run/tutti.sock"))
    second = make_server()
    with tutti.lease(kind="k"):
        pass
    assert second.targets()[0] == ("DELETE", f"/v1/leases/{lease.id}")


def test_release_is_told_again_if_the_daemon_dies_before_it_answers(make_server, monkeypatch):
    # However long the next server takes to come.
    monkeypatch.setattr(tutti._lease, "_PATIENCE", 60)
    first = make_server()
    first.on_delete = first.close
    lease = tutti.lease(kind="k").acquire()
    lease.release()
    first.wait(lambda: ("DELETE", f"/v1/leases/{lease.id}") in first.targets())
    second = make_server()
    second.wait(lambda: ("DELETE", f"/v1/leases/{lease.id}") in second.targets())


def test_release_is_told_again_if_the_daemon_dies_just_before_its_connection_is_kept(make_server):
    server = make_server()
    server.on_delete = server.close
    client = _client.Client()
    connection = client.take(autostart=False)
    unheard = threading.Event()
    connection.tell("DELETE", "/v1/leases/1", b"{}", unheard.set)
    client.hung_up(connection)
    assert not unheard.is_set()
    client.keep(connection)
    assert unheard.wait(20)


def test_answered_release_is_not_told_again_after_a_restart(make_server):
    first = make_server()
    with tutti.lease(kind="k"):
        pass
    first.wait(lambda: outcomes(first) == ["succeeded"])
    first.close()
    second = make_server()
    with tutti.lease(kind="k"):
        pass
    assert heard(second) == ["succeeded"]
    assert [method for method, _ in second.targets()] == ["POST", "DELETE"]


def test_process_that_ends_with_its_release_has_released(server, run_python):
    run_python("import os, tutti\nlease = tutti.lease(kind='k').acquire()\nlease.release()\n"
               "os._exit(0)")
    server.wait(lambda: outcomes(server) == ["succeeded"])


def test_waiter_asks_again_after_a_restart(make_server):
    first = make_server(gpus=0)
    got = []
    thread = threading.Thread(
        target=lambda: got.append(tutti.lease(kind="k").acquire()))
    thread.start()
    first.wait(first.waiting)
    first.close()
    make_server()
    thread.join(30)
    assert got and got[0].gpus
    got[0].release()


def test_late_lease_warns_once(make_server, monkeypatch):
    server = make_server(gpus=1)
    monkeypatch.setattr(_frameworks, "with_gpu_in_use", lambda: "torch")
    with pytest.warns(tutti.TuttiWarning, match="torch has used a GPU") as caught:
        for _ in range(3):
            with tutti.lease(kind="k"):
                pass
    assert len(caught) == 1 and len(heard(server)) == 3


def test_decorator_retries_out_of_memory_with_new_leases(server):
    calls = []

    @tutti.gpu(oom_retries=2)
    def train(x):
        calls.append(x)
        if len(calls) < 3:
            raise RuntimeError("CUDA out of memory")
        return x

    assert train(5) == 5
    assert heard(server) == ["out_of_memory", "out_of_memory", "succeeded"]


def test_decorator_gives_up_after_its_retries(server):
    @tutti.gpu(oom_retries=1)
    def train():
        raise RuntimeError("CUDA out of memory")

    with pytest.raises(RuntimeError, match="CUDA out of memory"):
        train()
    assert heard(server) == ["out_of_memory"] * 2


def test_other_errors_are_not_retried(server):
    @tutti.gpu()
    def train():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        train()
    assert heard(server) == ["failed"]


def test_profile_runs_the_lighter_function_first_and_once(server):
    calls = []

    @tutti.gpu(kind="k")
    def train(x, *, y):
        calls.append(("real", x, y))
        return x + y

    @train.profile
    def light(x, *, y):
        calls.append(("light", x, y))

    assert train(1, y=2) == 3
    assert train(3, y=4) == 7
    assert calls == [("light", 1, 2), ("real", 1, 2), ("real", 3, 4)]
    assert heard(server) == ["succeeded"] * 3


def test_stand_in_runs_once_even_if_nothing_could_be_measured(server):
    server.learns = False
    calls = []

    @tutti.gpu(kind="k")
    def train():
        calls.append("real")

    @train.profile
    def light():
        calls.append("light")
        assert len(calls) < 3

    train()
    assert calls == ["light", "real"]


def test_failing_stand_in_is_reported_and_raised(server):
    @tutti.gpu(kind="k")
    def train():
        raise AssertionError("must not run")

    train.profile(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train()
    assert heard(server) == ["failed"] and server.granted() == []


def test_decorator_keeps_the_functions_face(server):
    @tutti.gpu()
    def train(x: int) -> int:
        """Trains."""
        return x

    assert train.__name__ == "train" and train.__doc__ == "Trains." and train.__wrapped__(2) == 2
    with pytest.raises(TypeError, match="parentheses"):
        tutti.gpu(lambda: None)
    with pytest.raises(TypeError, match="generator"):
        @tutti.gpu()
        def numbers():
            yield 1
    with pytest.raises(ValueError, match="pack"):
        tutti.lease(policy="squeeze")


def test_async_function_runs_under_a_lease(server):
    @tutti.gpu(kind="k")
    async def train(x):
        await asyncio.sleep(0)
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-0"
        return x

    async def light(x):
        await asyncio.sleep(0)

    train.profile(light)
    assert asyncio.run(train(4)) == 4
    assert heard(server) == ["succeeded"] * 2


def test_many_async_waiters_need_no_threads(server):
    async def one(number):
        async with tutti.lease_async(kind="k") as lease:
            await asyncio.sleep(0)
            return lease.id

    async def everyone():
        return await asyncio.gather(*[one(number) for number in range(100)])

    assert sorted(asyncio.run(everyone())) == list(range(1, 101))
    assert heard(server) == ["succeeded"] * 100


def test_cancelled_async_waiter_and_holder_let_go(server):
    async def hold(ready):
        async with tutti.lease_async(kind="k"):
            ready.set()
            await asyncio.sleep(1000)

    async def scene():
        ready = asyncio.Event()
        holder = asyncio.ensure_future(hold(ready))
        await ready.wait()
        waiter = asyncio.ensure_future(hold(asyncio.Event()))
        while not server.waiting():
            await asyncio.sleep(0.01)
        waiter.cancel()
        await asyncio.wait({waiter})
        while (2, "abandoned", None) not in server.ended:
            await asyncio.sleep(0.01)
        holder.cancel()
        await asyncio.wait({holder})

    asyncio.run(scene())
    server.wait(lambda: outcomes(server) == ["abandoned", "failed"])


def test_async_timeout_gives_the_request_up(server):
    async def scene():
        async with tutti.lease_async(kind="k"):
            await in_fresh_context(wait)

    async def wait():
        with pytest.raises(tutti.Timeout):
            async with tutti.lease_async(kind="k", timeout=0.1):
                pass

    async def in_fresh_context(function):
        import contextvars
        task = contextvars.Context().run(
            asyncio.get_running_loop().create_task, function())
        await task

    asyncio.run(scene())
    server.wait(lambda: sorted(outcomes(server)) == ["abandoned", "succeeded"])


def test_daemon_without_leases_is_unavailable(server):
    server.refuse = (404, "not_found", "no /v1/leases")
    with pytest.raises(tutti.Unavailable, match="restart"):
        with tutti.lease(kind="k"):
            pass


def test_nothing_of_this_warns_by_itself(server):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tutti.lease(kind="k"):
            pass
