// Puts the parts together: the connection, what it brings, and where in the page somebody is.

import * as charts from "./charts.js";
import { clientView, readClient } from "./client.js";
import { askForToken, hear, said } from "./dialogs.js";
import { $, focusToReturn, h, isSelected, replace, say, whenReleased } from "./dom.js";
import * as find from "./find.js";
import { brief, clock } from "./format.js";
import { Live } from "./live.js";
import * as news from "./news.js";
import * as overview from "./overview.js";
import { Refusal, deeds, token } from "./relay.js";
import { readEnvelope, storyView } from "./story.js";

const panelPauseMs = 1000;
const panelEveryMs = 3000;

// The connection.

const linkWords = { live: "Live", polling: "Reading once in a while", lost: "Connection lost",
  refused: "No access" };
let link = "begin";
let retryAt;
let lostAt;

function onLink(state, detail) {
  const before = link;
  link = state;
  $("link").dataset.state = state;
  say($("link-text"), linkWords[state]);
  $("main").classList.toggle("is-stale", state === "lost" || state === "refused");
  if (state === "lost") {
    retryAt = detail.retryAt;
    lostAt = detail.since;
    showLoss();
  } else {
    $("lost").hidden = true;
    if (before === "lost" && state !== "refused") hear("The connection is back.");
  }
  if (state === "refused") {
    say($("verdict-text"), detail.refusal.status === 403
      ? "This token may not see how the relay stands." : "The relay asks who you are.");
    say($("verdict-more"), "");
    signIn(token.get() ? detail.refusal.message : undefined);
  }
}

function showLoss() {
  if (link !== "lost") return;
  const wait = Math.max(0, retryAt - Date.now());
  say($("lost-text"),
    `Connection lost at ${clock(lostAt, Date.now())}. What you see is from before that.`);
  say($("link-text"), wait > 500 ? `Lost; trying again in ${brief(wait)}` : "Lost; trying again");
  $("lost").hidden = false;
}
setInterval(showLoss, 1000);
$("lost-now").addEventListener("click", () => live.now());

async function signIn(reason) {
  const hasOther = await askForToken(reason);
  showToken();
  if (!hasOther) return;
  live.start();
  route();
}

function showToken() {
  say($("token"), token.get() ? "Change token" : "Token");
}
$("token").addEventListener("click", () => signIn());

let status;

const live = new Live({
  onLink,
  onStatus(fresh) {
    status = fresh;
    $("main").classList.remove("is-empty");
    charts.note(status);
    overview.show(status);
    charts.show(status);
    find.offerUpstreams(status.upstreams.map(({ name }) => name));
    news.noteStatus(status);
    panelChanged();
  },
  onOperations: news.noteOperations,
  onOperation: news.noteOperation,
});

deeds.addEventListener("acted", () => {
  live.changed();
  find.refresh();
  panelChanged();
});

// The panel: one envelope, or one client.

const kinds = {
  envelope: { title: (name) => "Envelope", read: readEnvelope, view: storyView },
  client: { title: (name) => `Client ${name}`, read: readClient, view: clientView },
};

let panel;
let panelTimer;
let returnFocus;

function openPanel(kind, name) {
  if (panel?.kind === kind && panel?.name === name && $("panel").open) return;
  panel?.reading?.abort();
  panel = { kind, name, isFirst: true };
  say($("panel-heading"), kinds[kind].title(name));
  replace($("panel-body"), h("p", { class: "soft" }, "Reading…"));
  if (!$("panel").open) {
    returnFocus = focusToReturn();
    $("panel").showModal();
  }
  $("panel-heading").focus();
  $("panel").scrollTop = 0;
  readPanel();
}

function closePanel() {
  panel?.reading?.abort();
  panel = undefined;
  clearTimeout(panelTimer);
  if ($("panel").open) $("panel").close();
  returnFocus?.();
  returnFocus = undefined;
}

/** Reads it again soon: something has happened to it. */
function panelChanged() {
  if (!panel) return;
  clearTimeout(panelTimer);
  panelTimer = setTimeout(readPanel, Math.max(0, (panel.readAt ?? 0) + panelPauseMs - Date.now()));
}

