"""What each round measures, figures and ceilings in turn."""

import contextlib
import json
import shutil
import tempfile
import pathlib

from bench import nginx, plan, programs as run, relay
from bench.arithmetic import combined
from bench.programs import RunFailed


class Bench:
    """What a run measures with, and the rows that it fills."""

    def __init__(self, programs, data, scale, rows):
        self.programs = programs
        self.data = data
        self.scale = scale
        self.rows = rows
        self.empty_store = relay.empty_store(programs, data)
        # What this round has measured so far and later figures are held to.
        self.found = {}
        # Says how far a run has come.
        self.tell = print
        # What the PostgreSQL server says of itself, once there is one.
        self.server_settings = ""

    def load(self, port, connections, kind, seconds, *more):
        return run.load(self.programs, port, connections, kind, "seconds", seconds, *more)

    def accept(self, connections, kind, *more):
        """How fast a fresh relay takes envelopes while nothing is delivered, and how many of them
        it put into one transaction."""
        with run.upstream(self.programs, is_shut=True) as upstream, \
                relay.fresh(self.programs, self.data, upstream.port) as taken:
            return self.accept_at(taken, connections, kind, *more)

    def accept_at(self, taken, connections, kind, *more):
        commits, changes = taken.commits()
        result = self.load(taken.port, connections, kind, self.scale.seconds, *more)
        commits_then, changes_then = taken.commits()
        result["batch"] = max(1, round((changes_then - changes) / (commits_then - commits)))
        return result

    def empty_server(self, connections):
        with run.server([self.programs["bench-server"]]) as server:
            result = self.load(server.port, connections, "json", self.scale.ceiling_seconds)
        run.pause()
        return result

    def nginx(self, connections):
        """None where there is no nginx."""
        if not nginx.program():
            return None
        with nginx.server(self.data) as port:
            result = self.load(port, connections, "json", self.scale.ceiling_seconds)
        run.pause()
        return result["rate"]

    def sqlite_alone(self, batch):
        """How fast SQLite takes the same rows, in a copy of a store that the relay has made."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.data))
        shutil.copytree(self.empty_store, folder / "store")
        result = json.loads(run.output([
            self.programs["sqlite-append"], relay.database(folder / "store"), batch,
            self.scale.ceiling_seconds]))
        shutil.rmtree(folder)
        run.pause()
        return result

    def disk_alone(self, batch, piece):
        result = json.loads(run.output([
            self.programs["disk-append"], self.data / "appended", batch, piece,
            self.scale.ceiling_seconds]))
        run.pause()
        return result

    def forwarding_alone(self, name):
        with run.upstream(self.programs) as upstream:
            rate = float(run.output(
                [self.programs[name], upstream.port, plan.PARALLEL, self.scale.requests]))
        run.pause()
        return rate


def acceptance(bench):
    """Single envelopes, beside each part that could hold them up."""
    rows, found = bench.rows, bench.found
    for count in (64, 256):
        nginx_rate = bench.nginx(count)
        accepted = bench.accept(count, "json")
        socket = bench.empty_server(count)["rate"]
        store = bench.sqlite_alone(accepted["batch"])["rate"]
        found[f"accept{count}"], found[f"nginx{count}"] = accepted["rate"], nginx_rate
        found[f"socket{count}"], found[f"store{count}"] = socket, store
        rows[f"accept{count}.store"].add(accepted["rate"], store, accepted["batch"], accepted)
        rows[f"accept{count}.socket"].add(accepted["rate"], socket)
        if nginx_rate is not None:
            rows[f"accept{count}.nginx"].add(accepted["rate"], nginx_rate)
    disk = bench.disk_alone(accepted["batch"], 1024)["rate"]
    rows["accept256.disk"].add(accepted["rate"], disk, accepted["batch"])
    relayed = bench.accept(256, "relay")
    rows["relay"].add(relayed["rate"], accepted["rate"], None, relayed)


def batches(bench):
    """Many envelopes in a post."""
    accepted = bench.accept(plan.BATCH_CONNECTIONS, "batch", plan.BATCH)
    bench.found["batch"] = accepted["rate"]
    store = bench.sqlite_alone(accepted["batch"])["rate"]
    bench.rows["batch.store"].add(accepted["rate"], store, accepted["batch"])
    single = bench.found.get("accept256") or bench.accept(256, "json")["rate"]
    bench.rows["batch.single"].add(accepted["rate"], single)


def one(bench):
    """One connection, one envelope at a time: its time beside that of what it cannot do without."""
    accepted = bench.accept(1, "json")
    trip = bench.empty_server(1)["p50Ms"]
    transaction = bench.sqlite_alone(1)["p50Ms"]
    bench.rows["one"].add(accepted["p50Ms"], transaction + trip)


def paced(bench):
    """Half of what it takes, at even distances: what stands out then is the relay's own doing."""
    rate = bench.found.get("accept256") or bench.accept(256, "json")["rate"]
    with run.upstream(bench.programs, is_shut=True) as upstream, \
            relay.fresh(bench.programs, bench.data, upstream.port) as taken:
        result = json.loads(run.output([
            bench.programs["open-loop"], taken.port, 256, rate / 2, bench.scale.seconds + 1, 1024]))
    if result["accepted"] < 0.95 * result["due"]:
        raise RunFailed(f"half of {rate:.0f}/s was too much: {result}")
    bench.rows["paced"].add(result["p99Ms"], result["p50Ms"])


