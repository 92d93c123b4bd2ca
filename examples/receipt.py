#!/usr/bin/env python3
"""Verifies a receipt of a Waystation relay, without trusting the relay.

Usage: receipt.py RECEIPT KEYS ITEMS [KID]

  RECEIPT  the receipt: a file with the JSON of "receipt", or of the whole answer that has one
  KEYS     the relay's keys, GET /.well-known/waystation/keys: a file, or its URL
  ITEMS    what was sent in the lane, a line each, from the receipt's "begin" to its "last":
           {"sequence": 1, "key": "a-1", "upstream": "default", "method": "POST", "path": "/readings",
            "headers": {"Content-Type": "application/json"}, "bodyBase64": "e30="}
           Numbers that were given up are left out.
  KID      the name of the key that you trust; else the first of KEYS is trusted

It says what the receipt proves. Exit codes: 0 everything holds, 1 something does not, 2 wrong use.

Needs Python 3.9 or later, and openssl 1.1.1 or later. docs/receipts.md has the bytes.
"""

import base64
import datetime
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import urllib.request

COVERED = ["content-type", "idempotency-key"]
# The beginning of an Ed25519 public key in DER (RFC 8410 section 4).
SPKI = bytes.fromhex("302a300506032b6570032100")


class Wrong(Exception):
    """Something that does not hold."""


def sha256(data):
    return hashlib.sha256(data).digest()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def counted(data):
    return len(data).to_bytes(4, "big") + data


def u64(number):
    return number.to_bytes(8, "big")


# What is covered of an item, and the chain of its lane.


def item_digest(client, lane, item):
    """The digest of one item, as the relay has taken it."""
    body = base64.b64decode(item.get("bodyBase64", ""), validate=True)
    headers = []
    for name in COVERED:
        for given, values in item.get("headers", {}).items():
            if given.lower() == name:
                headers += [(name, value) for value in (values if isinstance(values, list) else [values])]
    # The key itself stands above.
    headers = [header for header in headers if header != ("idempotency-key", item.get("key", ""))]
    text = b"waystation.item.v1\0" + counted(client.encode()) + counted(lane.encode()) + u64(item["sequence"])
    text += counted(item.get("key", "").encode()) + counted(item.get("upstream", "default").encode())
    text += counted(item.get("method", "POST").encode()) + counted(item["path"].encode())
    text += len(headers).to_bytes(4, "big")
    for name, value in headers:
        text += counted(name.encode()) + counted(value.encode())
    return sha256(text + u64(len(body)) + sha256(body))


def link(receipt, items):
    """The link of the last number, by what was sent."""
    client, lane = receipt["client"], receipt["lane"]
    links = sha256(
        b"waystation.lane.v1\0" + counted(client.encode()) + counted(lane.encode()) + decode(receipt["incarnation"])
        + u64(receipt["begin"]))
    for item in items:
        if receipt["begin"] <= item["sequence"] <= receipt["last"]:
            links = sha256(b"\x01" + links + u64(item["sequence"]) + item_digest(client, lane, item))
    return links


# The tree of heads (RFC 9162 section 2.1), and the signature.


def root(receipt, size):
    """The root to which the receipt's path leads."""
    head = b"waystation.head.v1\0" + counted(receipt["client"].encode()) + counted(receipt["lane"].encode())
    node = sha256(b"\0" + head + u64(receipt["first"]) + u64(receipt["last"]) + decode(receipt["link"]))
    place, last = receipt["leaf"], size - 1
    if not 0 <= place <= last:
        raise Wrong("there is no such leaf in the tree")
    for sibling in map(decode, receipt["path"]):
        if last == 0:
            raise Wrong("the path is too long for the tree")
        if place % 2 == 1 or place == last:
            node = sha256(b"\1" + sibling + node)
            while place % 2 == 0 and place > 0:
                place, last = place >> 1, last >> 1
        else:
            node = sha256(b"\1" + node + sibling)
        place, last = place >> 1, last >> 1
    if last != 0:
        raise Wrong("the path is too short for the tree")
    return node


