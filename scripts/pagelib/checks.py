"""What the page has to do, check after check: each goes on where the one before has ended."""

from .browser import DESKTOP, PHONE
from .configured import tells_what_is_in_force
from .edits import edits_and_settles, edits_what_is_there
from .foreign import websites_can_do_nothing
from .news import differences_are_news, is_told_at_any_rate, many_are_one_line
from .polish import (
    begins_with_a_line, figures_agree, has_no_words_for_good, pauses_ahead, writes_figures_once)
from .stand import wait_for
from .states import (
    folds_a_long_list, replays, shows_all_refused, shows_blocked_lanes, shows_certificate,
    shows_untrusted)

HOSTILE_CLIENT = "<img/src=x/onerror=hurt()>"
HOSTILE_LANE = "<b>bold</b>"
HOSTILE_TAG = "\"><script>hurt()</script>"

# An hour's history as the relay gives it, for which nobody has to wait an hour.
HISTORY = """
const real = window.fetch;
window.fetch = (where, options) => {
  if (!String(where).includes('/v1/history')) return real(where, options);
  const from = Date.now() - 3600000;
  const points = Array.from({length: 60}, (_, i) => ({at: new Date(from + i * 60000).toISOString(),
    accepted: 600, delivered: i < 30 ? 600 : 300, failed: 6, waiting: i < 30 ? 0 : (i - 30) * 294,
    p50Ms: 40, p99Ms: i < 30 ? 900 : 60000 * (i - 29)}));
  return Promise.resolve(new Response(JSON.stringify({stepSeconds: 60,
    from: new Date(from).toISOString(), points}), {headers: {'Content-Type': 'application/json'}}));
};
"""


def asks_for_a_token(trial):
    """it asks for a token, says when it is wrong, and keeps it in this tab alone"""
    browser = trial.browser
    browser.open(trial.url)
    browser.one("#sign-in-token")
    assert browser.focused() == "sign-in-token", browser.focused()
    trial.sound("signing in")
    trial.picture("sign-in")
    browser.fill("#sign-in-token", "wso_" + "0" * 64)
    browser.press("Use it", "#sign-in")
    browser.says("#sign-in-error", "oken")
    trial.sign_in("read")
    browser.says("#verdict-text", "nothing waits; nothing needs you.")
    kept = browser.run("return [sessionStorage.length, localStorage.length, document.cookie]")
    assert kept == [1, 0, ""], kept


def tells_as_it_happens(trial):
    """it says in one sentence how the relay stands, as it happens, and what needs somebody first"""
    browser, relay = trial.browser, trial.relay
    browser.says("#link-text", "Live")
    trial.blocked = relay.post(client="truck-7", path="/refuse/visits", tag="visit",
                               onFailure="block", body={"minutes": 15})
    for number in range(3):
        relay.post(client="truck-7", path=f"/visits/{number}")
    for number in range(5):
        relay.post(client="kiosk-2", lane="photos", path=f"/refuse/{number}", tag="photos")
    relay.post(client=HOSTILE_CLIENT, lane=HOSTILE_LANE, tag=HOSTILE_TAG, key=HOSTILE_CLIENT,
               path="/refuse/x?<script>hurt()</script>".replace("<", "%3C").replace(">", "%3E"),
               onFailure="block")
    for number in range(40):
        relay.post(client=f"pump-{number % 3}", upstream="billing", path=f"/invoices/{number}")
    relay.call("POST", "/v1/upstreams/archive/pause")
    relay.post(client="pump-9", upstream="archive", path="/old")
    browser.says("#verdict-text", "2 of 3 upstreams reachable; 46 envelopes waiting, the oldest")
    browser.says("#verdict-text", "5 things need you.")
    browser.says("#needs", "billing cannot be reached")
    browser.says("#needs", "2 lanes stand: default answered 422 “No such depot”")
    browser.says("#needs", "Nothing gets through to default: it answers 422")
    browser.says("#needs", "5 envelopes for default became dead letters")
    browser.says("#needs", "archive is paused, and one envelope waits")
    browser.says("#notes", "5 dead letters kept")
    browser.says("#news", "default answered 422 “No such depot”")
    browser.says("#news", "Upstream archive was paused")
    assert browser.run("return document.title") == "(5) depot-7, Waystation"
    browser.says(".brand", "depot-7")
    order = browser.run("return [...document.querySelectorAll('main > section')].map((s) => s.id)")
    assert order.index("needs") < order.index("upstreams") < order.index("charts"), order
    assert browser.run("return document.querySelectorAll('#charts path.line').length") >= 5
    browser.says("#charts-note", "Kept by the relay, one figure each 60 seconds; the last one is")
    trial.sound("the overview")
    trial.picture("light", full=True)


