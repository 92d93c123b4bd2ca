"""The real binary on one data folder, and a sink for it."""

import http.client
import json
import subprocess
import sys
import time
from pathlib import Path


def fail(words):
    """Ends the run with a sentence."""
    sys.exit(f"check-backlog: {words}")


def listening(process):
    """The address in a program's first line."""
    prefix = "listening on http://"
    line = process.stdout.readline().strip()
    if not line.startswith(prefix):
        fail(f"the first line should begin with '{prefix}', but is '{line}'")
    return line[len(prefix):]


class Relay:
    """The relay; it counts from its start."""

    def __init__(self, binary, folder, upstreams, running):
        self.begin = time.monotonic()
        named = [word for name, address in upstreams.items()
                 for word in ("--upstream", f"{name}=http://{address}")]
        self.process = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0", "--data", folder, "--log-level", "error",
             *named], stdout=subprocess.PIPE, text=True)
        running.append(self.process)
        self.address = listening(self.process)
        self.connection = http.client.HTTPConnection(self.address, timeout=60)

    def ask(self, path):
        """What is answered, and after how many milliseconds, on a connection that is kept."""
        begin = time.monotonic()
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        body = answer.read()
        took = (time.monotonic() - begin) * 1000
        if answer.status != 200:
            fail(f"GET {path} answered {answer.status}: {body[:200]}")
        return body, took

    def get(self, path):
        """The JSON that comes."""
        return json.loads(self.ask(path)[0])

    def post(self, lines):
        """Posts some envelopes, and returns what became of each."""
        self.connection.request("POST", "/v1/envelopes", "\n".join(map(json.dumps, lines)),
                                {"Content-Type": "application/x-ndjson"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 202:
            fail(f"a post was answered with {answer.status}: {text[:200]}")
        return json.loads(text)["results"]

    def resident_mib(self):
        """The most memory that it has had so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def kill(self):
        """Ends it as a power cut would."""
        self.process.kill()
        self.process.wait()
        self.connection.close()


class Sink:
    """An upstream that can be away."""

    def __init__(self, binary, running, status=200):
        self.binary = binary
        self.running = running
        self.status = str(status)
        # Bound once to find a port that is free, and stopped: it is away.
        self.process = self._run("127.0.0.1:0")
        self.address = listening(self.process)
        self.stop()

    def _run(self, address):
        process = subprocess.Popen(
            [self.binary, "sink", "--listen", address, "--quiet", "--status", self.status],
            stdout=subprocess.PIPE, text=True)
        self.running.append(process)
        return process

    def start(self):
        """Comes back."""
        self.process = self._run(self.address)

    def stop(self):
        """Goes away."""
        self.process.terminate()
        self.process.wait()
