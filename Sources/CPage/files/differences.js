// What is news from one reading of /status to the next. Pure: it touches nothing. Two states are
// compared, and no events are counted, so it holds however much happens, and over a lost
// connection.

import { needKey, needTitle } from "./assess.js";
import { count, many } from "./format.js";

/** What is told of upstreams and reloads themselves is not told again as a need. */
const toldOtherwise = new Set(["upstream-unreachable", "upstream-paused", "configuration-refused"]);

/**
 * What is new in `after`, in the order in which it is to be told.
 *
 * Each has `words`, whether it `isBad`, and maybe a time `at`, a `detail`, and the `id` of an
 * envelope that shows it.
 */
export function differences(before, after) {
  return [...ofRelay(before, after), ...ofUpstreams(before, after), ...ofNeeds(before, after)];
}

const isRestarted = (before, after) => before.startedAt !== after.startedAt;

function* ofRelay(before, after) {
  if (isRestarted(before, after)) {
    yield { words: "The relay was started", isBad: false, at: after.startedAt };
  }
  if (after.state === "draining" && before.state !== "draining") {
    yield { words: "The relay is shutting down", isBad: false };
  }
  const { lastReload } = after.configuration;
  if (!lastReload || lastReload.at === before.configuration.lastReload?.at) return;
  const { at, result, problems } = lastReload;
  const isBad = result === "refused";
  yield { words: reloadWords[result] ?? "There was a reload", isBad, at, detail: problems?.[0] };
}

const reloadWords = {
  applied: "Another configuration was taken up", unchanged: "A reload changed nothing",
  refused: "A reload was refused, and the configuration before it goes on",
};

function* ofUpstreams(before, after) {
  const configured = (status) => status.upstreams.filter(({ configured }) => configured);
  const old = new Map(configured(before).map((upstream) => [upstream.name, upstream]));
  for (const upstream of configured(after)) {
    const { name, paused } = upstream;
    const isNew = !old.has(name);
    if (isNew) yield { words: `Upstream ${name} was added`, isBad: false };
    // What is new counts as reachable, and goes on, until it turns out otherwise.
    const known = isNew ? { reachable: true, paused: false, since: reachableSince(upstream) }
      : old.get(name);
    old.delete(name);
    const flip = reach(known, upstream, isRestarted(before, after));
    if (flip) yield { ...flip, at: upstream.since };
    if (paused !== known.paused) {
      yield { words: `Upstream ${name} was ${paused ? "paused" : "resumed"}`, isBad: false };
    }
  }
  for (const name of old.keys()) yield { words: `Upstream ${name} was removed`, isBad: false };
}

const reachableSince = ({ reachable, since }) => reachable ? since : undefined;

/** What has become of an upstream's reachability; `since` tells of what came and went meanwhile. */
function reach(known, { name, reachable, since, lastError }, isRestarted) {
  if (known.since === since) return undefined;
  if (!reachable) {
    if (!known.reachable && isRestarted) return undefined;
    const again = known.reachable ? "" : " again, after it could be for a while";
    return { words: `${name} cannot be reached${again}`, isBad: true, detail: lastError };
  }
  // From a start on, each counts as reachable until it turns out otherwise.
  if (isRestarted) return undefined;
  return known.reachable
    ? { words: `${name} could not be reached for a while, and can be again`, isBad: true }
    : { words: `${name} can be reached again`, isBad: false };
}

function* ofNeeds(before, after) {
  const told = ({ needs }) => needs.filter(({ kind }) => !toldOtherwise.has(kind));
  const old = new Map(told(before).map((need) => [needKey(need), need]));
  for (const need of told(after)) {
    const known = old.get(needKey(need));
    old.delete(needKey(need));
    if (known && (known.severity === need.severity || need.severity !== "critical")) continue;
    yield { words: needTitle(need), isBad: true, detail: need.cause, id: need.example?.id };
  }
  for (const need of old.values()) yield { words: `Over: ${needTitle(need)}`, isBad: false };
}

const actWords = {
  retry: "Trying again", discard: "Discarding", requeue: "Requeueing", cancel: "Cancelling",
  replay: "Replaying",
};

/**
 * An operation as one piece of news: what is done to how many, how it stands, and who began it.
 *
 * `about` says in words which envelopes it is for.
 */
export function ofOperation(operation, about) {
  const { action, who, matched, done, state, startedAt, endedAt } = operation;
  const deed = actWords[action] ?? action.charAt(0).toUpperCase() + action.slice(1);
  const whole = `${deed} ${many(matched, "envelope")}`;
  const far = done === matched ? "all of them" : `${many(done, "envelope")} of ${count(matched)}`;
  const came = {
    running: "under way", done: `done, ${far}`, stopped: `stopped, ${far}`,
    interrupted: `interrupted, ${far}`,
  };
  return {
    words: `${whole}: ${came[state] ?? state}`, isBad: state !== "running" && done < matched,
    at: endedAt ?? startedAt, detail: `by ${who}: ${about}`,
  };
}
