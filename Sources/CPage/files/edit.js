// Corrects an envelope, and sends it on: PATCH, then resolve or requeue. The form has the request
// as it is stored, and only what somebody has changed of it is sent.

import { confirm, tell } from "./dialogs.js";
import { h } from "./dom.js";
import { bytes } from "./format.js";
import { ask, call, deeds, path } from "./relay.js";

const then = {
  resolve: { yes: "Save and try again", done: "Corrected; it is tried again.",
    body: { action: "retry" } },
  requeue: { yes: "Save and requeue", done: "Corrected; it waits again.", body: {} },
  nothing: { yes: "Save", done: "Corrected." },
};

const shownBytesMax = 64 * 1024;
/** What the relay shows in place of a secret. */
const mask = "***";

/** Opens the form; `next` is `resolve`, `requeue` or `nothing`. */
export async function edit(id, next) {
  const envelope = await call("GET", path("v1/envelopes", id));
  const { headers } = await call("GET", path("v1/envelopes", id, "request"));
  const stored = { ...envelope, headers, text: await storedText(envelope) };
  const form = formOf(stored);
  // A text area has line ends of its own.
  stored.shownText = stored.text === undefined ? "" : field(form, "body").value;
  const { yes, done, body } = then[next];
  const answer = await confirm({
    title: "Edit 1 envelope", text: `Of ${envelope.client}, in lane ${envelope.lane}.`, yes,
      more: form,
    run: async () => {
      const patch = patchOf(form, stored);
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

/** The body, where it is text that a form can show and give back; else undefined. */
async function storedText({ id, bodyBytes }) {
  if (bodyBytes > shownBytesMax) return undefined;
  const answer = await ask("GET", path("v1/envelopes", id, "body"), { headers: { Accept: "*/*" } });
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
      .decode(await answer.arrayBuffer());
    // A text area would make one kind of line end of several.
    const isMixed = /\r(?!\n)/.test(text) || (/\r\n/.test(text) && /(?<!\r)\n/.test(text));
    const isBinary = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/.test(text);
    return isMixed || isBinary ? undefined : text;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

function formOf({ method, path, upstream, headers, text, bodyBytes }) {
  const line = (name, label, value) => h("label", null, label,
    h("input", { name, value, spellcheck: "false", autocapitalize: "none" }));
  const area = (name, label, rows, value, note) => h("label", null, label,
    h("textarea", { name, rows, spellcheck: "false", autocapitalize: "none" }, value),
    note && h("small", null, note));
  const hasSecrets = headers.some(([, value]) => value === mask);
  const rows = Math.min(14, Math.max(3, (text ?? "").split("\n").length + 1));
  return h("div", { class: "edit" },
    h("div", { class: "pair" }, line("method", "Method", method),
      line("path", "Path and query", path)),
    line("upstream", "Upstream", upstream),
    area("headers", "Header fields", Math.min(8, headers.length + 2),
      headers.map(([name, value]) => `${name}: ${value}\n`).join(""),
      `One a line, as Name: value.${hasSecrets
        ? ` A value ${mask} is a secret, and stays as it is.` : ""}`),
    area("body", "Body", rows, text ?? "", text === undefined
      && `${bytes(bodyBytes)}, which cannot be shown here. Left empty, they stay as they are.`));
}

const field = (form, name) => form.querySelector(`[name=${name}]`);

/** The merge patch (RFC 7396) of what was changed. */
function patchOf(form, stored) {
  const value = (name) => field(form, name).value;
  const patch = {};
  for (const name of ["method", "path", "upstream"]) {
    if (value(name) !== stored[name]) patch[name] = value(name);
  }
  const lines = linesOf(value("headers"));
  const headers = headerPatch(stored.headers, lines);
  if (Object.keys(headers).length > 0) patch.headers = headers;
  const body = value("body");
  if (body === stored.shownText) return patch;
  const type = lines.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
  if (/[/+]json\b/i.test(type)) checkJSON(body);
  const isCRLF = stored.text?.includes("\r\n");
  // As bytes, so that it arrives as it was written.
  patch.bodyBase64 = base64(isCRLF ? body.replaceAll("\n", "\r\n") : body);
  return patch;
}

function linesOf(text) {
  return text.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
    const colon = line.indexOf(":");
    if (colon < 1) throw new Error(`“${line}” is no header field: write it as Name: value.`);
    return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
}

/** What a patch says of the fields that have other values now: all values of each, or null. */
function headerPatch(before, after) {
  const old = valuesByName(before);
  const patch = {};
  for (const [key, { name, values }] of valuesByName(after)) {
    const known = old.get(key);
    old.delete(key);
    if (JSON.stringify(known?.values) === JSON.stringify(values)) continue;
    if (values.some((value) => value === mask || value.includes("\ufffd"))) {
      throw new Error(`Not every value of ${name} is shown: write all of them anew, or leave`
        + " them.");
    }
    patch[name] = values.length === 1 ? values[0] : values;
  }
  for (const { name } of old.values()) patch[name] = null;
  return patch;
}

function valuesByName(fields) {
  const found = new Map();
  for (const [name, value] of fields) {
    const key = name.toLowerCase();
    if (!found.has(key)) found.set(key, { name, values: [] });
    found.get(key).values.push(value.trim());
  }
  return found;
}

function checkJSON(text) {
  try {
    JSON.parse(text);
  } catch (error) {
    throw new Error(`The body is no JSON: ${error.message}. Correct it, or its Content-Type.`);
  }
}

/** Text as base64 of its UTF-8. */
function base64(text) {
  const units = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return btoa(units.join(""));
}
