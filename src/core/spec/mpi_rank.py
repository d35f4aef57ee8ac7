"""A rank of an MPI job, as Tutti starts it: COMMAND [ARGUMENT...]

Rank 0 runs the command, in which mpirun or mpiexec stands, when the other ranks are there; they end
with it. mpirun finds the ranks in a host file, and reaches them by a remote shell that is a door to
rank 0, from where its orders go over the ranks' connections: no SSH, no keys, and what it starts in
a rank has that rank's devices, limits and logs. Both ends of a connection prove that they know the
job's key before an order is given.

Runs after rank_common.py.
"""

import hashlib
import hmac
import itertools
import json
import secrets
import shlex

GREETING = 10  # seconds to prove who one is
LONGEST_LINE = 4 << 20

# The remote shell of mpirun: [OPTION...] HOST WORD...; ends as what it has started there.
REMOTE_SHELL = """
import json, socket, sys
door, words = sys.argv[1], sys.argv[2:]
while words and words[0].startswith("-"):
    del words[0]
link = socket.socket(socket.AF_UNIX)
link.connect(door)
link.sendall(json.dumps({"host": words[0], "run": " ".join(words[1:])}).encode() + b"\\n")
answer = link.makefile().readline()
told = json.loads(answer) if answer else {"code": 255, "why": "rank 0 has gone"}
if told.get("why"):
    print("tutti:", told["why"], file=sys.stderr)
sys.exit(told["code"])
"""


class Rank:
    """What the environment tells of this rank."""

    def __init__(self, environ):
        self.job = environ["TUTTI_JOB_ID"]
        self.rank = int(environ["TUTTI_RANK"])
        self.world = int(environ["TUTTI_WORLD_SIZE"])
        self.nodes = int(environ["TUTTI_NODE_COUNT"])
        self.launcher = (environ["TUTTI_MASTER_ADDR"], int(environ["TUTTI_MASTER_PORT"]))
        slots = environ["TUTTI_MPI_SLOTS"]
        if not slots.isdecimal() or int(slots) == 0:
            raise Failed(f"TUTTI_MPI_SLOTS={slots!r} must be a number of processes, such as 4")
        self.slots = int(slots)
        self.only_launches = environ["TUTTI_GROUP"].lower() == "launcher" and self.world > 1
        self.ports = environ.get("TUTTI_PORTS", f"none-{os.getpid()}").split(",")
        self.key = environ["TUTTI_JOB_KEY"].encode()

    def host(self, rank):
        """The name by which mpirun knows a rank."""
        return f"tutti-{self.job}-{rank}"

    def proof(self, *words):
        return hmac.new(self.key, json.dumps(words).encode(), hashlib.sha256).hexdigest()


