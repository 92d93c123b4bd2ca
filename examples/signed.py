#!/usr/bin/env python3
"""Verifies what a device has signed of the requests that an upstream got, without trusting the relay in between.

Usage: signed.py KEYS REQUESTS CLIENT LANE [--from NUMBER] [--upstream NAME] [--strip-path PREFIX]

  KEYS          the device's public keys: a JSON Web Key, or a set of them
  REQUESTS      what the upstream got, in that order, a line each, with all fields as they came:
                {"method": "POST", "path": "/readings", "headers": {"Item-Signature": "eyJ…",
                 "Idempotency-Key": "a-1", "Content-Type": "application/json"}, "bodyBase64": "e30="}
  CLIENT, LANE  whose lane it is
  --from        the number to begin with
  --upstream    the upstream's name, as the device gives it (default)
  --strip-path  what the upstream's URL puts in front of each path

It says that the lane holds, or the first number that does not, and why. `waystation audit-lane --device-keys`
does the same. Exit codes: 0 it holds, 1 it does not, 2 wrong use, or a file cannot be read.

Needs receipt.py beside it, Python 3.9 or later, and openssl 1.1.1 or later. docs/receipts.md has the bytes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

from receipt import decode, encode, is_signed, item_digest, sha256

# What stands before the coordinates of a P-256 public key in DER (RFC 5480).
P256 = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004")


class Fault(Exception):
    """The first number that does not hold."""

    def __init__(self, number, reason, behind=None):
        super().__init__(f"number {number}: {reason}" + ("" if behind is None else f", behind {behind}"))


# Keys and signatures.

NUMBER_MAX = 2**53 - 1


def exactly(text):
    """The bytes of Base64 for URLs, of which each has one text alone."""
    data = decode(text)
    if encode(data) != text:
        raise ValueError("it is not in Base64 for URLs")
    return data


def is_number(value):
    return type(value) is int and 1 <= value <= NUMBER_MAX


def checked(said):
    """What is said, if it is what devices say."""
    former, voids = said.get("former"), said.get("voids", [])
    holds = isinstance(said["client"], str) and isinstance(said["lane"], str) and is_number(said["sequence"])
    holds = holds and len(exactly(said["digest"])) == 32 and isinstance(voids, list)
    holds = holds and all(is_number(v["first"]) and is_number(v["last"]) and v["first"] <= v["last"] for v in voids)
    if "former" in said:
        holds = holds and is_number(former["sequence"]) and former["sequence"] < said["sequence"]
        holds = holds and len(exactly(former["hash"])) == 32
    if not holds:
        raise ValueError("it is no statement")
    said["anew"] = said.get("anew") is True
    return said


def thumbprint(key):
    names = ("crv", "kty", "x") if key["kty"] == "OKP" else ("crv", "kty", "x", "y")
    members = ",".join(f'"{name}":"{key[name]}"' for name in names)
    return encode(sha256(f"{{{members}}}".encode()))


def der(signature):
    """The two numbers of an ECDSA signature as DER."""
    numbers = b""
    for number in (signature[:32], signature[32:]):
        number = number.lstrip(b"\0")
        if not number or number[0] & 0x80:
            number = b"\0" + number
        numbers += bytes([2, len(number)]) + number
    return bytes([0x30, len(numbers)]) + numbers


def is_signed_p256(key, message, signature):
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("key.der", "message", "signature")]
        for name, data in zip(names, (P256 + decode(key["x"]) + decode(key["y"]), message, der(signature))):
            with open(name, "wb") as file:
                file.write(data)
        command = ["openssl", "dgst", "-sha256", "-keyform", "DER", "-verify", names[0], "-signature", names[2], names[1]]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def statement(jws, keys):
    """What is said in a field, and whether one of the keys has signed it; (None, False) if it cannot be read."""
    try:
        header, body, signature = jws.split(".")
        fields, said, signature = json.loads(exactly(header)), json.loads(exactly(body)), exactly(signature)
        said = checked(said)
        said["hash"] = encode(sha256(exactly(body)))
        if fields["typ"] != "waystation-item+jws" or fields["alg"] not in ("EdDSA", "ES256") or "crit" in fields:
            return None, False
        key = keys.get(fields["kid"])
        if key is None or len(signature) != 64:
            return said, False
        message = f"{header}.{body}".encode()
        if key["kty"] == "OKP":
            return said, fields["alg"] == "EdDSA" and is_signed(decode(key["x"]), message, signature)
        return said, fields["alg"] == "ES256" and is_signed_p256(key, message, signature)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None, False


# What came.


def arrived(line, given, keys):
    """The number of a request, its digest, and what is signed of it; None if it is not of the lane."""
    headers = {name.lower(): value for name, value in line.get("headers", {}).items()}
    fields = headers.get("item-signature", [])
    fields = fields if isinstance(fields, list) else [fields]
    said, holds = statement(fields[0], keys) if fields else (None, False)
    # A device puts one in: of several nobody says which is meant.
    holds = holds and len(fields) == 1
    told = said or {}
    client = line.get("client", headers.get("waystation-client", told.get("client", given.client)))
    lane = line.get("lane", headers.get("waystation-lane", told.get("lane", given.lane)))
    number = line.get("sequence", headers.get("waystation-sequence", told.get("sequence")))
    if (client, lane) != (given.client, given.lane) or number is None:
        # One without a number that may be of this lane, as a device's that does not sign.
        return "unsigned" if (client, lane) == (given.client, given.lane) and said is None else None
    if "sequence" not in line and isinstance(number, str) and number.isascii() and number.isdigit():
        number = int(number)
    if not is_number(number):
        raise ValueError(f"a line has {number} for a number")
    path, prefix = line["path"], given.strip_path.rstrip("/")
    if prefix and path.startswith(prefix) and path[len(prefix):len(prefix) + 1] in ("/", ""):
        path = path[len(prefix):] or "/"
    key = line.get("key", headers.get("waystation-key", headers.get("idempotency-key", "")))
    digest = item_digest(client, lane, {
        "sequence": number, "key": key, "upstream": line.get("upstream", given.upstream),
        "method": line.get("method", "POST"), "path": path, "bodyBase64": line.get("bodyBase64", ""),
        "headers": {name: value for name, value in headers.items() if name == "content-type"}})
    if not fields:
        return number, digest, None, "unsigned"
    if not holds or (said.get("client"), said.get("lane"), said.get("sequence")) != (client, lane, number):
        return number, digest, None, "device-signature"
    return number, digest, said, None if said["digest"] == encode(digest) else "changed-after-signing"


def audit(requests, begin):
    """How many numbers hold; Fault for the first that does not."""
    came, highest = {}, 0
    for number, _, said, fault in requests:
        known = came.setdefault(number, [None, None, None])
        if said is not None and known[0] is not None and known[0]["hash"] != said["hash"]:
            known[1] = known[1] or "signed-twice"
        if said is not None and known[0] is None:
            # Numbers that nobody has signed say nothing of the order of others.
            known[0], known[2] = said, highest if number < highest else None
            highest = max(highest, number)
        known[1] = known[1] or fault
    void = sorted((span["first"], span["last"]) for said, _, _ in came.values() if said for span in said.get("voids", []))

    def is_void(number):
        return any(first <= number <= last for first, last in void)

    def first_outside(number, end):
        for first, last in void:
            if first <= number <= last:
                number = last + 1
        return number if number < end else None

    numbers = sorted(number for number in came if number >= begin)
    first = next((number for number in numbers if came[number][0]), None)
    former, count = None, 0
    for number in numbers:
        said, fault, behind = came[number]
        if said is None:
            # The lane was not signed yet.
            if first is not None and number < first and fault == "unsigned":
                continue
            raise Fault(number, fault)
        before, anew = said.get("former"), said.get("anew", False)
        lowest = former + 1 if former else max(begin, before["sequence"] if before else number)
        # One that begins anew still names the last that it knows to be signed.
        missing = first_outside(lowest, number if not anew else before["sequence"] + 1 if before else 0)
        if missing is not None:
            # The lane's first statements may have been taken away.
            raise Fault(missing, "unsigned" if missing in came else "missing-at-upstream")
        if fault:
            raise Fault(number, fault)
        if before is None:
            follows = former is None or anew
        else:
            known = came.get(before["sequence"], [None])[0]
            follows = known is None or known["hash"] == before["hash"]
            # What came in between was given up later, or the device had forgotten it.
            follows = follows and (anew or not former or before["sequence"] >= former or is_void(former))
        if not follows:
            raise Fault(number, "another-history")
        if behind is not None:
            raise Fault(number, "another-order-than-signed", behind)
        former, count = number, count + 1
    return count, first, former


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    for name in ("keys", "requests", "client", "lane"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.add_argument("--from", dest="begin", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--upstream", default="default", help=argparse.SUPPRESS)
    parser.add_argument("--strip-path", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not is_number(given.begin):
        parser.error("--from takes the number of an item")
    try:
        with open(given.keys, encoding="utf-8") as file:
            found = json.load(file)
        keys = {thumbprint(key): key for key in found.get("keys", [found])}
        with open(given.requests, encoding="utf-8") as file:
            lines = [arrived(json.loads(line), given, keys) for line in file if line.strip()]
        count, first, last = audit([line for line in lines if isinstance(line, tuple)], given.begin)
    except Fault as fault:
        print(f"does not hold: {given.client}/{given.lane}, {fault}")
        return 1
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        print(f"cannot be read: {error if isinstance(error, (OSError, ValueError)) else repr(error)}", file=sys.stderr)
        return 2
    left_out = sum(not isinstance(line, tuple) for line in lines)
    unsigned = lines.count("unsigned")
    if count:
        print(f"holds: {given.client}/{given.lane}, {count} numbers are signed, {first} to {last}")
    else:
        print(f"does not hold: {given.client}/{given.lane}, nothing came that a device has signed")
    if left_out:
        print(f"left out: {left_out} lines, of which {unsigned} may be of this lane, and are not signed")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
