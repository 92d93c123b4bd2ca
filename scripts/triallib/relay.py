"""The real binary, started, killed and started again, and what it takes of the machine."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent


def build(*products):
    """The folder of the release binary, built where WAYSTATION_BINARY names none."""
    named = os.environ.get("WAYSTATION_BINARY")
    if named:
        return Path(named).resolve().parent
    subprocess.run([TOP / "scripts/setup", "build"], check=True)
    for product in products:
        subprocess.run(["swift", "build", "-c", "release", "--product", product], cwd=TOP,
                       check=True, stdout=sys.stderr)
    return TOP / ".build/release"


@dataclass
class Figures:
    """What a process and its data folder take."""

    memory: int
    descriptors: int
    disk: int


class Relay:
    """One relay on one folder."""

    def __init__(self, binary, folder, configuration, environment=None, namespace=None):
        self.binary = str(binary)
        self.folder = Path(folder)
        self.data = configuration["data"]
        self.host, _, self.port = configuration["listen"].rpartition(":")
        self.environment = {**os.environ, **(environment or {})}
        self.namespace = namespace
        self.process = None
        self.log = (self.folder / "relay.log").open("ab")
        self.file = self.folder / "config.json"
        self.file.write_text(json.dumps(configuration), encoding="utf-8")

    async def start(self, seconds=30):
        """Starts it, and waits until it listens."""
        command = [self.binary, "serve", "--config", str(self.file),
                   "--listen", f"{self.host}:{self.port}"]

        def spawn():
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                    env=self.environment)

        # A child is born into the namespace of the thread that starts it.
        self.process = self.namespace.run(spawn) if self.namespace else spawn()
        line = await asyncio.wait_for(asyncio.to_thread(self.process.stdout.readline), seconds)
        if not line.startswith("listening on http://"):
            log = Path(self.log.name).read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"the relay did not start: {line!r}; its log ends with {log[-2000:]}")
        self.port = int(line.strip().rpartition(":")[2])
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def signal(self, number):
        """Sends a signal to the process that runs."""
        self.process.send_signal(number)

    async def end(self, number, seconds=60):
        """Sends a signal, and waits for the end; the exit status."""
        self.signal(number)
        return await asyncio.wait_for(asyncio.to_thread(self.process.wait), seconds)

    def log_holds(self, words):
        """Whether it has said so at some time."""
        return words in Path(self.log.name).read_text(encoding="utf-8", errors="replace")

    def figures(self):
        """Reads them; None while no process runs."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
            memory = next(line for line in status.splitlines() if line.startswith("VmRSS"))
            descriptors = len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except (OSError, StopIteration):
            return None
        return Figures(int(memory.split()[1]) * 1024, descriptors, disk_bytes(self.data))

    def close(self):
        """Leaves nothing behind."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        self.log.close()


def disk_bytes(folder):
    """How many bytes a folder's files take on disk."""
    total = 0
    for path in Path(folder).rglob("*"):
        try:
            total += path.lstat().st_blocks * 512
        except OSError:
            pass  # Gone meanwhile.
    return total
