"""A rank of a Ray cluster, as Tutti starts it: COMMAND [ARGUMENT...]

Rank 0 starts the head, waits until all other ranks have joined, runs the command, and ends. The
others start a worker node each, and end when rank 0 tells them to: they are connected to a port of
it, the bell, for as long as the cluster is there. Whoever dies closes his connection.

Runs with the interpreter of the `ray` on PATH, after rank_common.py.
"""

import fcntl
import importlib.util

HEAD_PORTS = ("port", "bell", "dashboard-port", "ray-client-server-port")
NODE_PORTS = ("node-manager-port", "object-manager-port", "dashboard-agent-listen-port",
              "dashboard-agent-grpc-port", "metrics-export-port", "runtime-env-agent-port")
OBJECT_STORE = 0.3  # of a rank's memory, as Ray takes it of a machine's
SMALLEST_STORE = 80 << 20  # Ray refuses less than 75 MiB

START, END = b"s", b"e"

# A program of its own: ray.init() takes over the signals of its process.
COUNT_NODES = """
import sys
del sys.path[0]
import ray, time
address, wanted, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
ray.init(address=address, log_to_driver=False, logging_level="ERROR")
until = time.monotonic() + seconds
while sum(1 for node in ray.nodes() if node["Alive"]) < wanted:
    if time.monotonic() > until:
        sys.exit(1)
    time.sleep(0.1)
"""


class Rank:
    """What the environment tells of this rank."""

    def __init__(self, environ):
        self.rank = int(environ["TUTTI_RANK"])
        self.world = int(environ["TUTTI_WORLD_SIZE"])
        self.head = environ["TUTTI_MASTER_ADDR"]
        self.head_port = int(environ["TUTTI_MASTER_PORT"])
        self.bell_port = int(environ["TUTTI_RAY_BELL_PORT"])
        self.address = environ["TUTTI_RAY_NODE_ADDRESS"]
        self.nodes = int(environ["TUTTI_NODE_COUNT"])
        self.gpus = int(environ["TUTTI_RAY_GPUS"])
        self.cpus = max(1, int(float(environ["TUTTI_CPUS"])))
        self.memory = int(environ["TUTTI_MEMORY_MIB"]) << 20
        self.ports = environ["TUTTI_PORTS"].split(",")

    def names(self):
        return (HEAD_PORTS if self.rank == 0 else ()) + NODE_PORTS

    def node_port(self):
        """Where this rank's node listens as soon as it is there."""
        return int(self.ports[self.names().index("node-manager-port")])

    def start(self, folder):
        """The words of `ray start`."""
        names = self.names()
        words = ["ray", "start", "--block", "--disable-usage-stats", "--log-style=record",
                 f"--node-ip-address={self.address}", f"--num-cpus={self.cpus}",
                 f"--num-gpus={self.gpus}", f"--temp-dir={folder}"]
        words.append("--head" if self.rank == 0 else f"--address={self.head}:{self.head_port}")
        left_out = {"bell"}
        if importlib.util.find_spec("grpc") is None:  # Ray then has no client, and refuses its port
            left_out.add("ray-client-server-port")
        words += [f"--{name}={port}" for name, port in zip(names, self.ports)
                  if name not in left_out]
        if self.memory:
            store = max(SMALLEST_STORE, int(self.memory * OBJECT_STORE))
            words.append(f"--object-store-memory={store}")
        more = self.ports[len(names):]
        if more:
            words.append("--worker-port-list=" + ",".join(more))
        else:  # any that is free
            words += ["--min-worker-port=0", "--max-worker-port=0"]
        return words


class Node:
    """`ray start --block` and what it writes."""

    def __init__(self, rank):
        self.folder = Folder("ray", rank.ports[0])
        self.output = open(self.folder.file("start.log"), "w+b")
        self.process = subprocess.Popen(rank.start(self.folder.path), stdin=subprocess.DEVNULL,
                                        stdout=self.output, stderr=subprocess.STDOUT)

    def check(self):
        if self.process.poll() is not None:
            self.output.seek(0)
            said = self.output.read()[-4000:].decode(errors="replace")
            raise Failed(f"ray start ended with {self.process.returncode}:\n{said}")

    def end(self):
        stop(self.process)
        self.output.close()
        self.folder.remove()


