// Acts on all that a filter matches. The relay counts them, the count is shown before anything is
// done, and then the relay settles them one by one, as an operation that this page follows. It goes
// on when the page is closed, and ends when somebody stops it.

import { confirm, tell } from "./dialogs.js";
import { h } from "./dom.js";
import { count, many, waitingStates } from "./format.js";
import { call, deeds, path, query } from "./relay.js";
import { describe } from "./selection.js";

const lookEveryMs = 300;

/** What can be done with many, by the states that it is for. */
const kinds = {
  retry: {
    words: "Try all again", states: ["blocked"], verb: "Try again", isDangerous: false,
    text: "Each goes out again as it is, and its lane goes on once it is delivered.",
  },
  discard: {
    words: "Discard all", states: ["blocked"], verb: "Discard", isDangerous: true,
    text: "None of them is sent. They are kept as dead letters, and their lanes go on.",
  },
  requeue: {
    words: "Requeue all", states: ["failed", "expired", "cancelled"], verb: "Requeue",
    isDangerous: false,
    text: "Each waits again in its old place, before later ones of its lane, with a fresh"
      + " deadline.",
  },
  cancel: {
    words: "Cancel all", states: [...waitingStates, "failed", "expired"],
    verb: "Cancel", isDangerous: true,
    text: "They end as cancelled and are never sent, unless somebody requeues them.",
  },
  replay: {
    words: "Replay all", states: ["delivered"], verb: "Replay", isDangerous: false,
    text: "A copy of each goes out again, in lanes of its own and in the same order, under the same"
      + " Idempotency-Key: an upstream that has it after all takes nothing twice. What was"
      + " delivered stays as it is.",
  },
};

/** The controls for what a filter matches, as far as its states allow any. */
export function manyControls(filter, words) {
  const states = filter.state ? filter.state.split(",") : [];
  return Object.entries(kinds)
    .filter(([, { states: own }]) =>
      states.length > 0 && states.every((state) => own.includes(state)))
    .map(([action, kind]) => manyControl({ action, ...kind }, filter, words));
}

const manyControl = (kind, filter, words) => h("button", {
  type: "button", class: kind.isDangerous ? "danger-quiet" : undefined,
  data: { act: kind.words }, on: { click: () => perform(kind, filter, words) },
}, `${kind.words}…`);

/** The control for one action on all that a filter matches. */
export function controlOfAll(action, filter) {
  const kind = { action, ...kinds[action] };
  return manyControl(kind, filter, describe(filter));
}

async function perform(kind, given, words) {
  const filter = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
  if (filter.status) filter.status = Number(filter.status);
  const body = { action: kind.action, filter };
  // Counting is a question of its own: nothing is done before its answer is seen.
  const counted = await confirm({
    title: `${kind.words}?`, text: `That is, ${words}.`, yes: "Count them",
    run: ({ signal }) => call("POST", `v1/operations${query({ dryRun: true })}`,
      { body, signal }),
  });
  if (!counted) return;
  const { matched, more } = counted;
  if (matched === 0) return tell("There is none of them any more.");
  const operation = await confirm({
    title: `${kind.verb} ${many(matched, "envelope")}?`,
    text: [`${capital(words)}.`, kind.text, more ? rest(matched) : ""].filter(Boolean),
    yes: `${kind.verb} ${many(matched, "envelope")}`, isDangerous: kind.isDangerous,
    run: (progress) => follow({ ...body, expectedCount: matched }, progress),
  });
  if (!operation) return;
  tell(summary(operation));
  deeds.dispatchEvent(new Event("acted"));
  if (operation.problems) await showRefused(operation);
}

const rest = (matched) =>
  `These are the first ${count(matched)}; do the same again for the rest.`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Has the relay begin, and shows how far it comes, until it has ended or is stopped. */
async function follow(body, { signal, show }) {
  let operation = await call("POST", "v1/operations", { body });
  const bar = h("progress", { max: operation.matched, value: 0, "aria-label": "Done so far" });
  const line = h("p", { role: "status" });
  show(bar, line);
  const where = path("v1/operations", operation.id);
  while (operation.state === "running") {
    bar.value = operation.done + operation.failed;
    line.textContent = `${count(bar.value)} of ${count(operation.matched)}`;
    await pause(signal);
    operation = await call(signal.aborted ? "DELETE" : "GET", where);
  }
  return operation;
}

function pause(signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, lookEveryMs);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}

const endWords = { done: "Done", stopped: "Stopped", interrupted: "Interrupted" };

const summary = ({ state, done, matched }) => state === "done" && done === matched
  ? `Done: ${many(done, "envelope")}.`
  : `${endWords[state]}: ${count(done)} of ${many(matched, "envelope")}.`;

function showRefused({ done, matched, problems }) {
  return confirm({
    title: `${count(done)} of ${many(matched, "envelope")} done`, yes: "Good",
    text: ["These were not:", h("ul", null, problems.map(({ title, count: number, example }) =>
      h("li", null, `${count(number)}: ${title}. `,
        h("a", { href: `#/envelope/${encodeURIComponent(example)}` }, "See one"))))],
    run: async () => true,
  });
}
