#!/usr/bin/env python3
"""An outbox: keeps envelopes on this device until a Waystation relay has taken them.

Usage:
  outbox.py add METHOD PATH [CONTENT-TYPE] < BODY   keeps an envelope, and says so once it is on disk
  outbox.py send [--once]                           hands over what waits; --once does not wait for a relay
  outbox.py list                                    shows what waits, and what was refused
  outbox.py show KEY                                writes the body of an envelope that is kept
  outbox.py drop KEY                                forgets an envelope that was refused

To mend what was refused: `show` it, `add` it corrected, `drop` the old one.

Settings, from the environment:
  WAYSTATION_SERVER   the relay's URL (http://127.0.0.1:8080)
  WAYSTATION_CLIENT   the client's name; required for send
  WAYSTATION_TOKEN    its token, if it has one
  WAYSTATION_LANE     the lane (default)
  WAYSTATION_OUTBOX   the file (./outbox.db). One file is one client's one lane

Exit codes: 0 done, 1 what was refused waits for a person, 2 wrong use, or the relay wants other
settings, 75 some envelopes wait still.

Needs Python 3.9 or later, and nothing else.
"""

import base64
import email.utils
import http.client
import json
import os
import random
import sqlite3
import sys
import time
import urllib.parse
import uuid

SCHEMA = """
CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS envelope (
  number INTEGER PRIMARY KEY AUTOINCREMENT,  -- dense, and never given twice
  key TEXT NOT NULL UNIQUE,
  method TEXT NOT NULL, path TEXT NOT NULL, type TEXT NOT NULL, body BLOB NOT NULL,
  refusal TEXT,                              -- the relay's words; NULL while it waits
  numbered INTEGER NOT NULL DEFAULT 1,       -- 0 once the lane takes its number no longer
  void INTEGER NOT NULL DEFAULT 0,           -- 1 while its number is to be declared void
  dropped INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS pending ON envelope (number) WHERE refusal IS NULL OR void;
"""
TIMEOUT_SECONDS = 120
DELAY_MAX_SECONDS = 300
REFUSED, WRONG, WAITING = 1, 2, 75


class Later(Exception):
    """The relay takes nothing just now."""

    def __init__(self, why, seconds=None):
        super().__init__(why)
        self.seconds = seconds


class Stop(Exception):
    """Trying again would not help before a person has changed something."""


def say(*words):
    print(*words, flush=True)


def problem_text(problem):
    """A problem document in one line."""
    kind = str(problem.get("type", "")).rsplit(":", 1)[-1]
    return f"{problem.get('status', '')} {kind}: {problem.get('detail') or problem.get('title', '')}"


def is_own(content):
    """Whether this is a problem that the relay itself names."""
    return content is not None and str(content.get("type")).startswith("urn:waystation:problem:")


def is_for_now(status):
    """Whether a status says that the same may succeed later."""
    return status in (408, 425, 429) or status >= 500


