"""The oracle: what was acknowledged is owed, byte for byte, once, and in order."""

import hashlib
import json
import threading
from dataclasses import dataclass, field


def digest(body):
    """What two equal bodies have in common, and no two others."""
    return hashlib.sha256(body).digest()


@dataclass
class Item:
    """One envelope: claimed before it is posted, and owed once it was acknowledged."""

    lane: str
    number: int
    digest: bytes
    id: str = ""
    arrivals: int = 0
    deliveries: int = 0
    key: str = ""


@dataclass
class Book:
    """Everything that was claimed, acknowledged and seen at the upstream.

    A lane here is a path's beginning: `/LANE/NUMBER`, numbered from 0. In a strict lane numbers first
    arrive one after the other; in a lane of versions (see `versions`) a number may be passed over,
    and the last that was acknowledged is the one that counts. In a lane of `readings` the path is the
    lane, and the body says its number; one that was not acknowledged may be passed over.
    """

    items: dict = field(default_factory=dict)
    faults: list = field(default_factory=list)
    versions: set = field(default_factory=set)
    suspects: list = field(default_factory=list)
    released: set = field(default_factory=set)
    readings: set = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)
    last_arrived: dict = field(default_factory=dict)
    last_delivered: dict = field(default_factory=dict)
    acknowledged: int = 0
    arrivals: int = 0
    deliveries: int = 0
    duplicates: int = 0
    disorder: int = 0

    def claim(self, lane, number, body):
        """A device is about to post this."""
        with self.lock:
            item = Item(lane, number, digest(body))
            self.items[(lane, number)] = item
            return item

    def acknowledge(self, item, envelope_id):
        """The relay has said that it has it."""
        with self.lock:
            if not item.id:
                self.acknowledged += 1
            elif item.id != envelope_id and item.lane not in self.versions:
                self.fault(f"{item.lane}/{item.number} was stored twice: {item.id}, {envelope_id}")
            item.id = envelope_id

    def release(self, lane):
        """What waited in this lane was taken back: nothing of it is owed any more."""
        with self.lock:
            self.released.add(lane)

    def fault(self, sentence):
        """A promise was broken."""
        with self.lock:
            self.faults.append(sentence)

    def arrive(self, path, key, body, delivered):
        """A request has reached the upstream whole; it is answered with 2xx or not."""
        lane, number = self._place(path, body)
        with self.lock:
            self.arrivals += 1
            item = self.items.get((lane, number))
            if item is None:
                return self.fault(f"{path} arrived, and nobody had posted it")
            if item.digest != digest(body):
                self.fault(f"{path} was changed on its way")
            self._know(item, key)
            if item.arrivals == 0:
                self._order(item, self.last_arrived, "arrived")
            item.arrivals += 1
            if delivered:
                self._deliver(item)
            return None

    def _place(self, path, body):
        if (lane := path.strip("/")) in self.readings:
            return lane, json.loads(body)["number"]
        lane, _, number = path.strip("/").rpartition("/")
        return lane, int(number)

    def _know(self, item, key):
        if item.key and item.key != key:
            self.fault(f"{item.lane}/{item.number} came as {item.key} and as {key}")
        item.key = key

    def _deliver(self, item):
        if item.deliveries == 0:
            self.deliveries += 1
            self._order(item, self.last_delivered, "was delivered")
        else:
            self.duplicates += 1
        item.deliveries += 1

    def _order(self, item, last, what):
        before = last.get(item.lane, -1)
        loose = item.lane in self.versions or item.lane in self.released
        passed = [self.items[(item.lane, number)] for number in range(before + 1, item.number)]
        if item.lane in self.readings:
            passed = [one for one in passed if one.id]
        if item.number <= before or (passed and not loose):
            self.disorder += 1
            self.fault(f"{item.lane}/{item.number} {what} after number {before}")
            self.suspects += passed
        last[item.lane] = max(before, item.number)

    def owed(self):
        """What was acknowledged and has not been delivered yet."""
        with self.lock:
            newest = {}
            for item in self.items.values():
                if item.lane in self.versions and item.id:
                    newest[item.lane] = max(newest.get(item.lane, -1), item.number)
            return [
                item for item in self.items.values()
                if item.id and not item.deliveries and item.lane not in self.released
                and newest.get(item.lane, item.number) == item.number]

    def let_go(self):
        """How many were acknowledged, never delivered, and are not owed either: whoever posted them
        took them back, or put another version in their place."""
        with self.lock:
            undelivered = sum(1 for item in self.items.values() if item.id and not item.deliveries)
            return undelivered - len(self.owed())
