"""The machines themselves, with plain ssh: what the tests of nodes over SSH rely on."""

import os
import subprocess

import pytest

from waiting import SLOW, wait_until


@pytest.fixture
def start_ssh(tmp_path):
    """Starts a command on a machine over a connection that ends with the test."""
    started = []

    def start(machine, command, *options):
        config = tmp_path / "ssh_config"
        config.write_text(machine.ssh_config())
        words = ["ssh", "-F", config, "-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=accept-new",
                 *options, machine.name, command]
        started.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.communicate()


@pytest.fixture
def ssh(start_ssh):
    """Runs a command on a machine; returns the finished process."""

    def run(machine, command, *options):
        process = start_ssh(machine, command, *options)
        out, err = process.communicate(timeout=60 * SLOW)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    return run


def test_ssh_reaches_a_machine_whose_home_is_its_own(make_machine, ssh):
    one, other = make_machine("m1"), make_machine("m2")
    assert ssh(one, "pwd; echo $HOME; touch here").stdout.split() == [str(one.home)] * 2
    assert (one.home / "here").exists()
    assert ssh(other, "ls").stdout == ""


def test_what_the_start_up_files_write_comes_first(make_machine, ssh):
    machine = make_machine(noise="Welcome!\nno newline")
    assert ssh(machine, "echo done").stdout == "Welcome!\nno newlinedone\n"


@pytest.mark.parametrize("shell, its_pid", [("/bin/dash", "$$"), ("/bin/bash", "$$"), ("/usr/bin/zsh", "$$"),
                                            ("/usr/bin/fish", "$fish_pid")])
def test_the_login_shell_can_be_chosen(make_machine, ssh, shell, its_pid):
    if not os.path.exists(shell):
        pytest.skip(f"{shell} is not installed")
    machine = make_machine(shell=shell)
    assert ssh(machine, f"cat /proc/{its_pid}/comm; true").stdout.strip() == os.path.basename(shell)


def test_the_status_of_a_command_arrives(make_machine, ssh):
    assert ssh(make_machine(), "exit 7").returncode == 7


def test_programs_can_be_added(make_machine, ssh):
    machine = make_machine()
    machine.add_program("nvidia-smi", "echo fake $1\n")
    assert ssh(machine, "nvidia-smi -L").stdout == "fake -L\n"


def test_a_stopped_machine_is_back_on_its_port_and_its_work_went_on(make_machine, ssh):
    machine = make_machine()
    ssh(machine, "sleep 1000 >/dev/null 2>&1 &")
    machine.stop()
    assert ssh(machine, "true").returncode == 255
    assert any("sleep" in command for command in machine.work().values())
    machine.start()
    assert ssh(machine, "true").returncode == 0


def test_nothing_is_left_of_a_killed_machine(make_machine, ssh):
    machine = make_machine()
    ssh(machine, "setsid sleep 1000 >/dev/null 2>&1 &")
    assert machine.work()
    machine.kill()
    assert machine.work() == {}


def test_a_frozen_machine_is_noticed_by_a_connection(make_machine, start_ssh):
    machine = make_machine()
    ssh = start_ssh(machine, "echo ready; sleep 1000",
                    "-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=1")
    assert ssh.stdout.readline() == "ready\n"
    machine.freeze()
    assert wait_until(lambda: ssh.poll() is not None and ssh.returncode) == 255
    assert "not responding" in ssh.stderr.read()
    machine.thaw()


def test_more_sessions_than_allowed_are_refused(make_machine, start_ssh, ssh, home):
    machine = make_machine(max_sessions=1)
    share = ["-o", f"ControlPath={home}/s"]
    first = start_ssh(machine, "echo ready; sleep 1000", "-M", *share)
    assert first.stdout.readline() == "ready\n"
    assert "Session open refused by peer" in ssh(machine, "true", *share).stderr


def test_a_machine_with_a_cable_is_unreachable_without_it(make_namespace_machine, ssh):
    one, other = make_namespace_machine("m1"), make_namespace_machine("m2")
    assert ssh(one, "hostname").stdout == "m1\n"
    one.link_down()
    assert ssh(one, "true", "-o", "ConnectTimeout=1").returncode == 255
    assert ssh(other, "hostname").stdout == "m2\n"
    one.link_up()
    wait_until(lambda: ssh(one, "true", "-o", "ConnectTimeout=1").returncode == 0)
