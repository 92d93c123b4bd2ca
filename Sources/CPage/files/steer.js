// What an operator can do, act by act: the words of its button, what is asked before it, the call,
// and what is said when it is done. Everything that steers is here, and nothing else is.

import { confirm, said, tell } from "./dialogs.js";
import { h } from "./dom.js";
import { edit } from "./edit.js";
import { many } from "./format.js";
import { controlOfAll } from "./many.js";
import { Refusal, call, deeds, path } from "./relay.js";

const envelope = (id, ...rest) => path("v1/envelopes", id, ...rest);
/** The way to one envelope's story. */
export const storyLink = (id) => `#/envelope/${encodeURIComponent(id)}`;
/** The way to one client. */
export const clientLink = (name) => `#/client/${encodeURIComponent(name)}`;
/** The way to what a filter finds. */
export const findLink = (parts) => `#/find?${new URLSearchParams(parts)}`;

/** The most lanes that the relay shows of a client. */
const lanesShownMax = 1000;

/** How many wait in a lane, and whether the relay may know it. */
async function laneState({ client, lane }) {
  try {
    const { lanes } = await call("GET", path("v1/clients", client));
    const found = lanes.find(({ name }) => name === lane);
    return { waiting: found?.waiting ?? 0, isKnown: found || lanes.length >= lanesShownMax };
  } catch (error) {
    if (error instanceof Refusal && !error.isLost) return { waiting: 0, isKnown: false };
    throw error;
  }
}

async function behind(about) {
  const others = (await laneState(about)).waiting - 1;
  if (others <= 0) return "Nothing waits behind it.";
  const number = many(others, "envelope waits", "envelopes wait");
  return `${number} behind it in lane ${about.lane} of ${about.client}.`;
}

/** How many a pause is about, as of now: what the page shows may be a second old. */
async function waitingThere({ upstream, client, lane }) {
  let waiting = 0;
  if (lane !== undefined) {
    const found = await laneState({ client, lane });
    if (!found.isKnown) {
      return `The relay knows no lane ${lane} of ${client} so far. If the name is right, it stands`
        + " from its first envelope on.";
    }
    waiting = found.waiting;
  } else if (client !== undefined) {
    waiting = (await call("GET", path("v1/clients", client))).waiting;
  } else {
    waiting = (await call("GET", "status")).upstreams.find(({ name }) => name === upstream)?.waiting
      ?? 0;
  }
  if (waiting === 0) return "Nothing waits there now.";
  return `${many(waiting, "envelope waits", "envelopes wait")} there now.`;
}

/** Pausing and resuming, of whatever can be. */
function pausing(what, where) {
  const title = (about) => what === "lane"
    ? `lane ${about.lane} of ${about.client}` : `${what} ${about[what]}`;
  return {
    pause: {
      words: "Pause", title: (about) => `Pause ${title(about)}?`, yes: "Pause",
      text: async (about) => [
        "What is being delivered is finished, and nothing more begins, until somebody resumes."
          + " Devices go on handing over, and deadlines run on.", await waitingThere(about)],
      run: (about) => call("POST", path(where(about), "pause")),
      done: (about, { known }) => `Paused: ${title(about)}`
        + (known === false ? ", of which nothing has come so far." : "."),
    },
    resume: {
      words: "Resume", title: (about) => `Resume ${title(about)}?`, yes: "Resume",
      text: async (about) => ["Deliveries begin again at once.", await waitingThere(about)],
      run: (about) => call("POST", path(where(about), "resume")),
      done: (about) => `Resumed: ${title(about)}.`,
    },
  };
}

const ofUpstream = pausing("upstream", ({ upstream }) => path("v1/upstreams", upstream));
const ofClient = pausing("client", ({ client }) => path("v1/clients", client));
const ofLane = pausing("lane",
  ({ client, lane }) => path(path("v1/clients", client, "lanes"), lane));

/** What came of a run so far. */
const runWords = (_, { matched, skipped }) => `${many(matched, "envelope")} to be tried;`
  + ` ${many(skipped.length, "other")} left as they are.`;

const cancelledWords = (_, { cancelled }) => `${many(cancelled, "envelope")} cancelled.`;

