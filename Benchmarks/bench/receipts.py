"""Receipts: what they cost a relay, beside the same relay without them."""

from bench import plan, programs as run, relay

ISSUER = "https://relay.example"


def receipts(bench):
    """Each in turn with and without, as many times as there are rounds."""
    single, batches = (256, "number"), (plan.BATCH_CONNECTIONS, "numbers", plan.BATCH)
    for _ in range(bench.scale.rounds):
        for name, load in (("accept256", single), ("batch", batches)):
            found = accept(bench, load, True)
            bench.rows[f"receipts.{name}"].add(found, without := accept(bench, load, False))
        bench.rows["receipts.asked"].add(
            accept(bench, (batches[0], "receipts", batches[2]), True), without)


def accept(bench, load, makes_receipts):
    more = {"receipts": {"issuer": ISSUER}} if makes_receipts else {}
    with run.upstream(bench.programs, is_shut=True) as upstream, \
            relay.fresh(bench.programs, bench.data, upstream.port, more=more) as taken:
        return bench.accept_at(taken, *load)["rate"]


PARTS = {"receipts": receipts}
