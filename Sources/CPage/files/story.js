// One envelope's story: what it is, what happened to it, what the upstream said, and what can be
// done.

import { badge } from "./find.js";
import { h, replace, time } from "./dom.js";
import { brief, bytes, clock, count, many, outcomeWords, stretch, took } from "./format.js";
import { Refusal, ask, call, now, path } from "./relay.js";
import { clientLink, control, findLink } from "./steer.js";

const previewBytesMax = 64 * 1024;
const hexBytesMax = 512;

/** What can be done with an envelope in each state. */
const actsOf = {
  held: ["run", "edit", "cancel"], parked: ["edit", "cancel"], queued: ["run", "edit", "cancel"],
  delivering: [], blocked: ["retry", "editBlocked", "discard"], delivered: [],
  failed: ["requeue", "editEnded", "cancel"], expired: ["requeue", "editEnded", "cancel"],
  cancelled: ["requeue", "editEnded"],
};

/** Reads an envelope. */
export const readEnvelope = (id, signal) => call("GET", path("v1/envelopes", id), { signal });

/** What the panel shows of an envelope. */
export function storyView(envelope) {
  const { id, client, lane, state } = envelope;
  return [
    h("p", { class: "request wrap" }, h("b", null, envelope.method), " ", envelope.path),
    h("p", { class: "state" }, badge(state), " ", h("span", { class: "wrap" }, standing(envelope))),
    h("div", { class: "acts" }, actsOf[state]?.map((name) => control({ name, id, client, lane }))),
    h("section", null, h("h3", null, "What happened"), timeline(envelope)),
    envelope.responseStatus !== undefined && answerSection(envelope),
    h("section", null, h("h3", null, "The envelope"), facts(envelope)),
  ];
}

/** What may keep a queued envelope waiting, but for those before it. */
const waitWords = {
  "client-paused": "Its client is paused.",
  "lane-paused": "Its lane is paused.",
  "upstream-not-configured": "Its upstream is not configured.",
  "upstream-paused": "Its upstream is paused.",
  "upstream-unreachable": "Its upstream cannot be reached.",
  "upstream-held": "Its upstream has asked for a wait.",
};

/** How it stands, in a sentence. */
function standing(envelope) {
  const { state, reason, nextAttemptAt, position, notBefore, attempts, waitsFor } = envelope;
  const last = attempts?.at(-1)?.error;
  const isStopped = /-(paused|configured)$/.test(waitsFor);
  switch (state) {
    case "queued":
      if (nextAttemptAt && !isStopped) {
        const wait = stretch(Date.parse(nextAttemptAt) - now());
        return `Tried again in ${wait}${last ? `: ${last}` : ""}.`;
      }
      if (waitWords[waitsFor]) return waitWords[waitsFor];
      return position > 1 ? `${count(position - 1)} before it in its lane.` : "Next in its lane.";
    case "held": return notBefore
      ? `Waits until ${clock(notBefore, now())}.` : "Waits until somebody runs it.";
    case "parked": return "Waits for sequence numbers before its own.";
    case "delivering": return "An attempt is under way.";
    case "delivered": return "The upstream took it.";
    default: return reason ? `${reason}.`.replace(/\.\.$/, ".") : "";
  }
}

/** One entry of the timeline: when, what in bold, the rest behind it, and lines of its own. */
const entry = (kind, when, what, rest, ...lines) => h("li", { class: kind },
  when && at(when),
  h("p", null, h("b", null, what), h("span", { class: "soft" }, rest)),
  lines.map((line) => line && h("p", { class: "wrap" }, line)));

const upstreamWords = ({ errorId, errorMessage }) => [
  errorId && `The upstream calls it ${errorId}.`,
  errorMessage && `It says: ${errorMessage}`,
];

function timeline(envelope) {
  const { attempts = [], attemptCount, acceptedAt, state, nextAttemptAt, from } = envelope;
  const left = attemptCount - attempts.length;
  return h("ol", { class: "timeline" },
    entry("done", acceptedAt, "Accepted", from && ` from ${from}`),
    left > 0 && entry("", undefined, many(left, "earlier attempt"), ", not kept one by one"),
    attempts.map(attemptEntry),
    envelope.progress && progressEntry(envelope.progress),
    envelope.endedAt && endEntry(envelope),
    state === "blocked" && entry("bad now", undefined,
      "Its lane stands until somebody settles this", "",
      ...upstreamWords(envelope)),
    nextAttemptAt && entry("now", nextAttemptAt, "Next attempt"));
}

function attemptEntry({ number, startedAt, durationMs, outcome, status, error }) {
  const words = (outcomeWords[outcome] ?? outcome).toLowerCase();
  const answered = status ? `, status ${status}` : "";
  return entry(outcome === "delivered" ? "good" : "bad", startedAt,
    `Attempt ${count(number)}: ${words}`, ` after ${took(durationMs)}${answered}`, error);
}

function progressEntry({ startedAt, sentBytes, bodyBytes, receivedBytes }) {
  const sent = `${bytes(sentBytes)} of ${bytes(bodyBytes)} sent`;
  return entry("now", startedAt, "An attempt is under way",
    `: ${sent}, ${bytes(receivedBytes)} received`);
}