async function readPanel() {
  const about = panel;
  if (!about) return;
  clearTimeout(panelTimer);
  about.reading?.abort();
  about.reading = new AbortController();
  about.readAt = Date.now();
  try {
    const value = await kinds[about.kind].read(about.name, about.reading.signal);
    if (about !== panel) return;
    showPanel(about, value);
  } catch (error) {
    if (about !== panel || error?.name === "AbortError") return;
    if (!(error instanceof Refusal)) throw error;
    // What was read before stays while the connection is lost.
    if (about.isFirst || !error.isLost) {
      replace($("panel-body"), h("p", { class: "error", role: "alert" }, said(error)));
    }
  }
  panelTimer = setTimeout(readPanel, panelEveryMs);
}

function showPanel(about, value) {
  whenReleased("panel", () => {
    if (about === panel && !isSelected($("panel-body"))) drawPanel(about, value);
  });
}

function drawPanel(about, value) {
  const text = JSON.stringify(value);
  // Times until something are shown in words, so those go stale by themselves.
  const isTicking = value.nextAttemptAt !== undefined;
  if (about.text === text && !isTicking) return;
  about.text = text;
  about.isFirst = false;
  const active = document.activeElement;
  const body = $("panel-body");
  const focus = body.contains(active) ? active.dataset.act ?? active.textContent : undefined;
  const answer = body.querySelector("[data-act=answer]") ? undefined
    : body.querySelector("section [role=status]");
  const shownStatus = body.dataset.responseStatus;
  replace(body, kinds[about.kind].view(value));
  body.dataset.responseStatus = value.responseStatus ?? "";
  // An answer that somebody has opened stays open, unless there is another one now.
  const place = body.querySelector("section [role=status]");
  if (answer && place && shownStatus === String(value.responseStatus)) {
    body.querySelector("[data-act=answer]")?.remove();
    place.replaceWith(answer);
  }
  if (focus === undefined) return;
  const controls = [...body.querySelectorAll("a, button, pre")];
  (controls.find((control) => (control.dataset.act ?? control.textContent) === focus)
    ?? $("panel-heading")).focus();
}

$("panel-close").addEventListener("click", () => leavePanel());
$("panel").addEventListener("cancel", (event) => {
  event.preventDefault();
  leavePanel();
});
$("panel").addEventListener("click", (event) => {
  if (event.target === $("panel")) leavePanel();
});

/** Where the page was before the panel was opened. */
let place = "#";

function leavePanel() {
  history.pushState(null, "", place);
  route();
}

// Where somebody is: it stands in the address, so that it can be handed to a colleague.

let foundIn;

function route() {
  const hash = location.hash.slice(1);
  const [, kind, name] = /^\/(\w+)\/(.+)$/.exec(hash) ?? [];
  if (Object.hasOwn(kinds, kind)) return openPanel(kind, decoded(name));
  place = location.hash || "#";
  closePanel();
  if (hash.startsWith("/find?")) {
    const parts = new URLSearchParams(hash.slice("/find?".length));
    if (foundIn !== hash) find.show(Object.fromEntries(parts));
    foundIn = hash;
  } else if (hash === "find") {
    find.show(undefined);
    foundIn = undefined;
  }
}

/** A name out of the address, which anybody may have written. */
function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

find.begin((hash) => {
  if (location.hash === hash) {
    foundIn = undefined;
    return route();
  }
  location.hash = hash;
});
overview.begin(() => overview.show(status));
addEventListener("hashchange", route);
// Going somewhere from within a dialog leaves the dialog.
document.addEventListener("click", (event) => {
  const dialog = event.target.closest?.("dialog");
  if (dialog && dialog !== $("panel") && event.target.closest("a[href^='#']")) dialog.close();
});

showToken();
live.start();
route();
setInterval(() => {
  // Ages go on while nothing changes.
  const isFresh = status && link !== "lost" && link !== "refused";
  if (isFresh && !document.hidden) overview.show(status);
}, 1000);
