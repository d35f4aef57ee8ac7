"""What the daemon knows about GPUs and kinds."""

from __future__ import annotations

from typing import Any, Dict, List

from . import _client


def gpus() -> List[Dict[str, Any]]:
    """The GPUs and who uses them, as ``tutti gpus --json`` tells.

    Example::

        for gpu in tutti.gpus():
            print(gpu["index"], gpu["name"], gpu["used_mib"], "of", gpu["memory_mib"], "MiB")
    """
    found: List[Dict[str, Any]] = _client.request("GET", "/v1/gpus")["gpus"]
    return found


def profiles() -> List[Dict[str, Any]]:
    """What was measured so far, one entry for each kind.

    Example::

        for profile in tutti.profiles():
            print(profile["kind"], profile["samples"])
    """
    found: List[Dict[str, Any]] = _client.request("GET", "/v1/profiles")["profiles"]
    return found
