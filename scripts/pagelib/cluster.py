"""Looks at the page of relays that share a store. Usage: python -m pagelib.cluster PORT."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

from .browser import Browser
from .states import look
from .trial import Trial


def shows_relays(trial, count):
    """each relay is listed with what it does, and nothing is told of files that there are not"""
    browser = trial.browser
    browser.open(trial.url)
    browser.says("#link-text", "Live")
    browser.says("#relays", "Has the store")
    cards = browser.texts("#relays-list > li")
    assert len(cards) == count, cards
    assert sum("Has the store" in card for card in cards) == 1, cards
    assert all(card.rstrip().endswith("ago") for card in cards), cards
    told = browser.text("body")
    assert "NaN" not in told and "undefined" not in told, told
    look(trial, "cluster")


def main():
    pictures = Path(os.environ["PICTURES"]) if os.environ.get("PICTURES") else None
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    browser = Browser()
    try:
        shows_relays(Trial(SimpleNamespace(port=int(sys.argv[1])), None, browser, pictures), 3)
    finally:
        browser.quit()
    print("the page lists the relays")


if __name__ == "__main__":
    main()
