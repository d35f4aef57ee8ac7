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
                _before[name] = _current(name)
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
            for other in reversed(_layers):
                if name in other:
                    os.environ[name] = other[name]
                    break
            else:
                _set(name, _before.pop(name))


def of_new_jobs() -> Dict[str, str]:
    """The environment as it would be without any lease, with the umask of now."""
    environment = _without_leases()
    try:
        # To ask os.umask() would change that of other threads.
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            masks = [line.split()[1] for line in status if line.startswith("Umask:")]
    except OSError:
        masks = []
    environment.update(("TUTTI_UMASK", mask) for mask in masks)
    return environment


def _without_leases() -> Dict[str, str]:
    with _lock:
        environment = dict(os.environ)
        for name, value in _before.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
        return environment


def _current(name: str) -> Optional[str]:
    try:
        return os.environ[name]  # get() would catch the error once more, which takes time
    except KeyError:
        return None


def _set(name: str, value: Optional[str]) -> None:
    if value is not None:
        os.environ[name] = value
        return
    try:
        del os.environ[name]
    except KeyError:
        pass  # somebody else has


def _renew_lock_in_child() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock_in_child)
