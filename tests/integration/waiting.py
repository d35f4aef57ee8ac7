"""Waiting for conditions: the only kind of synchronisation in these tests."""

import os
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("TUTTI_BINARY") or ROOT / "build/release/tutti").resolve()


def _is_sanitized():
    told = os.environ.get("TUTTI_TEST_SANITIZED")
    if told is not None:
        return told not in ("", "0")
    try:
        program = BINARY.read_bytes()
    except OSError:
        return False
    return b"__asan_init" in program or b"__tsan_init" in program


SANITIZED = _is_sanitized()
# Every deadline is multiplied by this; sanitizers and loaded machines are slower.
SLOW = float(os.environ.get("TUTTI_TEST_SLOW") or (4 if SANITIZED else 1))


def wait_until(condition, seconds=30, what=None):
    """Calls `condition` until it is true and returns its value; fails after `seconds`."""
    deadline = time.monotonic() + seconds * SLOW
    pause = 0.002
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            told = what() if callable(what) else what
            raise AssertionError(f"not true within {seconds * SLOW:g} s: {told or condition}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
