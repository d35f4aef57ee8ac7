import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

import machines
from driver import Tutti, nothing_left
from rules import heed_signals, no_test_hangs  # noqa: F401
from waiting import BINARY, SLOW


def pytest_configure(config):
    if not BINARY.exists():
        raise pytest.UsageError(f"no program {BINARY}; build it, or set TUTTI_BINARY")
    heed_signals()


def pytest_report_header(config):
    return f"tutti: {BINARY}, deadlines times {SLOW:g}"


@pytest.fixture
def home():
    # Short, because a socket's path has at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="tt", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def make_tutti(home, work):
    """Makes programs with homes of their own; all of them must leave nothing behind."""
    with nothing_left() as made:

        def make(folder=None, binary=BINARY):
            made.append(Tutti(folder or home, work, binary))
            return made[-1]

        yield make


@pytest.fixture
def tutti(make_tutti):
    """The program with a fresh home; no daemon runs yet."""
    return make_tutti()


@pytest.fixture
def daemon(tutti):
    """The program with a daemon of two slots."""
    return tutti.start(slots=2)


@pytest.fixture
def make_machine(home):
    """Makes machines that ssh reaches; nothing is left of them."""
    missing = machines.why_no_machines()
    if missing:
        pytest.skip(missing)
    with ExitStack() as ends:

        def make(name="m1", **options):
            machine = machines.Machine(home / name, name, **options)
            ends.callback(machine.kill)
            return machine.start()

        yield make


@pytest.fixture
def make_namespace_machine(home):
    """The same with a network of their own, so that the cable of one can be pulled."""
    missing = machines.why_no_namespaces()
    if missing:
        pytest.skip(missing)
    with ExitStack() as ends:
        network = ends.enter_context(machines.Network())

        def make(name="m1", **options):
            machine = machines.NamespaceMachine(home / name, network, name, **options)
            ends.callback(machine.remove)
            return machine.start()

        yield make