/** The acts by name. Those with a `link` lead somewhere; those without a `title` ask nothing. */
const acts = {
  story: { words: "See what happened", link: ({ id }) => storyLink(id) },
  findBlocked: { words: "Show the blocked", link: () => findLink({ state: "blocked" }) },
  findFailed: { words: "Show them", link: () => findLink({ state: "failed" }) },
  findOfUpstream: { words: "Show what waits",
    link: ({ upstream }) => findLink({ upstream, state: "waiting" }) },
  find: { words: "Show them", link: ({ filter }) => findLink(filter) },
  goTo: { words: ({ words }) => words, link: ({ place }) => `#${place}` },

  probe: {
    words: "Probe now",
    run: ({ upstream }) => call("POST", path("v1/upstreams", upstream, "probe")),
    done: ({ upstream }, answer) => answer.reachable
      ? `${upstream} is reachable; ${many(answer.retriedLanes, "lane")} tried at once.`
      : answer.waiting === 0 ? `Nothing waits for ${upstream}, so nothing was sent.` : `Probing ${upstream}; what comes of it shows here.`,
  },
  tryUpstream: {
    words: "Try to connect",
    run: ({ upstream }) => call("POST", path("v1/upstreams", upstream, "try")),
    done: ({ upstream }, { works, finding }) =>
      works ? `${upstream} ${finding}.` : `${upstream} cannot be used: ${finding}.`,
  },
  pauseUpstream: ofUpstream.pause,
  resumeUpstream: ofUpstream.resume,
  pauseClient: ofClient.pause,
  resumeClient: ofClient.resume,
  pauseLane: ofLane.pause,
  resumeLane: ofLane.resume,

  retry: {
    words: "Try again", isMain: true, title: () => "Try 1 envelope again?", yes: "Try again",
    text: async (about) => [
      "It goes out again as it is, and its lane goes on once it is delivered.",
      await behind(about),
    ],
    run: ({ id }) => call("POST", envelope(id, "resolve"), { body: { action: "retry" } }),
    done: () => "It is tried again.",
  },
  discard: {
    words: "Discard", isDangerous: true, title: () => "Discard 1 envelope?", yes: "Discard it",
    text: async (about) => [
      "It is not sent. It is kept as a dead letter, from which it can be requeued, and its lane"
        + " goes on.",
      await behind(about),
    ],
    run: ({ id }) => call("POST", envelope(id, "resolve"), { body: { action: "discard" } }),
    done: () => "Discarded; its lane goes on.",
  },
  run: {
    words: "Try now", isMain: true, title: () => "Try 1 envelope now?", yes: "Try now",
    text: () => "Whatever it waits for is cut short. The order of its lane stands.",
    run: ({ id }) => call("POST", envelope(id, "run")), done: () => "It is tried now.",
  },
  cancel: {
    words: "Cancel", isDangerous: true, title: () => "Cancel 1 envelope?", yes: "Cancel it",
    text: () => "It ends as cancelled and is never sent, unless somebody requeues it.",
    run: ({ id }) => call("DELETE", envelope(id)), done: () => "Cancelled.",
  },
  requeue: {
    words: "Requeue", isMain: true, title: () => "Requeue 1 envelope?", yes: "Requeue it",
    text: () =>
      "It waits again in its old place, before later ones of its lane, with a fresh deadline.",
    run: ({ id }) => call("POST", envelope(id, "requeue"), { body: {} }),
    done: () => "It waits again.",
  },
  editBlocked: { words: "Edit and try again", edits: "resolve" },
  editEnded: { words: "Edit and requeue", edits: "requeue" },
  edit: { words: "Edit", edits: "nothing" },

  runClient: {
    words: "Try all now", isMain: true,
    title: ({ waiting }) => `Try ${many(waiting, "envelope")} now?`, yes: "Try now",
    text: ({ client }) =>
      `All that waits of ${client} is tried, each lane in its order. What is held, or before`
        + " its time, stays so.",
    run: ({ client }) => call("POST", path("v1/clients", client, "run"), { body: {} }),
    done: runWords,
  },
  runLane: {
    words: "Try now", title: ({ waiting }) => `Try ${many(waiting, "envelope")} now?`,
    yes: "Try now",
    text: ({ client, lane }) => `All that waits in lane ${lane} of ${client} is tried, in order.`,
    run: ({ client, lane }) => call("POST", path("v1/clients", client, "run"), { body: { lane } }),
    done: runWords,
  },
  cancelClient: {
    words: "Forget all that waits", isDangerous: true,
    title: ({ waiting }) => `Cancel ${many(waiting, "envelope")}?`,
    yes: ({ waiting }) => `Cancel ${many(waiting, "envelope")}`,
    text: ({ client }) =>
      `All that waits of ${client}, in every lane, ends as cancelled and is not sent.`,
    run: ({ client }) => call("DELETE", path("v1/clients", client, "envelopes")),
    done: cancelledWords,
  },
  cancelLane: {
    words: "Forget", isDangerous: true,
    title: ({ waiting }) => `Cancel ${many(waiting, "envelope")}?`,
    yes: ({ waiting }) => `Cancel ${many(waiting, "envelope")}`,
    text: ({ client, lane }) =>
      `All that waits in lane ${lane} of ${client} ends as cancelled and is not sent.`,
    run: ({ client, lane }) =>
      call("DELETE", `${path("v1/clients", client, "envelopes")}?${new URLSearchParams({ lane })}`),
    done: cancelledWords,
  },
};

const words = (part, about) => typeof part === "function" ? part(about) : part;

/** The control for an act about something. */
export function control({ name, ...about }) {
  if (name === "onAll") return controlOfAll(about.action, about.filter);
  const act = acts[name];
  const label = words(act.words, about);
  if (act.link) return h("a", { class: "button", href: act.link(about), data: { act: name } },
    label);
  return h("button", {
    type: "button", class: act.isMain ? "main" : act.isDangerous ? "danger-quiet" : undefined,
    data: { act: name }, on: { click: (event) => perform(act, about, event.currentTarget) },
  }, label);
}

async function perform(act, about, button) {
  try {
    if (act.edits) return await edit(about.id, act.edits);
    if (!act.title) {
      button.disabled = true;
      return finish(act, about, await act.run(about));
    }
    const answer = await confirm({
      title: words(act.title, about), text: await act.text(about), yes: words(act.yes, about),
      isDangerous: act.isDangerous, run: () => act.run(about),
    });
    if (answer !== undefined) finish(act, about, answer);
  } catch (error) {
    tell(said(error));
  } finally {
    button.disabled = false;
  }
}

function finish(act, about, answer) {
  tell(act.done(about, answer));
  deeds.dispatchEvent(new Event("acted"));
}

