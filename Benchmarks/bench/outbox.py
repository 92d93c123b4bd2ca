"""A device's outbox: handing over, opening, and bringing what waits to a relay."""

import json
import pathlib
import shutil
import tempfile

from bench import plan, programs as run, relay

FILL_SECONDS_MAX = 600


def outbox(bench):
    """Each figure beside its ceiling, in turn, as many times as there are rounds."""
    for _ in range(bench.scale.rounds):
        for tasks in (1, 256):
            handed = enqueue(bench, tasks)
            store = ceiling(bench, tasks)
            bench.rows[f"outbox.enqueue{tasks}"].add(handed["rate"], store["rate"], tasks)
        upload(bench)
    pending(bench)


def folder(bench):
    return pathlib.Path(tempfile.mkdtemp(dir=bench.data))


def enqueue(bench, tasks):
    place = folder(bench)
    result = asked(bench, "enqueue", place, tasks, bench.scale.ceiling_seconds)
    shutil.rmtree(place)
    run.pause()
    return result


def asked(bench, *words):
    return json.loads(
        run.output([bench.programs["bench-outbox"], *words], seconds=FILL_SECONDS_MAX))


def ceiling(bench, batch):
    """SQLite alone, in a database that an outbox has made."""
    place = folder(bench)
    asked(bench, "fill", place, 0)
    result = json.loads(run.output([
        bench.programs["outbox-append"], place / "outbox.sqlite3", batch,
        bench.scale.ceiling_seconds]))
    shutil.rmtree(place)
    run.pause()
    return result


def upload(bench):
    """Over one connection, beside the relay's acceptance in batches."""
    place = folder(bench)
    count = bench.scale.drained // 2
    with run.upstream(bench.programs, is_shut=True) as upstream, \
            relay.fresh(bench.programs, bench.data, upstream.port) as taken:
        result = asked(bench, "upload", place, taken.port, count)
    shutil.rmtree(place)
    run.pause()
    accepted = bench.accept(plan.BATCH_CONNECTIONS, "batch", plan.BATCH)
    bench.rows["outbox.upload"].add(result["rate"], accepted["rate"])


def pending(bench):
    """A large backlog on the device: how soon it is open, and in how much memory."""
    place = folder(bench)
    asked(bench, "fill", place, bench.scale.backlog)
    for _ in range(max(3, bench.scale.rounds)):
        result = asked(bench, "open", place)
        if result["waiting"] != bench.scale.backlog:
            raise run.RunFailed(f"{result['waiting']} of {bench.scale.backlog} wait")
        bench.rows["outbox.open"].add(result["openMs"])
        bench.rows["outbox.resident"].add(result["residentMiB"])
    shutil.rmtree(place)


PARTS = {"outbox": outbox}
