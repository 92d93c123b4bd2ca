// Decides how the relay stands and what needs a person, from what /status says and what was seen
// since the page was opened. Pure: it touches nothing, and the time now is handed in.

import { brief, bytes, count, many, rate, stretch, waitingStates } from "./format.js";

/** From this age on, an envelope whose upstream answers has waited for too long. */
export const oldWaitMs = 15 * 60 * 1000;
/** Below the first, room on disk is worth a look; below the second, somebody has to act. */
export const roomLowBytes = 2 * 1024 ** 3;
export const roomVeryLowBytes = 256 * 1024 ** 2;
/** A disk that would be full sooner than this needs somebody. */
const roomHorizonMs = 6 * 3600 * 1000;
const trendMs = 2 * 60 * 1000;
const growthMin = 100;
const growthShare = 1.1;

/** How many envelopes wait, in whichever state. */
export const waitingCount = (status) =>
  waitingStates.reduce((sum, state) => sum + (status.store.envelopes[state] ?? 0), 0);

/**
 * What needs a person (`needs`), what is good to know (`notes`), the `level` of the whole (`ok`,
 * `watch` or `act`) and the `sentence` that says it.
 *
 * Each item has a `key`, a `level`, a `title`, maybe a `text` and a `since`, and `acts` by name,
 * with what each is about; what an act does is steer.js's.
 */
export function assess(status, samples, now) {
  const items = [
    ...store(status), ...upstreams(status, now), ...blocked(status), ...room(status, samples, now),
    ...configuration(status), ...backlog(status, samples, now), ...turnedAway(status),
    ...kept(status),
  ];
  const needs = items.filter((item) => item.level === "act");
  const notes = items.filter((item) => item.level !== "act");
  const level = needs.length > 0 ? "act" : notes.some((item) => item.level === "watch")
    ? "watch" : "ok";
  return { level, needs, notes, sentence: sentence(status, needs, notes, now) };
}

function sentence(status, needs, notes, now) {
  const configured = status.upstreams.filter((upstream) => upstream.configured);
  const reachable = configured.filter((upstream) => upstream.reachable).length;
  const reach = reachable === configured.length
    ? `${many(reachable, "upstream")} reachable`
    : `${reachable} of ${many(configured.length, "upstream")} reachable`;
  const waiting = waitingCount(status);
  const oldest = status.store.oldestWaitingAt;
  const age = oldest ? `, the oldest ${stretch(now - Date.parse(oldest))}` : "";
  const wait = waiting === 0 ? "nothing waits" : `${many(waiting, "envelope")} waiting${age}`;
  const watched = notes.filter((item) => item.level === "watch").length;
  const needed = needs.length > 0
    ? `${many(needs.length, "thing")} ${needs.length === 1 ? "needs" : "need"} you`
    : watched > 0
      ? `nothing needs you now, ${many(watched, "thing")} to keep an eye on` : "nothing needs you";
  return `${reach}; ${wait}; ${needed}`;
}

function* store(status) {
  const { trouble, damage, setAside } = status.store;
  if (status.state === "draining") {
    yield {
      key: "draining", level: "watch", title: "The relay is shutting down",
      text: "It takes nothing new, and lets what is under way finish.",
    };
  }
  if (trouble) {
    yield {
      key: "trouble", level: "act", title: "The store is in trouble: devices are turned away",
      text: `${trouble} Look at the disk of the relay's machine. It goes on by itself once it can`
        + " write.",
    };
  }
  if (damage) {
    yield {
      key: "damage", level: "act", title: "The store is damaged", acts: [{ name: "findBlocked" }],
      text: `${damage.detail} Quarantined envelopes block their lanes until they are settled. When`
        + " it suits you: stop the relay, and run waystation store check, then waystation store"
        + " salvage.",
    };
  }
  if (setAside) {
    yield {
      key: "set-aside", level: "watch", title: "A damaged store was set aside",
      text: `It lies in ${setAside}. waystation store salvage gets out of it what can be read.`,
    };
  }
}

function* upstreams(status, now) {
  for (const upstream of status.upstreams) {
    const { name, waiting } = upstream;
    const wait = waiting > 0
      ? `${many(waiting, "envelope waits", "envelopes wait")} for it` : "Nothing waits for it";
    if (!upstream.configured) {
      if (waiting === 0) continue;
      yield {
        key: `unconfigured ${name}`, level: "act", title: `${name} is not configured any more`,
        text: `${wait}. Configure it again and restart, or edit the envelopes to go elsewhere.`,
        acts: [{ name: "findOfUpstream", upstream: name }],
      };
    } else if (upstream.paused) {
      yield {
        key: `paused ${name}`, level: waiting > 0 ? "watch" : "note", title: `${name} is paused`,
        text: `${wait}. Deadlines run on meanwhile.`,
          acts: [{ name: "resumeUpstream", upstream: name }],
      };
    } else if (!upstream.reachable) {
      const probe = upstream.nextProbeAt ? Date.parse(upstream.nextProbeAt) - now : undefined;
      const next = probe === undefined ? "" : probe > 0
        ? ` The next probe is in ${brief(probe)}.` : " A probe is due now.";
      yield {
        key: `unreachable ${name}`, level: "act", since: upstream.since,
        title: `${name} cannot be reached`,
        text: `${upstream.lastError ? `${capital(upstream.lastError)}. ` : ""}${wait}.${next}`,
        acts: [{ name: "probe", upstream: name }, { name: "pauseUpstream", upstream: name }],
      };
    }
  }
}

