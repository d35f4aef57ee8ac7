"""The packages as they are installed and read."""

import importlib.util
import inspect
import shutil
import subprocess
import sys

import pytest

import glb
import tutti
from waiting import ROOT, SLOW


@pytest.mark.skipif(importlib.util.find_spec("wheel") is None
                    or importlib.util.find_spec("setuptools") is None
                    or importlib.util.find_spec("pip") is None,
                    reason="pip, setuptools and wheel are needed")
def test_packages_install_without_a_network(tmp_path):
    copy = tmp_path / "sdk"
    shutil.copytree(ROOT / "sdk", copy)
    target = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps",
         "--target", str(target), str(copy / "python"), str(copy / "glb")],
        capture_output=True, text=True, timeout=120 * SLOW)
    assert done.returncode == 0, (done.stdout, done.stderr)
    for path in ("tutti/_task.py", "tutti/py.typed", "glb/py.typed", "bin/glb-run",
                 "bin/glb-start"):
        assert (target / path).exists(), path


def test_nothing_but_the_standard_library_is_imported():
    code = ("import sys; before = set(sys.modules); import tutti, glb; "
            "print([m for m in set(sys.modules) - before if 'site-packages' in "
            "(getattr(sys.modules[m], '__file__', None) or '')])")
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True,
                          env={"PYTHONPATH": f"{ROOT}/sdk/python:{ROOT}/sdk/glb"},
                          timeout=60 * SLOW)
    assert done.stdout == "[]\n", (done.stdout, done.stderr)


def public():
    for name in tutti.__all__:
        found = getattr(tutti, name)
        yield f"tutti.{name}", found
        if found is tutti.Job:
            for method, value in inspect.getmembers(found):
                if not method.startswith("_"):
                    yield f"tutti.Job.{method}", value
    yield "glb.gpu_load_balance", glb.gpu_load_balance


@pytest.mark.parametrize("name, found", [pytest.param(*one, id=one[0]) for one in public()])
def test_everything_public_has_an_example(name, found):
    assert "Example::" in (inspect.getdoc(found) or ""), name
