"""What happens to a relay and those around it: drawn from a seed, one thing after the other.

The draws depend on the seed alone and not on how far the relay has come, so that the same seed
decides the same faults, in the same order, after the same waits.
"""

import asyncio
import ctypes
import errno
import os
import random
import signal
import struct
import subprocess
import time
from pathlib import Path

from .http import Broken, Connection
from .upstream import MOODS

DAY = 86_400
YEARS = 3650 * DAY


class Clock:
    """The time of day as the relay sees it; Tests/ClockShim is the other side."""

    def __init__(self, folder, library):
        self.path = Path(folder) / "clock-control"
        self.path.write_bytes(bytes(8))
        self.library = library
        self.environment = {"WAYSTATION_CLOCK_CONTROL": str(self.path)}

    def set(self, ahead):
        """Sets it so many seconds ahead, or back."""
        file = os.open(self.path, os.O_WRONLY)
        os.pwrite(file, struct.pack("q", ahead), 0)
        os.close(file)


class FailingCalls:
    """System calls on a folder that fail for a while; Tests/DiskShim is the other side, and its header
    says where what stands."""

    SLOTS = 16
    WORD_BYTES, PATH_BYTES = 8, 128
    IS_ON, CALLS, ERROR, SKIP, COUNT, MATCHED, INJECTED = range(7)
    # What changes the disk: open, write, truncate, sync, rename, unlink, mkdir.
    WRITES, SYNCS, CHANGES = 2, 8, 127
    # Which calls, and what they fail with; 0 stands for writes that write half.
    WAYS = ((CHANGES, errno.EIO), (SYNCS, errno.EIO), (WRITES, errno.EIO), (CHANGES, errno.ENOSPC),
            (WRITES, errno.EDQUOT), (WRITES, 0))

    def __init__(self, folder, library, watched):
        self.path = Path(folder) / "disk-control"
        self.path.write_bytes(bytes(self.SLOTS * self.WORD_BYTES + self.PATH_BYTES))
        self.library = library
        self.environment = {
            "WAYSTATION_DISK_CONTROL": str(self.path), "WAYSTATION_DISK_FOLDER": str(watched)}
        self.injected = 0

    def begin(self, way, skip, count):
        """Lets calls fail after so many have passed: so many of them, or all (0)."""
        calls, error = way
        for slot, value in ((self.CALLS, calls), (self.ERROR, error), (self.SKIP, skip),
                            (self.COUNT, count), (self.MATCHED, 0), (self.INJECTED, 0),
                            (self.IS_ON, 1)):
            self.put(slot, value)

    def end(self):
        """Lets nothing fail any more."""
        self.put(self.IS_ON, 0)
        self.injected += self.get(self.INJECTED)

    def put(self, slot, value):
        """Sets one of the words that the relay's process looks at."""
        with self.path.open("r+b", buffering=0) as file:
            file.seek(slot * self.WORD_BYTES)
            file.write(struct.pack("q", value))

    def get(self, slot):
        """Reads one of them."""
        with self.path.open("rb", buffering=0) as file:
            file.seek(slot * self.WORD_BYTES)
            return struct.unpack("q", file.read(self.WORD_BYTES))[0]


def preloaded(*parts):
    """The environment of a process that all of these are loaded into."""
    environment = {"LD_PRELOAD": ":".join(str(part.library) for part in parts)}
    for part in parts:
        environment.update(part.environment)
    return environment


