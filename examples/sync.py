#!/usr/bin/env python3
"""Hands over a file of envelopes by POST /v1/sync, and follows them until nothing waits.

Usage: sync.py FILE

Each line of FILE is an envelope as docs/protocol.md has it, with a "key" and without a "client":
  {"key": "reading-1", "path": "/readings", "body": {"celsius": 4.2}, "expiresIn": 86400}
FILE.state notes what the relay has, and how far its endings were seen. A second run goes on there.

Settings, from the environment:
  WAYSTATION_SERVER   the relay's URL (http://127.0.0.1:8080)
  WAYSTATION_CLIENT   the client's name; required
  WAYSTATION_TOKEN    its token, if it has one

Exit codes: 0 nothing waits any more, 1 something was refused, or blocks its lane, 2 wrong use, or the
relay refuses this device.

Needs Python 3.9 or later, and nothing else. outbox.py is a whole client; this is its loop alone.
"""

import json
import os
import random
import sys
import time
import urllib.error
import urllib.request

DELAY_FIRST_SECONDS, DELAY_MAX_SECONDS = 2, 300
ROOM_FIRST = {"envelopes": 100, "bytes": 1_000_000, "envelopesPerBatch": 100, "bytesPerBatch": 1_000_000}


def call(lines):
    """Returns the relay's answer to a sync, or None with the seconds to wait, None if it does not say."""
    url = os.environ.get("WAYSTATION_SERVER", "http://127.0.0.1:8080").rstrip("/") + "/v1/sync"
    fields = {"Content-Type": "application/x-ndjson"}
    if os.environ.get("WAYSTATION_TOKEN"):
        fields["Authorization"] = "Bearer " + os.environ["WAYSTATION_TOKEN"]
    try:
        with urllib.request.urlopen(urllib.request.Request(url, "\n".join(lines).encode(), fields), timeout=120) as answer:
            content = json.loads(answer.read())
            # Only the relay's own answer counts: a network's page for guests is a 200, too.
            return (content, None) if isinstance(content, dict) and "maySend" in content else (None, None)
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        if error.code in (408, 425, 429) or error.code >= 500 or "urn:waystation:problem:" not in text:
            seconds = error.headers.get("Retry-After", "")
            return None, int(seconds) if seconds.isdigit() else None
        print(text, file=sys.stderr)
        sys.exit(2)
    except (OSError, ValueError):
        return None, None


def choose(waiting, room):
    """Those of the next sync, in their order, as many as there is room for."""
    chosen, size = {}, 0
    for key, line in waiting.items():
        size += len(line)
        if len(chosen) >= min(room["envelopes"], room["envelopesPerBatch"]):
            break
        if chosen and size > min(room["bytes"], room["bytesPerBatch"]):
            break
        chosen[key] = line
    return chosen


def save(path, state):
    """Replaces the note of how far all has come; it is on disk when this returns."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def take_in(answer, chosen, state):
    """Writes down what an answer says, and tells it."""
    for key, result in zip(chosen, answer.get("results", [])):
        problem = result.get("problem")
        if problem is None:
            state["taken"].append(key)
            print(result["result"], key, flush=True)
        elif problem["status"] not in (408, 429) and problem["status"] < 500:
            state["refused"].append(key)
            print("refused", key, problem["detail"], flush=True)
    for ending in answer["ended"]:
        print("ended", ending.get("key") or ending["id"], ending["state"], ending.get("responseStatus", ""), flush=True)
    state["since"] = answer.get("since", state["since"])


def main(path):
    client, note = os.environ["WAYSTATION_CLIENT"], path + ".state"
    state = {"since": None, "taken": [], "refused": []}
    if os.path.exists(note):
        with open(note, encoding="utf-8") as file:
            state = json.load(file)
    with open(path, encoding="utf-8") as file:
        waiting = {json.loads(line)["key"]: line.strip() for line in file if line.strip()}
    for key in state["taken"] + state["refused"]:
        waiting.pop(key, None)
    room, delay, is_still = ROOM_FIRST, DELAY_FIRST_SECONDS, False
    while True:
        chosen = choose(waiting, room)
        question = {"client": client}
        if state["since"]:  # The last answer that was written down, and so need not be told again.
            question["since"] = state["since"]
        answer, seconds = call([json.dumps(question), *chosen.values()])
        if answer is None:
            room = ROOM_FIRST
        else:
            take_in(answer, chosen, state)
            save(note, state)
            before = len(waiting)
            waiting = {key: line for key, line in waiting.items() if key not in state["taken"] + state["refused"]}
            room, seconds = answer["maySend"], answer.get("retryAfterSeconds")
            if len(waiting) < before or answer["ended"]:
                delay = DELAY_FIRST_SECONDS
            lanes = [lane for lane in answer["lanes"] if lane["waiting"] > 0]
            blocked = [lane for lane in lanes if "blockedBy" in lane]
            was_still, is_still = is_still, not waiting and not answer["more"] and len(lanes) == len(blocked)
            if is_still and not was_still:
                continue  # What ended while this was answered is told by the next answer.
            if is_still:
                for lane in blocked:
                    head = lane["blockedBy"]
                    print("blocked", lane["lane"], head.get("key") or head["id"], head["reason"], flush=True)
                return 1 if blocked or state["refused"] else 0
            if seconds is None and (answer["more"] or 0 < len(waiting) < before):
                continue
        if seconds is None:
            seconds = delay * random.uniform(0.5, 1)
            delay = min(2 * delay, DELAY_MAX_SECONDS)
        time.sleep(seconds)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not os.environ.get("WAYSTATION_CLIENT"):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1]))
