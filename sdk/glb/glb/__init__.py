"""GPUs balanced between programs: a decorator, on top of tutti.

Example::

    import glb

    @glb.gpu_load_balance()
    def train_job(epochs, batch_size):
        ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

import tutti

if TYPE_CHECKING:
    from tutti._decorator import GpuFunction
    from typing_extensions import ParamSpec

    P = ParamSpec("P")

R = TypeVar("R")

__all__ = ["gpu_load_balance"]
__version__ = "0.1.0"


def gpu_load_balance(continue_on_server_unavailable: bool = False, jobstr: Optional[str] = None,
                     resource_policy: str = "spread",
                     ) -> "Callable[[Callable[P, R]], GpuFunction[P, R]]":
    """Decorates a function so that it has a GPU whenever it runs.

    ``jobstr`` is the job's type, ``file.py::function`` if left out. ``resource_policy`` is
    ``"spread"`` for the emptiest GPU or ``"pack"`` for the fullest that has room. With
    ``continue_on_server_unavailable`` the function also runs when no server can be reached.
    ``.profile`` of the decorated function registers a lighter function whose run gives the profile.

    Example::

        @glb.gpu_load_balance(resource_policy="pack")
        def train_job(epochs):
            ...

        train_job.profile(lambda epochs: train_job.__wrapped__(1))
    """
    if callable(continue_on_server_unavailable):
        raise TypeError("write @glb.gpu_load_balance() with parentheses")
    if resource_policy not in ("spread", "pack"):
        raise ValueError("resource_policy must be 'spread' or 'pack', not %r" % (resource_policy,))
    decorate: Any = tutti.gpu(kind=jobstr, policy=resource_policy,
                              continue_on_server_unavailable=continue_on_server_unavailable)
    return decorate  # type: ignore[no-any-return]
