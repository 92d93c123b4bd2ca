"""The relay under measurement: starting it, and what it and the kernel say of it."""

import contextlib
import http.client
import json
import pathlib
import shutil
import tempfile
import time

from bench import programs as run
from bench.programs import RunFailed

READY_SECONDS_MAX = 60


class Relay:
    """A relay that runs."""

    def __init__(self, process, begun):
        self.process = process
        self.port = process.port
        self.begun = begun

    def ask(self, path):
        """The status and text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def wait_until_ready(self):
        """How many seconds it took from its start to its being ready."""
        while self.ask("/readyz")[0] != 200:
            if time.monotonic() - self.begun > READY_SECONDS_MAX:
                raise RunFailed(f"the relay was not ready within {READY_SECONDS_MAX} s")
            time.sleep(0.001)
        return time.monotonic() - self.begun

    def metric(self, name):
        """What /metrics says under a name without labels."""
        for line in self.ask("/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise RunFailed(f"/metrics has no {name}")

    def commits(self):
        """How many transactions there have been, and how many changes in all of them."""
        name = "waystation_store_commit_changes"
        return self.metric(f"{name}_count"), self.metric(f"{name}_sum")

    def resident_bytes(self, field="VmRSS"):
        """The memory that it has, or has had at most (VmHWM)."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith(field + ":"))
        return int(line.split()[1]) * 1024

    def forget_peak(self):
        """Has the kernel count the most memory from now on; proc(5), clear_refs."""
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5", encoding="ascii")

    def wake_ups(self):
        """How often its threads have gone to sleep so far: as often as they have woken up."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            for line in (task / "status").read_text(encoding="ascii").splitlines():
                if line.startswith("voluntary_ctxt_switches:"):
                    total += int(line.split()[1])
        return total


@contextlib.contextmanager
def started(programs, store, upstream_port, limits=None, upstream=None, more=None):
    """The relay on a store, which may be there already; killed with the block."""
    terms = {"url": f"http://127.0.0.1:{upstream_port}"} | (upstream or {})
    configuration = {"upstreams": {"default": terms}, "limits": limits or {}} | (more or {})
    with serving(
            programs, store, configuration, "--listen", "127.0.0.1:0", "--data", store) as relay:
        yield relay


@contextlib.contextmanager
def serving(programs, name, configuration, *options):
    """A relay with its configuration and its log beside what it is named after."""
    name = pathlib.Path(name)
    written = name.with_name(name.name + ".json")
    written.write_text(json.dumps(configuration), encoding="utf-8")
    command = [programs["waystation"], "serve", "--config", written, *options]
    begun = time.monotonic()
    with open(name.with_name(name.name + ".log"), "w", encoding="utf-8") as log:
        with run.server(command, errors=log) as process:
            yield Relay(process, begun)
            # A backlog that nobody will take is not worth a drain.
            process.kill()


@contextlib.contextmanager
def fresh(programs, data, upstream_port, limits=None, upstream=None, more=None):
    """The relay on a new store, which is gone afterwards."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=data))
    try:
        with started(programs, folder / "store", upstream_port, limits, upstream, more) as relay:
            yield relay
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        run.pause()


def empty_store(programs, data):
    """A store that the relay has made and closed, to be copied."""
    store = pathlib.Path(data) / "empty"
    with run.upstream(programs) as upstream, started(programs, store, upstream.port) as relay:
        relay.wait_until_ready()
        run.end(relay.process)
    return store


def database(folder):
    """The database of a store."""
    found = [path for path in pathlib.Path(folder).iterdir()
             if path.is_file() and path.open("rb").read(15) == b"SQLite format 3"]
    if len(found) != 1:
        raise RunFailed(f"there is no database in {folder}")
    return found[0]