class Lines:
    """A connection that carries a JSON object in each line."""

    def __init__(self, link):
        self.link = link
        self.reader = link.makefile("rb")
        self.lock = threading.Lock()

    def send(self, **told):
        try:
            with self.lock:
                self.link.sendall(json.dumps(told).encode() + b"\n")
        except OSError:
            pass  # gone; whoever reads learns of it

    def receive(self):
        """Nothing: the other end has gone, or talks nonsense."""
        try:
            told = json.loads(self.reader.readline(LONGEST_LINE))
        except (OSError, ValueError):
            return None
        return told if isinstance(told, dict) else None

    def close(self):
        try:
            self.link.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Started:
    """What mpirun has started in this rank. Open MPI names its files after the node, of which other
    ranks may have a part, too: each has folders of its own for them."""

    def __init__(self, rank):
        self.lock = threading.Lock()
        self.running = {}
        self.folder = Folder("mpi", rank.ports[0])
        shared = "/dev/shm"
        self.shared = Folder("mpi", rank.ports[0], shared) if os.access(shared, os.W_OK) else None
        segments = (self.shared or self.folder).path
        self.work = WorkFolder(rank, self.folder)
        self.env = {**os.environ, "OMPI_MCA_btl_vader_backing_directory": segments,
                    "OMPI_MCA_btl_sm_backing_directory": segments,
                    "OMPI_MCA_orte_tmpdir_base": self.folder.path,
                    "PRTE_MCA_prte_tmpdir_base": self.folder.path}

    def start(self, number, command, tell):
        """Tells the exit code of the command, a shell's line, when it has ended."""
        try:
            child = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.DEVNULL,
                                     env=self.env, start_new_session=True)
        except OSError as error:
            print(f"tutti: cannot start a shell: {error}", file=sys.stderr)
            return tell(126)
        with self.lock:
            self.running[number] = child

        def wait():
            code = child.wait()
            with self.lock:
                del self.running[number]
            tell(as_exit_code(code))

        threading.Thread(target=wait, daemon=True).start()

    def stop(self, number):
        with self.lock:
            child = self.running.get(number)
        if child is not None:
            self._terminate(child)

    def end(self):
        with self.lock:
            children = list(self.running.values())
        for child in children:
            self._terminate(child)
        for child in children:
            stop(child)
        self.work.remove()
        self.folder.remove()
        if self.shared:
            self.shared.remove()

    @staticmethod
    def _terminate(child):
        try:
            os.killpg(child.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass  # it has just ended


class WorkFolder:
    """mpirun starts processes in the folder that it is in itself, by its name. On several nodes the
    work folder of each rank has a name that is the same on all of them."""

    def __init__(self, rank, folder):
        self.path, self.made = os.getcwd(), False
        if rank.nodes == 1:
            return
        self.path = "/tmp/tutti-mpi-" + rank.proof("folder")[:32]
        with open(folder.file("work"), "w") as file:  # for who cleans up after a killed rank
            file.write(self.path)
        try:
            os.symlink(os.getcwd(), self.path)
            self.made = True
        except FileExistsError:
            pass  # of another rank on this node

    def remove(self):
        if self.made:
            os.unlink(self.path)


class Here:
    """Rank 0, when mpirun is to start something in it, too."""

    def __init__(self, rank):
        self.slots = rank.slots
        self.started = Started(rank)
        self.folder = self.started.folder
        self.run = self.started.start
        self.stop = self.started.stop


class There:
    """Another rank, at the other end of its connection."""

    def __init__(self, lines, slots):
        self.lines = lines
        self.slots = slots
        self.lock = threading.Lock()
        self.waiting = {}
        self.gone = threading.Event()

    def run(self, number, command, tell):
        with self.lock:
            gone = self.gone.is_set()
            if not gone:
                self.waiting[number] = tell
        if gone:
            return tell(255)
        self.lines.send(run=command, number=number)

    def stop(self, number):
        self.lines.send(stop=number)

    def listen(self):
        while (told := self.lines.receive()) is not None:
            with self.lock:
                tell = self.waiting.pop(told.get("ended"), None)
            if tell is not None:
                tell(int(told.get("code", 255)))
        with self.lock:
            self.gone.set()
            left = list(self.waiting.values())
        for tell in left:
            tell(255)


class Others:
    """On rank 0: the connections of the other ranks."""

    def __init__(self, rank):
        self.rank = rank
        self.there = {}
        self.changed = threading.Condition()
        self.listener = socket.create_server(("", rank.launcher[1]), backlog=1024)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            link = self.listener.accept()[0]
            threading.Thread(target=self._greet, args=(link,), daemon=True).start()

    def _greet(self, link):
        link.settimeout(GREETING)
        lines = Lines(link)
        challenge = secrets.token_hex(16)
        lines.send(challenge=challenge)
        told = lines.receive() or {}
        number, slots = told.get("rank"), told.get("slots")
        proof = self.rank.proof("rank", challenge, number, slots)
        if not hmac.compare_digest(proof, str(told.get("proof"))):
            return link.close()
        lines.send(proof=self.rank.proof("launcher", told.get("challenge")))
        link.settimeout(None)
        other = There(lines, slots)
        with self.changed:
            self.there[number] = other
            self.changed.notify_all()
        other.listen()

    def wait(self):
        until = time.monotonic() + PATIENCE
        with self.changed:
            all_in = self.changed.wait_for(lambda: len(self.there) == self.rank.world - 1,
                                           until - time.monotonic())
            if not all_in:
                missing = sorted(set(range(1, self.rank.world)) - set(self.there))
                raise Failed(f"rank {missing[0]} did not come within {PATIENCE} s")
            return dict(self.there)

    def end(self):
        with self.changed:
            others = list(self.there.values())
        for other in others:
            other.lines.send(end=True)
        until = time.monotonic() + GRACE
        for other in others:
            other.gone.wait(max(0, until - time.monotonic()))


class Door:
    """Where mpirun's remote shell gives its orders, for the ranks of its hosts."""

    def __init__(self, folder, ranks):
        self.ranks = ranks  # by host
        self.numbers = itertools.count()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(folder.file("door"))
        self.listener.listen(1024)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            link = self.listener.accept()[0]
            threading.Thread(target=self._serve, args=(Lines(link),), daemon=True).start()

    def _serve(self, shell):
        wanted = shell.receive()
        if wanted is None:
            return shell.close()
        rank = self.ranks.get(wanted.get("host"))
        if rank is None:
            return shell.send(code=255, why=f"{wanted.get('host')} is no rank of this job")
        number = next(self.numbers)
        ended = threading.Event()

        def tell(code):
            ended.set()
            shell.send(code=code)
            shell.close()

        rank.run(number, wanted.get("run"), tell)
        shell.receive()  # it says no more: its end is told to it, or it has been stopped
        if not ended.is_set():
            rank.stop(number)


def write_files(rank, folder, ranks):
    """The host files, and what tells Open MPI, MPICH and their kin of them."""
    hosts = [(host, one.slots) for host, one in ranks.items()]
    open_mpi = folder.file("hosts")
    with open(open_mpi, "w") as file:
        file.writelines(f"{host} slots={slots}\n" for host, slots in hosts)
    hydra = folder.file("hosts.mpich")
    with open(hydra, "w") as file:
        file.writelines(f"{host}:{slots}\n" for host, slots in hosts)
    shell = folder.file("rsh")
    words = [sys.executable, "-c", REMOTE_SHELL, folder.file("door")]
    with open(shell, "w") as file:
        file.write("#!/bin/sh\nexec " + " ".join(map(shlex.quote, words)) + ' "$@"\n')
    os.chmod(shell, 0o700)
    told = {
        "TUTTI_HOSTFILE": open_mpi,
        # Open MPI to 4, from 5 on (PRRTE). Nothing is bound to cores: the processes of several ranks
        # on one node would all be bound to its first ones.
        "OMPI_MCA_plm": "rsh",
        "OMPI_MCA_plm_rsh_agent": shell,
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        "OMPI_MCA_orte_default_hostfile": open_mpi,
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "PRTE_MCA_plm": "ssh",
        "PRTE_MCA_plm_ssh_agent": shell,
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        "PRTE_MCA_prte_default_hostfile": open_mpi,
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        # MPICH, and Intel's.
        "HYDRA_HOST_FILE": hydra,
        "HYDRA_LAUNCHER": "rsh",
        "HYDRA_LAUNCHER_EXEC": shell,
        "HYDRA_ENV": "none",  # not the variables of rank 0: each rank has its own
        "I_MPI_HYDRA_HOST_FILE": hydra,
        "I_MPI_HYDRA_BOOTSTRAP": "rsh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": shell,
    }
    if rank.launcher[0].startswith("127."):
        told.update({"OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo",
                     "PRTE_MCA_oob_tcp_if_include": "lo", "HYDRA_IFACE": "lo"})
    if os.geteuid() == 0:  # who runs jobs as root has decided so
        told.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    for name, value in told.items():
        os.environ.setdefault(name, value)


def launch(rank, command):
    others = Others(rank)
    here = Here(rank)
    child = None
    try:
        ranks = {} if rank.only_launches else {rank.host(0): here}
        ranks.update((rank.host(number), other) for number, other in sorted(others.wait().items()))
        Door(here.folder, ranks)
        write_files(rank, here.folder, ranks)
        work = here.started.work.path
        child = subprocess.Popen(command, cwd=work, env={**os.environ, "PWD": work})
        code = as_exit_code(child.wait())
        others.end()
        return code
    finally:
        stop(child)
        here.started.end()


def serve(rank):
    until = time.monotonic() + PATIENCE
    link = connected(rank.launcher, until)
    link.settimeout(GREETING)
    lines = Lines(link)
    asked = (lines.receive() or {}).get("challenge")
    challenge = secrets.token_hex(16)
    lines.send(rank=rank.rank, slots=rank.slots, challenge=challenge,
               proof=rank.proof("rank", asked, rank.rank, rank.slots))
    told = (lines.receive() or {}).get("proof")
    if not hmac.compare_digest(rank.proof("launcher", challenge), str(told)):
        raise Failed(f"who listens at {rank.launcher[0]}:{rank.launcher[1]} is not rank 0 of this job")
    link.settimeout(None)
    started = Started(rank)
    try:
        while (order := lines.receive()) is not None:
            if "end" in order:
                return 0
            if "stop" in order:
                started.stop(order["stop"])
            else:
                number = order["number"]
                started.start(number, order["run"],
                              lambda code, number=number: lines.send(ended=number, code=code))
        raise Failed("rank 0 has gone")
    finally:
        started.end()


def main(command):
    def act():
        rank = Rank(os.environ)
        return launch(rank, command) if rank.rank == 0 else serve(rank)

    return ended_as(os.environ["TUTTI_RANK"], act)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
