"""Correcting an envelope on the page."""

import base64

from .stand import wait_for

# Bytes that a reader and writer of JSON would not give back.
ODD = '{"minutes": 15.0, "number": 12345678901234567890,\n "note": "caf\u00e9"}'


def edits_and_settles(trial):
    """a blocked lane goes on once its envelope is corrected, and the page shows it by itself"""
    browser, relay = trial.browser, trial.relay
    browser.go(f"/envelope/{trial.blocked}")
    browser.press("Edit and try again", "#panel")
    shown = browser.one("#ask [name=body]").get_attribute("value")
    assert shown == '{"minutes": 15}', shown
    assert "Content-Type: application/json" in browser.one(
        "#ask [name=headers]").get_attribute("value")
    browser.fill("#ask [name=path]", "/visits/north")
    browser.one("#ask [name=headers]").send_keys("X-Note: corrected")
    browser.fill("#ask [name=body]", '{"minutes":')
    browser.press("Save and try again", "#ask")
    browser.says("#ask-error", "is no JSON")
    trial.sound("a correction")
    trial.picture("edit")
    browser.fill("#ask [name=body]", '{"minutes": 20}')
    browser.press("Save and try again", "#ask")
    wait_for("the lane goes on", lambda: relay.state(trial.blocked) == "delivered")
    browser.says("#needs", "One lane stands: default answered 422")
    browser.key("ESCAPE")
    wait_for("what stood behind it is sent", lambda: "/visits/2" in trial.upstream.paths)
    body, fields = trial.upstream.bodies["/visits/north"]
    assert body == b'{"minutes": 20}' and fields["X-Note"] == "corrected", (body, fields)


def edits_what_is_there(trial):
    """the form has the stored fields and body, and what nobody changes stays as it was, byte for byte"""
    browser, relay = trial.browser, trial.relay
    odd = relay.post(client="editor", path="/odd", hold=True, headers={
        "Content-Type": "application/json", "X-Old": "1", "X-Many": ["a", "b"],
        "X-Api-Key": "hush"}, bodyBase64=base64.b64encode(ODD.encode()).decode())
    raw = relay.post(client="editor", lane="raw", path="/raw", hold=True,
                     bodyBase64=base64.b64encode(b"\x00\xff\x01").decode())
    browser.go(f"/envelope/{odd}")
    browser.press("Edit", "#panel")
    assert browser.one("#ask [name=body]").get_attribute("value") == ODD
    fields = browser.one("#ask [name=headers]").get_attribute("value").splitlines()
    assert {"X-Old: 1", "X-Many: a", "X-Many: b", "X-Api-Key: ***"} <= set(fields), fields
    browser.says("#ask-more", "is a secret, and stays as it is")
    trial.sound("a correction of fields")
    trial.picture("edit-fields")
    browser.press("Save", "#ask")
    browser.says("#ask-error", "Nothing is changed yet.")
    wanted = [line for line in fields if line not in ("X-Old: 1", "X-Many: b")] + ["X-New: 2"]
    browser.fill("#ask [name=headers]", "\n".join(wanted))
    browser.press("Save", "#ask")
    browser.says("#said", "Corrected.")
    relay.call("POST", f"/v1/envelopes/{odd}/run")
    wait_for("it is sent", lambda: "/odd" in trial.upstream.bodies)
    body, sent = trial.upstream.bodies["/odd"]
    assert body == ODD.encode(), body
    assert (sent["X-Many"], sent["X-New"], sent["X-Api-Key"]) == ("a", "2", "hush"), sent
    assert "X-Old" not in sent and sent["Content-Type"] == "application/json", sent
    browser.go(f"/envelope/{raw}")
    browser.press("Edit", "#panel")
    browser.says("#ask-more", "3 bytes, which cannot be shown here.")
    browser.fill("#ask [name=path]", "/rawer")
    browser.press("Save", "#ask")
    browser.says("#said", "Corrected.")
    relay.call("POST", f"/v1/envelopes/{raw}/run")
    wait_for("it is sent", lambda: "/rawer" in trial.upstream.bodies)
    assert trial.upstream.bodies["/rawer"][0] == b"\x00\xff\x01"
    browser.key("ESCAPE")
