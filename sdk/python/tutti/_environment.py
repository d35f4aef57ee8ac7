"""The variables that leases set, and what they were before."""

from __future__ import annotations

import os
import threading
from typing import Dict, List, Mapping, Optional

_lock = threading.Lock()
_layers: List[Mapping[str, str]] = []
_before: Dict[str, Optional[str]] = {}


def push(layer: Mapping[str, str]) -> None:
    """Sets a lease's variables. A layer is known by its identity, so push each object once."""
    with _lock:
        _layers.append(layer)
        for name, value in layer.items():
            if name not in _before:
                _before[name] = os.environ.get(name)
            os.environ[name] = value


def pop(layer: Mapping[str, str]) -> None:
    """Takes a lease's variables back: to those of the leases that are left, or to what was."""
    with _lock:
        for index in range(len(_layers) - 1, -1, -1):
            if _layers[index] is layer:
                del _layers[index]
                break
        else:
            return
        for name in layer:
            _set(name, _value_now(name))
            if not any(name in other for other in _layers):
                del _before[name]


def without_leases() -> Dict[str, str]:
    """The environment as it would be without any lease; what a new job should get."""
    with _lock:
        environment = dict(os.environ)
        for name, value in _before.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
        return environment


def _value_now(name: str) -> Optional[str]:
    for layer in reversed(_layers):
        if name in layer:
            return layer[name]
    return _before[name]


def _set(name: str, value: Optional[str]) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _renew_lock_in_child() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock_in_child)
