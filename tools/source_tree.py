"""The C++ sources of this repository: which there are, what they include, and a digest of a file
together with everything of ours that it includes. Used by the checks in this folder."""

import functools
import hashlib
import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)


def files(suffixes, folders=("src",)):
    """All files below `folders` whose names end in one of `suffixes`, sorted."""
    found = []
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.name.endswith(tuple(suffixes)):
                found.append(path)
    return found


@functools.lru_cache(maxsize=None)
def includes(path):
    """Pairs of (is_ours, name) in the order of the file: is_ours for the quoted form."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return tuple((mark == '"', name) for mark, name in _INCLUDE.findall(text))


def resolve(name, includer):
    """The file that a quoted include means, or None."""
    for folder in (SOURCE, ROOT, includer.parent):
        candidate = folder / name
        if candidate.is_file():
            return candidate.resolve()
    return None


def closure(path):
    """The file and all of our files that it includes, directly or not."""
    seen = {path}
    todo = [path]
    while todo:
        current = todo.pop()
        for ours, name in includes(current):
            target = resolve(name, current) if ours else None
            if target and target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


@functools.lru_cache(maxsize=None)
def _digest_of_file(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digest(path, *context):
    """Changes when the file, anything of ours that it includes, or the context changes."""
    total = hashlib.sha256()
    for part in context:
        total.update(str(part).encode() + b"\0")
    for member in sorted(closure(path)):
        total.update(f"{member.relative_to(ROOT)} {_digest_of_file(member)}\n".encode())
    return total.hexdigest()


def by_folder(paths):
    """The paths of each folder that has several, the largest folder first."""
    folders = {}
    for path in paths:
        folders.setdefault(path.parent, []).append(path)
    return sorted((members for members in folders.values() if len(members) > 1),
                  key=len, reverse=True)


def check_files(paths, key_of, command_of, cache_name, folder_command_of=None):
    """Runs command_of(path) for every path that has not passed before in the same form, as many at
    once as there are cores. With folder_command_of(paths), the files of a folder are tried together
    first, and alone only if that finds anything. Returns (number of files that had not passed before,
    list of (path, output) that failed)."""
    cache = ROOT / "build" / cache_name
    cache.mkdir(parents=True, exist_ok=True)
    marks = {path: cache / key_of(path) for path in paths}
    todo = [path for path in paths if not marks[path].exists()]

    def run(members, command):
        arguments, text = command
        done = subprocess.run(arguments, input=text, cwd=ROOT, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode == 0:
            for path in members:
                marks[path].touch()
        return done

    def run_alone(path):
        done = run([path], command_of(path))
        return None if done.returncode == 0 else (path, done.stdout)

    jobs = int(os.environ.get("JOBS") or os.cpu_count() or 2)
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        if folder_command_of:
            list(pool.map(lambda members: run(members, folder_command_of(members)), by_folder(todo)))
        alone = [path for path in todo if not marks[path].exists()]
        failures = [result for result in pool.map(run_alone, alone) if result]
    return len(todo), failures


def report(check, count_text, failures):
    """Prints the failures and the one line that every check ends with; returns the exit status."""
    for failure in failures:
        print(failure, file=sys.stderr)
    if failures:
        print(f"FAIL  {check}: {len(failures)} of {count_text}")
        return 1
    print(f"ok    {check}: {count_text}")
    return 0