class Store:
    """The envelopes, in one SQLite file. Each change is on disk when its method returns."""

    def __init__(self, path):
        is_new = not os.path.exists(path)
        self.db = sqlite3.connect(path, timeout=60, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.executescript(SCHEMA)
        if is_new:  # The file's name has to be on disk as well.
            folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    def add(self, key, method, path, kind, body):
        self.db.execute("INSERT INTO envelope (key, method, path, type, body) VALUES (?, ?, ?, ?, ?)",
                        (key, method, path, kind, body))

    def pending(self):
        """What is to be posted, in its order."""
        return self.db.execute(
            "SELECT number, key, method, path, type, body, numbered, refusal IS NOT NULL"
            " FROM envelope WHERE refusal IS NULL OR void ORDER BY number")

    def taken(self, number):
        self.db.execute("DELETE FROM envelope WHERE number = ?", (number,))

    def refused(self, number, why):
        """Sets an envelope aside. Its number must not be waited for: it is owed a void."""
        self.db.execute("UPDATE envelope SET refusal = ?, void = numbered WHERE number = ?", (why, number))

    def voided(self, number):
        self.db.execute("UPDATE envelope SET void = 0 WHERE number = ?", (number,))
        self.db.execute("DELETE FROM envelope WHERE dropped AND NOT void")

    def unnumber(self, number):
        self.db.execute("UPDATE envelope SET numbered = 0 WHERE number = ?", (number,))

    def drop(self, key):
        """Returns false if no envelope of this key was refused."""
        with self:
            found = self.db.execute(
                "UPDATE envelope SET dropped = 1, body = '' WHERE key = ? AND refusal IS NOT NULL", (key,))
            self.db.execute("DELETE FROM envelope WHERE dropped AND NOT void")
        return found.rowcount > 0

    def setting(self, name):
        row = self.db.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone()
        return row and row[0]

    def set(self, name, value):
        self.db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, str(value)))

    def set_once(self, name, value):
        """Keeps the first value of all."""
        self.db.execute("INSERT OR IGNORE INTO setting VALUES (?, ?)", (name, str(value)))
        return self.setting(name)

    def count(self, what):
        return self.db.execute(f"SELECT count(*) FROM envelope WHERE {what}").fetchone()[0]

    def __enter__(self):
        self.db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind, *_):
        self.db.execute("ROLLBACK" if kind else "COMMIT")


class Relay:
    """The relay, over one connection that is kept. No redirect is followed."""

    def __init__(self, url, token):
        self.url = urllib.parse.urlsplit(url)
        self.token = token
        self.connection = None

    def call(self, method, path, body=None, kind="application/json"):
        """Returns the status, the fields and the JSON of an answer; None for what is no JSON."""
        fields = {"Content-Type": kind} if body is not None else {}
        if self.token:
            fields["Authorization"] = f"Bearer {self.token}"
        try:
            if self.connection is None:
                secure = self.url.scheme == "https"
                make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
                self.connection = make(self.url.hostname, self.url.port, timeout=TIMEOUT_SECONDS)
            self.connection.request(method, self.url.path.rstrip("/") + path, body, fields)
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Later(f"the relay cannot be reached: {error!r}") from None
        try:
            content = json.loads(text)
        except ValueError:
            content = None
        return answer.status, answer.headers, content if isinstance(content, dict) else None

    def ask(self, method, path, question=None):
        """Returns the status and the content of an answer to a question."""
        body = None if question is None else json.dumps(question).encode()
        status, fields, content = self.call(method, path, body)
        if is_for_now(status) or content is None or status != 200 and not is_own(content):
            raise Later(f"the relay answers {status}", retry_after(fields, content))
        return status, content

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


def retry_after(fields, content):
    """After how many seconds the relay wants to be asked again; None if it does not say."""
    value = fields.get("Retry-After", "")
    if value.isdigit():
        return int(value)
    try:
        return max(0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):  # A proxy's own words.
        return (content or {}).get("retryAfterSeconds")


