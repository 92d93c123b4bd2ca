"""What is measured, beside which ceiling, and what is aimed at."""

import dataclasses

from bench.arithmetic import Row, at_least, at_most

# How many requests the forwarder has in flight at one upstream, unless it is told otherwise.
PARALLEL = 64
# A lane has one envelope in flight, so a backlog needs many to be drained at once.
LANES = 1000
BATCH = 100
BATCH_CONNECTIONS = 16
BACKLOG_LANES = 10_000
LARGE_BYTES = 10 << 20
LARGE_CONNECTIONS = 16
# The most posts that the relay writes to PostgreSQL in one transaction.
POSTS_MAX = 1024
# Senders at a spare: as many as elsewhere, and so few that hardly any posts come together.
PASSING_CONNECTIONS = 64
FEW_CONNECTIONS = 16
# Posts of each connection before anything of a relay on PostgreSQL is measured.
WARM_UP_EACH = 10


@dataclasses.dataclass(frozen=True)
class Scale:
    """How long and how often."""

    rounds: int
    # Of one measurement of the relay, and of one of a ceiling.
    seconds: float
    ceiling_seconds: float
    # In the two figures that end with the last arrival, and in libcurl's.
    drained: int
    whole: int
    requests: int
    backlog: int
    # How much of it is drained in each round.
    backlog_drained: int
    idle_connections: int
    quiet_seconds: float
    starts: int
    # In the figures with PostgreSQL that end with a number of envelopes.
    clustered: int
    # How often a relay is killed, and how often one is stopped.
    takeovers: int


FULL = Scale(
    rounds=5, seconds=3, ceiling_seconds=2, drained=100_000, whole=50_000, requests=100_000,
    backlog=1_000_000, backlog_drained=30_000, idle_connections=10_000, quiet_seconds=10,
    starts=9, clustered=20_000, takeovers=5)
QUICK = Scale(
    rounds=1, seconds=0.7, ceiling_seconds=0.5, drained=10_000, whole=10_000, requests=20_000,
    backlog=20_000, backlog_drained=5_000, idle_connections=1000, quiet_seconds=3, starts=3,
    clustered=3000, takeovers=1)


def rows(scale):
    """The rows, in the order in which they are shown."""
    store = "SQLite alone, {batch} a transaction"
    curl = f"libcurl alone, {PARALLEL} in flight"
    backlog = f"{scale.backlog:,} waiting"
    idle = f"{scale.idle_connections:,} idle connections"
    nginx = "nginx answering 202"
    return {
        "accept256.store": Row("acceptance, 256 connections", store, at_least(0.7)),
        "accept64.store": Row("acceptance, 64 connections", store),
        "accept64.nginx": Row("acceptance, 64 connections", nginx, at_least(0.3)),
        "accept256.nginx": Row("acceptance, 256 connections", nginx, at_least(0.3)),
        "accept64.socket": Row("acceptance, 64 connections", "the same server, empty handler"),
        "accept256.socket": Row("acceptance, 256 connections", "the same server, empty handler"),
        "accept256.disk": Row("acceptance, 256 connections", "appending alone, {batch} KiB a sync"),
        "relay": Row("/v1/relay, 256 connections", "acceptance, 256 connections"),
        "batch.store": Row(f"acceptance, batches of {BATCH}", store, at_least(0.85)),
        "batch.single": Row(
            f"acceptance, batches of {BATCH}", "acceptance, 256 connections", at_least(3)),
        "one": Row(
            "one connection, p50", "a transaction alone, and a round trip", at_most(1.3), "ms"),
        "paced": Row("p99 at half of the saturation rate", "its p50", at_most(5), "ms"),
        "drain": Row(f"draining {scale.drained:,} over {LANES:,} lanes", curl, at_least(0.7)),
        "forwarder": Row("the forwarder without a store", curl),
        "whole.nginx": Row(f"whole path, {scale.whole:,} envelopes", nginx, at_least(0.2)),
        "whole.ceilings": Row(
            f"whole path, {scale.whole:,} envelopes", "socket, store, libcurl in turn",
            at_least(0.8)),
        "bulk.batch": Row(
            f"whole path, batches of {BATCH}, many in a request", f"acceptance, batches of {BATCH}",
            at_least(0.6)),
        "bulk.nginx": Row("whole path, many in a request", nginx, at_least(0.25)),
        "chain": Row("whole path, two relays", "one relay, many in a request", at_least(0.5)),
        "backlog.accept": Row(f"acceptance, {backlog}", "with none", at_least(0.9)),
        "backlog.drain": Row(f"draining, {backlog}", "with none", at_least(0.9)),
        "backlog.ready": Row(f"ready after a kill, {backlog}", "", at_most(5, "s"), "s"),
        "backlog.resident": Row(
            f"resident at most, {backlog}", "", at_most(256, "MiB"), "MiB"),
        "idle.bytes": Row(f"resident, each of {idle}", "", at_most(8, "KiB"), "KiB"),
        "idle.accept": Row(f"acceptance, {idle}", "with none", at_least(0.95)),
        "large.resident": Row(
            "bodies of 10 MiB: resident, each in flight", "", at_most(1, "MiB"), "MiB"),
        "large.disk": Row(
            "bodies of 10 MiB", "appending alone, 10 MiB a sync", at_least(0.7), "MiB/s"),
        "quiet": Row("idle: wake-ups", "", at_most(0, "/s"), "/s"),
        "start": Row("start, on an empty store", "", at_most(50, "ms"), "ms"),
        "start.new": Row("start, with a store yet to be made", "", None, "ms"),
    }


