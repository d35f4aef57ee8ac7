"""The machine's clock is moved while daemon and keeper run."""

import os
import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest

from driver import UNTIL_GO
from waiting import wait_until

DAY = 24 * 3600


class MovingClock:
    def __init__(self, folder):
        self.library = folder / "moving_clock.so"
        self.file = folder / "moved-by"
        source = Path(__file__).with_name("moving_clock.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.library, source], check=True)
        self.move(0)

    def move(self, seconds):
        fresh = self.file.with_suffix(".new")
        fresh.write_text(str(seconds))
        fresh.replace(self.file)

    def environment(self):
        # The sanitizers' own libraries need not come first: this one has no code of theirs.
        sanitizer = os.environ.get("ASAN_OPTIONS", "")
        return {"LD_PRELOAD": str(self.library), "MOVING_CLOCK": str(self.file),
                "ASAN_OPTIONS": f"{sanitizer}:verify_asan_link_order=0"}


@pytest.fixture
def clock(tmp_path):
    return MovingClock(tmp_path)


def at(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def sound(job, since):
    """The job's times are in order and none is days away from the time by the test's clock."""
    times = [at(job[name]) for name in ("submitted_at", "started_at", "finished_at")]
    assert times == sorted(times), job
    assert since - 1 <= times[0] and times[-1] <= time.time() + 1, job


@pytest.mark.parametrize("jump", [10 * DAY, -10 * DAY], ids=["forward", "back"])
def test_a_jump_ends_no_job_early_and_bends_no_times(tutti, clock, jump):
    since = time.time()
    tutti.start(slots=2, env=clock.environment())
    running = tutti.submit("--time", "1h", "--", "sh", "-c", UNTIL_GO)
    tutti.until_state(running, "running")
    clock.move(jump)
    # A second one starts after the jump, and a retry's back-off is not days long.
    later = tutti.submit("--time", "1h", "--retries", "1", "--", "sh", "-c",
                         "test -e again && exit 0; touch again; exit 1")
    assert tutti.wait(later) == 0
    assert tutti.state(running) == "running"
    (tutti.work / "go").touch()
    assert tutti.wait(running) == 0
    sound(tutti.job(running), since)
    sound(tutti.job(later), since)


def test_a_time_limit_still_counts_after_the_clock_was_set_back(tutti, clock):
    tutti.start(slots=2, env=clock.environment())
    job = tutti.submit("--time", "2", "--", "sh", "-c", UNTIL_GO)
    tutti.until_state(job, "running")
    clock.move(-10 * DAY)
    assert tutti.wait(job) != 0
    assert "time limit" in tutti.ok("show", job).out


def test_a_daemon_that_starts_before_its_own_past_goes_on(tutti, clock):
    tutti.start(slots=1, env=clock.environment())
    running = tutti.submit("--", "sh", "-c", UNTIL_GO)
    tutti.until_state(running, "running")
    waiting = tutti.submit("--after", running, "--", "true")
    tutti.kill9()
    clock.move(-10 * DAY)
    tutti.start(slots=1, env=clock.environment())
    doctor = tutti("doctor", env=clock.environment())
    assert "the clock was set back" in doctor.out, doctor
    (tutti.work / "go").touch()
    assert tutti.wait(waiting) == 0
    for job in (running, waiting):
        told = tutti.job(job)
        assert at(told["started_at"]) <= at(told["finished_at"]), told
    wait_until(lambda: tutti.ok("ls", "--all").out.count("succeeded") == 2)
