"""A relay with tokens, upstreams that do as they are told, and calls to both."""

import http.client
import http.server
import json
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

START_SECONDS = 20
WAIT_SECONDS = 20


class Upstream(http.server.ThreadingHTTPServer):
    """Takes whatever it is sent; refuses what comes under /refuse while it `refuses`.

    One that is `fleeting` keeps no connection, so that nothing of it is left once it is closed.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port=0, fleeting=False):
        self.refuses = True
        self.fleeting = fleeting
        self.paths = []
        self.bodies = {}  # by path, with the fields of the request
        super().__init__(("127.0.0.1", port), _Answer)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """A relay that was stopped has cut its connections."""

    def close(self):
        """Goes away: nobody listens at its port any more."""
        self.shutdown()
        self.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.paths.append(self.path)
        self.server.bodies[self.path] = (body, dict(self.headers))
        if self.path.startswith("/refuse") and self.server.refuses:
            status, kind = 422, "application/problem+json"
            body = {"type": "about:blank", "title": "No such depot", "errorId": "DEPOT-17"}
        elif self.path == "/gone":
            status, kind, body = 410, "application/json", {}
        else:
            status, kind, body = 200, "application/json", {"stored": True, "number": 17}
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("X-Api-Token", "not-for-every-eye")
        self.send_header("Content-Length", str(len(data)))
        if self.server.fleeting:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = _answer

    def log_message(self, *_):
        pass


def free_port():
    """A port on which nobody listens, so far."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Relay:
    """The real binary on a store of its own. It keeps its port over restarts."""

    def __init__(self, binary, folder, upstreams, access=True):
        self.binary = str(binary)
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.tokens = {}
        self.process = None
        config = {"name": "depot-7", "upstreams": upstreams, "data": str(self.folder / "data"),
                  "listen": [f"127.0.0.1:{self.port}"], "shutdownGraceSeconds": 1}
        if access:
            config["access"] = {"operators": self._operators()}
        self.config = config
        self.configure()

    def configure(self, **more):
        """Writes its configuration, with other members besides."""
        (self.folder / "config.json").write_text(json.dumps({**self.config, **more}))

    def reload(self, **more):
        """Has it take up another configuration, and returns what came of it."""
        before = self.status()["configuration"].get("lastReload")
        self.configure(**more)
        self.process.send_signal(signal.SIGHUP)

        def news():
            reload = self.status()["configuration"].get("lastReload")
            return reload if reload != before else None
        return wait_for("what came of a reload", news)

    def _operators(self):
        operators = {}
        for name, role in (("reader", "read"), ("steersman", "steer")):
            lines = subprocess.run([self.binary, "token", "hash", "--new"], check=True,
                                   capture_output=True, text=True).stdout.splitlines()
            words = dict(line.split(None, 1) for line in lines if len(line.split()) == 2)
            self.tokens[role] = words["token"].strip()
            operators[name] = {"role": role, "tokenSHA256": words["tokenSHA256"].strip()}
        return operators

    def start(self):
        """Starts it, and waits until it listens."""
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", "--config", str(self.folder / "config.json")],
                stdout=log, stderr=log)
        wait_for("the relay listens", lambda: self.status(), START_SECONDS)
        return self

    def stop(self, how=signal.SIGKILL):
        """Ends it, as a power cut would unless it is told otherwise."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(timeout=30)

    def call(self, method, path, body=None, token="steer", headers=None):
        """A call's status and JSON; None for what cannot be connected to."""
        fields = {"Content-Type": "application/json", **(headers or {})}
        if token and self.tokens:
            fields["Authorization"] = f"Bearer {self.tokens[token]}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), fields)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text or "null")
        except ConnectionError:
            return None
        finally:
            connection.close()

    def status(self):
        """What /status says; None while it does not answer."""
        answer = self.call("GET", "/status", token="read")
        return answer[1] if answer and answer[0] == 200 else None

    def post(self, **envelope):
        """Posts an envelope and returns its id."""
        status, answer = self.call("POST", "/v1/envelopes", envelope)
        if status != 202:
            raise AssertionError(f"a post was answered {status}: {answer}")
        return answer["id"]

    def state(self, envelope_id):
        """Where an envelope is."""
        return self.call("GET", f"/v1/envelopes/{envelope_id}")[1].get("state")

    def log(self):
        """The last lines of its log."""
        return "\n".join((self.folder / "log").read_text(errors="replace").splitlines()[-15:])


def wait_for(what, question, seconds=WAIT_SECONDS):
    """Asks until the answer is true, and returns it; fails once the time is up."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s in vain until {what}")
        time.sleep(0.05)
