// The news: a line for each thing out of the ordinary since the page was opened, the newest first.

import { differences, ofOperation } from "./differences.js";
import { $, h, replace, say, time } from "./dom.js";
import { clock, many } from "./format.js";
import { now } from "./relay.js";
import { describe } from "./selection.js";
import { storyLink } from "./steer.js";

const linesMax = 100;
let lines = [];
let known;

/** Takes a reading of /status, and tells what is another matter than at the one before. */
export function noteStatus(status) {
  const news = known ? differences(known, status) : [];
  known = status;
  if (news.length > 0) add(news);
}

/** Operations that had ended when the page was opened. */
let ended;

/** Takes what is listed of operations; what had ended before the first time is no news. */
export function noteOperations(operations) {
  ended ??= new Set(operations.filter(({ state }) => state !== "running").map(({ id }) => id));
  for (const operation of [...operations].reverse()) noteOperation(operation);
}

/** Takes how far an operation has come: it has one line, which goes up once more as it ends. */
export function noteOperation(operation) {
  const { id, state } = operation;
  if (ended?.has(id)) return;
  const line = lines.find(({ operation }) => operation === id);
  if (line?.state === state) return;
  lines = lines.filter((other) => other !== line);
  add([{ ...ofOperation(operation, describe(operation.filter)), operation: id, state }]);
}

function add(news) {
  const learnt = new Date(now()).toISOString();
  for (const piece of news) lines.unshift({ ...piece, at: piece.at ?? learnt });
  lines.length = Math.min(lines.length, linesMax);
  const number = lines.length === linesMax ? `The last ${linesMax}` : many(lines.length, "thing");
  say($("news-note"), `${number} out of the ordinary since you opened this page.`);
  replace($("news-list"), lines.map(shown));
}

function shown({ words, detail, isBad, at, id }) {
  return h("li", { class: isBad ? "bad" : "good" },
    time(at, clock(at, now())),
    h("p", null, id ? h("a", { href: storyLink(id) }, words) : words,
      detail && h("span", { class: "soft wrap" }, ` ${detail}`)));
}