function* blocked(status) {
  for (const lane of status.blockedLanes) {
    const about = { id: lane.envelope, client: lane.client, lane: lane.lane };
    yield {
      key: `blocked ${lane.client} ${lane.lane}`, level: "act", since: lane.since,
      title: `Lane ${lane.lane} of ${lane.client} is blocked`, text: `${capital(lane.reason)}.`,
      acts: [
        { name: "story", id: lane.envelope }, { name: "retry", ...about },
        { name: "editBlocked", id: lane.envelope }, { name: "discard", ...about },
      ],
    };
  }
  const more = status.blockedLaneCount - status.blockedLanes.length;
  if (more > 0) {
    yield {
      key: "blocked more", level: "act",
        title: `${many(more, "more lane is", "more lanes are")} blocked`,
      text: "Each stands until somebody settles the envelope at its head.",
      acts: [{ name: "findBlocked" }],
    };
  }
}

function* room(status, samples, now) {
  const left = status.store.roomBytes;
  const old = samples.find((sample) => now - sample.at <= 3600 * 1000);
  const lost = old && now - old.at >= trendMs ? (old.room - left) / (now - old.at) : 0;
  const fullInMs = lost > 0 ? left / lost : Infinity;
  const isSoon = fullInMs < roomHorizonMs && left < 16 * roomLowBytes;
  if (left >= roomLowBytes && !isSoon) return;
  const forecast = fullInMs < 48 * 3600 * 1000
    ? ` At the pace of the last ${stretch(now - old.at)} it is full in ${stretch(fullInMs)}.` : "";
  yield {
    key: "room", level: left < roomVeryLowBytes || isSoon ? "act" : "watch",
    title: left === 0 ? "The disk is full" : `The disk is filling up: ${bytes(left)} left`,
    text: `${left === 0 ? "Devices" : "Past that, devices"} are told to come back later.`
      + `${forecast} Make room on the disk, or let upstreams take what waits.`,
  };
}

function* configuration(status) {
  const { path, lastReload } = status.configuration;
  if (lastReload?.result !== "refused") return;
  const [first, ...more] = lastReload.problems ?? [];
  const others = more.length > 0 ? `, and ${many(more.length, "thing")} more` : "";
  yield {
    key: "configuration", level: "act", since: lastReload.at,
    title: "The configuration was refused, and the one before goes on",
    text: `${first ? `What is wrong: ${first}${others}. ` : ""}See to it before`
      + " the relay is started anew: mend it"
      + `${path ? `, let waystation check --config ${path} look at it,` : ""} and reload.`,
  };
}

function* backlog(status, samples, now) {
  const oldest = status.upstreams
    .filter((upstream) => upstream.configured && upstream.reachable && !upstream.paused)
    .filter((upstream) => upstream.oldestWaitingAt
      && now - Date.parse(upstream.oldestWaitingAt) > oldWaitMs);
  for (const upstream of oldest) {
    yield {
      key: `old ${upstream.name}`, level: "watch",
      title: `${upstream.name} answers, but the oldest envelope for it has waited`
        + ` ${stretch(now - Date.parse(upstream.oldestWaitingAt))}`,
      text: "It may be held, parked or paused, or behind one that is refused again and again.",
      acts: [{ name: "findOfUpstream", upstream: upstream.name }],
    };
  }
  const waiting = waitingCount(status);
  const old = samples.find((sample) => now - sample.at <= 15 * 60 * 1000);
  if (!old || now - old.at < trendMs) return;
  if (waiting - old.waiting < growthMin || waiting < old.waiting * growthShare) return;
  const { acceptedPerSecond, deliveredPerSecond } = status.rates;
  yield {
    key: "growing", level: "act",
      title: `The backlog grows: ${count(waiting - old.waiting)} more than`
      + ` ${stretch(now - old.at)} ago`,
    text: `${rate(acceptedPerSecond)} come in and ${rate(deliveredPerSecond)} are delivered. See`
      + " whether an upstream is slow or away, or one client sends more than it should.",
    acts: [{ name: "goTo", place: "upstreams", words: "See the upstreams" },
      { name: "goTo", place: "find", words: "See who has most" }],
  };
}

function* turnedAway(status) {
  const { shedPerSecond } = status.rates;
  if (!(shedPerSecond > 0)) return;
  yield {
    key: "shed", level: "watch", title: `Devices are sent away, ${rate(shedPerSecond)}`,
    text: "More comes in than the relay can store in time. They keep what they have, and come"
      + " back.",
  };
}

function* kept(status) {
  const { failed } = status.store.envelopes;
  if (!(failed > 0)) return;
  yield {
    key: "failed", level: "note", title: `${many(failed, "dead letter")} kept`,
    text: "Refused by an upstream, or given up. Requeue what should go again.",
    acts: [{ name: "findFailed" }],
  };
}

/** A sentence's beginning; without a full stop, which the caller sets. */
function capital(text) {
  const bare = text.replace(/[.\s]+$/, "");
  return bare.charAt(0).toUpperCase() + bare.slice(1);
}
