#!/usr/bin/env python3
"""Audits a lane of a Waystation relay, without trusting the relay.

Usage: audit.py --receipts FILE --keys FILE --ledger FILE --requests FILE
                [--pin KID] [--upstream NAME] [--strip-path PREFIX] [--from NUMBER] [--json]

  --receipts    receipts of the lane: one, an answer that has some, or one of these on each line
  --keys        the relay's keys, GET /.well-known/waystation/keys
  --ledger      pages of GET /v1/clients/{client}/lanes/{lane}/ledger, one behind the other
  --requests    what the upstream got, in that order, a line each:
                {"sequence": 1, "key": "a-1", "method": "POST", "path": "/readings",
                 "headers": {"Content-Type": "application/json"}, "bodyBase64": "e30="}
                "sequence", "key", "client" and "lane" are taken from the fields Waystation-Sequence,
                Waystation-Key, Waystation-Client and Waystation-Lane where they are not given.
                Give all fields as they came: the others tell what is the relay's own
  --pin         the name of the key that you trust; else the first of the keys is trusted
  --upstream    the upstream's name, as the relay calls it (default)
  --strip-path  what the upstream's URL puts in front of each path
  --from        begin here, behind the last number of an older receipt
  --json        print one line of JSON

It says that the lane holds, or the first number that does not, and why. `waystation audit-lane` does the
same. Exit codes: 0 it holds, 1 it does not, 2 wrong use, or a file cannot be read.

Needs receipt.py beside it, Python 3.9 or later, and openssl 1.1.1 or later. docs/receipts.md has the bytes.
"""

import argparse
import bisect
import json
import sys
from typing import NamedTuple

from receipt import Wrong, counted, decode, encode, item_digest, payload, ring_in, root, sha256, trusted_keys, u64

class Row(NamedTuple):
    """A row of the ledger."""

    number: int
    digest: bytes
    link: bytes
    state: str
    # How it ended, but for the answer: status and time.
    ending: tuple
    # The hash of the answer; zeros where it is forgotten.
    response: bytes
    # The hash of all that a page says of it.
    leaf: bytes


STATES = {"waiting": 0, "delivered": 1, "failed": 2, "expired": 3, "cancelled": 4}
NO_RESPONSE = bytes(32)


class Unproven(Wrong):
    """Keys, a receipt or a page that does not hold by itself."""

    def __init__(self, document, place, words):
        super().__init__(f"{document}{'' if place is None else f' {place}'}: {words}")
        self.found = {"holds": False, "reason": document, **({} if place is None else {"place": place})}


def unproven(document, place, check, *given):
    """What a check returns; Unproven if it finds something wrong."""
    try:
        return check(*given)
    except Wrong as wrong:
        raise Unproven(document, place, wrong) from None


# The keys, receipts, and pages of the ledger: all that is signed.


def known_keys(ring, pin):
    """The keys to which one leads that is trusted."""
    if not ring:
        raise Wrong("there are none")
    known = trusted_keys(ring, pin or ring[0]["kid"])
    if not known:
        raise Wrong(f"{pin} is none of them")
    return known


def said_by(known, jws, kind):
    """What a signed text says, if somebody has signed it who is trusted."""
    name = json.loads(decode(jws.split(".")[0])).get("kid")
    if name not in known:
        raise Wrong(
            f"it is signed by the key {name}, which is none that is trusted: if the relay has made new keys since,"
            " fetch /.well-known/waystation/keys again")
    return payload(jws, known[name], kind)


def row_bytes(lane, row):
    """What a page's tree has of a row."""
    client, name = lane
    text = b"waystation.end.v1\0" + counted(client.encode()) + counted(name.encode())
    text += u64(row["sequence"]) + decode(row["digest"])
    if row["state"] == "waiting":
        return text + bytes(1 + 2 + 32 + 8)
    text += bytes([STATES[row["state"]]]) + row.get("status", 0).to_bytes(2, "big")
    return text + response_of(row) + u64(row["endedAt"])


def response_of(row):
    """The hash of the answer that a row tells of: zeros where it tells of none."""
    return decode(row["response"]) if "response" in row else NO_RESPONSE


