"""When a browser first paints the operators' page, and when the page says how things are."""

from pagelib.browser import Browser
from pagelib.stand import wait_for

from .asking import Figure

PAINTS = 9
PAINT_MS_MAX = 1000.0
# Runs in the page before its own scripts: notes when the heading first says something of the relay.
WATCH = """
const first = "Asking the relay";
new MutationObserver((_, observer) => {
  const heading = document.getElementById("verdict-text");
  if (!heading || heading.textContent.startsWith(first)) return;
  window.toldAfter = performance.now();
  observer.disconnect();
}).observe(document, {subtree: true, childList: true, characterData: true});
"""


def paints(relay):
    """First paints, and first verdicts, each of a page that is opened anew."""
    paint = Figure("the page: first paint", PAINT_MS_MAX)
    told = Figure("the page: says how things stand", PAINT_MS_MAX)
    browser = Browser()
    try:
        browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        browser.driver.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
        for _ in range(PAINTS):
            browser.open("about:blank")
            browser.open(f"http://{relay.address}/status")
            paint.took.append(wait_for("the page is painted", lambda: browser.run(
                "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime")))
            told.took.append(wait_for("the page says how things stand", lambda: browser.run(
                "return window.toldAfter")))
    finally:
        browser.quit()
    return [paint, told]
