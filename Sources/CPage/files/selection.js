// What selects envelopes: the parts of a search, as the relay names them, and a search in words.

import { clock, stateWords, waitingStates } from "./format.js";
import { now } from "./relay.js";

/** Whose they are, and how they stand. */
export const names = ["client", "lane", "tag", "state", "upstream"];
/** When it was. */
export const times = ["acceptedSince", "acceptedUntil", "endedSince", "endedUntil"];
/** When it was, and what came of them. */
export const endings = [...times, "status", "reason", "errorId"];

/** The states and groups of states to choose from, with their words. */
export const groups = [
  ["", "Any state"], ["waiting", "All that waits"], ["trying", "Queued or being delivered"],
  ["ended", "All that ended badly"],
  ...Object.entries(stateWords),
];
/** The states of each group. */
export const groupStates = {
  waiting: waitingStates.join(","), trying: "queued,delivering",
  ended: "failed,expired,cancelled",
};
/** The group of some states, as the relay lists them; the states themselves if it is none. */
export function groupOf(states) {
  const sorted = (list) => list.split(",").sort().join();
  const has = ([, list]) => sorted(list) === sorted(states);
  return Object.entries(groupStates).find(has)?.[0] ?? states;
}

/** A search in words. */
export function describe(asked) {
  const { client, lane, tag, state, upstream, status, reason, errorId } = asked;
  const parts = [
    state && (groups.find(([value]) => value === state)?.[1] ?? state).toLowerCase(),
    client && `of client ${client}`, lane && `in lane ${lane}`,
    tag && `with tag ${tag}`, upstream && `for upstream ${upstream}`,
    status && `answered ${status}`, reason && `with “${reason}” in the reason`,
    errorId && `with error id ${errorId}`,
    ...times.map((name) => asked[name] && `${timeWords[name]} ${clock(asked[name], now())}`),
  ].filter(Boolean);
  return parts.length === 0 ? "everything that is kept" : parts.join(", ");
}

const timeWords = {
  acceptedSince: "accepted from", acceptedUntil: "accepted before",
  endedSince: "ended from", endedUntil: "ended before",
};
