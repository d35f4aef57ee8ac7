"""Function calls that run in a job: written to a folder, carried out by _task.py, fetched back.

The folder holds `call.json` (how to find the function), `items` (the pickled arguments, one after
the other), `offsets` (where each begins), and `result-N` once call N has ended.
"""

from __future__ import annotations

import array
import contextlib
import inspect
import io
import json
import os
import pickle
import shutil
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional

from . import _client, _decorator, _home
from ._errors import JobFailed

if TYPE_CHECKING:
    from ._job import Job

MAIN = "__tutti_main__"
_OLDEST_S = 30 * 24 * 3600
_TASK_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_task.py")


class Call:
    """A function and its arguments, on disk."""

    def __init__(self, folder: str, name: str, kind: str, count: int) -> None:
        self.folder = folder
        self.name = name
        self.kind = kind
        self.count = count

    @property
    def words(self) -> List[Any]:
        """The command that carries it out."""
        return [_client.text(sys.executable), _client.text(_TASK_FILE), _client.text(self.folder)]

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def write(function: Callable[..., Any], calls: Iterable[Any]) -> Call:
    """Writes calls, each a pair of arguments and keyword arguments."""
    where = find(function)
    # Starts the daemon if there is none: it makes the home.
    _client.exchange("GET", "/v1/status")
    parent = os.path.join(_home.home_folder(), "calls")
    os.makedirs(parent, mode=0o700, exist_ok=True)
    _remove_old(parent)
    folder = tempfile.mkdtemp(prefix="call-", dir=parent)
    try:
        offsets = array.array("Q", [0])
        with open(os.path.join(folder, "items"), "wb") as file:
            for call in calls:
                file.write(pickle.dumps(call))
                offsets.append(file.tell())
        with open(os.path.join(folder, "offsets"), "wb") as file:
            file.write(offsets.tobytes())
        with open(os.path.join(folder, "call.json"), "w", encoding="utf-8") as text:
            json.dump(where, text)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Call(folder, where["name"], _decorator.kind_of(function), len(offsets) - 1)


def find(function: Callable[..., Any]) -> Dict[str, Any]:
    """How another process finds a function. Raises TypeError if it cannot."""
    name = getattr(function, "__qualname__", "")
    module = getattr(function, "__module__", None) or ""
    if inspect.ismethod(function) and not inspect.isclass(function.__self__):
        raise TypeError("%s is a method of an object; give a function at the top level of a file"
                        % name)
    if not name or "<" in name:
        raise TypeError("%r cannot be found by another process: give a function at the top level "
                        "of a file, not a lambda or one that stands within another" % (function,))
    main = sys.modules.get("__main__")
    script = None
    if module in ("__main__", MAIN):
        spec = getattr(main, "__spec__", None)
        file = getattr(main, "__file__", None)
        if spec is not None and spec.name:
            module = spec.name
        elif file is not None and os.path.exists(file):
            script = os.path.abspath(file)
        else:
            raise TypeError("%s was typed in, so another process cannot find it; put it into a "
                            "file and import it" % name)
    return {"name": name, "module": module, "script": script,
            "path": [os.path.abspath(entry) if entry else os.getcwd() for entry in sys.path]}


def folder_of(shown: Mapping[str, Any]) -> Optional[str]:
    """The folder of a job that carries out a function; None for other jobs."""
    command = shown.get("spec", {}).get("command")
    if not isinstance(command, list) or len(command) != 3:
        return None
    words = [_client.plain(word) for word in command]
    return words[2] if words[1] == _TASK_FILE else None


def fetch(folder: str, index: int, job: "Job", task: Optional[int]) -> Any:
    """What call number index returned. Raises its exception, or JobFailed."""
    try:
        with open(os.path.join(folder, "result-%d" % index), "rb") as file:
            kind, value, trace = _Unpickler(file).load()
    except FileNotFoundError:
        if not os.path.isdir(folder):
            raise JobFailed("the result of job %d was fetched before, and is gone" % job.id, job.id,
                            task) from None
        raise job.failure(task) from None
    if kind == "returned":
        return _loads(value)
    cause = job.failure(task)
    cause.args = ("%s\n%s" % (trace.rstrip("\n"), cause),)
    try:
        error = _loads(value) if value is not None else None
    except Exception:  # whatever unpickling somebody's class may raise
        error = None
    if not isinstance(error, BaseException):
        raise cause
    raise error from cause


class _Unpickler(pickle.Unpickler):
    """What a task calls __tutti_main__ is this process's __main__."""

    def find_class(self, module: str, name: str) -> Any:
        return super().find_class("__main__" if module == MAIN else module, name)


def _loads(data: bytes) -> Any:
    return _Unpickler(io.BytesIO(data)).load()


@contextlib.contextmanager
def removed_afterwards(folder: str) -> Iterator[None]:
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_old(parent: str) -> None:
    """Results that nobody has fetched for a month."""
    for entry in os.scandir(parent):
        try:
            if entry.stat().st_mtime < time.time() - _OLDEST_S:
                shutil.rmtree(entry.path, ignore_errors=True)
        except OSError:
            continue