class Sender:
    """Hands over what waits, in its order, one post at a time."""

    def __init__(self, store, relay, client, lane):
        self.store, self.relay, self.client, self.lane = store, relay, client, lane
        self.may_send = None   # what the last check-in allowed, less what was sent since
        self.count_max = None  # fewer a post, while one that was too large is being split

    def run(self, waits):
        """Returns once nothing waits any more, or at the first trouble unless it waits for its end."""
        tries = 0
        while True:
            try:
                if self.may_send is None:
                    self.check_in()
                if not self.post():
                    return 0
                tries = 0
            except Later as trouble:
                self.may_send = None
                self.relay.close()
                if not waits:
                    print(trouble, file=sys.stderr)
                    return WAITING
                seconds = trouble.seconds
                if seconds is None:
                    seconds = min(DELAY_MAX_SECONDS, 2 ** min(tries, 16)) * random.uniform(0.5, 1)
                    tries += 1
                print(f"{trouble}; trying again in {seconds:.1f} s", file=sys.stderr, flush=True)
                time.sleep(seconds)

    def check_in(self):
        """Tells what has ended since the last time, and learns how much may be sent."""
        more = True
        while more:
            question = {"client": self.client}
            since = self.store.setting("since")
            if since is not None:
                question["since"] = since
            status, answer = self.relay.ask("POST", "/v1/checkin", question)
            if status != 200:
                raise Stop(f"the relay does not let this device check in: {problem_text(answer)}")
            if "maySend" not in answer:
                raise Later("another than the relay answers")
            for ending in answer["ended"]:
                say("ended", ending.get("key") or ending["id"], ending["state"],
                    ending.get("responseStatus", ""), ending.get("reason", ""))
            if "since" in answer:
                self.store.set("since", answer["since"])
            more = answer["more"]
        if "retryAfterSeconds" in answer:
            raise Later("the relay asks to stay away", answer["retryAfterSeconds"])
        self.may_send = answer["maySend"]

    def base(self):
        """What is added to this file's numbers: they go on above those that the lane had before."""
        base = self.store.setting("base")
        if base is None:
            status, answer = self.relay.ask("GET", "/v1/clients/" + urllib.parse.quote(self.client, safe=""))
            if status not in (200, 404):
                raise Stop(f"the relay does not show this client: {problem_text(answer)}")
            lanes = {lane["name"]: lane for lane in answer.get("lanes", [])}
            lane = lanes.get(self.lane, {})
            # Kept before the first post, so that each envelope has one number for ever.
            base = self.store.set_once(
                "base", max(lane.get("highestSequence") or 0, lane.get("lastSequence") or 0))
        return int(base)

    def batch(self):
        """Returns the rows of the next post, and their lines."""
        may, rows, lines, size = self.may_send, [], [], 0
        count_max = min(may["envelopes"], may["envelopesPerBatch"], self.count_max or 10 ** 9)
        bytes_max = min(may["bytes"], may["bytesPerBatch"])
        for row in self.store.pending().fetchmany(count_max) if count_max > 0 else []:
            body_max = may.get("bodyBytesMax")
            if not row[7] and body_max is not None and len(row[5]) > body_max:
                if rows:
                    break  # First what stands before it.
                say(*self.set_aside(row, f"413 body-too-large: the relay takes {body_max} bytes at most"))
                return self.batch()
            line = self.line(row)
            if rows and size + len(line) > bytes_max:
                break
            rows.append(row)
            lines.append(line)
            size += len(line)
        return rows, lines

    def line(self, row):
        number, key, method, path, kind, body, numbered, is_void = row
        envelope = {"client": self.client, "lane": self.lane}
        if numbered:
            envelope["sequence"] = self.base() + number
        if is_void:
            envelope["void"] = True
        else:
            # The upstream knows a repeat by the field, even if the relay has forgotten the key.
            headers = {"Idempotency-Key": key}
            if kind:
                headers["Content-Type"] = kind
            envelope.update(key=key, method=method, path=path, headers=headers,
                            bodyBase64=base64.b64encode(body).decode())
        return json.dumps(envelope).encode() + b"\n"

    def post(self):
        """Posts one batch. Returns false if nothing waits."""
        rows, lines = self.batch()
        if not rows:
            if self.store.pending().fetchone() is None:
                return False
            raise Later("the relay has no room for this client")
        text = b"".join(lines)
        status, fields, answer = self.relay.call("POST", "/v1/envelopes", text, "application/x-ndjson")
        seconds = retry_after(fields, answer)
        results = (answer or {}).get("results")
        # Only the relay's own answer counts: a network's page for guests is a 200, too.
        if isinstance(results, list) and len(results) == len(rows):
            with self.store:  # One sync for all. Who is killed before it posts them again.
                told = [self.settle(row, result) for row, result in zip(rows, results)]
            self.tell(told)
            waiting = any(word == "waits" for word, *_ in told)
            self.count_max = None
            self.may_send["envelopes"] -= len(rows)
            self.may_send["bytes"] -= len(text)
            if self.may_send["envelopes"] <= 0 or self.may_send["bytes"] <= 0:
                self.may_send = None
            if waiting:
                raise Later("the relay has no room for the rest", seconds)
        elif is_for_now(status) or not is_own(answer):
            raise Later(f"the relay answers {status} {problem_text(answer or {})}", seconds)
        elif status in (400, 413, 422):
            if len(rows) > 1:
                self.count_max = len(rows) // 2
            else:
                self.count_max = None
                self.tell([self.settle(rows[0], {"result": "rejected", "problem": answer})])
        else:
            raise Stop(f"the relay refuses this device: {status} {problem_text(answer)}")
        return True

    def tell(self, outcomes):
        for word, *more in outcomes:
            if word:
                say(word, *more)

    def settle(self, row, result):
        """Writes down what became of one item. Returns the words for it, None for what nobody asked."""
        number, key, is_void = row[0], row[1], row[7]
        problem = result.get("problem") or {}
        status = problem.get("status", 0)
        kind = str(problem.get("type", "")).rsplit(":", 1)[-1]
        if result.get("result") in ("accepted", "duplicate", "coalesced", "void"):
            if is_void:
                self.store.voided(number)
                return [None]
            self.store.taken(number)
            word = "duplicate" if result["result"] == "duplicate" else "taken"
            parked = ["parked: the relay waits for", json.dumps(result["missing"])] if "missing" in result else []
            return [word, key, *parked]
        if is_for_now(status) or not is_own(problem):
            return ["waits", key, problem_text(problem)]
        if kind in ("sequence-passed", "sequence-conflict"):
            # The lane went on without this number, or another envelope has it: the key is enough.
            if is_void:
                self.store.voided(number)
            else:
                self.store.unnumber(number)
            return [None]
        if is_void:
            raise Stop(f"the relay does not take a void number: {problem_text(problem)}")
        return self.set_aside(row, problem_text(problem))

    def set_aside(self, row, why):
        self.store.refused(row[0], why)
        return ["refused", row[1], why]


