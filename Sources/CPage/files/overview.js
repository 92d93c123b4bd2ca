// The top of the page: the verdict, what needs somebody, and the upstreams.

import { assess } from "./assess.js";
import { hear } from "./dialogs.js";
import { $, h, keep, say, whenReleased } from "./dom.js";
import { bytes, clock, count, many, rate, stretch } from "./format.js";
import { base, now, token } from "./relay.js";
import { clientLink, control } from "./steer.js";

/** With more of them, what says it at one look stands before their list. */
const upstreamsBeforeCharts = 6;
/** The most things that are listed before somebody asks for all. */
const needsBeforeFold = 10;
let isUnfolded = false;
let lastHeard = "";

/** Shows a reading of /status. */
export function show(status) {
  whenReleased("overview", () => draw(status));
}

function draw(status) {
  const verdict = assess(status, now());
  $("verdict").dataset.level = verdict.level;
  say($("verdict-text"), `${verdict.sentence}.`);
  say($("verdict-more"), more(status));
  const place = status.name ? `${status.name}, ` : "";
  document.title = `${verdict.needs.length > 0 ? `(${verdict.needCount}) ` : ""}${place}Waystation`;
  say($("relay-name"), status.name ?? "");
  showItems("needs", isUnfolded ? verdict.needs : verdict.needs.slice(0, needsBeforeFold));
  showFold(verdict.needs.length);
  showItems("notes", verdict.notes);
  say($("needs-heading"), `Needs you (${count(verdict.needCount)})`);
  keep($("upstreams-list"), status.upstreams, {
    key: ({ name }) => name, stamp: upstreamStamp, make: upstreamCard, update: updateCard,
  });
  placeCharts(status.upstreams.length);
  showFirst(status);
  showBacklogs(status.backlogs);
  showRelays(status.store.relays ?? []);
  replaceAbout(status);
  // Figures change all the time; only what is another matter is told.
  const heard = verdict.needs.map(({ title }) => title).join(". ");
  if (heard !== lastHeard) hear(heard ? `Needs you: ${heard}.` : "Nothing needs you any more.");
  lastHeard = heard;
}

function more(status) {
  const { rates, store } = status;
  return `${rate(rates.acceptedPerSecond)} come in,`
    + ` ${rate(rates.deliveredPerSecond)} are delivered,`
    + ` ${rate(rates.failedPerSecond)} fail, by the average of the last minute.`
    + (store.roomBytes === undefined ? "" : ` ${bytes(store.roomBytes)} of room on the disk.`)
    + (store.openUploads > 0 ? ` ${many(store.openUploads, "upload")} open.` : "");
}

function replaceAbout(status) {
  const { fileBytes } = status.store;
  say($("about"),
    `Waystation ${status.version}, running for ${stretch(status.uptimeSeconds * 1000)}.`
    + (fileBytes === undefined ? "" : ` The store takes ${bytes(fileBytes)}.`));
  say($("configured"), configured(status.configuration));
}

/** Which configuration is in force, and what came of the last reload. */
function configured({ path, sha256, generation, loadedAt, lastReload }) {
  const from = path ? `from ${path} (SHA-256 ${sha256.slice(0, 12)}…)`
    : "from variables and flags alone";
  const words = `The configuration is the one taken up at ${clock(loadedAt, now())}, ${from}`;
  if (!lastReload) return `${words}, at the start.`;
  const at = clock(lastReload.at, now());
  const came = {
    applied: `; ${many(generation - 1, "reload")} changed something since the start`,
    unchanged: `; a reload at ${at} changed nothing`,
    refused: `; another one was refused at ${at}`,
  };
  return `${words}${came[lastReload.result] ?? ""}.`;
}

function showItems(name, items) {
  const hadFocus = $(name).contains(document.activeElement);
  $(name).hidden = items.length === 0;
  keep($(`${name}-list`), items, {
    key: ({ key }) => key,
    stamp: ({ level, since, acts }) => JSON.stringify([level, since, acts]),
    make: itemCard, update: updateItem,
  });
  if (hadFocus && items.length === 0) $("verdict").focus();
}

/** A list that fills the page hides what is below it; the most pressing come first. */
function showFold(number) {
  $("needs-fold").hidden = number <= needsBeforeFold;
  say($("needs-fold"), isUnfolded ? `Show the first ${needsBeforeFold}`
    : `Show all ${count(number)}`);
  $("needs-fold").setAttribute("aria-expanded", String(isUnfolded));
}

/** Begins with `again`, which shows the last reading once more. */
export function begin(again) {
  $("needs-fold").addEventListener("click", () => {
    isUnfolded = !isUnfolded;
    again();
  });
}

/** Figures in what is said change all the time. */
function updateItem(card, { title, text, since }) {
  say(card.querySelector("h3"), title);
  say(card.querySelector(".text"), text ?? "");
  if (since) say(card.querySelector(".since"), sinceWords(since));
}

const sinceWords = (since) =>
  `for ${stretch(now() - Date.parse(since))}, since ${clock(since, now())}`;

function itemCard({ level, since, acts = [] }) {
  return h("li", { class: `item ${level}` },
    h("div", null, h("h3"), since && h("p", { class: "since soft" }), h("p", { class: "text" })),
    acts.length > 0 && h("div", { class: "acts" }, acts.map(control)));
}