def forwarding(bench):
    """A backlog in many lanes, beside libcurl alone."""
    count = bench.scale.drained
    curl = bench.found["curl"] = bench.forwarding_alone("curl-multi")
    with run.upstream(bench.programs, is_shut=True) as upstream, \
            relay.fresh(bench.programs, bench.data, upstream.port) as taken:
        run.load(bench.programs, taken.port, 10, "batch", "count", count, plan.BATCH, plan.LANES)
        run.pause()
        result = in_order(upstream.open(count))
    bench.rows["drain"].add(result["rate"], curl)
    bench.rows["forwarder"].add(bench.forwarding_alone("bench-forwarder"), curl)


def whole(bench):
    """From the first post until the last has arrived, a post each, in order."""
    count, rows, found = bench.scale.whole, bench.rows, bench.found
    with run.upstream(bench.programs, count) as upstream, \
            relay.fresh(bench.programs, bench.data, upstream.port) as taken:
        posted = run.load(bench.programs, taken.port, 64, "json", "count", count)
        result = in_order(upstream.arrived())
    rate = count / (result["endedAt"] - posted["startedAt"])
    if found.get("nginx64"):
        rows["whole.nginx"].add(rate, found["nginx64"])
    if all(name in found for name in ("socket64", "store64", "curl")):
        rows["whole.ceilings"].add(
            rate, combined(found["socket64"], found["store64"], found["curl"]))


# Upstreams that take many envelopes in one request: a service, and another relay.
BULK = {"batch": {"format": "ndjson", "path": "/bench"}}
NEXT = {"batch": {"format": "waystation"}}


def bulk(bench):
    """From the first post until the last has arrived, many in a request; and over two relays."""
    count, rows, found = bench.scale.whole, bench.rows, bench.found
    connections = plan.BATCH_CONNECTIONS
    taking = found.get("batch") or bench.accept(connections, "batch", plan.BATCH)["rate"]
    together = whole_way(bench, [BULK], 4 * count, connections, "items")
    rows["bulk.batch"].add(together, taking)
    single = whole_way(bench, [BULK], count, 64, "item")
    if found.get("nginx64"):
        rows["bulk.nginx"].add(single, found["nginx64"])
    rows["chain"].add(whole_way(bench, [BULK, NEXT], count, 64, "item"), single)


def whole_way(bench, steps, count, connections, kind):
    """How many a second come through relays, the last of which is set up first."""
    with contextlib.ExitStack() as opened:
        upstream = opened.enter_context(run.upstream(bench.programs, count))
        port = upstream.port
        for terms in steps:
            port = opened.enter_context(
                relay.fresh(bench.programs, bench.data, port, upstream=terms)).port
        posted = run.load(bench.programs, port, connections, kind, "count", count)
        result = in_order(upstream.arrived())
    return count / (result["endedAt"] - posted["startedAt"])


def in_order(result):
    """What an upstream says, if all that came was in its client's order."""
    if result["disordered"]:
        raise RunFailed(f"{result['disordered']} envelopes arrived out of order")
    return result


# By the name under which one part can be measured alone.
PARTS = {
    "acceptance": acceptance, "batches": batches, "one": one, "paced": paced,
    "forwarding": forwarding, "whole": whole, "bulk": bulk,
}