def tree_root(leaves):
    """The root over the hashes of leaves (RFC 9162 section 2.1.1)."""
    if not leaves:
        return sha256(b"")
    while len(leaves) > 1:
        pairs = [leaves[place:place + 2] for place in range(0, len(leaves), 2)]
        leaves = [sha256(b"\1" + pair[0] + pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return leaves[0]


def verify_page(known, lines, end):
    """When a page was signed, if it was, and its rows."""
    said = said_by(known, end["jws"], "waystation-ledger+jws")
    if any(said.get(member) != end[member] for member in ("client", "lane", "first", "last")):
        raise Wrong("something else was signed than its last line says")
    lane = (end["client"], end["lane"])
    rows = [
        Row(line["sequence"], decode(line["digest"]), decode(line["link"]), line["state"],
            (line.get("status", 0), line.get("endedAt")), response_of(line),
            sha256(b"\0" + row_bytes(lane, line)))
        for line in lines]
    if said["size"] != len(rows) or said["root"] != encode(tree_root([row.leaf for row in rows])):
        raise Wrong("its rows are not those that were signed")
    numbers = [end["first"] - 1] + [row.number for row in rows]
    if any(one >= other for one, other in zip(numbers, numbers[1:])) or numbers[-1] > end["last"]:
        raise Wrong(f"its rows are not in order, or not within {end['first']} to {end['last']}")
    return said["at"], rows


def read_ledger(lines, known):
    """The lane, and its pages: when each was signed, its first and last number, and its rows."""
    lane, pages, above = None, [], []
    for line in lines:
        if "jws" not in line:
            above.append(line)
            continue
        if lane not in (None, (line["client"], line["lane"])):
            raise ValueError("the ledger is one of several lanes")
        lane = (line["client"], line["lane"])
        at, rows = unproven("page", len(pages) + 1, verify_page, known, above, line)
        pages.append((at, line["first"], line["last"], rows))
        above = []
    if not pages or above:
        raise ValueError("the ledger ends within a page" if pages else "there is no page of a ledger")
    return lane, pages


def verify_receipt(known, receipt):
    """What was signed, if the lane's head is under it."""
    said = said_by(known, receipt["jws"], "waystation-receipt+jws")
    if encode(root(receipt, said["size"])) != said["root"]:
        raise Wrong("the head of the lane is not under the root that was signed")
    return said


def read_receipts(text, lane, known, names):
    """The lane's receipts, each with what was signed."""
    try:
        answers = [json.loads(text)]
    except ValueError:
        answers = [json.loads(line) for line in text.splitlines() if line.strip()]
    receipts = [one for answer in answers for one in answer.get("receipts", [answer.get("receipt", answer)])]
    found = [
        (receipt, unproven("receipt", place, verify_receipt, known, receipt))
        for place, receipt in enumerate(receipts, start=1) if (receipt["client"], receipt["lane"]) == lane]
    if not found:
        others = [f", but of {receipt['client']}/{receipt['lane']}" for receipt in receipts[:1]]
        raise ValueError(
            f"{names.ledger} is the ledger of {'/'.join(lane)}, and {names.receipts} has no receipt of that lane"
            + "".join(others))
    return found


# What several receipts show of the relay's history.


def two_histories(receipts):
    """Raises Fault for the first two receipts of which not both can be true."""

    def place(pair):
        return pair[1]["store"], pair[1]["group"], pair[0]["last"]

    def contradict(former, later, group):
        ends = sorted((former["last"], later["last"]))
        raise Fault(*ends, "two-histories", group=group)

    before, of_chain = None, {}
    for receipt, said in sorted(receipts, key=place):
        text = decode(receipt["jws"].split(".")[1])
        if before and before[1]["store"] == said["store"]:
            former, told, former_text = before
            prev = decode(said["prev"]) if "prev" in said else None
            if said["group"] == told["group"] and text != former_text:
                contradict(former, receipt, said["group"])
            if said["group"] == told["group"] + 1 and prev != sha256(former_text):
                contradict(former, receipt, told["group"])
        # A head stands in the commit that made it, and a later one goes further.
        former, group = of_chain.get((said["store"], receipt["incarnation"]), (receipt, said["group"]))
        if (group < said["group"]) != (former["last"] < receipt["last"]):
            contradict(former, receipt, said["group"])
        before = receipt, said, text
        of_chain[said["store"], receipt["incarnation"]] = receipt, said["group"]


# What the upstream got.


def arrived(line, lane, upstream, prefix):
    """The number and the digest of a request; None if it is not one of the lane's."""
    fields = {}
    for name, values in line.get("headers", {}).items():
        fields.setdefault(name.lower(), values if isinstance(values, str) else (values + [None])[0])
    if line.get("client", fields.get("waystation-client")) not in (None, lane[0]):
        return None
    if line.get("lane", fields.get("waystation-lane")) not in (None, lane[1]):
        return None
    number = line.get("sequence", fields.get("waystation-sequence"))
    if number is None:
        return None
    if "sequence" in line and not isinstance(number, int):
        raise ValueError(f'"sequence" is no number: {number!r}')
    item = {**line, "sequence": int(number), "key": line.get("key", fields.get("waystation-key", ""))}
    item.setdefault("upstream", upstream)
    rest = line["path"][len(prefix):]
    if prefix and line["path"].startswith(prefix) and rest[:1] in ("", "/"):
        item["path"] = rest or "/"
    # The Idempotency-Key is the relay's own, or the sender's, which is covered: what the relay says
    # tells only which of the two to make the digest of.
    digest = item_digest(*lane, item)
    if encode(digest) != fields.get("waystation-item-digest"):
        headers = {name: value for name, value in line.get("headers", {}).items() if name.lower() != "idempotency-key"}
        digest = item_digest(*lane, {**item, "headers": headers})
    return item["sequence"], digest


# The chains of the receipts.


def chains(receipts, lane, begin):
    """The chains in order: each with its base and checkpoints, which are numbers with links."""
    found = []
    for incarnation in {receipt["incarnation"] for receipt, _ in receipts}:
        own = sorted(
            (receipt for receipt, _ in receipts if receipt["incarnation"] == incarnation),
            key=lambda receipt: receipt["last"])
        first, last = own[-1]["begin"], own[-1]["last"]
        if (begin or 0) > last:
            continue
        start = sha256(
            b"waystation.lane.v1\0" + counted(lane[0].encode()) + counted(lane[1].encode()) + decode(incarnation)
            + u64(first))
        base, links, contradiction = (first - 1, start), {}, None
        for receipt in own:
            if receipt["begin"] != first and contradiction is None:
                contradiction = receipt["begin"]
        for receipt in own:
            link = decode(receipt["link"])
            if links.setdefault(receipt["last"], link) != link and contradiction is None:
                contradiction = receipt["last"]
        if begin and begin > first:
            if begin - 1 not in links:
                raise ValueError(f"no receipt ends at {begin - 1}, so the audit cannot begin with {begin}")
            base = (begin - 1, links[begin - 1])
        checkpoints = [(number, link) for number, link in links.items() if number > base[0]]
        found.append((incarnation, base, checkpoints, contradiction))
    if not found:
        raise ValueError(f"no receipt goes as far as {begin}, so the audit cannot begin with it")
    return sorted(found, key=lambda chain: (chain[1][0], chain[2][-1][0]))


# The audit.


class Fault(Exception):
    """The first number that does not hold, or several where it cannot be told which."""

    def __init__(self, first, last, reason, **more):
        super().__init__(reason)
        self.first, self.last, self.reason, self.more = first, last, reason, more


def link_of(former, row):
    return sha256(b"\1" + former + u64(row.number) + row.digest)


# How long after a delivery a page may be signed that does not tell of it, in milliseconds: it was read
# before, and the clocks of several relays are not one.
CLOCKS_APART = 60_000


def merge(pages):
    """The row of each number, and the numbers of which pages contradict each other."""

    def place(told):
        # Of one time as few as possible contradict each other.
        at, row = told
        is_delivered = row.state == "delivered"
        return at, is_delivered, is_delivered and row.response == NO_RESPONSE

    merged, contradictions = {}, []
    for at, row in sorted(((page[0], row) for page in pages for row in page[3]), key=place):
        other = merged.setdefault(row.number, row)
        # Links are not signed: anybody may have changed one.
        if row.digest != other.digest or other.state == "delivered" and not remains(row, other, at):
            contradictions.append(row.number)
        if other.state != "delivered":
            merged[row.number] = row
    return [merged[number] for number in sorted(merged)], sorted(contradictions)


def remains(row, delivered, at):
    """Whether a row may be told at this time of what was delivered: nothing changes, but an answer may be forgotten."""
    if row.state != "delivered":
        return at <= delivered.ending[-1] + CLOCKS_APART
    same = (row.state, row.ending) == (delivered.state, delivered.ending)
    return same and row.response in (NO_RESPONSE, delivered.response)


def overtaken(requests, first, last):
    """The lowest number that came for the first time once a later one had come."""
    places = {}
    for place, (number, _) in enumerate(requests):
        if first <= number <= last:
            places.setdefault(number, place)
    found, earliest = None, None
    for number in sorted(places, reverse=True):
        if earliest is not None and places[earliest] < places[number]:
            found = Fault(number, number, "another-order", behind=earliest)
        else:
            earliest = number
    return found


def breach(rows, former, checkpoint, digests):
    """Whether the rows lead to a receipt, and the fault in their links."""
    link, broken = former[1], None
    for place, row in enumerate(rows):
        link = link_of(link, row)
        if broken is None and link != row.link:
            broken = place
    last = rows[-1].number if rows else None
    proven = (last, link) == checkpoint
    if broken is None and proven:
        return True, None
    if broken is None and last != checkpoint[0]:
        return False, Fault(checkpoint[0], checkpoint[0], "left-out-of-ledger")
    if broken is None:
        return False, Fault(former[0] + 1, checkpoint[0], "ledger-does-not-lead-to-receipt")
    row = rows[broken]
    if proven:
        return True, Fault(row.number, row.number, "link-does-not-follow")
    # Rows were put in if it follows from one further up.
    for place in reversed(range(broken)):
        if link_of(rows[place - 1].link if place else former[1], row) == row.link:
            return False, Fault(rows[place].number, rows[broken - 1].number, "added-to-ledger")
    before = rows[broken - 1].number if broken else former[0]
    if before + 1 < row.number and row.digest in digests.get(row.number, []):
        return False, Fault(before + 1, row.number - 1, "left-out-of-ledger")
    return False, Fault(before + 1, row.number, "link-does-not-follow")


def difference(rows, numbers, digests, proven):
    """The fault of the first number of which the upstream has something else than the ledger."""
    rows = {row.number: row for row in rows}
    for number in sorted(rows.keys() | numbers):
        row = rows.get(number)
        if row is None:
            return Fault(number, number, "not-in-ledger" if proven else "left-out-of-ledger")
        if any(digest != row.digest for digest in digests.get(number, [])):
            return Fault(number, number, "another-request-at-upstream" if proven else "changed-in-ledger")
        if number not in digests and row.state == "delivered":
            return Fault(number, number, "not-at-upstream")
    return None


def audit_between(former, checkpoint, rows, numbers, digests):
    """The first fault of the numbers behind one receipt, up to the next, but for their order."""
    proven, broken = breach(rows, former, checkpoint, digests)
    other = difference(rows, numbers, digests, proven)
    if broken is None or other is None:
        return broken or other
    # What the upstream got tells which of several numbers it is.
    certain = proven or broken.reason == "added-to-ledger"
    return other if other.first <= (broken.first - 1 if certain else broken.last) else broken


def check_signed(chain, pages, rows, contradictions):
    """Raises Fault where receipts or pages leave nothing to go by."""
    _, base, checkpoints, contradiction = chain
    first, last = base[0] + 1, checkpoints[-1][0]
    if contradiction is not None:
        raise Fault(contradiction, contradiction, "receipts-contradict")
    following = first
    for _, start, end, _ in sorted(pages, key=lambda page: page[1]):
        if start <= following:
            following = max(following, end + 1)
    if following <= last:
        raise Fault(following, following, "no-page")
    for number in contradictions:
        if first <= number <= last:
            raise Fault(number, number, "pages-contradict")
    own = slice(bisect.bisect_left(rows, first), bisect.bisect(rows, last))
    if not rows[own] and rows[own.stop:]:
        raise Fault(first, last, "chain-not-in-ledger", next=rows[own.stop])


def audit(chain, pages, rows, contradictions, requests):
    """The counts of a chain's numbers; Fault for the first that does not hold."""
    row_numbers = [row.number for row in rows]
    check_signed(chain, pages, row_numbers, contradictions)
    _, base, checkpoints, _ = chain
    first, last = base[0] + 1, checkpoints[-1][0]
    late = overtaken(requests, first, last)
    digests = {}
    for number, digest in requests:
        if first <= number <= last:
            digests.setdefault(number, []).append(digest)
    arrived_numbers = sorted(digests)

    def between(numbers, former, checkpoint):
        return slice(bisect.bisect(numbers, former[0]), bisect.bisect(numbers, checkpoint[0]))

    former = base
    for checkpoint in checkpoints:
        own = rows[between(row_numbers, former, checkpoint)]
        numbers = set(arrived_numbers[between(arrived_numbers, former, checkpoint)])
        fault = audit_between(former, checkpoint, own, numbers, digests)
        # One that came late stands before whatever is wrong behind it.
        if late and late.first <= checkpoint[0] and (fault is None or late.first < fault.first):
            raise late
        if fault:
            raise fault
        former = checkpoint
    states = [row.state for row in rows[between(row_numbers, base, checkpoints[-1])]]
    counts = {state: states.count(state) for state in [*list(STATES)[1:], "waiting"]}
    counts["givenUp"] = last - first + 1 - len(states)
    counts["repeated"] = sum(map(len, digests.values())) - len(digests)
    return counts


# Files and words.


def read(path):
    if path == "-":
        return sys.stdin.read()
    with open(path, encoding="utf-8") as file:
        return file.read()


def read_lines(path):
    """The objects on the lines of a file."""
    with sys.stdin if path == "-" else open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def run(given):
    """What is found, as --json prints it."""
    ring = ring_in(read(given.keys))
    known = unproven("keys", None, known_keys, ring, given.pin)
    lane, pages = read_ledger(read_lines(given.ledger), known)
    receipts = read_receipts(read(given.receipts), lane, known, given)
    lines = [arrived(line, lane, given.upstream, given.strip_path.rstrip("/")) for line in read_lines(given.requests)]
    requests = [line for line in lines if line is not None]
    found = {"holds": True, "client": lane[0], "lane": lane[1], "chains": []}
    rows, contradictions = merge(pages)
    counts, inside = {}, 0
    ordered = chains(receipts, lane, given.begin)
    try:
        # Links that differ say more of the same receipts, and which number it is.
        if not any(contradiction for _, _, _, contradiction in ordered):
            two_histories(receipts)
        for chain in ordered:
            first, last = chain[1][0] + 1, chain[2][-1][0]
            found["chains"].append({"incarnation": chain[0], "first": first, "last": last})
            for name, count in audit(chain, pages, rows, contradictions, requests).items():
                counts[name] = counts.get(name, 0) + count
            inside += sum(first <= number <= last for number, _ in requests)
    except Fault as fault:
        return {**found, "holds": False, "reason": fault.reason, "first": fault.first, "last": fault.last, **fault.more}
    counts.update(notCovered=len(requests) - inside, skipped=len(lines) - len(requests))
    receipt, said = sorted(receipts, key=lambda one: one[1]["at"])[-1]
    kid = json.loads(decode(receipt["jws"].split(".")[0]))["kid"]
    signature = {"issuer": said["iss"], "store": said["store"], "at": said["at"], "kid": kid}
    return {**found, **counts, **signature, "pinned": given.pin is not None}


def words(found):
    name = f"{found['client']}/{found['lane']}"
    if not found["holds"]:
        numbers = f"{found['first']}" if found["first"] == found["last"] else f"{found['first']} to {found['last']}"
        more = "".join(f", {word} {found[word]}" for word in ("behind", "next", "group") if word in found)
        return f"does not hold: {name}, {numbers}: {found['reason']}{more}"
    ranges = ", ".join(f"{chain['first']} to {chain['last']}" for chain in found["chains"])
    left = {"client", "lane", "chains", "holds"}
    return f"holds: {name}, {ranges}; " + ", ".join(f"{key} {found[key]}" for key in found if key not in left)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    for name in ("receipts", "keys", "ledger", "requests"):
        parser.add_argument(f"--{name}", required=True, help=argparse.SUPPRESS)
    for name, default in (("pin", None), ("upstream", "default"), ("strip-path", "")):
        parser.add_argument(f"--{name}", default=default, help=argparse.SUPPRESS)
    parser.add_argument("--from", dest="begin", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    words_given = sys.argv[1:]
    # The name of a key may begin with a dash.
    if "--pin" in words_given[:-1]:
        place = words_given.index("--pin")
        words_given[place:place + 2] = [f"--pin={words_given[place + 1]}"]
    given = parser.parse_args(words_given)
    try:
        found = run(given)
    except Unproven as wrong:
        found = wrong.found
        print(json.dumps(found, separators=(",", ":")) if given.json else f"does not hold: {wrong}")
        return 1
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        said = str(error) if isinstance(error, (OSError, ValueError)) else repr(error)
        print(f"cannot be read: {said}", file=sys.stderr)
        return 2
    print(json.dumps(found, separators=(",", ":"), ensure_ascii=False) if given.json else words(found))
    return 0 if found["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
