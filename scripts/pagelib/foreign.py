"""What websites of others can do to a relay on one's own machine that has no credentials."""

import http.server
import threading
from pathlib import Path

from .browser import Browser
from .stand import Relay, Upstream

# A page that tries what a page can: to steer by fetch and by a form, and to read.
TRY = """
const done = arguments[arguments.length - 1], relay = arguments[0], found = [];
const tries = [
  ['POST', '/v1/upstreams/default/pause'], ['POST', '/v1/clients/till-1/run'],
  ['POST', '/v1/relay/default/fetched'], ['GET', '/v1/relay/default/got'],
  ['GET', '/status'], ['GET', '/v1/envelopes'], ['GET', '/v1/events'],
];
(async () => {
  for (const [method, path] of tries) {
    for (const mode of ['no-cors', 'cors']) {
      try {
        const answer = await fetch(relay + path, {method, mode, signal: AbortSignal.timeout(3000)});
        found.push([method, path, mode, answer.type, answer.status]);
      } catch (error) {
        found.push([method, path, mode, 'error', 0]);
      }
    }
  }
  const image = new Image();
  image.onload = image.onerror = () => done(found);
  image.src = relay + '/v1/relay/default/image';
})();
"""

SEND_FORM = """
const form = document.createElement('form');
form.method = 'post'; form.action = arguments[0] + '/v1/upstreams/default/pause';
document.body.append(form); form.submit();
"""


class Website(http.server.ThreadingHTTPServer):
    """Somebody's website: an empty page."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Page)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>A website</title><p>Nothing to see")

    def log_message(self, *_):
        pass


def websites_can_do_nothing(trial):
    """a website can neither steer nor read a relay without credentials, by its own name or another's"""
    folder = Path(trial.relay.folder).parent / (trial.relay.folder.name + "-open")
    upstream, website = Upstream(), Website()
    relay = Relay(trial.relay.binary, folder, {"default": {"url": upstream.url}}, access=False).start()
    browser = Browser("--host-resolver-rules=MAP *.example 127.0.0.1")
    port = website.server_address[1]
    try:
        held = relay.post(client="till-1", path="/held", hold=True)

        def untouched(what):
            assert relay.state(held) == "held", f"{what}: the envelope was run"
            paused = [u for u in relay.status()["upstreams"] if u.get("paused")]
            assert not paused, f"{what}: {paused}"
            assert not upstream.paths, f"{what}: the upstream was sent {upstream.paths}"

        # From another origin: one by name, one by another port of the same address, and localhost.
        for host in ("evil.example", "127.0.0.1", "localhost"):
            browser.open(f"http://{host}:{port}/")
            found = browser.driver.execute_async_script(TRY, f"http://127.0.0.1:{relay.port}")
            readable = [row for row in found if row[3] not in ("error", "opaque")]
            assert len(found) == 14 and not readable, f"{host}: {readable}"
            untouched(f"fetch from {host}")
            browser.run(SEND_FORM, f"http://127.0.0.1:{relay.port}")
            browser.says("body", "urn:waystation:problem:cross-site")
            untouched(f"a form of {host}")
        # A name that was made to mean the relay: to the browser it is the page's own origin.
        browser.open(f"http://rebound.example:{relay.port}/healthz")
        found = browser.driver.execute_async_script(TRY, f"http://rebound.example:{relay.port}")
        read = [row for row in found if row[4] not in (0, 421)]
        assert len([row for row in found if row[4] == 421]) == 14, f"a rebound name: {read or found}"
        untouched("a rebound name")
        # And the relay's own page goes on, here as well as by the name of this machine.
        for host in ("127.0.0.1", "localhost"):
            browser.open(f"http://{host}:{relay.port}/status")
            browser.go("/client/till-1")
            browser.press("Pause", "#panel .card")
            browser.press("Pause", "#ask")
            browser.says("#said", "Paused: lane default of till-1.")
            status, _ = relay.call("POST", "/v1/clients/till-1/lanes/default/resume")
            assert status == 200, status
    finally:
        browser.quit()
        relay.stop()
        website.shutdown()
