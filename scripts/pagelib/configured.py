"""What the page has to show of the configuration."""

from .states import look


def tells_what_is_in_force(trial):
    """it shows which configuration is in force, and needs somebody when another was refused"""
    browser, relay = trial.browser, trial.relay
    browser.go("")
    browser.says("#configured", f"{relay.folder}/config.json (SHA-256 ")
    browser.says("#configured", "at the start.")
    needs = browser.text("#needs-heading")
    assert relay.reload(limits={"bodyBytesMax": "much"})["result"] == "refused"
    browser.says("#needs", "A reload was refused, and the configuration before it goes on")
    browser.says("#needs", "Why: limits.bodyBytesMax: expected")
    browser.says("#needs", f"waystation check --config {relay.folder}/config.json")
    browser.says("#configured", "another one was refused at")
    look(trial, "refused")
    assert relay.reload(log={"level": "debug"})["result"] == "applied"
    browser.says("#configured", "1 reload changed something since the start.")
    assert relay.reload()["result"] == "applied"
    browser.says("#configured", "2 reloads changed")
    browser.says("#needs-heading", needs)