class Disk:
    """A file system of its own, small enough to be filled; or the folder itself where mounting one is
    not allowed, and then it is never full."""

    def __init__(self, folder, megabytes):
        self.path = Path(folder) / "disk"
        self.path.mkdir()
        self.filler = self.path / "filler"
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(self.path)]
        self.is_mounted = os.geteuid() == 0 and subprocess.run(
            command, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def fill(self):
        """Leaves no room."""
        if not self.is_mounted:
            return
        block = bytes(1 << 20)
        with self.filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(block)
            except OSError:
                pass

    def clear(self):
        """Gives the room back."""
        self.filler.unlink(missing_ok=True)

    def close(self):
        """Leaves nothing behind."""
        if self.is_mounted:
            # Lazily: what is still open goes away with its last descriptor.
            ctypes.CDLL(None, use_errno=True).umount2(str(self.path).encode(), 2)


class Faults:
    """Draws what happens next, and has it happen."""

    KINDS = (
        ("killed", 4), ("ended", 2), ("stood still", 2), ("upstream", 6), ("devices cut off", 3),
        ("clock", 3), ("disk full", 2), ("disk failed", 3), ("paused", 2))

    def __init__(self, seed, relay, upstream, clock, disk, calls, devices):
        self.rng = random.Random(f"faults {seed}")
        self.relay = relay
        self.upstream = upstream
        self.clock = clock
        self.disk = disk
        self.calls = calls
        self.devices = devices
        self.counts = {}
        self.lines = []
        self.begin = time.monotonic()

    async def run(self, seconds):
        """Goes on for so long."""
        while time.monotonic() - self.begin < seconds:
            wait, kind, values = self.draw()
            await asyncio.sleep(wait)
            await self.happen(kind, values)
        await self.restart_if_ended()

    def draw(self):
        """What comes next: a wait, a kind, and all the random numbers that it takes."""
        names, weights = zip(*self.KINDS)
        kind = self.rng.choices(names, weights)[0]
        return self.rng.uniform(0.1, 1.5), kind, [self.rng.random() for _ in range(3)]

    async def happen(self, kind, values):
        """Does one of them."""
        word = kind
        await self.restart_if_ended()
        if kind == "killed":
            await self.relay.end(signal.SIGKILL)
            await self.relay.start()
        elif kind == "ended":
            status = await self.relay.end(signal.SIGTERM)
            if status != 0:
                self.upstream.book.fault(f"the relay ended with {status} on SIGTERM")
            await self.relay.start()
        elif kind == "stood still":
            self.relay.signal(signal.SIGSTOP)
            await asyncio.sleep(2 * values[0])
            self.relay.signal(signal.SIGCONT)
        elif kind == "upstream":
            mood = MOODS[1 + int(values[0] * (len(MOODS) - 1))]
            word = f"upstream {mood}"
            await self.upstream.be(mood)
            await asyncio.sleep(0.2 + 2 * values[1])
            await self.upstream.be("well")
        elif kind == "devices cut off":
            for device in self.devices:
                device.connection.cut()
        elif kind == "clock":
            step = (60, 3600, -3600, DAY, -DAY, YEARS, -int(time.time()))[int(values[0] * 7)]
            self.clock.set(step)
            await asyncio.sleep(3 * values[1])
            if values[2] < 0.3:
                await self.relay.end(signal.SIGKILL)
                await self.relay.start()
            self.clock.set(0)
        elif kind == "disk full":
            self.disk.fill()
            await asyncio.sleep(0.5 + 2 * values[0])
            self.disk.clear()
        elif kind == "disk failed":
            await self.fail(values)
        elif kind == "paused":
            await self.pause(values)
        self.counts[word] = self.counts.get(word, 0) + 1
        self.lines.append(f"{time.monotonic() - self.begin:8.2f} {word}")

    async def fail(self, values):
        """Lets the disk fail, once or for a while, and sometimes the relay dies meanwhile."""
        way = self.calls.WAYS[int(values[0] * len(self.calls.WAYS))]
        count = int(values[1] * 4)
        self.calls.begin(way, skip=int(values[2] * 20), count=count)
        await asyncio.sleep(0.3 + 2 * values[1])
        if values[2] < 0.3:
            await self.relay.end(signal.SIGKILL)
        self.calls.end()
        if values[2] < 0.3:
            await self.relay.start()
        await self.restart_if_ended()

    async def restart_if_ended(self):
        """Does what a supervisor does: a sync of the log that fails ends the relay."""
        status = self.relay.process.poll()
        if status is None:
            return
        if status != 1 or not self.relay.log_holds("the store's log cannot be synced"):
            self.upstream.book.fault(f"the relay ended with {status} by itself")
        self.counts["log not synced"] = self.counts.get("log not synced", 0) + 1
        await self.relay.start()

    async def pause(self, values):
        """Somebody pauses an upstream or a client, and resumes it."""
        device = self.devices[int(values[0] * len(self.devices))]
        what = "upstreams/default" if values[1] < 0.3 else f"clients/{device.name}"
        # Of its own, since its connection is not to be cut together with the devices'.
        connection = Connection(device.connection.connect)
        for word in ("pause", "resume"):
            await insist(connection, "POST", f"/v1/{what}/{word}")
            if word == "pause":
                await asyncio.sleep(2 * values[2])
        connection.cut()


async def insist(connection, method, path, seconds=30):
    """Asks until the relay has done it; a client that nothing is known of cannot be paused."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            status, _, _ = await connection.json(method, path)
            if status < 300 or status == 404:
                return
        except Broken:
            pass
        await asyncio.sleep(0.1)
    raise RuntimeError(f"{method} {path} was not answered in {seconds} s")
