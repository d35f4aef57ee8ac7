"""`@tutti.gpu()`: a function that has a GPU whenever it runs."""

from __future__ import annotations

import functools
import inspect
import os
from typing import TYPE_CHECKING, Any, Callable, Optional, Type, TypeVar, Union

from . import _frameworks
from ._block import AsyncLeaseBlock, LeaseBlock
from ._lease import Wish

R = TypeVar("R")
L = TypeVar("L", bound=Callable[..., Any])

if TYPE_CHECKING:
    from typing import Protocol, overload

    from typing_extensions import ParamSpec

    P = ParamSpec("P")

    class GpuFunction(Protocol[P, R]):
        """A decorated function: called as before, and with profile()."""

        kind: str

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

        def profile(self, lighter: L) -> L: ...

        @overload
        def __get__(self, instance: None, owner: Type[object]) -> "GpuFunction[P, R]": ...

        @overload
        def __get__(self, instance: object, owner: Type[object]) -> Callable[..., R]: ...


class _Plan:
    """How a decorated function gets its leases, and what is to be called under the next one."""

    def __init__(self, wish: Wish, oom_retries: int) -> None:
        self.wish = wish
        self.oom_retries = oom_retries
        self.lighter: Optional[Callable[..., Any]] = None


class _Turns:
    """The leases of one call: perhaps one for the stand-in, one for the function, and more after
    running out of memory."""

    def __init__(self, plan: _Plan, function: Callable[..., Any]) -> None:
        self._function = function
        self._lighter = plan.lighter
        self._retries_left = plan.oom_retries
        self.real = True

    def choose(self, measuring: bool) -> Callable[..., Any]:
        """What to call under a lease."""
        self.real = self._lighter is None or not measuring
        if self.real or self._lighter is None:
            return self._function
        return self._lighter

    def stand_in_done(self) -> None:
        # Once is enough, even if nothing could be measured.
        self._lighter = None

    def try_again_after(self, error: BaseException) -> bool:
        if self._retries_left <= 0 or not _frameworks.is_out_of_memory(error):
            return False
        self._retries_left -= 1
        return True


def kind_of(function: Callable[..., Any]) -> str:
    """The kind of a function's calls: file.py::function, file.py::Class.method."""
    inner = inspect.unwrap(function)
    code = getattr(inner, "__code__", None)
    name = getattr(inner, "__qualname__", type(inner).__name__).replace("<locals>.", "")
    if code is None:
        return "%s::%s" % (getattr(inner, "__module__", "?"), name)
    return "%s::%s" % (os.path.basename(code.co_filename), name)


def gpu(mem: Union[str, int, None] = None, util: Optional[float] = None, gpus: int = 1,
        type: Optional[str] = None, kind: Optional[str] = None, exclusive: bool = False,
        policy: str = "pack", priority: int = 0, timeout: Optional[float] = None,
        continue_on_server_unavailable: bool = False, oom_retries: int = 2,
        ) -> "Callable[[Callable[P, R]], GpuFunction[P, R]]":
    """Decorates a function, a method or an ``async def`` so that it runs under a lease; see lease()
    for the arguments. The kind is ``file.py::function`` (``file.py::Class.method``) if left out.

    A call that fails because the GPU's memory was not enough runs again, at most ``oom_retries``
    times, under a new and larger lease; then the error is raised. Any other exception is raised as
    it is. With ``continue_on_server_unavailable`` the function runs without a lease when no daemon
    can be reached.

    ``.profile`` registers a lighter stand-in: while the kind is unknown it is called first, with
    the same arguments, and what it uses becomes the kind's profile; then the function itself runs.

    Example::

        @tutti.gpu()
        def train(epochs):
            ...

        @train.profile
        def one_epoch(epochs):
            train.__wrapped__(1)

        train(90)
    """
    if callable(mem):
        raise TypeError("write @tutti.gpu() with parentheses")

    def decorate(function: Callable[..., Any]) -> Any:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("%s is a generator: it would run after its lease has ended; use 'with "
                            "tutti.lease()' inside of it" % function.__qualname__)
        wish = Wish(mem, util, gpus, type, kind or kind_of(function), exclusive, policy, priority,
                    timeout, "continue" if continue_on_server_unavailable else "raise")
        plan = _Plan(wish, oom_retries)
        make = _wrap_async if inspect.iscoroutinefunction(function) else _wrap
        wrapper = make(function, plan)

        def profile(lighter: L) -> L:
            if not callable(lighter):
                raise TypeError("profile() takes a function, not %r" % (lighter,))
            plan.lighter = lighter
            return lighter

        wrapper.profile = profile
        wrapper.kind = wish.kind
        return wrapper

    return decorate


def _wrap(function: Callable[..., Any], plan: _Plan) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if plan.wish.joined() is not None:
            return function(*args, **kwargs)
        turns = _Turns(plan, function)
        while True:
            try:
                with LeaseBlock(plan.wish) as lease:
                    result = turns.choose(lease.measuring)(*args, **kwargs)
                if turns.real:
                    return result
                turns.stand_in_done()
            except Exception as error:
                if not turns.try_again_after(error):
                    raise
            # Not earlier: while the exception lives, its frames hold the tensors.
            _frameworks.free_cached_memory()
    return wrapper


def _wrap_async(function: Callable[..., Any], plan: _Plan) -> Any:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        if plan.wish.joined() is not None:
            return await function(*args, **kwargs)
        turns = _Turns(plan, function)
        while True:
            try:
                async with AsyncLeaseBlock(plan.wish) as lease:
                    result = turns.choose(lease.measuring)(*args, **kwargs)
                    if inspect.isawaitable(result):
                        result = await result
                if turns.real:
                    return result
                turns.stand_in_done()
            except Exception as error:
                if not turns.try_again_after(error):
                    raise
            _frameworks.free_cached_memory()
    return wrapper