function endEntry({ state, acceptedAt, endedAt, reason }) {
  const isGood = state === "delivered";
  const age = stretch(Date.parse(endedAt) - Date.parse(acceptedAt));
  return entry(isGood ? "good" : "bad", endedAt, endWords[state] ?? state,
    `, ${age} after it was accepted`, !isGood && reason);
}

const endWords = {
  delivered: "Delivered", failed: "Failed: a dead letter", expired: "Expired",
  cancelled: "Cancelled",
};

const at = (text) => time(text, clock(text, now()),
  `${text}, ${brief(now() - Date.parse(text))} ago`);

function facts(envelope) {
  const row = (term, value) => value !== undefined && value !== false
    && [h("dt", null, term), h("dd", { class: "wrap" }, value)];
  return h("dl", { class: "facts" },
    row("Id", h("code", null, envelope.id)),
    row("Client", h("a", { href: clientLink(envelope.client) }, envelope.client)),
    row("Lane", h("a", { href: findLink({ client: envelope.client, lane: envelope.lane }) },
      envelope.lane)),
    row("Upstream", envelope.upstream),
    row("Key", envelope.key), row("Tag", envelope.tag), row("Sequence", envelope.sequence),
    row("Latest only", envelope.coalesce), row("Trace", envelope.trace),
    row("Body", bytes(envelope.bodyBytes)),
    row("If refused", envelope.onFailure === "block" ? "its lane stands" : "its lane goes on"),
    row("Not before", envelope.notBefore && clock(envelope.notBefore, now())),
    row("Expires", clock(envelope.expiresAt, now())),
    row("In doubt", envelope.inDoubt && "the upstream is asked first whether it has it"));
}

// The upstream's answer, which is fetched when somebody wants to see it: it may be large, and hold
// what not everybody should look at.

function answerSection({ id, responseStatus }) {
  const place = h("div", { role: "status" });
  const button = h("button",
    { type: "button", data: { act: "answer" }, on: { click: () => showAnswer(id, place, button) } },
    "Show it");
  return h("section", null, h("h3", null, "What the upstream said"),
    h("p", null, "Status ", h("b", null, responseStatus), " ", button), place);
}

async function showAnswer(id, place, button) {
  button.disabled = true;
  try {
    const response = await ask("GET", path("v1/envelopes", id, "response"),
      { headers: { Accept: "*/*" } });
    const type = response.headers.get("Content-Type") ?? "";
    const body = new Uint8Array(await response.arrayBuffer());
    const isCut = response.headers.get("Waystation-Response-Truncated") === "true";
    const url = URL.createObjectURL(new Blob([body], { type: "application/octet-stream" }));
    replace(place,
      h("dl", { class: "facts" }, [...response.headers].filter(([name]) => !ownFields.has(name))
        .map(([name, value]) => [
        h("dt", null, name), h("dd", { class: "wrap" }, hidden(name, value))])),
      body.length === 0 ? h("p", { class: "soft" }, "No body.") : [
        h("pre", { tabindex: "0", "aria-label": "The body of the answer" }, preview(type, body)),
        h("p", { class: "soft" },
          `${bytes(body.length)}${isCut ? ", cut off there by the relay" : ""}. `,
          h("a", { href: url, download: `${id}.response` }, "Download"))]);
    button.remove();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    replace(place, h("p", { class: "error" }, error.message));
    button.disabled = false;
  }
}

/** What the relay says itself. */
const ownFields = new Set([
  "cache-control", "content-length", "content-security-policy", "cross-origin-resource-policy",
  "date", "waystation-id", "waystation-state", "waystation-upstream-status",
  "waystation-response-truncated",
  "x-content-type-options",
]);

/** A field's value, unless it is a secret by its name. */
const hidden = (name, value) =>
  /auth|cookie|token|secret|signature|api-?key|password/i.test(name)
    ? "•••••• (hidden)" : value;

/**
 * The bytes as a person reads them best: JSON with its members apart, text as it is, others in
 * hex.
 */
export function preview(type, body) {
  const part = body.subarray(0, previewBytesMax);
  let text;
  try {
    // A character may be cut in two at the end of the part.
    text = new TextDecoder("utf-8", { fatal: true })
      .decode(part, { stream: part.length < body.length });
  } catch {
    return hex(body.subarray(0, hexBytesMax)) + (body.length > hexBytesMax ? "\n…" : "");
  }
  if (/[\u0000-\u0008\u000e-\u001f]/.test(text)) return hex(body.subarray(0, hexBytesMax));
  if (/[/+]json\b/i.test(type) && part.length === body.length) {
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  }
  return part.length < body.length ? `${text}\n…` : text;
}

function hex(bytes) {
  const lines = [];
  for (let start = 0; start < bytes.length; start += 16) {
    const line = [...bytes.subarray(start, start + 16)];
    const digits = line.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = line.map((byte) => byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")
      .join("");
    lines.push(`${start.toString(16).padStart(6, "0")}  ${digits.padEnd(47)}  ${text}`);
  }
  return lines.join("\n");
}
