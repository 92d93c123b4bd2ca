// Corrects an envelope, and sends it on: PATCH, then resolve or requeue. The relay shows neither
// the headers nor the body of what a sender handed over, so what is left empty here stays as it is.

import { confirm, tell } from "./dialogs.js";
import { h } from "./dom.js";
import { call, deeds, path } from "./relay.js";

const then = {
  resolve: { yes: "Save and try again", done: "Corrected; it is tried again.",
    body: { action: "retry" } },
  requeue: { yes: "Save and requeue", done: "Corrected; it waits again.", body: {} },
  nothing: { yes: "Save", done: "Corrected." },
};

/** Opens the form; `next` is `resolve`, `requeue` or `nothing`. */
export async function edit(id, next) {
  const envelope = await call("GET", path("v1/envelopes", id));
  const field = (name, label, value) => h("label", null, label,
    h("input", { name, value, spellcheck: "false", autocapitalize: "none" }));
  const form = h("div", { class: "edit" },
    h("div", { class: "pair" },
      field("method", "Method", envelope.method),
      field("path", "Path and query", envelope.path)),
    field("upstream", "Upstream", envelope.upstream),
    h("label", null, "Header fields to set",
      h("textarea", { name: "headers", rows: 3, spellcheck: "false",
        placeholder: "X-Note: corrected" }),
      h("small", null,
        "One a line, as Name: value. Name: alone takes a field away. All others stay.")),
    h("label", null, "New body",
      h("textarea", { name: "body", rows: 5, spellcheck: "false" }),
      h("small", null, `Left empty, the body stays as it is (${envelope.bodyBytes} bytes).`)),
    h("label", { class: "check" }, h("input", { type: "checkbox", name: "json", checked: true }),
      "The new body is JSON"));
  const { yes, done, body } = then[next];
  const answer = await confirm({
    title: "Edit 1 envelope", text: `Of ${envelope.client}, in lane ${envelope.lane}.`, yes,
      more: form,
    run: async () => {
      const patch = patchOf(form, envelope);
      if (Object.keys(patch).length > 0) {
        await call("PATCH", path("v1/envelopes", id),
          { body: patch, type: "application/merge-patch+json" });
      } else if (!body) {
        throw new Error("Nothing is changed yet.");
      }
      return body ? call("POST", path("v1/envelopes", id, next), { body }) : {};
    },
  });
  if (answer === undefined) return;
  tell(done);
  deeds.dispatchEvent(new Event("acted"));
}

/** The merge patch (RFC 7396) of what was changed. */
function patchOf(form, envelope) {
  const value = (name) => form.querySelector(`[name=${name}]`).value;
  const patch = {};
  for (const name of ["method", "path", "upstream"]) {
    if (value(name) !== envelope[name]) patch[name] = value(name);
  }
  const headers = headersOf(value("headers"));
  if (Object.keys(headers).length > 0) patch.headers = headers;
  const body = value("body");
  if (body !== "") patch.body = form.querySelector("[name=json]").checked ? parsed(body) : body;
  return patch;
}

function headersOf(text) {
  const headers = {};
  for (const line of text.split("\n").map((line) => line.trim()).filter(Boolean)) {
    const colon = line.indexOf(":");
    if (colon < 1) throw new Error(`“${line}” is no header field: write it as Name: value.`);
    const value = line.slice(colon + 1).trim();
    headers[line.slice(0, colon).trim()] = value === "" ? null : value;
  }
  return headers;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The new body is no JSON: ${error.message}. Correct it, or take the tick away`
      + " to send it as text.");
  }
}
