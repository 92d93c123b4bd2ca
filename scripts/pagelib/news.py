"""What the page tells of what has happened, at any rate of events."""

import threading

from .stand import Relay, Upstream, free_port

BATCH = 400

# Two readings of /status each, for pairs that nobody can bring about at will.
DIFFERENCES = """
const done = arguments[arguments.length - 1];
const status = (more) => ({startedAt: 't0', state: 'running', configuration: {}, needs: [],
  upstreams: [], ...more});
const up = (more) => ({name: 'billing', configured: true, reachable: true, paused: false,
  since: 't0', ...more});
const need = (more) => ({kind: 'lanes-blocked', severity: 'warning', upstream: 'default',
  status: 422, title: '2 lanes stand: default answered 422', ...more});
const pairs = {
  nothing: [status({upstreams: [up()]}), status({upstreams: [up()]})],
  away: [status({upstreams: [up()]}),
    status({upstreams: [up({reachable: false, since: 't1', lastError: 'no way'})]})],
  flip: [status({upstreams: [up()]}), status({upstreams: [up({since: 't2'})]})],
  flop: [status({upstreams: [up({reachable: false})]}),
    status({upstreams: [up({reachable: false, since: 't2'})]})],
  restart: [status({upstreams: [up({reachable: false})]}),
    status({startedAt: 't1', upstreams: [up({since: 't1'})]})],
  pause: [status({upstreams: [up()]}), status({upstreams: [up({paused: true})]})],
  change: [status({upstreams: [up()]}), status({upstreams: [up({name: 'other'})]})],
  sick: [status({}), status({upstreams: [up({reachable: false, since: 't1', paused: true})]})],
  more: [status({needs: [need()]}),
    status({needs: [need({title: '3 lanes stand: default answered 422'})]})],
  other: [status({needs: [need()]}),
    status({needs: [need(), need({status: 409, title: 'one lane stands'})]})],
  worse: [status({needs: [need()]}), status({needs: [need({severity: 'critical'})]})],
  over: [status({needs: [need()]}), status({})],
  reload: [status({}), status({configuration: {lastReload: {at: 't1', result: 'refused',
    problems: ['limits']}}})],
};
import(new URL('status/page/differences.js', document.baseURI)).then(({differences}) => done(
  Object.fromEntries(Object.entries(pairs).map(([name, [before, after]]) =>
    [name, differences(before, after).map(({words}) => words)]))), (e) => done(String(e)));
"""

EXPECTED = {
    "nothing": [],
    "away": ["billing cannot be reached"],
    "flip": ["billing could not be reached for a while, and can be again"],
    "flop": ["billing cannot be reached again, after it could be for a while"],
    "restart": ["The relay was started"],
    "pause": ["Upstream billing was paused"],
    "change": ["Upstream other was added", "Upstream billing was removed"],
    "sick": ["Upstream billing was added", "billing cannot be reached", "Upstream billing was paused"],
    "more": [],
    "other": ["One lane stands"],
    "worse": ["2 lanes stand: default answered 422"],
    "over": ["Over: 2 lanes stand: default answered 422"],
    "reload": ["A reload was refused, and the configuration before it goes on"],
}


class Crowd:
    """Devices that hand over batch after batch, so that far more than 300 things happen a second."""

    def __init__(self, relay):
        self.relay = relay
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._post, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    def _post(self):
        number = 0
        while not self.is_over.is_set():
            batch = [{"client": f"crowd-{i % 50}", "path": f"/{number}/{i}"} for i in range(BATCH)]
            self.relay.call("POST", "/v1/envelopes", batch)
            number += 1


def is_told_at_any_rate(trial):
    """an upstream that dies and comes back is news while hundreds of things happen every second"""
    browser = trial.browser
    folder = trial.relay.folder / "crowd"
    port = free_port()
    upstream, flaky = Upstream(), Upstream(port, fleeting=True)
    quick = {"retry": {"firstDelayMs": 50, "maxDelayMs": 200},
             "reachability": {"firstProbeDelayMs": 100, "maxProbeDelayMs": 200}}
    relay = Relay(trial.relay.binary, folder, {
        "default": {"url": upstream.url},
        "flaky": {"url": f"http://127.0.0.1:{port}", **quick}}, access=False).start()
    try:
        browser.open(f"http://127.0.0.1:{relay.port}/status")
        browser.says("#link-text", "Live")
        browser.says("#news-note", "Nothing out of the ordinary")
        with Crowd(relay):
            browser.says("#verdict-more", "/s come in")
            flaky.close()
            for number in range(4):
                relay.post(client=f"f-{number}", upstream="flaky", path="/a")
            browser.says("#news-list", "flaky cannot be reached")
            flaky = Upstream(port, fleeting=True)
            browser.says("#news-list", "flaky can be reached again")
            assert browser.text("#link-text") == "Live", browser.text("#link-text")
        trial.sound("the news")
    finally:
        relay.stop()
        upstream.close()
        flaky.close()
        trial.afresh()


def differences_are_news(trial):
    """news is what differs from one state to the next, told once, and what came and went between them"""
    found = trial.browser.driver.execute_async_script(DIFFERENCES)
    assert found == EXPECTED, found


def many_are_one_line(trial):
    """what is done with many envelopes at once is one line, and says how it ended"""
    browser, relay = trial.browser, trial.relay
    browser.says("#link-text", "Live")
    for number in range(6):
        relay.post(client=f"news-{number}", path="/held", tag="news", hold=True)
    status, _ = relay.call("POST", "/v1/operations", {
        "action": "cancel", "filter": {"tag": "news", "state": "held"}})
    assert status == 202, status
    browser.says("#news-list", "Cancelling 6 envelopes: done, all of them")
    told = [text for text in browser.texts("#news-list li") if "Cancelling" in text]
    assert len(told) == 1, told
    assert "cancelled" not in browser.text("#news-list"), browser.text("#news-list")
    relay.call("POST", "/v1/upstreams/archive/pause")
    browser.says("#news-list", "Upstream archive was paused")
    relay.call("POST", "/v1/upstreams/archive/resume")
    browser.says("#news-list", "Upstream archive was resumed")
