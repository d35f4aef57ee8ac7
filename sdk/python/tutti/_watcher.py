"""One thread that reads what the daemon says about leases while they are held."""

from __future__ import annotations

import os
import select
import threading
from typing import Callable, Dict, Optional


class Watcher:
    """Calls back when a watched descriptor can be read. The calls come on its own thread, which
    sleeps while nothing arrives, so that a lease costs two system calls and no switch."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._calls: Dict[int, Callable[[], None]] = {}
        thread = threading.Thread(target=self._run, name="tutti-leases", daemon=True)
        thread.start()

    def watch(self, descriptor: int, call: Callable[[], None]) -> None:
        self._set(descriptor, call, select.EPOLLIN | select.EPOLLRDHUP)

    def watch_for_end(self, descriptor: int, call: Callable[[], None]) -> None:
        """From now on calls only, and once, when the other side closes it."""
        self._set(descriptor, call, select.EPOLLRDHUP | select.EPOLLONESHOT)

    def _set(self, descriptor: int, call: Callable[[], None], events: int) -> None:
        self._calls[descriptor] = call
        try:
            self._poll.modify(descriptor, events)
        except FileNotFoundError:
            self._poll.register(descriptor, events)

    def unwatch(self, descriptor: int) -> None:
        """No call begins after this, but one may be under way."""
        if self._calls.pop(descriptor, None) is not None:
            try:
                self._poll.unregister(descriptor)
            except (OSError, ValueError):
                pass  # closed meanwhile

    def close(self) -> None:
        self._poll.close()

    def _run(self) -> None:
        while True:
            try:
                ready = self._poll.poll()
            except (OSError, ValueError):
                return  # closed, in a forked child
            for descriptor, _ in ready:
                call = self._calls.get(descriptor)
                if call is not None:
                    call()


_watcher: Optional[Watcher] = None
_lock = threading.Lock()


def current() -> Watcher:
    """The watcher of this process."""
    global _watcher
    if _watcher is None:
        with _lock:
            if _watcher is None:
                _watcher = Watcher()
    return _watcher


def _start_anew_in_child() -> None:
    global _watcher, _lock
    _lock = threading.Lock()
    if _watcher is not None:
        _watcher.close()
        _watcher = None


os.register_at_fork(after_in_child=_start_anew_in_child)
