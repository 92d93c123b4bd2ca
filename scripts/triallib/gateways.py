"""Gateways on the device's library (examples/gateway): fed with lines, and killed in the middle."""

import asyncio
import json
import random
import subprocess
from pathlib import Path

# What a gateway says on its standard error that no honest relay and no bad link excuses.
BROKEN_PROMISES = ("no proof for", "the relay has lost", "damaged:", "stands at")


class Gateway:
    """Feeds one gateway with numbered readings; each that it acknowledges is owed.

    What it was given and did not acknowledge before it was killed may have been kept or not, and is not
    given again.
    """

    # How often it is killed: once in so many steps.
    steps_per_kill = 12

    def __init__(self, name, book, rng, command, folder, namespace):
        self.name = name
        self.book = book
        self.rng = random.Random(rng.random())
        # The longest wait is short here: a link that comes back is to be used within the trial.
        self.command = [str(word) for word in command] + [
            "--folder", f"{folder}/{name}", "--client", name, "--path", f"/{name}", "--wait-max", "1",
            "--acknowledge"]
        self.namespace = namespace
        self.log = Path(folder) / f"{name}.log"
        self.process = None
        self.next = 0
        self.kills = 0
        book.readings.add(name)

    async def run(self, stopped, pause):
        """Goes on until `stopped` says so; what is left is sent afterwards."""
        while not stopped():
            await self.step()
            await asyncio.sleep(self.rng.uniform(0, pause))

    async def step(self):
        """Hands some readings over, and kills the gateway now and then while it takes them."""
        if self.process is None:
            self.start()
        claimed = [self.claim() for _ in range(self.rng.randrange(1, 4))]
        is_killed = self.rng.randrange(self.steps_per_kill) == 0
        self.process.stdin.write(b"".join(line for _, line in claimed))
        self.process.stdin.flush()
        if is_killed:
            await asyncio.sleep(self.rng.uniform(0, 0.01))
            self.process.kill()
        for item, _ in claimed:
            said = await asyncio.to_thread(self.process.stdout.readline)
            if not said.startswith(b"kept "):
                break
            self.book.acknowledge(item, said.split()[1].decode())
        else:
            said = b"kept"
        if is_killed:
            self.kills += 1
            self.close()
        elif not said:
            self.book.fault(f"{self.name} ended by itself with {self.process.wait()}")
            self.close()

    def claim(self):
        """Makes the next reading, and has the book know of it."""
        body = json.dumps({"number": self.next, "pad": self.rng.randbytes(
            self.rng.randrange(600)).hex()}).encode()
        item = self.book.claim(self.name, self.next, body)
        self.next += 1
        return item, body + b"\n"

    def start(self):
        """Starts it in its namespace."""
        with self.log.open("ab") as log:
            self.process = self.namespace.run(lambda: subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log))

    def audit(self):
        """Reads what it has said, and notes what should not be there."""
        for line in self.log.read_text(encoding="utf-8").splitlines():
            if line.startswith(BROKEN_PROMISES):
                self.book.fault(f"{self.name}: {line}")

    def close(self):
        """Leaves no process behind."""
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass  # What was left to be written is what it was killed in the middle of.
        self.process = None
