"""Carries out one call of a folder that _call.py wrote: python _task.py FOLDER.

Which one is told by TUTTI_TASK_INDEX. Run by its path, so that it works wherever the package is.
"""

from __future__ import annotations

import array
import importlib
import json
import os
import pickle
import sys
import traceback
import types
from typing import Any, Dict, Tuple

MAIN = "__tutti_main__"


def load_function(where: Dict[str, Any]) -> Any:
    """The function, from its module or from the script that was somebody's __main__."""
    if where["script"] is None:
        found: Any = importlib.import_module(where["module"])
        sys.modules["__main__"] = found
    else:
        found = _load_script(where["script"])
    for part in where["name"].split("."):
        found = getattr(found, part)
    return found


def _load_script(path: str) -> types.ModuleType:
    """Runs a script under another name, so that its `if __name__ == "__main__"` rests."""
    module = types.ModuleType(MAIN)
    module.__file__ = path
    sys.modules[MAIN] = sys.modules["__main__"] = module
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    exec(code, module.__dict__)
    return module


def load_arguments(folder: str, index: int) -> Tuple[Any, Any]:
    offsets = array.array("Q")
    with open(os.path.join(folder, "offsets"), "rb") as file:
        offsets.frombytes(file.read())
    with open(os.path.join(folder, "items"), "rb") as file:
        file.seek(offsets[index])
        arguments, keywords = pickle.loads(file.read(offsets[index + 1] - offsets[index]))
    return arguments, keywords


def _call(folder: str, index: int) -> Any:
    with open(os.path.join(folder, "call.json"), encoding="utf-8") as file:
        where = json.load(file)
    sys.path[:] = where["path"]
    function = load_function(where)
    arguments, keywords = load_arguments(folder, index)
    result = function(*arguments, **keywords)
    if hasattr(result, "__await__"):
        import asyncio
        result = asyncio.run(_wait_for(result))
    return result


async def _wait_for(result: Any) -> Any:
    return await result


def _keep(folder: str, index: int, kind: str, value: Any, trace: str) -> None:
    """Complete or not at all."""
    path = os.path.join(folder, "result-%d" % index)
    with open(path + ".new", "wb") as file:
        file.write(pickle.dumps((kind, value, trace)))
    os.replace(path + ".new", path)


def _pickled_error(error: BaseException) -> Any:
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
        return data
    except Exception:  # exceptions with constructors of their own often cannot
        return None


def run(folder: str, index: int) -> int:
    try:
        _keep(folder, index, "returned", pickle.dumps(_call(folder, index)), "")
        return 0
    except BaseException as error:
        trace = traceback.format_exc()
        _keep(folder, index, "raised", _pickled_error(error), trace)
        if isinstance(error, SystemExit):
            raise
        sys.stderr.write(trace)
        return 1


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], int(os.environ.get("TUTTI_TASK_INDEX", "0"))))
