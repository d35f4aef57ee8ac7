"""Golden texts: what users see, with everything masked that differs from run to run.

UPDATE_GOLDEN=1 rewrites them; look at the difference before it is committed.
"""

import getpass
import os
import re
import socket
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"

_MASKS = [
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<date>"),
    (r"\bpid \d+", "pid <pid>"),
    (r"\b\d+(\.\d+)? ?(MiB|GiB|KiB|TiB|[KMGT]B?)\b", "<size>"),
    (r"\b(\d+(\.\d+)?(us|ms|s|m|h|d))+\b", "<time>"),
    (r"(?m)^(  (submitted|started|finished) +)now$", r"\1<time> ago"),
    (r"(Expected start: in <time>), at the latest .*", r"\1"),
    (r"\b(tutti|version) \d+\.\d+\.\d+[^\s,]*", r"\1 <version>"),
]


def mask(text, tutti, more=()):
    for pattern, replacement in more:
        text = re.sub(pattern, replacement, text)
    text = text.replace(str(tutti.work), "<work>").replace(str(tutti.home), "<home>")
    text = text.replace(str(tutti.binary), "<binary>")
    text = re.sub(rf"\b{re.escape(socket.gethostname())}\b", "<node>", text)
    text = re.sub(rf"\b{re.escape(getpass.getuser())}\b", "<user>", text)
    for pattern, replacement in _MASKS:
        text = re.sub(pattern, replacement, text)
    # Masked values change the widths of columns.
    text = re.sub(r"(?<=\S) {2,}", "  ", text)
    return re.sub(r"[ \t]+$", "", text, flags=re.M)


def shape(value, name=""):
    """The shape of a JSON value: names and types, without the values."""
    if isinstance(value, dict):
        return {key: shape(value[key], key) for key in sorted(value)}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return {bool: "bool", int: "number", float: "number", str: "text"}.get(type(value), "null")


def check(name, text):
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(text)
        return
    assert path.exists(), f"no golden text {path}; write it with UPDATE_GOLDEN=1\n{text}"
    assert text == path.read_text(), f"differs from {path}"