def hostile_names_are_names(trial):
    """names that are markup stay names, and the browser would refuse to make markup of them"""
    browser = trial.browser
    browser.says("#backlogs", HOSTILE_CLIENT)
    browser.go(f"/find?client={HOSTILE_CLIENT.replace('=', '%3D')}")
    browser.says("#found-rows", HOSTILE_TAG)
    browser.press(HOSTILE_CLIENT, "#found-rows")
    browser.says("#panel-heading", f"Client {HOSTILE_CLIENT}")
    browser.says("#panel-body", HOSTILE_LANE)
    made = browser.run("return document.querySelectorAll('main img, dialog img, main script,"
                       " #needs b, #panel-body h4 b, iframe').length")
    assert made == 0, f"{made} elements were made of names"
    refused = browser.run("try { document.createElement('p').innerHTML = '<i>x</i>'; return 0; }"
                          " catch (error) { return error instanceof TypeError; }")
    assert refused, "the page may make markup of text"
    *trial.console, said = trial.browser.errors()
    assert "TrustedHTML" in said, said
    browser.key("ESCAPE")


def who_reads_cannot_steer(trial):
    """a token that may only look is told so, and another one may be given"""
    browser = trial.browser
    browser.go("")
    browser.press("Pause", "#upstreams li:first-child")
    browser.says("#ask-text", "there now")
    browser.press("Pause", "#ask")
    browser.says("#ask-error", "may only look")
    trial.sound("a refusal")
    browser.press("Leave it", "#ask")
    browser.press("Change token", ".top")
    trial.sign_in("steer")
    browser.says("#link-text", "Live")


def finds(trial):
    """it finds envelopes by client, lane, tag, state, upstream and id"""
    browser = trial.browser
    for field, text, words in (("client", "truck-7", "4 envelopes"),
                               ("lane", "photos", "5 envelopes"), ("tag", "visit", "1 envelope,")):
        browser.press("Clear", "#find")
        browser.fill(f"#find-form [name={field}]", text)
        browser.key("ENTER")
        browser.says("#found-note", words)
    browser.press("Clear", "#find")
    browser.run("const f = document.getElementById('find-form').elements;"
                "f.state.value = 'waiting'; f.upstream.value = 'billing'")
    browser.press("Find", "#find")
    browser.says("#found-note", "40 envelopes")
    trial.sound("what was found")
    trial.picture("found")
    browser.press("Clear", "#find")
    browser.fill("#find-form [name=client]", trial.blocked)
    browser.press("Find", "#find")
    browser.says("#panel-body", trial.blocked)


def tells_a_story(trial):
    """one envelope's story: each attempt in words, the answer with its secrets hidden"""
    browser = trial.browser
    for words in ("Accepted", "Attempt 1: refused", "status 422", "DEPOT-17", "truck-7", "visit"):
        browser.says("#panel-body", words)
    browser.press("Show it", "#panel")
    browser.says("#panel-body", "\"title\": \"No such depot\"")
    text = browser.text("#panel-body")
    assert "not-for-every-eye" not in text, "a secret is shown"
    trial.sound("a story")
    trial.picture("story")
    browser.key("ESCAPE")
    assert not browser.run("return document.getElementById('panel').open")


def discards(trial):
    """discarding asks first, with the count of what waits behind, and is not what Enter does"""
    browser = trial.browser
    browser.press("Discard", "#needs")
    browser.says("#ask-heading", "Discard 1 envelope?")
    browser.says("#ask-text", "Nothing waits behind it.")
    assert browser.focused() == "ask-no", browser.focused()
    browser.press("Discard it", "#ask")
    browser.says("#verdict-text", "4 things need you.")
    browser.says("#notes", "6 dead letters kept")
    # What had the focus is gone: it went to the heading, not to nowhere.
    assert browser.focused().startswith("needs-heading"), browser.focused()


