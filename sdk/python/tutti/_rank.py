"""Which of a job's tasks this process is, and which items fall to it."""

from __future__ import annotations

import os

from ._errors import Error


def rank() -> int:
    """The number of this process among the tasks of its job, from 0; 0 outside of a job.

    Example::

        if tutti.rank() == 0:
            save(model)
    """
    return _place()[0]


def world_size() -> int:
    """How many tasks this process's job has; 1 outside of a job.

    Example::

        batch_size = 1024 // tutti.world_size()
    """
    return _place()[1]


def shard(n: int) -> range:
    """Those of the items 0, 1, ..., n-1 that fall to this process.

    Over all ranks of a gang, or all tasks of an array, every item comes exactly once, and no rank
    gets two more than another. Outside of a job it is all of them.

    Example::

        for i in tutti.shard(len(files)):
            convert(files[i])
    """
    if n < 0:
        raise ValueError(f"shard({n}): there is no negative number of items")
    own, ranks = _place()
    each, more = divmod(n, ranks)
    begin = each * own + min(own, more)
    return range(begin, begin + each + (own < more))


def _place() -> tuple:
    own, ranks = _number("TUTTI_RANK", 0), _number("TUTTI_WORLD_SIZE", 1)
    if not 0 <= own < ranks:
        raise Error(f"TUTTI_RANK={own} and TUTTI_WORLD_SIZE={ranks} do not fit each other; "
                    "unset both outside of a job")
    return own, ranks


def _number(name: str, otherwise: int) -> int:
    text = os.environ.get(name)
    if text is None:
        return otherwise
    if not (text.isascii() and text.isdigit()):
        raise Error(f"{name} must be a number, not {text!r}; unset it outside of a job")
    return int(text)
