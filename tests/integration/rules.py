"""What holds for every test that starts programs, in whichever folder it is."""

import signal

import pytest

from waiting import SLOW

LONGEST_TEST = 240


def heed_signals():
    """Under nohup SIGHUP is ignored, and SIGINT in the background of a script, by all that the tests
    start too."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_test_hangs():
    def give_up(number, frame):
        raise TimeoutError(f"the test took more than {LONGEST_TEST * SLOW:g} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(int(LONGEST_TEST * SLOW))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
