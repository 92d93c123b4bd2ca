"""Tries a relay with a large backlog; see scripts/check-backlog.

Usage: python -m backloglib BINARY.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from .asking import ask_all
from .paint import paints
from .relay import Relay, Sink, fail

ENVELOPES = int(os.environ.get("ENVELOPES", "1000000"))
BODY_BYTES = int(os.environ.get("BODY_BYTES", "256"))
CLIENTS = min(10_000, ENVELOPES)
BATCH = 1000
# How many are watched as they drain: enough for memory to have found its level.
DRAINED = int(os.environ.get("DRAINED", str(min(ENVELOPES, 200_000) * 9 // 10)))
READY_SECONDS_MAX = 2.0
STATUS_MS_MAX = 20.0
RESIDENT_MIB_MAX = 200.0
DRAIN_SECONDS_MAX = 120.0


def envelope(number):
    """One of them: of one in a hundred the upstream stays away, one in a hundred is refused."""
    terms = {"client": f"c{number % CLIENTS:05d}", "path": f"/{number}", "body": "x" * BODY_BYTES}
    if number % 100 == 17:
        terms["upstream"] = "billing"
    elif number % 100 == 42:
        terms["upstream"] = "strict"
    if number * 7919 % 1000 == 7:
        terms["tag"] = "rare"
    return terms


def fill(relay):
    """Posts them all, a batch at a time; returns how long that took, and ids of some."""
    begin = time.monotonic()
    ids = []
    for first in range(0, ENVELOPES, BATCH):
        results = relay.post([envelope(number)
                              for number in range(first, min(first + BATCH, ENVELOPES))])
        ids.append(results[len(results) // 2]["id"])
    return time.monotonic() - begin, ids


def drain(relay):
    """Waits until enough have arrived; returns how long that took."""
    begin = time.monotonic()
    while relay.get("/status")["store"]["envelopes"]["delivered"] < DRAINED:
        if time.monotonic() - begin > DRAIN_SECONDS_MAX:
            fail(f"fewer than {DRAINED} arrived in {DRAIN_SECONDS_MAX:.0f} s")
        time.sleep(0.25)
    return time.monotonic() - begin


def still(relay):
    """Waits until nothing is on its way any more."""
    while True:
        before = relay.get("/status")["store"]["envelopes"]
        time.sleep(0.5)
        if relay.get("/status")["store"]["envelopes"] == before:
            return


def check_taken_up(relay):
    """The lanes know of all that the store has: of what was read at the start, and what was counted."""
    waiting = sum(upstream["waiting"] for upstream in relay.get("/status")["upstreams"])
    if waiting != ENVELOPES:
        fail(f"{waiting} envelopes stand in lanes, and {ENVELOPES} in the store")
    for number in (0, CLIENTS // 2, CLIENTS - 1):
        client = relay.get(f"/v1/clients/c{number:05d}")
        own = len(range(number, ENVELOPES, CLIENTS))
        found = (client["waiting"], sum(lane["waiting"] for lane in client["lanes"]))
        if found != (own, own):
            fail(f"of client {number} {own} wait, and its lanes say {found}")


def hold(waystation, folder, sinks, running):
    """The backlog's own limits: (what, found, limit, unit) for each; and the relay, with ids."""
    upstreams = {name: sink.address for name, sink in sinks.items()}
    first = Relay(waystation, folder, upstreams, running)
    seconds, ids = fill(first)
    print(f"posted {ENVELOPES} envelopes of {CLIENTS} clients in {seconds:.1f} s", flush=True)
    first.kill()

    relay = Relay(waystation, folder, upstreams, running)
    relay.get("/readyz")
    ready = time.monotonic() - relay.begin
    # The machine may have other work: the median of a few.
    answers = [relay.ask("/status") for _ in range(5)]
    status_ms = statistics.median(took for _, took in answers)
    counts = json.loads(answers[0][0])["store"]["envelopes"]
    if counts["queued"] + counts["delivering"] != ENVELOPES:
        fail(f"not all of them wait: {counts}")
    check_taken_up(relay)

    sinks["strict"].start()
    sinks["default"].start()
    print(f"drained {DRAINED} of them in {drain(relay):.1f} s", flush=True)
    resident = relay.resident_mib()
    sinks["default"].stop()
    sinks["strict"].stop()
    return relay, ids, [
        ("ready after SIGKILL", ready, READY_SECONDS_MAX, "s"),
        ("/status then", status_ms, STATUS_MS_MAX, "ms"),
        ("resident at most", resident, RESIDENT_MIB_MAX, "MiB")]


def measure(waystation, running):
    """All of it; returns the limits' rows, and the figures of an empty store and of a full one."""
    with tempfile.TemporaryDirectory(prefix="backlog-") as folder:
        sinks = {"default": Sink(waystation, running), "billing": Sink(waystation, running),
                 "strict": Sink(waystation, running, status=422)}
        empty = Relay(waystation, str(Path(folder) / "empty"),
                      {name: sink.address for name, sink in sinks.items()}, running)
        begun = ask_all(empty, CLIENTS, []) + paints(empty)
        empty.kill()
        relay, ids, rows = hold(waystation, str(Path(folder) / "full"), sinks, running)
        still(relay)
        counts = relay.get("/status")["store"]["envelopes"]
        print("then asked, with " + ", ".join(
            f"{count} {state}" for state, count in counts.items() if count), flush=True)
        asked = ask_all(relay, CLIENTS, ids) + paints(relay)
        relay.kill()
        return rows, begun, asked


def table(begun, asked):
    """How long each question took, beside the same of an empty store."""
    alone = {figure.name: figure for figure in begun}
    print(f"{'milliseconds: median (most)':46}{'empty':>16}{'stored':>16}{'limit':>8}  calls")
    for figure in asked:
        other = alone.get(figure.name)
        cells = [f"{one.p50:.1f} ({one.most:.1f})" if one else "" for one in (other, figure)]
        print(f"{figure.name:46}{cells[0]:>16}{cells[1]:>16}{figure.bound:8.0f}  {figure.calls}")


def main():
    running = []
    try:
        rows, begun, asked = measure(sys.argv[1], running)
    finally:
        for process in running:
            process.kill()
            process.wait()
    for what, value, limit, unit in rows:
        print(f"{what}: {value:.2f} {unit} (limit {limit:.0f} {unit})")
    table(begun, asked)
    passed = [what for what, value, limit, _ in rows if value > limit]
    passed += [figure.name for figure in begun + asked if figure.p50 > figure.bound]
    if passed:
        fail(f"a limit was passed: {', '.join(passed)}")


if __name__ == "__main__":
    main()
