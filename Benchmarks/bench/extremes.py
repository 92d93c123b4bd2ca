"""Figures of much, and of little: a large backlog, many connections, large bodies, idleness, starts.

Each compares pairs that are measured in turn, as many as there are rounds."""

import contextlib
import pathlib
import resource
import shutil
import tempfile
import time

from bench import plan, programs as run, relay
from bench.programs import RunFailed

# How long posting a backlog may take, however large it is.
FILL_SECONDS_MAX = 3600
# So that the driver, and what it starts beside the relay, have descriptors left.
DESCRIPTORS_SPARE = 1500
SETTLE_SECONDS = 2


def backlog(bench):
    """A large backlog: how soon it is ready after a kill, and whether it slows anything down."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=bench.data))
    rows, resident = bench.rows, 0
    with run.upstream(bench.programs, is_shut=True) as upstream:
        fill(bench, folder / "store", upstream)
        for _ in range(2):
            with relay.started(bench.programs, folder / "store", upstream.port) as full:
                rows["backlog.ready"].add(full.wait_until_ready())
        with relay.started(bench.programs, folder / "store", upstream.port) as full:
            rows["backlog.ready"].add(full.wait_until_ready())
            for _ in range(bench.scale.rounds):
                with run.upstream(bench.programs, is_shut=True) as other, \
                        relay.fresh(bench.programs, bench.data, other.port) as empty:
                    accepted_empty, drained_empty = accept_and_drain(bench, empty, other)
                accepted, drained = accept_and_drain(bench, full, upstream)
                rows["backlog.accept"].add(accepted, accepted_empty)
                rows["backlog.drain"].add(drained, drained_empty)
            resident = full.resident_bytes("VmHWM")
    rows["backlog.resident"].add(resident / (1 << 20))
    shutil.rmtree(folder)


def fill(bench, store, upstream):
    """Has a relay take the backlog, and kills it."""
    count = bench.scale.backlog
    with relay.started(bench.programs, store, upstream.port) as taken:
        run.load(
            bench.programs, taken.port, plan.BATCH_CONNECTIONS, "batch", "count", count,
            plan.BATCH, min(count, plan.BACKLOG_LANES), seconds=FILL_SECONDS_MAX)


def accept_and_drain(bench, taken, upstream):
    """How fast it takes envelopes, and hands some on then."""
    accepted = bench.load(taken.port, 256, "json", bench.scale.ceiling_seconds)
    run.pause()
    count = min(bench.scale.backlog_drained, accepted["answered"] * 9 // 10)
    return accepted["rate"], upstream.open(count)["rate"]


def connections(bench):
    """Many connections that are kept and do nothing: what each takes, and whether they slow others
    down."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(bench.scale.idle_connections, hard - DESCRIPTORS_SPARE)
    if count < bench.scale.idle_connections:
        for key in ("idle.bytes", "idle.accept"):
            bench.rows[key].missing = f"left out: {hard} open files are allowed"
        return
    # They all come from one address, which may not have all of them unless it is said.
    limits = {"connectionsMax": count + 1000, "connectionsPerPeerMax": count + 1000,
              "idleTimeoutMs": 3_600_000}
    with contextlib.ExitStack() as both:
        upstream = both.enter_context(run.upstream(bench.programs, is_shut=True))
        held = both.enter_context(
            relay.fresh(bench.programs, bench.data, upstream.port, limits))
        free = both.enter_context(
            relay.fresh(bench.programs, bench.data, upstream.port, limits))
        for taken in (held, free):
            bench.load(taken.port, 64, "json", bench.scale.ceiling_seconds)
        before = held.resident_bytes()
        both.enter_context(run.server([bench.programs["held"], held.port, count, "idle"]))
        time.sleep(SETTLE_SECONDS)
        bench.rows["idle.bytes"].add((held.resident_bytes() - before) / 1024 / count)
        for _ in range(bench.scale.rounds):
            without = bench.load(free.port, 64, "json", bench.scale.ceiling_seconds)["rate"]
            beside = bench.load(held.port, 64, "json", bench.scale.ceiling_seconds)["rate"]
            bench.rows["idle.accept"].add(beside, without)


def large(bench):
    """Bodies of 10 MiB, many at a time: what each takes of memory, and how fast they are on disk."""
    count, seconds = plan.LARGE_CONNECTIONS, bench.scale.ceiling_seconds
    for _ in range(bench.scale.rounds):
        disk = bench.disk_alone(1, plan.LARGE_BYTES)["rate"]
        with relay.fresh(bench.programs, bench.data, 9, upstream={"startPaused": True}) as taken:
            # Once, so that what is made on first use does not count as theirs.
            run.load(bench.programs, taken.port, 1, "large", "count", 2, plan.LARGE_BYTES)
            taken.forget_peak()
            before = taken.resident_bytes()
            accepted = bench.load(taken.port, count, "large", seconds, plan.LARGE_BYTES)
            peak = taken.resident_bytes("VmHWM")
        mebibytes = plan.LARGE_BYTES / (1 << 20)
        bench.rows["large.disk"].add(accepted["rate"] * mebibytes, disk * mebibytes)
        bench.rows["large.resident"].add((peak - before) / count / (1 << 20))


def quiet(bench):
    """How often a relay wakes up that has delivered what it was given, and has nothing to do."""
    count = 1000
    with run.upstream(bench.programs, count) as upstream, \
            relay.fresh(bench.programs, bench.data, upstream.port) as taken:
        run.load(bench.programs, taken.port, 16, "json", "count", count)
        upstream.arrived()
        time.sleep(SETTLE_SECONDS)
        before = taken.wake_ups()
        time.sleep(bench.scale.quiet_seconds)
        wake_ups = taken.wake_ups() - before
    bench.rows["quiet"].add(wake_ups / bench.scale.quiet_seconds)


def starts(bench):
    """From its start to its being ready, with a store that is there, and one that is not."""
    store = pathlib.Path(bench.data) / "started"
    for _ in range(bench.scale.starts):
        for row in ("start.new", "start"):
            with relay.started(bench.programs, store, 9) as taken:
                bench.rows[row].add(taken.wait_until_ready() * 1000)
                run.end(taken.process)
                if taken.process.returncode != 0:
                    raise RunFailed(f"the relay ended with {taken.process.returncode}")
        shutil.rmtree(store)


PARTS = {
    "backlog": backlog, "connections": connections, "large": large, "quiet": quiet,
    "starts": starts,
}
