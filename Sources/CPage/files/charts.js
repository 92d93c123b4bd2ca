// The charts: from what the relay keeps of the last hour and day, or, where it keeps no such thing,
// from what this page has seen since it was opened.

import { waitingCount } from "./assess.js";
import { Chart, durationCeiling } from "./chart.js";
import { $, h, replace, say } from "./dom.js";
import { brief, clock, count, many, rate, short, stretch, took, tookBriefly } from "./format.js";
import { Refusal, call, now, query } from "./relay.js";

const samplesMax = 3600;
const historyEveryMs = 30000;
const spans = { seen: "Since opened", hour: "Last hour", day: "Last day" };

/** What the page has seen: one sample each time that it read /status. */
export const samples = [];

/** Adds a sample; the oldest half is thinned once there are too many. */
export function note(status) {
  samples.push({
    at: now(), waiting: waitingCount(status), room: status.store.roomBytes,
    oldest: status.store.oldestWaitingAt ? now() - Date.parse(status.store.oldestWaitingAt) : 0,
    accepted: status.rates.acceptedPerSecond, delivered: status.rates.deliveredPerSecond,
    failed: status.rates.failedPerSecond,
  });
  if (samples.length > samplesMax) {
    const thinned = samples.slice(0, samplesMax / 2).filter((_, index) => index % 2 === 0);
    samples.splice(0, samplesMax / 2, ...thinned);
  }
}

const flow = new Chart("Envelopes a second", { format: rate, axis: short });
const waiting = new Chart("Waiting", { format: count, axis: short });
const oldest = new Chart("Age of the oldest waiting",
  { format: stretch, axis: brief, ceiling: durationCeiling });
const delay = new Chart("From acceptance to delivery",
  { format: took, axis: tookBriefly, ceiling: durationCeiling });

/** Whether the relay keeps a history; unknown until it was asked. */
let isKept;
let span = "seen";
let upstream = "";
let upstreamNames = [];
let history;
let historyAt = 0;

const of = (points, name) => points.map((point) => [point.at, point[name]]);

function drawSeen() {
  const to = now();
  const from = samples[0]?.at ?? to;
  const frame = { from: Math.min(from, to - 60000), to, now: to };
  flow.draw({ ...frame, series: [
    { name: "accepted", line: "accepted", points: of(samples, "accepted") },
    { name: "delivered", line: "delivered", points: of(samples, "delivered") },
    { name: "failed", line: "failed", points: of(samples, "failed") },
  ] });
  waiting.draw({ ...frame,
    series: [{ name: "waiting", line: "waiting", points: of(samples, "waiting") }] });
  oldest.draw({ ...frame,
    series: [{ name: "oldest", line: "waiting", points: of(samples, "oldest") }] });
  say($("charts-note"), `Averages of a minute, since you opened this page at ${clock(from, to)}.`
    + (isKept === false ? " This relay keeps no history of its own." : ""));
}

function drawHistory() {
  const points = history.points.map((point) => ({ ...point, at: Date.parse(point.at) }));
  // The figure that stands in the sentence on top: what is kept ends with the last whole step.
  const last = upstream === "" ? samples.slice(-1) : [];
  const perSecond = (name) => [
    ...points.map((point) => [point.at, point[name] / history.stepSeconds]), ...of(last, name)];
  const to = now();
  const frame = { from: Math.min(Date.parse(history.from), to - 60000), to, now: to };
  flow.draw({ ...frame, series: [
    { name: "accepted", line: "accepted", points: perSecond("accepted") },
    { name: "delivered", line: "delivered", points: perSecond("delivered") },
    { name: "failed", line: "failed", points: perSecond("failed") },
  ] });
  waiting.draw({ ...frame,
    series: [{ name: "waiting", line: "waiting",
      points: [...of(points, "waiting"), ...of(last, "waiting")] }] });
  delay.draw({ ...frame, series: [
    { name: "half of them", line: "delivered", points: of(points, "p50Ms") },
    { name: "99 of 100", line: "failed", points: of(points, "p99Ms") },
  ] });
  say($("charts-note"),
    `Kept by the relay, one figure each ${many(history.stepSeconds, "second")}`
      + (last.length > 0 ? "; the last one is of the minute until now." : "."));
}

async function readHistory() {
  if (span === "seen" || isKept === false || Date.now() - historyAt < historyEveryMs) return;
  historyAt = Date.now();
  try {
    history = await call("GET", `v1/history${query({ span, upstream })}`);
    isKept = true;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.status === 404 || error.status === 405) isKept = false;
    if (!history) span = "seen";
  }
  layOut();
  draw();
}

function layOut() {
  const choices = isKept ? Object.entries(spans) : [];
  replace($("charts-choices"), choices.map(([name, words]) =>
    h("button", { type: "button", class: "quiet", "aria-pressed": String(span === name),
      data: { act: name },
      on: { click: () => choose(name) } }, words)),
  isKept && span !== "seen" && upstreamNames.length > 1
    && h("label", null, h("span", { class: "heard" }, "Upstream"),
    h("select", { on: { change: (event) => { upstream = event.target.value; choose(span); } } },
      h("option", { value: "" }, "All upstreams"),
      upstreamNames.map((name) => h("option", { value: name, selected: name === upstream },
        name)))));
  const shown = span === "seen" ? [flow, waiting, oldest] : [flow, waiting, delay];
  const list = $("charts-list");
  if (shown.some((chart, index) => list.children[index] !== chart.element)) {
    list.replaceChildren(...shown.map((chart) => chart.element));
  }
}

function choose(name) {
  const isSame = name === span;
  span = name;
  historyAt = 0;
  if (!isSame) history = undefined;
  layOut();
  $("charts-choices").querySelector("[aria-pressed=true]")?.focus();
  if (span === "seen") draw();
  else readHistory();
}

function draw() {
  if (span !== "seen" && history) drawHistory();
  else drawSeen();
}

/** Shows a reading of /status; asks for the relay's own history the first time. */
export function show(status) {
  upstreamNames = status.upstreams.map(({ name }) => name);
  if (isKept === undefined) {
    isKept = null;
    span = "hour";
    readHistory();
  } else if (isKept) {
    readHistory();
  }
  if (!$("charts-list").firstChild) layOut();
  draw();
}