def is_signed(x, message, signature):
    """Whether a key has signed a message."""
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("key.der", "message", "signature")]
        for name, data in zip(names, (SPKI + x, message, signature)):
            with open(name, "wb") as file:
                file.write(data)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", names[0]]
        command += ["-rawin", "-in", names[1], "-sigfile", names[2]]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def payload(jws, key, kind):
    """What a compact JWS (RFC 7515) says, once it is known that the key has signed it."""
    header, body, signature = jws.split(".")
    fields = json.loads(decode(header))
    if fields.get("alg") != "EdDSA" or fields.get("typ") != kind:
        raise Wrong(f"it is signed as {fields.get('alg')} {fields.get('typ')}, and not as EdDSA {kind}")
    if not is_signed(decode(key["x"]), f"{header}.{body}".encode(), decode(signature)):
        raise Wrong(f"the signature is not one of the key {key['kid']}")
    return json.loads(decode(body))


def thumbprint(key):
    return encode(sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{key["x"]}"}}'.encode()))


def trusted_keys(keys, trusted):
    """The keys to which one leads that is trusted (docs/receipts.md, "To follow a ring")."""
    known = {}
    for key in keys:
        if key["kid"] != thumbprint(key):
            raise Wrong(f"{key['kid']} is not the name of its key")
        if known:
            said = payload(key["endorsement"], before, "waystation-key+jws")
            if said.get("x") != key["x"]:
                raise Wrong(f"the key before {key['kid']} has signed another one")
        if known or key["kid"] == trusted:
            known[key["kid"]] = before = key
    return known


def verify(receipt, keys, items, trusted):
    """Returns what the receipt proves; raises Wrong if it proves nothing."""
    known = trusted_keys(keys, trusted)
    name = json.loads(decode(receipt["jws"].split(".")[0])).get("kid")
    if name not in known:
        raise Wrong(
            f"it is signed by the key {name}, which is none that is trusted: if the relay has made new keys since,"
            " fetch /.well-known/waystation/keys again")
    said = payload(receipt["jws"], known[name], "waystation-receipt+jws")
    if encode(root(receipt, said["size"])) != said["root"]:
        raise Wrong("the head of the lane is not under the root that was signed")
    if encode(link(receipt, items)) != receipt["link"]:
        raise Wrong(f"what was sent is not what the receipt speaks of, from {receipt['begin']} to {receipt['last']}")
    return said


def one_receipt(answer):
    """The receipt in an answer."""
    if "title" in answer and "status" in answer:
        raise ValueError(f"the file holds a problem of the relay: {answer.get('detail', answer['title'])}")
    receipts = answer.get("receipts", [answer.get("receipt", answer)])
    if len(receipts) != 1 or "jws" not in receipts[0]:
        raise ValueError(f"the file holds {len(receipts) if 'receipts' in answer else 'no'} receipts: one is wanted")
    return receipts[0]


def read(source):
    if source.startswith(("http://", "https://")):
        with urllib.request.urlopen(source, timeout=30) as answer:
            return answer.read().decode()
    with open(source, encoding="utf-8") as file:
        return file.read()


def ring_in(text):
    """The keys of a JSON Web Key Set (RFC 7517)."""
    ring = json.loads(text)
    if not isinstance(ring, dict) or not isinstance(ring.get("keys"), list):
        raise ValueError("the keys are no JSON Web Key Set, as /.well-known/waystation/keys shows it")
    return ring["keys"]


def main():
    if len(sys.argv) not in (4, 5):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        receipt = one_receipt(json.loads(read(sys.argv[1])))
        keys = ring_in(read(sys.argv[2]))
        items = [json.loads(line) for line in read(sys.argv[3]).splitlines() if line.strip()]
        items.sort(key=lambda item: item["sequence"])
        said = verify(receipt, keys, items, sys.argv[4] if len(sys.argv) == 5 else keys[0]["kid"])
    except Wrong as wrong:
        print(f"does not hold: {wrong}", file=sys.stderr)
        return 1
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        words = str(error) if isinstance(error, (OSError, ValueError)) else repr(error)
        print(f"cannot be read: {words}", file=sys.stderr)
        return 2
    kid = json.loads(decode(receipt["jws"].split(".")[0]))["kid"]
    trust = "which you trust" if len(sys.argv) == 5 else "whose ring you have not pinned"
    when = datetime.datetime.fromtimestamp(said["at"] / 1000, datetime.timezone.utc)
    print(
        f"{said['iss']} has {receipt['begin']} to {receipt['last']} of {receipt['client']}/{receipt['lane']}: "
        f"signed {when:%Y-%m-%d %H:%M:%S} UTC by {kid}, {trust}; group {said['group']} of store {said['store']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