/** A line that hands over an envelope, for as long as there is none of any kind. */
function showFirst({ store, upstreams }) {
  $("first").hidden = Object.values(store.envelopes).some((count) => count > 0);
  if ($("first").hidden) return;
  const hasDefault = upstreams.some(({ name }) => name === "default");
  const envelope = {
    ...!token.get() && { client: "first-device" }, path: "/hello",
    ...!hasDefault && { upstream: upstreams[0]?.name }, body: { hello: "world" },
  };
  say($("first-line"), [
    `curl -i ${new URL("v1/envelopes", base)}`, "-H 'Content-Type: application/json'",
    token.get() && "-H 'Authorization: Bearer TOKEN-OF-A-DEVICE'",
    `-d '${JSON.stringify(envelope)}'`,
  ].filter(Boolean).join(" \\\n  "));
}

// The upstreams.

function placeCharts(count) {
  const [first, second] = count > upstreamsBeforeCharts
    ? [$("charts"), $("upstreams")] : [$("upstreams"), $("charts")];
  if (first.nextElementSibling !== second) second.before(first);
}

/** What decides of an upstream which facts and controls its card has. */
function upstreamStamp(upstream) {
  const { configured, paused, reachable, since, waiting, lastError, oldestWaitingAt } = upstream;
  const { heldUntil } = upstream;
  const facts = [waiting > 0, Boolean(lastError), Boolean(oldestWaitingAt), Boolean(heldUntil)];
  return JSON.stringify([configured, paused, reachable, since, ...facts]);
}

function upstreamState({ configured, paused, reachable, heldUntil, waiting }) {
  if (!configured) return ["act", "Not configured"];
  if (paused) return ["watch", reachable ? "Paused" : "Paused, unreachable"];
  if (reachable && heldUntil) return ["watch", "Wants a wait"];
  return reachable ? ["ok", "Reachable"] : [waiting > 0 ? "act" : "watch", "Unreachable"];
}

function upstreamCard(upstream) {
  const { name, url, configured, reachable, paused, since, waiting } = upstream;
  const { oldestWaitingAt, lastError, heldUntil } = upstream;
  const [level, words] = upstreamState(upstream);
  const fact = (term, fact) => [h("dt", null, term), h("dd", { data: { fact } })];
  return h("li", { class: "card" },
    h("div", { class: "card-top" }, h("h3", null, name),
      h("p", { class: `badge ${level}` }, words)),
    url && h("p", { class: "soft wrap" }, url),
    h("dl", null,
      since && fact("Since", "since"), fact("Waiting", "waiting"),
      oldestWaitingAt && fact("Oldest", "oldest"), heldUntil && fact("Goes on", "heldUntil"),
      configured && fact("In flight", "flight")),
    lastError && !reachable && h("p", { class: "wrap", data: { fact: "error" } }),
    h("div", { class: "acts" },
      waiting > 0 && control({ name: "findOfUpstream", upstream: name }),
      configured && (!reachable || heldUntil) && control({ name: "probe", upstream: name }),
      configured && control({ name: "tryUpstream", upstream: name }),
      configured && control({
        name: paused ? "resumeUpstream" : "pauseUpstream", upstream: name,
      })));
}

function updateCard(card, upstream) {
  const { since, waiting, oldestWaitingAt, lastError, heldReason } = upstream;
  const { inFlight, concurrencyNow, concurrencyMax, heldUntil } = upstream;
  const { requestsPerSecondNow, requestsPerSecondLearned } = upstream;
  const age = (at) => stretch(now() - Date.parse(at));
  const facts = {
    since: () => `${clock(since, now())}, for ${age(since)}`, waiting: () => count(waiting),
    oldest: () => age(oldestWaitingAt),
    flight: () => `${count(inFlight)} of ${count(concurrencyNow)}`
      + (concurrencyNow < concurrencyMax ? `, ramping up to ${count(concurrencyMax)}` : "")
      + (requestsPerSecondNow ? `, at most ${rate(requestsPerSecondNow)}` : "")
      + (requestsPerSecondLearned ? " (learned)" : ""),
    heldUntil: () => `in ${stretch(Date.parse(heldUntil) - now())}`
      + (heldReason ? `, since ${heldReason}` : ""),
    error: () => `Last error: ${lastError}`,
  };
  for (const element of card.querySelectorAll("[data-fact]")) {
    say(element, facts[element.dataset.fact]());
  }
}

// The relays that share a store.

function showRelays(relays) {
  $("relays").hidden = relays.length === 0;
  // One that was started again is listed twice for a moment, at the same address.
  const numbered = relays.map((relay, index) => ({ ...relay, key: `${index} ${relay.address}` }));
  keep($("relays-list"), numbered, {
    key: ({ key }) => key, stamp: ({ role, version }) => JSON.stringify([role, version]),
    make: relayCard,
    update: (card, { seenMsAgo }) =>
      say(card.querySelector("[data-fact]"), `${stretch(seenMsAgo)} ago`),
  });
}

function relayCard({ address, role, version }) {
  const [level, words] = role === "leader" ? ["ok", "Has the store"] : ["", "Spare"];
  return h("li", { class: "card" },
    h("div", { class: "card-top" },
      h("h3", { class: "wrap" }, address ?? "No listener for relays"),
      h("p", { class: `badge ${level}` }, words)),
    h("dl", null, h("dt", null, "Version"), h("dd", null, version),
      h("dt", null, "Seen"), h("dd", { data: { fact: "seen" } })));
}

function showBacklogs(backlogs) {
  $("backlogs").hidden = backlogs.length === 0;
  keep($("backlogs-list"), backlogs, {
    key: ({ client }) => client, stamp: ({ waiting }) => String(waiting),
    make: ({ client, waiting }) => h("li", null,
      h("a", { class: "chip", href: clientLink(client), data: { act: client } },
        h("span", { class: "wrap" }, client), " ", h("b", null, count(waiting)))),
  });
}
