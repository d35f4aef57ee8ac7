"""Fixtures. Tests marked `real` need a daemon with leases and emulated GPUs."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
for folder in ("tests/integration", "sdk/python", "sdk/glb"):
    sys.path.insert(0, str(ROOT / folder))

from fake_server import FakeServer  # noqa: E402
from rules import heed_signals, no_test_hangs  # noqa: E402, F401
from tutti import _lease  # noqa: E402
from waiting import BINARY, SLOW  # noqa: E402


def pytest_configure(config):
    heed_signals()
    config.addinivalue_line("markers", "real: needs a daemon with leases and emulated GPUs")
    config.addinivalue_line("markers", "jobs: needs a daemon, of any version")


def has_leases():
    """Whether the binary can emulate GPUs, and so has leases."""
    if not BINARY.exists():
        return False
    done = subprocess.run([str(BINARY), "daemon", "--help"], capture_output=True, text=True)
    return "--emulate-gpus" in done.stdout


def pytest_collection_modifyitems(items):
    leases = has_leases()
    for item in items:
        if item.get_closest_marker("real") and not leases:
            item.add_marker(pytest.mark.skip(reason=f"{BINARY} has no --emulate-gpus"))
        if item.get_closest_marker("jobs") and not BINARY.exists():
            item.add_marker(pytest.mark.skip(reason=f"no program {BINARY}"))


@pytest.fixture
def home(monkeypatch):
    """A home of its own, for this process and its children."""
    folder = Path(tempfile.mkdtemp(prefix="ts", dir="/tmp"))
    for name in [name for name in os.environ if name.startswith("TUTTI_")]:
        if name not in ("TUTTI_BINARY", "TUTTI_TEST_SLOW", "TUTTI_TEST_SANITIZED"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TUTTI_HOME", str(folder))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(
        [str(ROOT / "sdk/python"), str(ROOT / "sdk/glb")]
        + [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    _lease._warned.clear()
    _lease._owed.clear()
    monkeypatch.setattr(_lease, "_last_devices", None)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def make_server(home, monkeypatch):
    """Starts fake daemons in the home, one after the other."""
    monkeypatch.setenv("TUTTI_NO_AUTOSTART", "1")
    made = []

    def make(**more):
        made.append(FakeServer(str(home / "run/tutti.sock"), **more))
        return made[-1]

    yield make
    for one in made:
        try:
            one.close()
        except OSError:
            pass


@pytest.fixture
def server(make_server):
    return make_server()


@pytest.fixture
def make_daemon(home, tmp_path, monkeypatch):
    """Starts the real daemon in the home; nothing may be left behind."""
    from driver import Tutti, nothing_left
    monkeypatch.setenv("TUTTI_BINARY", str(BINARY))
    monkeypatch.setenv("PATH", os.pathsep.join(
        [str(BINARY.parent), str(Path(sys.executable).parent), os.environ["PATH"]]))
    with nothing_left() as made:

        def make(*arguments):
            made.append(Tutti(home, tmp_path))
            made[-1].start(*arguments, slots=4)
            return made[-1]

        yield make


@pytest.fixture
def daemon(make_daemon):
    return make_daemon()


@pytest.fixture
def gpus4(make_daemon):
    """The real daemon with four emulated GPUs."""
    return make_daemon("--emulate-gpus", "4xA100-80G")


@pytest.fixture
def gpu1(make_daemon):
    """The real daemon with one emulated GPU."""
    return make_daemon("--emulate-gpus", "1xA100-80G")


@pytest.fixture
def run_python(tmp_path):
    """Runs a script with this interpreter in a process of its own."""
    def run(text, *arguments, name="script.py", check=True):
        path = tmp_path / name
        path.write_text(text)
        done = subprocess.run([sys.executable, str(path), *arguments], capture_output=True,
                              text=True, cwd=tmp_path, timeout=120 * SLOW)
        if check:
            assert done.returncode == 0, (done.stdout, done.stderr)
        return done
    return run


@pytest.fixture
def scripts(tmp_path):
    from scripts import Scripts
    made = Scripts(tmp_path)
    yield made
    made.end()
