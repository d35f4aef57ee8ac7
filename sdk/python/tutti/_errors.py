"""What can go wrong, as exceptions."""

from __future__ import annotations

import json
from typing import Optional


class Error(Exception):
    """Anything that Tutti reports.

    ``code`` is the server's word for it, such as ``"not_found"``; None if no server said it.

    Example::

        try:
            tutti.job(12).wait()
        except tutti.Error as error:
            print(error.code, error)
    """

    def __init__(self, message: str, code: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code


class Unavailable(Error):
    """No daemon answers, and none could be started.

    Example::

        try:
            tutti.gpus()
        except tutti.Unavailable:
            print("start one with: tutti daemon start")
    """


class Refused(Error):
    """The request is wrong, or nothing that exists could ever satisfy it.

    Example::

        try:
            with tutti.lease(mem="900G"):
                ...
        except tutti.Refused as error:
            print(error)        # no GPU has that much
    """


class NotFound(Error):
    """There is no such job, task or profile.

    Example::

        try:
            tutti.job(999999)
        except tutti.NotFound:
            ...
    """


class Timeout(Error):
    """It took longer than ``timeout``; what was asked for is given up.

    Example::

        try:
            with tutti.lease(timeout=60):
                ...
        except tutti.Timeout:
            print("no GPU within a minute")
    """


class JobFailed(Error):
    """A job, or a task of it, ended otherwise than with success.

    ``job`` is its number, ``task`` the task's (None for the whole job), ``exit_code`` what
    ``tutti wait`` would return, ``log`` the end of what it printed.

    Example::

        try:
            tutti.submit("false").result()
        except tutti.JobFailed as error:
            print(error.exit_code, error.log)
    """

    def __init__(self, message: str, job: Optional[int] = None, task: Optional[int] = None,
                 exit_code: Optional[int] = None, log: str = "") -> None:
        super().__init__(message)
        self.job = job
        self.task = task
        self.exit_code = exit_code
        self.log = log


class TuttiWarning(UserWarning):
    """Something that works, but not as well as it could.

    Example::

        warnings.simplefilter("ignore", tutti.TuttiWarning)
    """


_BY_CODE = {
    "invalid_input": Refused,
    "impossible": Refused,
    "denied": Refused,
    "conflict": Refused,
    "exhausted": Refused,
    "unsupported": Refused,
    "not_found": NotFound,
    "unavailable": Unavailable,
    "timeout": Timeout,
}


def from_answer(status: int, body: bytes) -> Error:
    """The exception for an answer that is an error."""
    try:
        error = json.loads(body)["error"]
        code, message = error["code"], error["message"]
    except (ValueError, KeyError, TypeError):
        return Error("the daemon answered %d: %s" % (status, body[:200].decode("utf-8", "replace")))
    if not isinstance(message, str):
        message = str(message)
    return _BY_CODE.get(code, Error)(message, code)


# As users write them, also in tracebacks.
for _class in (Error, Unavailable, Refused, NotFound, Timeout, JobFailed, TuttiWarning):
    _class.__module__ = "tutti"
