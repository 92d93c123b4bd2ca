"""What checks share: the relay, the browser, and looks at the page as it stands."""

from importlib.resources import files

from .browser import DESKTOP

# What a thumb can press (WCAG 2.2, 2.5.5).
THUMB = 44

WIDER = """
const found = document.querySelectorAll('body, dialog[open], main *, header *, dialog[open] *');
return [document.scrollingElement.scrollWidth, innerWidth].filter((x) => x > arguments[0])
  .concat([...found].filter((e) => e.getBoundingClientRect().right > arguments[0] + 0.5
    && !e.closest('.scroll, svg, .heard, .skip, nav, thead'))
  .map((e) => `${e.tagName} ${e.id || e.className} ${e.getBoundingClientRect().right}`));
"""

SMALLER = """
const top = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document;
return [...top.querySelectorAll('button, .button, input, select, textarea, summary, .chip, nav a')]
  .filter((e) => e.checkVisibility()).map((e) => [e.id || e.textContent.trim() || e.name,
    e.getBoundingClientRect().height]).filter(([, height]) => height < arguments[0]);
"""


class Trial:
    """The relay, its upstream and the browser, and what the checks remember."""

    def __init__(self, relay, upstream, browser, pictures):
        self.relay, self.upstream, self.browser, self.pictures = relay, upstream, browser, pictures
        self.url = f"http://127.0.0.1:{relay.port}/status"
        self.axe = files("axe_core_python").joinpath("axe.min.js").read_text()
        self.blocked = ""
        self.console = []

    def picture(self, name, full=False):
        if self.pictures:
            self.browser.picture(self.pictures / f"{name}.png", full)

    def afresh(self):
        """Back to a page that is as if it had just been opened, with what it knows of its token."""
        self.browser.size(*DESKTOP)
        self.browser.scheme("light")
        self.browser.open("about:blank")
        self.browser.open(self.url)

    def sign_in(self, role):
        self.browser.fill("#sign-in-token", self.relay.tokens[role])
        self.browser.press("Use it", "#sign-in")

    def sound(self, what):
        """Nothing that keeps somebody from using the page as it stands."""
        found = self.browser.axe(self.axe)
        assert not found, f"{what}: " + "\n".join(found)

    def narrow(self, what):
        """Nothing that has to be scrolled sideways, and nothing too small for a thumb."""
        # A phone's browser makes the window itself as wide as what overflows.
        wide = self.browser.run(WIDER, self.browser.width)
        assert not wide, f"{what} is wider than {self.browser.width}: {wide}"
        small = self.browser.run(SMALLER, THUMB)
        assert not small, f"{what} has controls under {THUMB} px: {small}"