def settles_many(trial):
    """all that a filter matches is requeued: counted first, then done, with its progress"""
    browser, relay = trial.browser, trial.relay
    browser.go("/find?state=failed&tag=photos")
    browser.says("#found-note", "5 envelopes")
    trial.upstream.refuses = False
    browser.press("Requeue all…", "#found")
    browser.says("#ask-text", "failed, with tag photos")
    browser.press("Count them", "#ask")
    browser.says("#ask-heading", "Requeue 5 envelopes?")
    trial.sound("acting on many")
    trial.picture("many")
    browser.press("Requeue 5 envelopes", "#ask")
    browser.says("#said", "Done: 5 envelopes.")
    browser.says("#found-note", "Nothing is kept that is failed")
    wait_for("they are delivered", lambda: len(relay.call(
        "GET", "/v1/envelopes?tag=photos&state=delivered")[1]["envelopes"]) == 5)


def pauses_and_probes(trial):
    """an upstream is resumed, probed and tried, a lane paused, and what waits of a client or in a lane forgotten"""
    browser, relay = trial.browser, trial.relay
    browser.go("")
    browser.press("Resume", "#needs")
    browser.press("Resume", "#ask")
    browser.says("#said", "Resumed: upstream archive.")
    browser.press("Probe now", "#needs")
    browser.says("#said", "Probing billing")
    names = [text.split("\n")[0] for text in browser.texts("#upstreams li.card")]
    place = names.index("billing") + 1
    browser.press("Try to connect", f"#upstreams li.card:nth-child({place})")
    browser.says("#said", "billing cannot be used: ")
    browser.go("/client/pump-1")
    browser.says("#panel-body", "13")
    browser.press("Pause", "#panel .card")
    browser.press("Pause", "#ask")
    browser.says("#said", "Paused: lane default of pump-1.")
    browser.says("#panel-body .card", "Paused")
    trial.sound("a client")
    trial.picture("client")
    browser.press("Forget all that waits", "#panel")
    browser.press("Cancel 13 envelopes", "#ask")
    browser.says("#said", "13 envelopes cancelled.")
    assert relay.call("GET", "/v1/clients/pump-1")[1]["waiting"] == 0
    browser.key("ESCAPE")
    for lane in ("one", "two"):
        relay.post(client="lander-1", lane=lane, path="/x", hold=True)
    browser.go("/client/lander-1")
    browser.says("#panel-body", "2 lanes")
    browser.press("Forget", "#panel .card")
    browser.press("Cancel 1 envelope", "#ask")
    browser.says("#said", "1 envelope cancelled.")
    lanes = relay.call("GET", "/v1/clients/lander-1")[1]["lanes"]
    assert {lane["name"]: lane["waiting"] for lane in lanes} == {"one": 0, "two": 1}, lanes
    browser.key("ESCAPE")


def works_by_keyboard(trial):
    """the keyboard is enough: a way past the top, a focus that is seen, and back where one was"""
    browser = trial.browser
    trial.afresh()
    browser.says("#link-text", "Live")
    browser.run("document.body.focus()")
    browser.key("TAB")
    assert browser.focused() == "Skip to how it stands", browser.focused()
    browser.key("ENTER")
    assert browser.focused() == "verdict", browser.focused()
    browser.key("TAB")
    outline = browser.run("return getComputedStyle(document.activeElement).outlineWidth")
    assert outline == "3px", outline
    link = browser.one("#backlogs a")
    browser.run("arguments[0].focus()", link)
    name = browser.focused()
    browser.key("ENTER")
    browser.says("#panel-body", "lane")
    assert browser.focused() == "panel-heading", browser.focused()
    browser.key("ESCAPE")
    assert browser.focused() == name, browser.focused()
    # Where that has gone, the heading above it is the place to go on from.
    link = browser.one("#backlogs a")
    browser.run("arguments[0].focus()", link)
    browser.key("ENTER")
    # A link is followed a moment after the key.
    wait_for("the panel", lambda: browser.run("return document.getElementById('panel').open"))
    browser.run("arguments[0].remove()", link)
    browser.key("ESCAPE")
    tag = browser.run("return document.activeElement.tagName")
    assert tag == "H2", (tag, browser.focused())


