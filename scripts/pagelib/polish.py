"""What the page shows as it should be read: figures, axes, words."""

import subprocess

from .stand import Relay, Upstream, wait_for

FORMATS = """
const done = arguments[arguments.length - 1];
Promise.all([import(new URL('status/page/format.js', document.baseURI)),
  import(new URL('status/page/chart.js', document.baseURI))]).then(([format, chart]) => done({
    rates: [0, 0.001, 0.0333, 0.5, 1.26, 9.97, 12.5, 124.667, 12345.678].map(format.rate),
    axis: [0, 0.5, 400, 30000, 1800000, 90000000].map(format.tookBriefly),
    ceilings: [0, 1, 350, 1700, 61000, 1000000, 90000000, 1e9].map(chart.durationCeiling),
  }), (e) => done(String(e)));
"""

RATES = ["0/s", "under 0.01/s", "0.03/s", "0.5/s", "1.3/s", "10/s", "13/s", "125/s", "12,346/s"]
AXIS = ["0 ms", "0.5 ms", "400 ms", "30 s", "30 min", "25 h"]
CEILINGS = [1, 1, 400, 2000, 120000, 1200000, 172800000, 1728000000]

# Labels of an axis that begin before their picture does.
CUT = """
return [...document.querySelectorAll('.chart svg .tick')].filter((tick) =>
  tick.getBoundingClientRect().left < tick.closest('svg').getBoundingClientRect().left)
  .map((tick) => tick.textContent);
"""


def writes_figures_once(trial):
    """figures are as fine as a person reads them, and what is not nothing is never 0"""
    found = trial.browser.driver.execute_async_script(FORMATS)
    expected = {"rates": RATES, "axis": AXIS, "ceilings": CEILINGS}
    assert found == expected, found


def figures_agree(trial):
    """the sentence on top and the charts' legends say the same, and no axis is cut off"""
    browser = trial.browser
    wrong = browser.run(CUT)
    assert not wrong, wrong
    told = browser.run("""
      const flow = document.querySelector('#charts-list > :first-child');
      const said = document.getElementById('verdict-more').textContent;
      return [...flow.querySelectorAll('.legend b')].map((b) => b.textContent)
        .map((figure, i) => said.includes(`${figure} ${['come in', 'are delivered', 'fail'][i]}`));
    """)
    assert told == [True, True, True], (told, browser.text("#verdict-more"),
                                        browser.text("#charts-list > :first-child .legend"))


def has_no_words_for_good(trial):
    """of what was delivered nothing is told as if it had gone wrong"""
    browser, relay = trial.browser, trial.relay
    fine = relay.post(client="fine", path="/fine")
    wait_for("it is delivered", lambda: relay.state(fine) == "delivered")
    browser.go("/find?client=fine&state=delivered")
    browser.says("#found-rows", "Delivered")
    last = browser.text("#found-rows tr td:last-child")
    assert last == "", last
    browser.go("find")


def pauses_ahead(trial):
    """a lane that nobody has heard of can be paused, and the page says before and after that it is new"""
    browser, relay = trial.browser, trial.relay
    browser.go("/find?client=fine&lane=fotos")
    browser.says("#found-note", "Nothing is kept")
    browser.press("Pause", "#found")
    browser.says("#ask-text", "The relay knows no lane fotos of fine so far.")
    trial.sound("pausing ahead")
    browser.press("Pause", "#ask")
    browser.says("#said", "Paused: lane fotos of fine, of which nothing has come so far.")
    relay.call("POST", "/v1/clients/fine/lanes/fotos/resume")
    browser.go("find")


def begins_with_a_line(trial):
    """a relay without an envelope shows the line that hands over the first, and many upstreams come last"""
    browser = trial.browser
    folder = trial.relay.folder / "empty"
    upstream = Upstream()
    names = ["default", *(f"site-{number}" for number in range(9))]
    relay = Relay(trial.relay.binary, folder, {name: {"url": upstream.url} for name in names},
                  access=False).start()
    try:
        browser.open(f"http://127.0.0.1:{relay.port}/status")
        browser.says("#first-line", "curl -i")
        trial.sound("an empty relay")
        trial.picture("first", full=True)
        order = browser.run("return [...document.querySelectorAll('main > section')].map((s) => s.id)")
        assert order.index("charts") < order.index("upstreams") < order.index("find"), order
        line = browser.text("#first-line")
        said = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout
        assert " 202 " in said.splitlines()[0], said
        browser.says("#verdict-more", "0.02/s come in")
        assert browser.run("return document.getElementById('first').hidden"), line
    finally:
        relay.stop()
        upstream.close()
        trial.afresh()
