"""Tries the page of a relay. Usage: python -m pagelib BINARY. Ends with 1 where it is broken."""

import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

from . import checks
from .browser import Browser
from .stand import Relay, Upstream, free_port
from .trial import Trial


def stand(binary, folder):
    """A relay whose upstreams are well, away, and paused, in a folder of its own."""
    upstream = Upstream()
    upstreams = {
        "default": {"url": upstream.url},
        # A port on which nobody listens: what waits for it is never delivered.
        "billing": {"url": f"http://127.0.0.1:{free_port()}", "retry": {"maxDelayMs": 2000}},
        "archive": {"url": upstream.url},
    }
    return upstream, Relay(binary, folder, upstreams).start()


def main():
    pictures = Path(os.environ["PICTURES"]) if os.environ.get("PICTURES") else None
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        upstream, relay = stand(sys.argv[1], folder)
        browser = Browser()
        try:
            trial = Trial(relay, upstream, browser, pictures)
            for check in checks.ALL:
                start = time.monotonic()
                try:
                    check(trial)
                    seconds = time.monotonic() - start
                    print(f"  ok     {check.__doc__} ({seconds:.1f} s)", flush=True)
                except Exception:  # whatever it is, it is a finding
                    failed += 1
                    print(f"  BROKEN {check.__doc__}\n{traceback.format_exc(limit=4)}", flush=True)
                    trial.picture(f"broken-{check.__name__}")
                    trial.afresh()
            if failed:
                print(f"--- the relay's last lines\n{relay.log()}")
        finally:
            browser.quit()
            relay.stop()
    seconds = time.monotonic() - begin
    found = f"{failed} broken" if failed else "the page does what it should"
    print(f"check-page: {found} ({seconds:.0f} s)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