def says_what_it_misses(trial):
    """it says that the connection is lost, keeps what it knows, and says when it is back"""
    browser, relay = trial.browser, trial.relay
    shown = browser.text("#verdict-text")
    browser.run("window.heard = []; const line = document.getElementById('announce');"
                "new MutationObserver(() => window.heard.push(line.textContent))"
                ".observe(line, {childList: true, characterData: true, subtree: true})")
    relay.stop()
    browser.says("#lost-text", "Connection lost at")
    assert browser.one("#lost").is_displayed()
    assert browser.text("#verdict-text").split(";")[0] == shown.split(";")[0]
    trial.sound("a lost connection")
    trial.picture("lost")
    browser.press("Try now", "#lost")
    relay.start()
    # Unless it has found out by itself meanwhile.
    browser.pressed("Try now", "#lost")
    browser.says("#link-text", "Live")
    assert browser.run("return document.getElementById('lost').hidden")
    wait_for("a screen reader is told", lambda: any(
        "The connection is back." in text for text in browser.run("return window.heard")))
    relay.post(client="truck-8", path="/refuse", onFailure="block")
    browser.says("#news", "The relay was started")


def is_dark_where_asked(trial):
    """it is dark where the system is, with contrasts that can be read"""
    browser = trial.browser
    browser.scheme("dark")
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(17, 20, 24)", ground
    trial.sound("the overview in the dark")
    trial.picture("dark", full=True)
    browser.go(f"/envelope/{trial.blocked}")
    browser.says("#panel-body", "Accepted")
    trial.sound("a story in the dark")
    browser.key("ESCAPE")
    browser.scheme("light", motion="reduce")
    moves = browser.run("return getComputedStyle(document.documentElement).scrollBehavior"
                        " + getComputedStyle(document.querySelector('button')).transitionDuration")
    assert moves == "auto0s", moves
    browser.scheme("light")


def fits_a_phone(trial):
    """on a phone nothing is cut off: the overview, what was found, a story, a question"""
    browser = trial.browser
    browser.size(*PHONE)
    browser.go("/find?client=truck-7")
    browser.says("#found-note", "4 envelopes")
    trial.narrow("the overview")
    trial.sound("the overview on a phone")
    trial.picture("phone", full=True)
    browser.go(f"/envelope/{trial.blocked}")
    browser.says("#panel-body", "Accepted")
    trial.narrow("a story")
    trial.sound("a story on a phone")
    trial.picture("phone-story")
    browser.key("ESCAPE")
    browser.press("Pause", "#upstreams li:first-child")
    browser.says("#ask-heading", "Pause upstream")
    trial.narrow("a question")
    browser.key("ESCAPE")
    browser.size(320, 700)
    trial.narrow("the overview at 320")
    browser.size(*DESKTOP)


def lets_go(trial):
    """a page that was left holds no connection: the eighth visit is as quick as the first"""
    for _ in range(8):
        trial.afresh()
        trial.browser.says("#verdict-text", "upstreams reachable")


def draws_history(trial):
    """the relay's history is drawn, with the figures as a table"""
    browser = trial.browser
    script = browser.driver.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument", {"source": HISTORY})
    try:
        trial.afresh()
        browser.says("#charts-note", "Kept by the relay")
        label = browser.run("return document.querySelector('#charts-list > :last-child [role=img]')"
                            ".getAttribute('aria-label')")
        assert "From acceptance to delivery" in label and "half of them: now 40 ms" in label, label
        browser.press("As a table", "#charts")
        browser.says("#charts tbody", "10/s")
        figures_agree(trial)
        trial.sound("the history")
        trial.picture("history", full=True)
        browser.press("Since opened", "#charts")
        browser.says("#charts-note", "since you opened this page")
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def says_nothing_wrong(trial):
    """the console has nothing of scripts that failed, or of rules that were broken"""
    expected = ("status of 401", "status of 403", "net::ERR_")
    said = trial.console + trial.browser.errors()
    wrong = [line for line in said if not any(word in line for word in expected)]
    assert not wrong, "\n".join(wrong)


ALL = [
    asks_for_a_token, tells_as_it_happens, hostile_names_are_names,
    tells_what_is_in_force, who_reads_cannot_steer, finds,
    tells_a_story, edits_and_settles, edits_what_is_there,
    discards, settles_many, pauses_and_probes, works_by_keyboard,
    says_what_it_misses, is_dark_where_asked, fits_a_phone, lets_go, draws_history,
    websites_can_do_nothing, differences_are_news, many_are_one_line, is_told_at_any_rate,
    writes_figures_once, has_no_words_for_good, pauses_ahead, begins_with_a_line, shows_all_refused,
    shows_blocked_lanes, shows_certificate, shows_untrusted, folds_a_long_list, replays,
    says_nothing_wrong,
]