class Turn:
    """Ray gives a node half a minute to start, which a machine that starts many at once exceeds:
    one for two cores starts at a time, and the others wait. Whoever dies gives his turn back."""

    def __init__(self, rank):
        turns = max(1, (os.cpu_count() or 1) // 2)
        path = f"/tmp/tutti-ray-{os.getuid()}-{rank.node_port() % turns}.lock"
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    def __enter__(self):
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *failure):
        os.close(self.file)


def started(rank, until):
    """A node that listens."""
    with Turn(rank):
        node = Node(rank)
        try:
            connected((rank.address, rank.node_port()), until, node.check).close()
        except BaseException:
            node.end()
            raise
    return node


class Bell:
    """On rank 0: the connections of the others, who are told when to start and when to end."""

    def __init__(self, port):
        self.listener = socket.create_server(("", port), backlog=1024)
        self.lock = threading.Lock()
        self.said = b""
        self.others = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            other = self.listener.accept()[0]
            with self.lock:
                self.others.append(other)
                send(other, self.said)

    def ring(self, word):
        with self.lock:
            self.said += word
            for other in self.others:
                send(other, word)

    def wait_until_left(self):
        """Until the others have ended their nodes, so that nobody misses the head before."""
        until = time.monotonic() + GRACE
        for other in self.others:
            other.settimeout(max(0.01, until - time.monotonic()))
            try:
                while other.recv(64):
                    pass
            except OSError:
                pass


def send(other, word):
    try:
        other.sendall(word)
    except OSError:
        pass  # gone; Tutti knows


def wait_for_nodes(rank, node, until):
    address = f"{rank.head}:{rank.head_port}"
    seconds = str(until - time.monotonic())
    words = [sys.executable, "-c", COUNT_NODES, address, str(rank.world), seconds]
    code = run(words, node)
    if code != 0:
        raise Failed(f"not all {rank.world} Ray nodes joined within {PATIENCE} s")


def run(command, node):
    """The exit code of the command, which needs the head to live."""
    child = subprocess.Popen(command)

    def watch():
        node.process.wait()
        stop(child)

    threading.Thread(target=watch, daemon=True).start()
    try:
        code = child.wait()
    finally:
        stop(child)
    node.check()
    return as_exit_code(code)


def head(rank, command):
    until = time.monotonic() + PATIENCE
    os.environ["RAY_ADDRESS"] = f"{rank.head}:{rank.head_port}"
    bell = Bell(rank.bell_port)
    node = started(rank, until)
    try:
        bell.ring(START)  # a worker's node would give up when the head's is not there soon
        wait_for_nodes(rank, node, until)
        code = run(command, node)
        bell.ring(END)
        bell.wait_until_left()
        return code
    finally:
        node.end()


def worker(rank):
    until = time.monotonic() + PATIENCE
    bell = connected((rank.head, rank.bell_port), until)
    bell.settimeout(None)
    if bell.recv(1) != START:
        raise Failed("rank 0 has gone before its Ray was there")
    node = started(rank, until)
    heard = []

    def listen():
        try:
            heard.append(bell.recv(1))
        except OSError:
            heard.append(b"")
        node.process.terminate()

    threading.Thread(target=listen, daemon=True).start()
    try:
        node.process.wait()
        if not heard:
            node.check()
        if heard[0] != END:
            raise Failed("rank 0 has gone")
        return 0
    finally:
        node.end()


def main(command):
    rank = Rank(os.environ)
    if rank.nodes > 1 and "NCCL_SOCKET_IFNAME" not in os.environ:
        interface = find_interface()
        if interface:
            os.environ["NCCL_SOCKET_IFNAME"] = interface
    # Strangers who reach the ports of the cluster could otherwise run what they like on it.
    if os.environ.get("TUTTI_JOB_KEY") and "RAY_AUTH_MODE" not in os.environ:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = os.environ["TUTTI_JOB_KEY"]
    return ended_as(rank.rank, lambda: head(rank, command) if rank.rank == 0 else worker(rank))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
