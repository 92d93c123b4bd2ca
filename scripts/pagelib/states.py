"""How the page looks in states that somebody on call meets: in light, in dark, and on a phone."""

import subprocess

from .browser import DESKTOP, PHONE
from .stand import Relay, Upstream, wait_for

LANES = 123


def look(trial, name):
    """Looks at the page as it stands, in light, in dark and on a phone."""
    browser = trial.browser
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        trial.sound(f"{name}, {scheme}")
        trial.picture(f"{name}-{scheme}", full=True)
    browser.scheme("light")
    browser.size(*PHONE)
    trial.narrow(name)
    trial.sound(f"{name} on a phone")
    trial.picture(f"{name}-phone", full=True)
    browser.size(*DESKTOP)


class Stand:
    """A relay of its own, opened in the browser of the trial."""

    def __init__(self, trial, name, settings=None, **upstream):
        self.trial, self.upstream = trial, Upstream()
        folder = trial.relay.folder / name
        self.relay = Relay(trial.relay.binary, folder,
                           {"default": {"url": self.upstream.url, **upstream}}, access=False)
        self.relay.config.update(settings(self.relay) if settings else {})
        self.relay.configure()

    def __enter__(self):
        self.relay.start()
        self.trial.browser.open(f"http://127.0.0.1:{self.relay.port}/status")
        self.trial.browser.says("#link-text", "Live")
        return self.relay

    def __exit__(self, *_):
        self.relay.stop()
        self.upstream.close()
        self.trial.afresh()


def shows_all_refused(trial):
    """where everything is refused it says so first, with the upstream's words, and shows one"""
    browser = trial.browser
    with Stand(trial, "refusing") as relay:
        relay.call("POST", "/v1/envelopes", [
            {"client": f"d-{number}", "path": "/refuse"} for number in range(25)])
        browser.says("#needs", "Nothing gets through to default: it answers 422 “No such depot”")
        browser.says("#needs", "25 envelopes for default became dead letters")
        level = browser.run("return document.getElementById('verdict').dataset.level")
        assert level == "act", level
        look(trial, "all-refused")


def shows_blocked_lanes(trial):
    """lanes that stand for one reason are one line however many, and those of another reason one more"""
    browser = trial.browser
    with Stand(trial, "blocking", onFailure="block") as relay:
        relay.call("POST", "/v1/envelopes", [
            {"client": f"d-{number}", "path": "/refuse"} for number in range(LANES)])
        browser.says("#needs", f"{LANES} lanes stand: default answered 422 “No such depot”")
        relay.post(client="other", path="/gone")
        browser.says("#needs", "One lane stands: default answered 410")
        # Drawn once more, and still one line each.
        relay.post(client="later", path="/later", hold=True)
        browser.says("#verdict-text", f"{LANES + 2} envelopes waiting")
        lines = [text for text in browser.texts("#needs-list > li") if "stand" in text]
        assert len(lines) == 2, lines
        look(trial, "blocked")


def folds_a_long_list(trial):
    """of many things that need somebody the first ten are listed, and all where somebody asks"""
    browser = trial.browser
    names = [f"site-{number:02}" for number in range(14)]
    with Stand(trial, "many-needs") as relay:
        upstreams = {name: {"url": relay.config["upstreams"]["default"]["url"]} for name in names}
        relay.reload(upstreams={**relay.config["upstreams"], **upstreams})
        for name in names:
            relay.call("POST", f"/v1/upstreams/{name}/pause")
            relay.post(client="d-1", lane=name, upstream=name, path="/waits")
        browser.says("#needs-heading", "Needs you (14)")
        browser.says("#needs-fold", "Show all 14")
        assert len(browser.all("#needs-list > li")) == 10
        look(trial, "folded")
        browser.press("Show all 14", "#needs")
        browser.says("#needs-fold", "Show the first 10")
        assert len(browser.all("#needs-list > li")) == 14
        browser.press("Show the first 10", "#needs")
        browser.says("#needs-fold", "Show all 14")


def replays(trial):
    """what was delivered goes out once more, counted first, with what the relay does beside it"""
    browser = trial.browser
    with Stand(trial, "replaying") as relay:
        relay.call("POST", "/v1/envelopes", [
            {"client": f"d-{number % 7}", "path": f"/day/{number}"} for number in range(30)])
        wait_for("all are delivered", lambda: len(relay.call(
            "GET", "/v1/envelopes?state=delivered")[1]["envelopes"]) == 30)
        browser.go("/find?state=delivered&endedSince=2026-01-02T03:04:05.678Z&status=200")
        browser.says("#found-note", "answered 200, ended from")
        # What was asked for by time and status stands in the form, and is asked for again unchanged.
        browser.press("Find", "#find")
        browser.says("#found-note", "30 envelopes")
        assert "endedSince=2026-01-02T03%3A04%3A05.678Z" in browser.run("return location.hash")
        look(trial, "by-time")
        for scheme in ("dark", "light"):
            browser.scheme(scheme)
            browser.hover("#find button.main")
            trial.sound(f"a button under the mouse, {scheme}")
        browser.press("Replay all…", "#found")
        browser.press("Count them", "#ask")
        browser.says("#ask-text", "under the same Idempotency-Key")
        look(trial, "replay-asked")
        # Each copy waits, so that the replay is seen under way.
        relay.call("POST", "/v1/upstreams/default/pause")
        browser.press("Replay 30 envelopes", "#ask")
        browser.says("#said", "Done: 30 envelopes.")
        browser.go("")
        browser.says("#needs", "default is paused, and 30 envelopes wait")
        browser.says("#news", "Replaying 30 envelopes: done, all of them")
        look(trial, "replay")
        relay.call("POST", "/v1/upstreams/default/resume")
        browser.says("#verdict-text", "nothing waits")


def shows_certificate(trial):
    """a certificate that ends in three days needs somebody"""
    browser = trial.browser

    def listeners(relay):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "4", "-subj",
             "/CN=relay", "-keyout", relay.folder / "key.pem", "-out", relay.folder / "cert.pem"],
            check=True, capture_output=True)
        secured = {"certificate": str(relay.folder / "cert.pem"), "key": str(relay.folder / "key.pem")}
        return {"listen": [{"address": f"127.0.0.1:{relay.port}"},
                           {"address": "127.0.0.1:0", "tls": secured}]}

    with Stand(trial, "certified", listeners):
        browser.says("#needs", "ends in 3 days")
        look(trial, "certificate")


def shows_untrusted(trial):
    """an upstream whose certificate is not trusted is told as that"""
    browser = trial.browser
    with Stand(trial, "untrusted") as relay:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj",
             "/CN=relay", "-keyout", relay.folder / "key.pem", "-out", relay.folder / "cert.pem"],
            check=True, capture_output=True)
        server = subprocess.Popen(
            ["openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-key",
             str(relay.folder / "key.pem"), "-cert", str(relay.folder / "cert.pem")],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            port = next(line for line in server.stdout if line.startswith("ACCEPT")).split(":")[-1]
            upstream = {"url": f"https://127.0.0.1:{port.strip()}"}
            assert relay.reload(upstreams={**relay.config["upstreams"], "billing": upstream})[
                "result"] == "applied"
            for number in range(4):
                relay.post(client=f"u-{number}", upstream="billing", path="/a")
            browser.says("#needs", f"Why: the certificate of 127.0.0.1:{port.strip()} is not trusted:")
            browser.says("#upstreams", "is not trusted: self-signed certificate")
            trial.picture("untrusted", full=True)
        finally:
            server.kill()
