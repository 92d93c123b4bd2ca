// Acts on all that a filter matches. The relay is asked for them page by page, the count is shown
// before anything is done, and then they are settled one by one, a few at a time: it ends when one
// stops it, or closes the page.

import { confirm, tell } from "./dialogs.js";
import { h } from "./dom.js";
import { count, many, waitingStates } from "./format.js";
import { Refusal, call, news, path, query } from "./relay.js";

const pageCount = 200;
const matchedMax = 20000;
const atOnce = 6;
const retryAfterMs = 1000;
const triesMax = 5;

/** What can be done with many, by the states that it is for. */
const kinds = {
  retry: {
    words: "Try all again", states: ["blocked"], verb: "Try again", isDangerous: false,
    text: "Each goes out again as it is, and its lane goes on once it is delivered.",
    run: (id) => call("POST", path("v1/envelopes", id, "resolve"), { body: { action: "retry" } }),
  },
  discard: {
    words: "Discard all", states: ["blocked"], verb: "Discard", isDangerous: true,
    text: "None of them is sent. They are kept as dead letters, and their lanes go on.",
    run: (id) => call("POST", path("v1/envelopes", id, "resolve"), { body: { action: "discard" } }),
  },
  requeue: {
    words: "Requeue all", states: ["failed", "expired", "cancelled"], verb: "Requeue",
      isDangerous: false,
    text: "Each waits again in its old place, before later ones of its lane, with a fresh"
      + " deadline.",
    run: (id) => call("POST", path("v1/envelopes", id, "requeue"), { body: {} }),
  },
  cancel: {
    words: "Cancel all", states: [...waitingStates, "failed", "expired"],
      verb: "Cancel", isDangerous: true,
    text: "They end as cancelled and are never sent, unless somebody requeues them.",
    run: (id) => call("DELETE", path("v1/envelopes", id)),
  },
};

/** The controls for what a filter matches, as far as its states allow any. */
export function manyControls(filter, words) {
  const states = filter.state ? filter.state.split(",") : [];
  return Object.values(kinds)
    .filter((kind) => states.length > 0 && states.every((state) => kind.states.includes(state)))
    .map((kind) => h("button", {
      type: "button", class: kind.isDangerous ? "danger-quiet" : undefined,
      data: { act: kind.words },
      on: { click: () => perform(kind, filter, words) },
    }, `${kind.words}…`));
}

async function perform(kind, filter, words) {
  let ids;
  const counting = h("p", { role: "status" }, "Counting…");
  // Counting is a question of its own: nothing is done before its answer is seen.
  const matched = await confirm({
    title: `${kind.words}?`, text: `That is, ${words}.`, yes: "Count them", more: counting,
    run: async ({ signal }) => {
      ids = await collect(filter, signal,
        (number) => { counting.textContent = `Counting: ${count(number)} so far…`; });
      return ids.length;
    },
  });
  if (matched === undefined) return;
  if (matched === 0) return tell("There is none of them any more.");
  const report = await confirm({
    title: `${kind.verb} ${many(matched, "envelope")}?`,
    text: [`${capital(words)}.`, kind.text, matched < matchedMax ? "" : rest],
    yes: `${kind.verb} ${many(matched, "envelope")}`, isDangerous: kind.isDangerous,
    run: (progress) => settle(kind, ids, progress),
  });
  if (!report) return;
  tell(summary(kind, report));
  news.dispatchEvent(new Event("acted"));
  if (report.refused.size > 0) await showRefused(kind, report);
}

const rest = `These are the first ${count(matchedMax)}; do the same again for the rest.`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** The ids of all that a filter matches, up to a limit. */
async function collect(filter, signal, onCount) {
  const ids = [];
  let cursor;
  do {
    const page = await call("GET",
      `v1/envelopes${query({ ...filter, limit: pageCount, cursor })}`, { signal });
    ids.push(...page.envelopes.map(({ id }) => id));
    cursor = page.next;
    onCount(ids.length);
  } while (cursor && ids.length < matchedMax);
  return ids.slice(0, matchedMax);
}

/** Settles each, and tells how far it has come; what the relay refuses is counted by why. */
async function settle(kind, ids, { signal, show }) {
  const bar = h("progress", { max: ids.length, value: 0, "aria-label": "Done so far" });
  const line = h("p", { role: "status" });
  show(bar, line);
  const report = { done: 0, refused: new Map(), total: ids.length };
  let next = 0;
  let isOver = false;
  const work = async () => {
    while (next < ids.length && !isOver && !signal.aborted) {
      try {
        await settleOne(kind, ids[next++], report, signal);
      } catch (error) {
        // What one may not do, the others may not either.
        isOver = true;
        throw error;
      }
      const seen = report.done
        + [...report.refused.values()].reduce((sum, { number }) => sum + number, 0);
      bar.value = seen;
      if (seen % 10 === 0 || seen === ids.length) {
        line.textContent = `${count(seen)} of ${count(ids.length)}`;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return report;
}

async function settleOne(kind, id, report, signal) {
  for (let tries = 1; ; tries += 1) {
    try {
      await kind.run(id);
      report.done += 1;
      return;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const mayPass = error.isLost || error.status === 429 || error.status === 503
        || error.problem.type?.endsWith(":delivering");
      if (error.status === 401 || error.status === 403) throw error;
      if (!mayPass || tries >= triesMax || signal.aborted) {
        const why = error.problem.title ?? error.message;
        const old = report.refused.get(why) ?? { number: 0, example: id };
        report.refused.set(why, { ...old, number: old.number + 1 });
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, retryAfterMs * tries));
    }
  }
}

const summary = (kind, { done, total }) => done === total
  ? `Done: ${many(done, "envelope")}.` : `Done: ${count(done)} of ${many(total, "envelope")}.`;

function showRefused(kind, { done, total, refused }) {
  return confirm({
    title: `${count(done)} of ${many(total, "envelope")} done`, yes: "Good",
    text: ["These were not:", h("ul", null, [...refused].map(([why, { number, example }]) =>
      h("li", null, `${count(number)}: ${why}. `,
        h("a", { href: `#/envelope/${encodeURIComponent(example)}` }, "See one"))))],
    run: async () => true,
  });
}
