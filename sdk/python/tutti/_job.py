"""Jobs: submitted, watched, listed."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _call, _client, _environment
from ._client import Deadline
from ._errors import JobFailed, Unavailable

Size = Union[str, int, None]
After = Union["Job", int, str, Iterable[Union["Job", int, str]], None]

FINAL = ("succeeded", "failed", "cancelled", "skipped")
_LOG_TAIL_LINES = 20
_MOST_PER_PAGE = 1000
_RESTART_PATIENCE_S = 10.0


class Job:
    """A submitted job, by its number.

    Example::

        job = tutti.submit(["python", "train.py"], gpus=1)
        if job.wait() != "succeeded":
            print(job.logs(stream="stderr"))
    """

    def __init__(self, number: int) -> None:
        self.id = number

    def __repr__(self) -> str:
        return "<tutti.Job %d>" % self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def show(self) -> Dict[str, Any]:
        """Everything the daemon tells about it, as ``tutti show --json`` does.

        Example::

            print(tutti.job(12).show()["counts"])
        """
        found: Dict[str, Any] = _client.request("GET", _client.path("jobs", self.id))
        return found

    @property
    def state(self) -> str:
        """queued, starting, running, succeeded, failed, cancelled or skipped, as it is now.

        Example::

            while tutti.job(12).state == "queued": ...
        """
        return str(self.show()["state"])

    @property
    def exit_code(self) -> Optional[int]:
        """What ``tutti wait`` returns; None while it is unfinished.

        Example::

            sys.exit(job.exit_code)
        """
        code: Optional[int] = self.show()["exit_code"]
        return code

    def wait(self, timeout: Optional[float] = None) -> str:
        """Waits until it has ended; its final state. Does not poll.

        Example::

            assert job.wait(timeout=3600) == "succeeded"
        """
        return str(self._until_final(Deadline(timeout), None)["state"])

    async def wait_async(self) -> str:
        """As wait(), for asyncio.

        Example::

            states = await asyncio.gather(*[job.wait_async() for job in jobs])
        """
        return str((await self._until_final_async(None))["state"])

    def result(self, timeout: Optional[float] = None) -> Any:
        """Waits, and gives what the function returned, or what the command printed.

        Raises the function's own exception, or JobFailed. The result of a function can be fetched
        once; after that it is gone.

        Example::

            total = tutti.submit(sum, [1, 2, 3]).result()
        """
        shown = self._until_final(Deadline(timeout), None)
        return self._result_of(shown)

    async def result_async(self) -> Any:
        """As result(), for asyncio.

        Example::

            total = await (await tutti.submit_async(sum, [1, 2, 3])).result_async()
        """
        shown = await self._until_final_async(None)
        return await _client.in_thread(self._result_of, shown)

    def logs(self, task: Optional[int] = None, stream: str = "stdout",
             tail: Optional[int] = None) -> str:
        """What it has printed so far. ``task`` is needed if there are several.

        Example::

            print(job.logs(stream="stderr", tail=20))
        """
        target = _client.path("jobs", self.id, "logs", task=task, stream=stream, tail=tail)
        return _client.exchange("GET", target).decode("utf-8", "replace")

    def cancel(self) -> None:
        """Ends it: SIGTERM and, after its grace period, SIGKILL.

        Example::

            tutti.submit("sleep 1h").cancel()
        """
        _client.request("POST", "/v1/cancel", {"jobs": [{"id": self.id}]})

    def explain(self, task: Optional[int] = None) -> Dict[str, Any]:
        """Why it waits, what would start it, and when it is expected to start.

        Example::

            for reason in job.explain()["reasons"]:
                print(reason["text"])
        """
        target = _client.path("jobs", self.id, "explain", task=task)
        found: Dict[str, Any] = _client.request("GET", target)
        return found

    def failure(self, task: Optional[int] = None, shown: Optional[Mapping[str, Any]] = None
                ) -> JobFailed:
        """The exception that says how it, or one task of it, went wrong.

        Example::

            if job.wait() != "succeeded":
                raise job.failure()
        """
        shown = shown or self.show()
        what = "job %d" % self.id
        if task is not None:
            what = "task %d of job %d" % (task, self.id)
            found = _client.request("GET", _client.path("jobs", self.id, "tasks", limit=1,
                                                        **{"from": task}))["tasks"]
            shown = found[0] if found else shown
        log = self._log_tail(task)
        message = "%s %s" % (what, _ending(shown))
        if log:
            message += "; it printed at the end:\n" + log
        return JobFailed(message, self.id, task, shown.get("exit_code"), log)

    def _log_tail(self, task: Optional[int]) -> str:
        if task is None and self.show()["tasks"] != 1:
            return ""
        texts = [self.logs(task, stream, _LOG_TAIL_LINES) for stream in ("stdout", "stderr")]
        return "\n".join(text.rstrip("\n") for text in texts if text)

    def _result_of(self, shown: Mapping[str, Any]) -> Any:
        folder = _call.folder_of(self.show())
        if folder is not None:
            with _call.removed_afterwards(folder):
                return _call.fetch(folder, 0, self, None)
        if shown["state"] != "succeeded":
            raise self.failure(shown=shown)
        if shown["tasks"] != 1:
            return ""
        return self.logs()

    def _until_final(self, deadline: Deadline, look: Optional[Callable[[Mapping[str, Any]], None]]
                     ) -> Mapping[str, Any]:
        lost_at: Optional[float] = None
        while True:
            try:
                for event in _client.events(_client.path("jobs", self.id, "stream"), deadline):
                    lost_at = None
                    if event.name == "end":
                        found: Mapping[str, Any] = event.data
                        return found
                    if event.name == "job" and look is not None:
                        look(event.data)
                raise Unavailable("the daemon ended the stream of job %d" % self.id, "unavailable")
            except Unavailable:
                # Jobs outlive a restart of the daemon, and so does waiting for them.
                now = time.monotonic()
                lost_at = lost_at if lost_at is not None else now
                if now - lost_at > _RESTART_PATIENCE_S:
                    raise
            time.sleep(0.05)

    async def _until_final_async(self, look: Optional[Callable[[Mapping[str, Any]], None]]
                                 ) -> Mapping[str, Any]:
        import asyncio
        lost_at: Optional[float] = None
        while True:
            try:
                async for event in _client.events_async(_client.path("jobs", self.id, "stream")):
                    lost_at = None
                    if event.name == "end":
                        found: Mapping[str, Any] = event.data
                        return found
                    if event.name == "job" and look is not None:
                        look(event.data)
                raise Unavailable("the daemon ended the stream of job %d" % self.id, "unavailable")
            except Unavailable:
                now = time.monotonic()
                lost_at = lost_at if lost_at is not None else now
                if now - lost_at > _RESTART_PATIENCE_S:
                    raise
            await asyncio.sleep(0.05)


def _ending(shown: Mapping[str, Any]) -> str:
    text = str(shown["state"])
    if shown.get("ending") not in (None, "exited"):
        text += " (%s)" % shown["ending"]
    if shown.get("exit_code") is not None:
        text += " with code %d" % shown["exit_code"]
    if shown.get("message"):
        text += ": " + _client.plain(shown["message"])
    return text


def _dependencies(after: After) -> Optional[List[Union[int, str]]]:
    if after is None:
        return None
    if isinstance(after, (Job, int, str)):
        after = [after]
    return [one.id if isinstance(one, Job) else one for one in after]


def _array_text(array: Union[str, int, range, None]) -> Optional[str]:
    if isinstance(array, bool):
        raise TypeError("array must be a count, a range or text such as '1-100%4'")
    if isinstance(array, int):
        return "1-%d" % array
    if isinstance(array, range):
        if not len(array) or array.step < 1:
            raise ValueError("array: %r has no elements in ascending order" % (array,))
        return "%d-%d:%d" % (array[0], array[-1], array.step)
    return array


def describe(command: Any, name: Optional[str], gpus: Union[int, str, None], gpu_mem: Size,
             cpus: Union[str, float, None], mem: Size, time: Union[str, float, None], after: After,
             retries: Optional[int], array: Union[str, int, range, None], kind: Optional[str],
             env: Optional[Mapping[str, str]], workdir: Union[str, "os.PathLike[str]", None],
             more: Mapping[str, Any]) -> Dict[str, Any]:
    """A job as POST /v1/jobs takes it."""
    environment = dict(_environment.of_new_jobs(), **(env or {}))
    folder = os.path.abspath(os.fspath(workdir) if workdir is not None else os.getcwd())
    wanted: Dict[str, Any] = {
        "command": command, "name": name, "gpus": gpus, "gpu_mem": gpu_mem, "cpus": cpus,
        "mem": mem, "time": time, "after": _dependencies(after), "retries": retries,
        "array": _array_text(array), "kind": kind, "workdir": _client.text(folder),
        # A list, because a name may be no UTF-8 either.
        "env": [_client.text("%s=%s" % pair) for pair in environment.items()],
    }
    wanted.update(more)
    return {key: value for key, value in wanted.items() if value is not None}


def submit(command: Union[str, Sequence[str], Callable[..., Any]], *args: Any,
           kwargs: Optional[Mapping[str, Any]] = None, name: Optional[str] = None,
           gpus: Union[int, str, None] = None, gpu_mem: Size = None,
           cpus: Union[str, float, None] = None, mem: Size = None,
           time: Union[str, float, None] = None, after: After = None, retries: Optional[int] = None,
           array: Union[str, int, range, None] = None, kind: Optional[str] = None,
           env: Optional[Mapping[str, str]] = None,
           workdir: Union[str, "os.PathLike[str]", None] = None, **more: Any) -> Job:
    """Queues a job and returns at once.

    ``command`` is a line for the shell, a list of words, or a function, which then runs in a
    process of its own with ``args`` and ``kwargs``; both, and what it returns, must be picklable,
    and the function must stand at the top level of a file. The other arguments are those of ``tutti
    submit``; ``env`` is added to this process's environment, and ``more`` takes what has no
    argument of its own here, such as ``priority=5``.

    Example::

        prepare = tutti.submit("python prepare.py", mem="4G")
        train = tutti.submit(train_model, 0.1, gpus=1, after=prepare, retries=2)
        print(train.result())
    """
    if callable(command):
        if array is not None:
            raise TypeError("a function takes no array; use tutti.map(function, items)")
        call = _call.write(command, [(args, dict(kwargs or {}))])
        words: Any = call.words
        name, kind = name or call.name, kind or call.kind
    else:
        if kwargs:
            raise TypeError("kwargs are for functions; a command has only words")
        call = None
        words = _words(command, args)
    job = describe(words, name, gpus, gpu_mem, cpus, mem, time, after, retries, array, kind, env,
                   workdir, more)
    try:
        return Job(int(_client.request("POST", "/v1/jobs", job)["id"]))
    except BaseException:
        if call is not None:
            call.remove()
        raise


def _words(command: Union[str, Sequence[str]], args: Tuple[Any, ...]) -> Any:
    if isinstance(command, str) and not args:
        return _client.text(command)
    first = [command] if isinstance(command, str) else list(command)
    return [_client.text(os.fspath(word) if isinstance(word, os.PathLike) else str(word))
            for word in [*first, *args]]


async def submit_async(command: Union[str, Sequence[str], Callable[..., Any]], *args: Any,
                       **request: Any) -> Job:
    """As submit(), for asyncio.

    Example::

        job = await tutti.submit_async("python train.py", gpus=1)
        await job.wait_async()
    """
    found: Job = await _client.in_thread(lambda: submit(command, *args, **request))
    return found


def job(number: int) -> Job:
    """A job by its number. Raises NotFound if there is none.

    Example::

        print(tutti.job(12).state)
    """
    found = Job(int(number))
    found.show()
    return found


def jobs(state: Union[str, Iterable[str], None] = None, limit: int = 50, **query: Any) -> List[Job]:
    """The newest jobs, newest first. ``state`` is one or several; ``user`` and ``name``
    choose, too.

    Example::

        for job in tutti.jobs(state=["queued", "running"]):
            print(job.id, job.show()["name"])
    """
    if state is not None and not isinstance(state, str):
        state = ",".join(state)
    found: List[Job] = []
    before: Optional[int] = None
    while len(found) < limit:
        page = _client.request("GET", _client.path(
            "jobs", state=state, before=before, limit=min(limit - len(found), _MOST_PER_PAGE),
            **query))
        found += [Job(int(one["id"])) for one in page["jobs"]]
        before = page["next_before"]
        if before is None:
            break
    return found