def add(store, method, path, kind=""):
    key = uuid.uuid4().hex
    store.add(key, method, path, kind, sys.stdin.buffer.read())
    say("kept", key)
    return 0


def send(store, once=None):
    if once not in (None, "--once"):
        raise Stop(__doc__)
    relay = Relay(os.environ.get("WAYSTATION_SERVER", "http://127.0.0.1:8080"), os.environ.get("WAYSTATION_TOKEN"))
    code = Sender(store, relay, client(), os.environ.get("WAYSTATION_LANE", "default")).run(waits=once is None)
    waiting = store.count("refusal IS NULL OR void")
    refused = store.count("refusal IS NOT NULL AND NOT dropped")
    say(f"{waiting} wait, {refused} refused")
    return code or (REFUSED if refused else 0)


def show_list(store):
    for key, method, path, refusal in store.db.execute(
            "SELECT key, method, path, refusal FROM envelope WHERE NOT dropped ORDER BY number"):
        say("refused" if refusal else "waiting", key, method, path, refusal or "")
    return 0


def show(store, key):
    row = store.db.execute("SELECT body FROM envelope WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise Stop(f"there is no envelope {key}")
    sys.stdout.buffer.write(row[0])
    return 0


def drop(store, key):
    if not store.drop(key):
        raise Stop(f"no envelope {key} was refused")
    return 0


def client():
    name = os.environ.get("WAYSTATION_CLIENT")
    if not name:
        raise Stop("WAYSTATION_CLIENT must name the client")
    return name


def main(arguments):
    commands = {"add": (add, 2, 3), "send": (send, 0, 1), "list": (show_list, 0, 0),
                "show": (show, 1, 1), "drop": (drop, 1, 1)}
    command, least, most = commands.get(arguments[0] if arguments else "", (None, 0, 0))
    if command is None or not least <= len(arguments) - 1 <= most:
        print(__doc__, file=sys.stderr)
        return WRONG
    try:
        return command(Store(os.environ.get("WAYSTATION_OUTBOX", "outbox.db")), *arguments[1:])
    except Stop as reason:
        print(reason, file=sys.stderr)
        return WRONG


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
