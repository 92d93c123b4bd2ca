"""What is measured, beside which ceiling, and what is aimed at."""

import dataclasses
import pathlib
import shutil
import statistics
import sys

from bench import programs as run
from bench.programs import RunFailed  # noqa: F401  (the driver catches it by this name)

CONNECTIONS = [1, 64, 256]
PARALLEL = 64


@dataclasses.dataclass(frozen=True)
class Scale:
    """How long and how often."""

    rounds: int
    seconds: float
    envelopes: int
    requests: int


FULL = Scale(rounds=5, seconds=4, envelopes=60_000, requests=150_000)
QUICK = Scale(rounds=1, seconds=1, envelopes=10_000, requests=20_000)


@dataclasses.dataclass
class Figure:
    """One row: a rate, its ceiling, and how much of it is aimed at."""

    name: str
    ceiling: str
    goal: float | None = None
    rates: list = dataclasses.field(default_factory=list)
    ceilings: list = dataclasses.field(default_factory=list)
    p50: list = dataclasses.field(default_factory=list)
    p99: list = dataclasses.field(default_factory=list)

    def add(self, rate, ceiling, latencies=None):
        self.rates.append(rate)
        self.ceilings.append(ceiling)
        if latencies:
            self.p50.append(latencies["p50Ms"])
            self.p99.append(latencies["p99Ms"])

    def medians(self):
        rate = statistics.median(self.rates)
        ceiling = statistics.median(self.ceilings)
        return rate, ceiling, rate / ceiling if ceiling else 0


def plan():
    """The rows, in the order in which they are shown."""
    rows = {}
    for count in CONNECTIONS:
        s = "" if count == 1 else "s"
        what = f"durable acceptance, {count} connection{s}"
        goal = 0.5 if count == 256 else None
        rows["sqlite", count] = Figure(what, f"SQLite alone, {count} a transaction", goal)
        rows["empty", count] = Figure(what, "the same server without a store")
    rows["relay"] = Figure("/v1/relay, 256 connections", "SQLite alone, 256 a transaction")
    rows["drain"] = Figure("draining a backlog, 64 in flight", "libcurl alone, 64 in flight", 0.5)
    rows["through"] = Figure("accepting and delivering at once", "libcurl alone, 64 in flight")
    rows["forwarder"] = Figure("the forwarder alone, 64 in flight", "libcurl alone, 64 in flight")
    return rows


def measure(programs, data, scale):
    """All rounds; the rows with what was measured."""
    rows = plan()
    for number in range(1, scale.rounds + 1):
        print(f"round {number} of {scale.rounds}", file=sys.stderr)
        acceptance(programs, data, scale, rows)
        forwarding(programs, data, scale, rows)
    return list(rows.values())


def acceptance(programs, data, scale, rows):
    for count in CONNECTIONS:
        empty = empty_server(programs, count, scale)
        accepted = accept(programs, data, count, "json", scale)
        sqlite = sqlite_alone(programs, data, count, scale)
        rows["sqlite", count].add(accepted["rate"], sqlite, accepted)
        rows["empty", count].add(accepted["rate"], empty["rate"], accepted)
    relayed = accept(programs, data, 256, "relay", scale)
    rows["relay"].add(relayed["rate"], sqlite, relayed)


def forwarding(programs, data, scale, rows):
    curl = against_upstream(programs, "curl-multi", scale)
    rows["drain"].add(drain(programs, data, scale), curl)
    rows["through"].add(through(programs, data, scale), curl)
    rows["forwarder"].add(against_upstream(programs, "bench-forwarder", scale), curl)


def empty_server(programs, connections, scale):
    with run.server([programs["bench-server"]]) as server:
        result = run.load(
            programs["load"], server.port, connections, "any", "seconds", scale.seconds)
    run.pause()
    return result


def accept(programs, data, connections, kind, scale):
    """How fast the relay takes envelopes while nothing is delivered."""
    with run.server([programs["upstream"], 0, "shut"]) as upstream:
        with run.relay(programs["waystation"], data, upstream.port) as relay:
            result = run.load(
                programs["load"], relay.port, connections, kind, "seconds", scale.seconds)
    shutil.rmtree(relay.folder)
    run.pause()
    return result


def sqlite_alone(programs, data, batch, scale):
    """How fast SQLite takes the same rows, in a store that the relay has made."""
    with run.server([programs["upstream"], 0]) as upstream:
        with run.relay(programs["waystation"], data, upstream.port) as relay:
            relay.terminate()
            relay.wait(run.STOP_SECONDS_MAX)
    rate = float(run.output(
        [programs["sqlite-append"], database(relay.folder / "store"), batch, scale.seconds]))
    shutil.rmtree(relay.folder)
    run.pause()
    return rate


def database(folder):
    found = [path for path in pathlib.Path(folder).iterdir()
             if path.is_file() and path.open("rb").read(15) == b"SQLite format 3"]
    if len(found) != 1:
        raise RunFailed(f"there is no database in {folder}")
    return found[0]


def drain(programs, data, scale):
    """How fast a backlog that has been built up before reaches the upstream."""
    count = scale.envelopes
    with run.server([programs["upstream"], count, "shut"]) as upstream:
        with run.relay(programs["waystation"], data, upstream.port) as relay:
            run.load(programs["load"], relay.port, 256, "json", "count", count)
            run.pause()
            upstream.stdin.write("open\n")
            rate = float(run.read_line(upstream, "the upstream", run.RUN_SECONDS_MAX))
    shutil.rmtree(relay.folder)
    run.pause()
    return rate


def through(programs, data, scale):
    """How fast envelopes reach the upstream while they are being posted."""
    count = scale.envelopes
    with run.server([programs["upstream"], count]) as upstream:
        with run.relay(programs["waystation"], data, upstream.port) as relay:
            run.load(programs["load"], relay.port, 256, "json", "count", count)
            rate = float(run.read_line(upstream, "the upstream", run.RUN_SECONDS_MAX))
    shutil.rmtree(relay.folder)
    run.pause()
    return rate


def against_upstream(programs, name, scale):
    with run.server([programs["upstream"], 0]) as upstream:
        rate = float(run.output([programs[name], upstream.port, PARALLEL, scale.requests]))
    run.pause()
    return rate