def outbox_rows(scale):
    """The rows of a device's outbox."""
    store = "SQLite alone, {batch} a transaction"
    waiting = f"{scale.backlog:,} items waiting on a device"
    return {
        "outbox.enqueue1": Row("outbox: handing over, one task", store, at_least(0.7)),
        "outbox.enqueue256": Row("outbox: handing over, 256 tasks", store, at_least(0.6)),
        "outbox.upload": Row(
            "outbox: to a relay, over one connection", f"acceptance, batches of {BATCH}",
            at_least(0.5)),
        "outbox.open": Row(f"opening, {waiting}", "", at_most(20, "ms"), "ms"),
        "outbox.resident": Row(f"resident at most, {waiting}", "", at_most(24, "MiB"), "MiB"),
    }


def receipt_rows():
    """The rows of receipts: what they cost, and what it takes to ask for each."""
    without = "the same without receipts"
    return {
        "receipts.accept256": Row(
            "acceptance of numbered envelopes, 256 connections", without, at_least(0.95)),
        "receipts.batch": Row(
            f"acceptance of numbered envelopes, batches of {BATCH}", without, at_least(0.98)),
        "receipts.asked": Row(
            "the same batches, each answered with its receipt", without),
    }


def cluster_rows(scale):
    """The rows of relays with their store in PostgreSQL."""
    libpq = "libpq alone, {batch} a transaction"
    restart = "the store changes hands by a restart: longest wait of a post"
    killed = "SIGKILL until a spare has accepted a post"
    idle = f"idle for {scale.quiet_seconds:.0f} s with a spare, processor time of the"
    return {
        "cluster.accept256": Row("acceptance, 256 connections", libpq, at_least(0.7)),
        "cluster.accept64": Row("acceptance, 64 connections", libpq, at_least(0.7)),
        "cluster.new": Row(
            "acceptance, 256 connections, store just made", "once the server knows its tables"),
        "cluster.batch": Row(
            f"acceptance, batches of {BATCH}", f"libpq alone, {POSTS_MAX:,} in each transaction"),
        "cluster.fence": Row(
            "libpq alone, with the fence", "without it, {batch} a transaction", at_least(0.95)),
        "cluster.whole": Row(
            f"whole path, {scale.clustered:,} envelopes", "the same with SQLite", at_least(0.5)),
        "cluster.takeover": Row(killed, "", at_most(5, "s"), "s"),
        "cluster.takeover.worst": Row(
            f"{killed}, worst of {scale.takeovers}", "", at_most(5, "s"), "s"),
        "cluster.handover": Row(
            f"{restart}, of {scale.takeovers}", "", at_most(250, "ms"), "ms"),
        "cluster.passing": Row(
            f"processor time of passing a post on, {PASSING_CONNECTIONS} connections", "",
            at_most(40, "µs"), "µs"),
        "cluster.passing.spare": Row("of it the spare's", "", None, "µs"),
        "cluster.passing.holder": Row("of it the other relay's", "", None, "µs"),
        "cluster.passing.few": Row(f"the same, {FEW_CONNECTIONS} connections", "", None, "µs"),
        "cluster.passing.rate": Row(
            f"posts over a spare, {PASSING_CONNECTIONS} connections",
            "to the relay with the store", None),
        "cluster.idle.relay": Row(f"{idle} relay", "without", at_most(1.1), "ms"),
        "cluster.idle.server": Row(f"{idle} server", "without", None, "ms"),
    }
