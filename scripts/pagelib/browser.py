"""Debian's Chromium, driven by its chromedriver."""

import base64
import json
import shutil
import tempfile

from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException, ElementNotInteractableException,
    StaleElementReferenceException)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from .stand import wait_for

DESKTOP = (1280, 900)
PHONE = (390, 844)


class Browser:
    """One headless browser, and what a person does with it."""

    def __init__(self, *more):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
                         "--disable-gpu", "--disable-background-networking", "--no-first-run",
                         "--disable-component-update", "--disable-features=Translate", *more):
            options.add_argument(argument)
        self.profile = tempfile.mkdtemp(prefix="page-")
        options.add_argument(f"--user-data-dir={self.profile}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        self.driver.set_script_timeout(60)
        self.size(*DESKTOP)

    def quit(self):
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)

    def size(self, width, height):
        """The size of the page itself, as a device of that size has it."""
        self.width = width
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def scheme(self, name, motion="no-preference"):
        """Light or dark, as the system prefers it."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": name},
            {"name": "prefers-reduced-motion", "value": motion}]})

    def open(self, url):
        self.driver.get(url)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        """The first element that a selector finds, once it is there to be seen."""
        def shown():
            try:
                return next((found for found in self.all(selector) if found.is_displayed()), None)
            except StaleElementReferenceException:
                return None  # it was made anew
        return wait_for(f"there is {selector}", shown)

    def text(self, selector):
        """What an element says; empty where it is not there."""
        return self.run(
            "const e = document.querySelector(arguments[0]); return e ? e.textContent : ''",
            selector)

    def texts(self, selector):
        """What each element says that a selector finds, at one moment: the page draws itself anew."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)", selector)

    def says(self, selector, words):
        """Waits until an element says something."""
        try:
            return wait_for(
                f"{selector} says “{words}”", lambda: words in self.text(selector))
        except AssertionError as error:
            raise AssertionError(f"{error}; it says “{self.text(selector)}”") from None

    def press(self, words, within="body"):
        """Presses the control of these words, once there is one that can be."""
        wait_for(f"“{words}” in {within} can be pressed", lambda: self.pressed(words, within))

    def pressed(self, words, within="body"):
        """Presses the control of these words if there is one that can be, and says whether."""
        try:
            for control in self.all(f"{within} :is(button, a, summary)"):
                if control.is_displayed() and words in (
                        control.text.strip(), self.seen(control)):
                    self.run("arguments[0].scrollIntoView("
                             "{block: 'center', behavior: 'instant'})", control)
                    control.click()
                    return True
        except (StaleElementReferenceException, ElementClickInterceptedException,
                ElementNotInteractableException):
            pass  # it was made anew, or something is on its way out
        return False

    def seen(self, control):
        """What a control says to the eye: without what only a screen reader tells."""
        return self.run(
            "const copy = arguments[0].cloneNode(true);"
            "for (const heard of copy.querySelectorAll('.heard')) heard.remove();"
            "return copy.textContent.trim()", control)

    def hover(self, selector):
        """Puts the mouse over the first of these controls."""
        ActionChains(self.driver).move_to_element(self.one(selector)).perform()

    def fill(self, selector, text):
        field = self.one(selector)
        field.clear()
        field.send_keys(text)

    def keys(self, *keys):
        # As a keyboard does: to whatever has the focus, if only while it is on its way out.
        ActionChains(self.driver).send_keys(*keys).perform()

    def key(self, name):
        self.keys(getattr(Keys, name))

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def focused(self):
        """What has the focus: its id, or its words."""
        return self.run("const e = document.activeElement; return e.id || e.textContent.trim()")

    def go(self, hash_):
        self.run("location.hash = arguments[0]", hash_)

    def errors(self):
        """What the console has said since it was last asked, of what should not be."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE"]

    def picture(self, path, full=False):
        """A picture of what is seen; of the whole page if asked for."""
        if not full:
            self.driver.save_screenshot(str(path))
            return
        self.run("scrollTo({top: 0, behavior: 'instant'})")
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        data = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True, "format": "png",
            "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}})
        path.write_bytes(base64.b64decode(data["data"]))

    def axe(self, source):
        """What axe-core finds wrong with the page as it stands, one line a finding."""
        self.run(source)
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']})"
            ".then((r) => done(JSON.stringify(r.violations)), (e) => done(String(e)));")
        return [f"{rule['id']}: {rule['help']}: {node['html'][:120]}"
                f" ({'; '.join(c['message'] for c in node['any'] + node['all'] + node['none'])})"
                for rule in json.loads(found) for node in rule["nodes"]]
