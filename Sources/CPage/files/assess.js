// Shows what the relay says of itself: what needs a person, as it lists it, and what is good to know.
// Pure: it touches nothing. What needs somebody is decided by the relay alone.

import { count, many, stretch, waitingStates } from "./format.js";

/** How many envelopes wait, in whichever state. */
export const waitingCount = (status) =>
  waitingStates.reduce((sum, state) => sum + (status.store.envelopes[state] ?? 0), 0);

const levels = { critical: "act", warning: "watch" };

/**
 * What needs a person (`needs`, and `needCount` of them in all), what is good to know (`notes`), the
 * `level` of the whole (`ok`, `watch` or `act`) and the `sentence` that says it.
 *
 * Each item has a `key`, a `level`, a `title`, maybe a `text` and a `since`, and `acts` by name,
 * with what each is about; what an act does is steer.js's and many.js's.
 */
export function assess(status, now) {
  const needs = status.needs.map(item);
  const needCount = status.needs.reduce((sum, { more = 0 }) => sum + 1 + more, 0);
  const level = ["act", "watch"].find((level) => needs.some((need) => need.level === level));
  return {
    level: level ?? "ok", needs, needCount, notes: [...notes(status)],
    sentence: sentence(status, needCount, now),
  };
}

function sentence(status, needCount, now) {
  const configured = status.upstreams.filter((upstream) => upstream.configured);
  const reachable = configured.filter((upstream) => upstream.reachable).length;
  const reach = reachable === configured.length
    ? `${many(reachable, "upstream")} reachable`
    : `${reachable} of ${many(configured.length, "upstream")} reachable`;
  const waiting = waitingCount(status);
  const oldest = status.store.oldestWaitingAt;
  const age = oldest ? `, the oldest ${stretch(now - Date.parse(oldest))}` : "";
  const wait = waiting === 0 ? "nothing waits" : `${many(waiting, "envelope")} waiting${age}`;
  const needed = needCount > 0
    ? `${many(needCount, "thing")} ${needCount === 1 ? "needs" : "need"} you`
    : "nothing needs you";
  return `${reach}; ${wait}; ${needed}`;
}

// What needs a person.

/**
 * What tells a need from others, for as long as it lasts: its kind and its upstream, and what of
 * its words stays the same where there can be several.
 */
export function needKey({ kind, upstream, status, title, cause }) {
  return [kind, upstream, subjects[kind]?.({ status, title, cause })].filter(Boolean).join(" ");
}

const subjects = {
  // Of those that were answered the words may be of another example by now.
  "lanes-blocked": ({ status, title, cause }) =>
    status ? [status, cause].join(" ") : title.replace(/^[^:]*/, ""),
  "certificate-ending": ({ title }) => title.replace(/ ends [^:]*$/, ""),
  "certificate-unusable": ({ title }) => title,
  "quota-refusals": ({ title }) => title,
};

/** A need's title as a sentence; a name at its beginning stays as it is. */
export const needTitle = ({ title, upstream }) =>
  upstream && title.startsWith(upstream) ? title : capital(title);

function item(need) {
  const { severity, since, title, cause, example, more } = need;
  const said = example?.words && !title.includes(example.words) ? `It says “${example.words}”` : "";
  const commands = need.acts.filter((act) => !act.path).map(({ command }) =>
    `Run waystation ${command.join(" ")}`);
  const rest = more ? `${count(more)} more of this kind ${more === 1 ? "is" : "are"} not listed` : "";
  const why = cause ? `Why: ${cause.replace(/[.\s]+$/, "")}` : "";
  return {
    key: needKey(need), level: levels[severity], since, title: needTitle(need),
    text: [why, said, ...commands, rest].filter(Boolean).map((text) => `${text}.`).join(" "),
    acts: acts(need),
  };
}

/** The acts of the page for those of a need. */
function acts({ kind, count, example, acts: offered }) {
  const isOneLane = kind === "lanes-blocked" && count === 1 && example;
  if (isOneLane) {
    const { id, client, lane } = example;
    return [
      { name: "story", id }, { name: "retry", id, client, lane }, { name: "editBlocked", id },
      { name: "discard", id, client, lane },
    ];
  }
  return offered.flatMap((act) => shown[act.name]?.(act, example) ?? []);
}

const upstreamOf = ({ command }) => command.at(-1);
const filterOf = ({ path }) => Object.fromEntries(new URLSearchParams(path.split("?")[1]));
const onAll = ({ body }) => ({ name: "onAll", action: body.action, filter: body.filter });

const shown = {
  probe: (act) => ({ name: "probe", upstream: upstreamOf(act) }),
  try: (act) => ({ name: "tryUpstream", upstream: upstreamOf(act) }),
  pause: (act) => ({ name: "pauseUpstream", upstream: upstreamOf(act) }),
  resume: (act) => ({ name: "resumeUpstream", upstream: upstreamOf(act) }),
  list: (act) => ({ name: "find", filter: filterOf(act) }),
  show: (_, { id }) => ({ name: "story", id }),
  lanes: () => ({ name: "findBlocked" }),
  clients: () => ({ name: "goTo", place: "find", words: "See who has most" }),
  "retry-all": onAll, "discard-all": onAll, "requeue-all": onAll, "cancel-all": onAll,
};

// What is good to know, and needs nobody.

function* notes(status) {
  const { setAside, envelopes: { failed } } = status.store;
  if (status.state === "draining") {
    yield {
      key: "draining", level: "note", title: "The relay is shutting down",
      text: "It takes nothing new, and lets what is under way finish.",
    };
  }
  if (setAside) {
    yield {
      key: "set-aside", level: "note", title: "A damaged store was set aside",
      text: `It lies in ${setAside}. waystation store salvage gets out of it what can be read.`,
    };
  }
  for (const { name, configured, paused, waiting } of status.upstreams) {
    if (!configured || !paused || waiting > 0) continue;
    yield {
      key: `paused ${name}`, level: "note", title: `${name} is paused`, text: "Nothing waits for it.",
      acts: [{ name: "resumeUpstream", upstream: name }],
    };
  }
  if (failed > 0) {
    yield {
      key: "failed", level: "note", title: `${many(failed, "dead letter")} kept`,
      text: "Refused by an upstream, or given up. Requeue what should go again.",
      acts: [{ name: "findFailed" }],
    };
  }
}

/** A sentence's beginning; without a full stop, which the caller sets. */
function capital(text) {
  const bare = text.replace(/[.\s]+$/, "");
  return bare.charAt(0).toUpperCase() + bare.slice(1);
}
