"""Devices that do as the protocol says: one post at a time, again under the same key until it is
acknowledged, waiting as long as they are told."""

import asyncio
import base64
import json
import random

from .http import Broken, Connection

# The longest that a device waits before it tries again, whatever it is told, in seconds.
WAIT_MAX = 1.0


class Device:
    """Posts numbered envelopes to one lane of the book until it is stopped."""

    # How many of its bodies go through a file of the relay's, since they are large.
    large_share = 0.01

    def __init__(self, name, book, rng, connect, timeout=15.0):
        self.name = name
        self.book = book
        self.rng = random.Random(rng.random())
        self.connection = Connection(connect, timeout)
        self.next = 0
        self.refusals = {}

    async def run(self, stopped, count=None, pause=0.0):
        """Goes on until `stopped` says so, or so many were acknowledged."""
        while not stopped() and (count is None or self.next < count):
            await self.step()
            if pause:
                await asyncio.sleep(self.rng.uniform(0, pause))

    async def step(self):
        """Posts what is next, and sees it through."""
        item = self.claim()
        await self.until_taken(lambda: self.post(item))

    def claim(self):
        """Makes the next envelope's body, and has the book know of it."""
        size = 300_000 if self.rng.random() < self.large_share else self.rng.randrange(2000)
        body = self.rng.randbytes(size)
        item = self.book.claim(self.name, self.next, body)
        self.next += 1
        return item, body

    async def post(self, claimed):
        """Posts one; its id, or None with the wait that was asked for."""
        item, body = claimed
        status, value, fields = await self._send(item, body)
        if status == 202:
            self.book.acknowledge(item, value["id"])
            return None
        return self.refused(status, value, fields)

    async def _send(self, item, body):
        if item.number % 2 == 0:
            return await self.connection.json("POST", "/v1/envelopes", self.envelope(item, body))
        status, fields, content = await self.connection.request(
            "POST", f"/v1/relay/default/{self.name}/{item.number}", body,
            [("Waystation-Client", self.name), ("Idempotency-Key", f"key-{item.number}")])
        return status, json.loads(content) if content else None, fields

    def envelope(self, item, body, **more):
        """An envelope as JSON."""
        return {"client": self.name, "key": f"key-{item.number}",
                "path": f"/{self.name}/{item.number}",
                "bodyBase64": base64.b64encode(body).decode(), **more}

    def refused(self, status, value, fields):
        """How long to wait before the same is tried again, in seconds; a fault if that is no use."""
        self.refusals[status] = self.refusals.get(status, 0) + 1
        if status not in (429, 503, 507):
            self.book.fault(f"{self.name} was answered with {status}: {value}")
        elif "retry-after" not in fields:
            self.book.fault(f"{self.name} was answered with {status} and no Retry-After: {value}")
        return min(WAIT_MAX, float(fields.get("retry-after", 0.5)))

    async def until_taken(self, attempt):
        """Tries until it is answered with what it wants."""
        wait = 0.02
        while True:
            try:
                asked = await attempt()
                if asked is None:
                    return
                await asyncio.sleep(asked)
            except Broken:
                await asyncio.sleep(self.rng.uniform(0, wait))
                wait = min(0.3, wait * 2)


class BatchDevice(Device):
    """Posts three at a time, all or nothing."""

    async def step(self):
        claimed = [self.claim() for _ in range(3)]
        await self.until_taken(lambda: self.batch(claimed))

    async def batch(self, claimed):
        """Posts them in one request."""
        status, value, fields = await self.connection.json(
            "POST", "/v1/envelopes", [self.envelope(*one) for one in claimed],
            [("Prefer", "handling=strict")])
        if status != 202:
            return self.refused(status, value, fields)
        for (item, _), result in zip(claimed, value["results"]):
            self.book.acknowledge(item, result["id"])
        return None


class HoldingDevice(Device):
    """Posts what waits to be run, and runs it."""

    async def _send(self, item, body):
        return await self.connection.json(
            "POST", "/v1/envelopes", self.envelope(item, body, hold=True))

    async def step(self):
        for _ in range(self.rng.randrange(1, 5)):
            await super().step()
        await self.run_all()

    async def run_all(self):
        """Lets all that is held go, or as much of it as one run may name."""
        ids = [item.id for item in self.book.owed() if item.lane == self.name]
        if ids:
            await self.until_taken(lambda: self._run(ids[:1000]))

    async def _run(self, ids):
        # A run is not stored: the next one names again what a restart has left held.
        status, value, fields = await self.connection.json(
            "POST", f"/v1/clients/{self.name}/run", {"ids": ids})
        return None if status in (200, 202) else self.refused(status, value, fields)


class LatestDevice(Device):
    """Posts versions of one thing, of which only the last that was acknowledged counts."""

    def __init__(self, name, book, *rest):
        super().__init__(name, book, *rest)
        book.versions.add(name)

    async def _send(self, item, body):
        return await self.connection.json(
            "POST", "/v1/envelopes", self.envelope(item, body, coalesce="state"))


class ForgettingDevice(Device):
    """Posts, and now and then takes back all that waits."""

    def __init__(self, name, book, *rest):
        super().__init__(name, book, *rest)
        book.release(name)

    async def step(self):
        await super().step()
        if self.rng.random() < 0.1:
            await self.until_taken(self._forget)

    async def _forget(self):
        status, value, fields = await self.connection.json(
            "DELETE", f"/v1/clients/{self.name}/envelopes")
        return None if status == 200 else self.refused(status, value, fields)
