"""Throw-away machines that ssh reaches: an sshd each, with a key, a home and programs of its own.

`Machine` listens on a loopback port and needs no rights. `NamespaceMachine` has a network namespace and
so a cable that can be pulled; only root can make one.
"""

import getpass
import itertools
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import processes
from waiting import wait_until

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
VARIABLE = "TUTTI_TEST_MACHINE"
PROGRAMS = "/usr/local/bin:/usr/bin:/bin"


def why_no_machines():
    """What is missing for machines, or None."""
    if not SSHD or not shutil.which("ssh"):
        return "openssh-server and openssh-client are needed"
    return None


def why_no_namespaces():
    """What is missing for machines with a network of their own, or None."""
    missing = why_no_machines()
    if missing:
        return missing
    if os.getuid() != 0:
        return "only root can make network namespaces"
    # Tried, because a container's root may not.
    name = f"tt-try-{os.getpid()}"
    if not shutil.which("ip") or not succeeds("ip", "netns", "add", name):
        return "network namespaces cannot be made here"
    run("ip", "netns", "del", name)
    return None


def succeeds(*words):
    return subprocess.run(words, capture_output=True).returncode == 0


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout


def descendants(pid):
    """A process and all that come from it, as far as their parents live."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


class Machine:
    """One sshd. `home` is the HOME of its sessions, `bin` comes first in their PATH.

    noise: what the login's start-up files write to standard output, before and whatever the command.
    shell: stands for the login shell: every command is given to it with -c. None: the account's.
    max_sessions: of one connection, as sshd counts them.
    """

    def __init__(self, folder, name="m1", noise="", shell=None, max_sessions=200):
        self.name = name
        self.folder = Path(folder)
        self.home = self.folder / "home"
        self.bin = self.folder / "bin"
        self.address, self.port = "127.0.0.1", None
        self._noise, self._shell, self._max_sessions = noise, shell, max_sessions
        self._sshd = None
        for one in (self.home, self.bin):
            one.mkdir(parents=True, exist_ok=True)
        for key in ("host_key", "user_key"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / key))
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")
        self._write_program(self.folder / "login", self._login())

    def start(self):
        """Listens; on the same port as before, if it did before."""
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(parents=True, exist_ok=True)
        tries = 1 if self.port else 10
        for _ in range(tries):
            port = self.port or self._free_port()
            self._sshd = self._listen(port)
            # It may be somebody else's by now.
            if wait_until(lambda: self._sshd.poll() is not None or self._greets(port) and "yes") == "yes":
                self.port = port
                return self
        raise AssertionError(f"sshd does not start: {(self.folder / 'sshd.log').read_text()}")

    def stop(self):
        """Ends the server and its connections. What was started over them goes on."""
        if not self._sshd:
            return
        for pid in self._servers():
            processes.kill(pid)
        self._sshd.wait()
        self._sshd = None

    def kill(self):
        """As if the power were cut: nothing that ran there is left."""
        self.stop()
        wait_until(self._kill_work, what=lambda: f"left: {self.work()}")

    def freeze(self):
        """Connections stay and are silent, as with a broken network."""
        self._signal(signal.SIGSTOP)

    def thaw(self):
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        for pid in self._servers():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def work(self):
        """The processes of its sessions and all that was started there, as {pid: command line}."""
        return processes.with_variable(VARIABLE, str(self.folder))

    def add_program(self, name, text):
        """A shell script that comes first in the PATH of its sessions, such as an nvidia-smi."""
        self._write_program(self.bin / name, text)

    def ssh_config(self):
        """A section of an ssh configuration by which `ssh NAME` reaches it."""
        return f"""\
Host {self.name}
  HostName {self.address}
  Port {self.port}
  HostKeyAlias {self.name}-{self.folder.name}
  User {getpass.getuser()}
  IdentityFile "{self.folder}/user_key"
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile "{self.folder}/known_hosts"
  GlobalKnownHostsFile /dev/null
  KexAlgorithms curve25519-sha256
