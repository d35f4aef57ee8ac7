"""`with tutti.lease()` and `async with tutti.lease_async()`."""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
from types import TracebackType
from typing import Any, List, Optional, Tuple, Type, Union

from . import _errors, _lease
from ._lease import Lease, Wish

_Entered = Tuple[Lease, bool, "contextvars.Token[Optional[Lease]]"]


class LeaseBlock:
    """What lease() returns: enter it with ``with``, or call acquire().

    Example::

        lease = tutti.lease(mem="4G").acquire()
        try:
            train()
        finally:
            lease.release()
    """

    def __init__(self, wish: Wish) -> None:
        self._wish = wish
        self._entered: List[_Entered] = []

    def acquire(self) -> Lease:
        """Waits for the lease. The caller releases it."""
        return self._wish.acquire()

    def __enter__(self) -> Lease:
        joined = self._wish.joined()
        lease = joined or self.acquire()
        self._entered.append((lease, joined is None, _lease.enter(lease)))
        return lease

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        lease, own, token = self._entered.pop()
        _lease.leave(token)
        if own:
            lease.release(*_lease.outcome_of(error))


class AsyncLeaseBlock:
    """What lease_async() returns: enter it with ``async with``.

    Example::

        async with tutti.lease_async() as lease:
            await train()
    """

    def __init__(self, wish: Wish) -> None:
        self._wish = wish
        self._entered: List[_Entered] = []

    async def acquire(self) -> Lease:
        """Waits for the lease. The caller releases it."""
        if self._wish.timeout is None:
            return await self._wish.acquire_async()
        asking = asyncio.ensure_future(self._wish.acquire_async())
        try:
            done, _ = await asyncio.wait({asking}, timeout=self._wish.timeout)
        except asyncio.CancelledError:
            await _give_up(asking)
            raise
        if not done:
            await _give_up(asking)
            raise self._wish.too_long()
        return asking.result()

    async def __aenter__(self) -> Lease:
        joined = self._wish.joined()
        lease = joined or await self.acquire()
        self._entered.append((lease, joined is None, _lease.enter(lease)))
        return lease

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        lease, own, token = self._entered.pop()
        _lease.leave(token)
        if own:
            # Takes less than a millisecond, and must not be interrupted by a cancellation.
            lease.release(*_lease.outcome_of(error))


async def _give_up(asking: "asyncio.Future[Lease]") -> None:
    """Cancels a request; if the grant was faster, gives it back."""
    asking.cancel()
    try:
        lease = await asking
    except (asyncio.CancelledError, _errors.Error):
        return
    lease.release("failed", "nobody waits for it any more")


def lease(mem: Union[str, int, None] = None, util: Optional[float] = None, gpus: int = 1,
          type: Optional[str] = None, kind: Optional[str] = None, exclusive: bool = False,
          policy: str = "pack", priority: int = 0, timeout: Optional[float] = None,
          on_unavailable: str = "raise") -> LeaseBlock:
    """A GPU for a block of code.

    Without numbers the *kind* decides: the first time a kind is seen it has a GPU to itself and is
    measured, later ones share. ``mem`` is GPU memory (``"20G"``, or MiB), ``util`` the part of a
    GPU's compute (0 to 1), ``type`` such as ``"A100"``. ``kind`` is the caller's
    ``file.py::function`` if left out. ``exclusive`` shares with nobody. ``policy`` ``"pack"`` fills
    GPUs, ``"spread"`` takes the emptiest. After ``timeout`` seconds of waiting: tutti.Timeout.
    ``on_unavailable="continue"`` runs the block without a lease when no daemon can be reached.

    Within the block ``CUDA_VISIBLE_DEVICES`` and its relatives are set. An exception ends the lease
    as failed, or as out of memory if it says so, and is raised unchanged. A lease within a lease is
    the same lease.

    Example::

        with tutti.lease(mem="10G", timeout=600) as gpu:
            print("on", gpu.gpus[0].name)
            train()
    """
    return LeaseBlock(Wish(mem, util, gpus, type, kind or _caller(), exclusive, policy, priority,
                           timeout, on_unavailable))


def lease_async(mem: Union[str, int, None] = None, util: Optional[float] = None, gpus: int = 1,
                type: Optional[str] = None, kind: Optional[str] = None, exclusive: bool = False,
                policy: str = "pack", priority: int = 0, timeout: Optional[float] = None,
                on_unavailable: str = "raise") -> AsyncLeaseBlock:
    """As lease(), for asyncio: any number of tasks may wait, and cancelling one gives its lease, or
    its place in the queue, back.

    Example::

        async with tutti.lease_async(mem="10G") as gpu:
            await evaluate(gpu.gpus[0].index)
    """
    return AsyncLeaseBlock(Wish(mem, util, gpus, type, kind or _caller(), exclusive, policy,
                                priority, timeout, on_unavailable))


def _caller() -> str:
    """The kind of the code that called lease(): file.py::function, or file.py."""
    frame = sys._getframe(2)
    file = os.path.basename(frame.f_code.co_filename)
    function: Any = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    if function == "<module>":
        return file
    return "%s::%s" % (file, str(function).replace("<locals>.", ""))
