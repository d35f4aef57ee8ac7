"""`tutti.map`: one function over many items, as one array job."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Iterable, List, Mapping, Optional

from . import _call, _client, _job
from ._client import Deadline
from ._errors import Error
from ._job import Job


class _Sweep:
    """A submitted map: its folder and its array job. Labels count from 1, calls from 0."""

    def __init__(self, function: Callable[..., Any], items: Iterable[Any], patient: bool,
                 request: Mapping[str, Any]) -> None:
        self.call = _call.write(function, (((item,), {}) for item in items))
        self._patient = patient
        self._cancelled = False
        self.job: Optional[Job] = None
        try:
            if self.call.count:
                self.job = self._submit(dict(request))
        except BaseException:
            self.call.remove()
            raise

    def _submit(self, request: "dict[str, Any]") -> Job:
        known = {key: request.pop(key, None) for key in (
            "name", "gpus", "gpu_mem", "cpus", "mem", "time", "after", "retries", "kind", "env",
            "workdir")}
        known["name"] = known["name"] or self.call.name
        known["kind"] = known["kind"] or self.call.kind
        body = _job.describe(self.call.words, array=self.call.count, more=request, **known)
        return Job(int(_client.request("POST", "/v1/jobs", body)["id"]))

    def look(self, shown: Mapping[str, Any]) -> None:
        """One failure is enough to fail, so the rest need not run."""
        if not self._patient and not self._cancelled and shown["counts"]["failed"] > 0:
            self.stop()

    def stop(self) -> None:
        self._cancelled = True
        try:
            if self.job is not None:
                self.job.cancel()
        except Error:
            pass  # it has ended meanwhile

    def collect(self) -> List[Any]:
        assert self.job is not None
        results: List[Any] = []
        first: Optional[BaseException] = None
        for index in range(self.call.count):
            try:
                results.append(_call.fetch(self.call.folder, index, self.job, index + 1))
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt) and error.__cause__ is None:
                    raise
                # What was cancelled because of a failure is not the failure.
                if first is None or _was_cancelled(first):
                    first = error if first is None or not _was_cancelled(error) else first
                results.append(error)
                if not self._patient and not _was_cancelled(first):
                    break
        if first is not None and not self._patient:
            raise first
        return results


def _was_cancelled(error: BaseException) -> bool:
    return isinstance(error, Error) and " cancelled" in str(error).split("\n", 1)[0]


def map(function: Callable[[Any], Any], items: Iterable[Any], *, return_exceptions: bool = False,
        timeout: Optional[float] = None, **request: Any) -> List[Any]:
    """Calls a function for every item, each in a process of its own, as one array job; the
    results in order.

    Items and results must be picklable, and the function must stand at the top level of a file.
    Once one call fails the others are cancelled and its exception is raised; its ``__cause__`` is a
    JobFailed with the traceback and the end of the task's output. With ``return_exceptions=True``
    all run, and exceptions stand in the list. ``request`` is as in submit(); ``max_parallel=4``
    runs at most four at once.

    Example::

        def accuracy(lr):
            ...

        best = max(tutti.map(accuracy, [0.1, 0.01, 0.001], gpus=1))
    """
    sweep = _Sweep(function, items, return_exceptions, request)
    with _call.removed_afterwards(sweep.call.folder):
        if sweep.job is None:
            return []
        try:
            sweep.job._until_final(Deadline(timeout), sweep.look)
        except BaseException:
            sweep.stop()
            raise
        return sweep.collect()


async def map_async(function: Callable[[Any], Any], items: Iterable[Any], *,
                    return_exceptions: bool = False, **request: Any) -> List[Any]:
    """As map(), for asyncio; cancelling it cancels the job.

    Example::

        left, right = await asyncio.gather(tutti.map_async(f, xs), tutti.map_async(g, ys))
    """
    sweep: _Sweep = await _client.in_thread(_Sweep, function, list(items), return_exceptions,
                                            request)
    with _call.removed_afterwards(sweep.call.folder):
        if sweep.job is None:
            return []
        try:
            await sweep.job._until_final_async(sweep.look)
        except (asyncio.CancelledError, Exception):
            sweep.stop()
            raise
        found: List[Any] = await _client.in_thread(sweep.collect)
        return found