"""

    def _login(self):
        noise = f"cat '{self.folder}/noise'\n" if self._noise else ""
        (self.folder / "noise").write_text(self._noise)
        shell = self._shell or '"${SHELL:-/bin/sh}"'
        return f'cd "$HOME"\n{noise}exec {shell} -c "$SSH_ORIGINAL_COMMAND"\n'

    def _listen(self, port):
        # ForceCommand stands for start-up files and login shells, which only root could give an account.
        (self.folder / "sshd_config").write_text(f"""\
Port {port}
ListenAddress {self.address}
HostKey "{self.folder}/host_key"
PidFile none
AuthorizedKeysFile "{self.folder}/authorized_keys"
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
PrintMotd no
MaxSessions {self._max_sessions}
MaxStartups 200:30:400
SetEnv "HOME={self.home}" "PATH={self.bin}:{PROGRAMS}" "{VARIABLE}={self.folder}"
ForceCommand exec '{self.folder}/login'
""")
        log = (self.folder / "sshd.log").open("ab")
        words = self._inside() + [SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _inside(self):
        return []

    def _free_port(self):
        with socket.socket() as one:
            one.bind((self.address, 0))
            return one.getsockname()[1]

    def _greets(self, port):
        try:
            with socket.create_connection((self.address, port), timeout=1) as one:
                return one.recv(4) == b"SSH-"
        except OSError:
            return False

    def _servers(self):
        """The server and the process of each connection, without their sessions' work."""
        if not self._sshd:
            return []
        found = descendants(self._sshd.pid)
        # Looked at afterwards: what has come meanwhile is in neither.
        work = self.work()
        return [pid for pid in found if pid not in work]

    def _kill_work(self):
        left = self.work()
        for pid in left:
            processes.kill(pid)
        return not left

    @staticmethod
    def _write_program(path, text):
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)


class Network:
    """A bridge with a subnet below 10.213, which no other test run has. Use it with `with`."""

    def __init__(self):
        for number in itertools.count():
            assert number < 256, "all networks below 10.213 are taken; are bridges tt0 to tt255 left over?"
            self.bridge = f"tt{number}"
            # The name is the lock.
            if succeeds("ip", "link", "add", self.bridge, "type", "bridge"):
                break
        self.prefix = f"10.213.{number}"
        self._used = 0

    def __enter__(self):
        try:
            run("ip", "address", "add", f"{self.prefix}.254/24", "dev", self.bridge)
            run("ip", "link", "set", self.bridge, "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        run("ip", "link", "del", self.bridge)

    def next_number(self):
        self._used += 1
        return self._used


class NamespaceMachine(Machine):
    """A machine with a host name and an address of its own, at the end of a cable to the network."""

    def __init__(self, folder, network, name="m1", **options):
        super().__init__(folder, name, **options)
        number = network.next_number()
        self.address, self.port = f"{network.prefix}.{number}", 22
        self._space, self._cable = f"{network.bridge}-{name}", f"{network.bridge}v{number}"
        run("ip", "netns", "add", self._space)
        try:
            run("ip", "link", "add", self._cable, "type", "veth",
                "peer", "name", "eth0", "netns", self._space)
            run("ip", "link", "set", self._cable, "master", network.bridge, "up")
            run("ip", "-n", self._space, "address", "add", f"{self.address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                run("ip", "-n", self._space, "link", "set", device, "up")
        except BaseException:
            run("ip", "netns", "del", self._space)
            raise

    def link_down(self):
        run("ip", "link", "set", self._cable, "down")

    def link_up(self):
        run("ip", "link", "set", self._cable, "up")

    def kill(self):
        super().kill()
        # The cable goes with its end; a namespace lives as long as somebody uses it.
        for pid in run("ip", "netns", "pids", self._space).split():
            processes.kill(int(pid))

    def remove(self):
        self.kill()
        run("ip", "netns", "del", self._space)
        # Gone with the namespace, but not always at once.
        succeeds("ip", "link", "del", self._cable)

    def _inside(self):
        return ["ip", "netns", "exec", self._space, "unshare", "--uts", "sh", "-c",
                'hostname "$0" && exec "$@"', self.name]
