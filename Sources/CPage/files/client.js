// One client: what waits of it, its lanes, and what can be done about them.

import { badge } from "./find.js";
import { h } from "./dom.js";
import { count, many, stateWords } from "./format.js";
import { call, path } from "./relay.js";
import { control, findLink, storyLink } from "./steer.js";

const laneWords = {
  idle: "Idle", queued: "Goes on", waiting: "Waits for its next attempt", held: "Head is held",
  parked: "Waits for missing numbers", blocked: "Blocked", paused: "Paused",
  delivering: "Delivering",
};
const laneLevels = { blocked: "act", paused: "watch", delivering: "ok" };

/** Reads a client. */
export const readClient = (name, signal) => call("GET", path("v1/clients", name), { signal });

/** What the panel shows of a client. */
export function clientView(view) {
  const { client, paused, waiting, states, lanes, needsAttention, needsAttentionCount } = view;
  return [
    h("div", { class: "acts" },
      waiting > 0 && control({ name: "runClient", client, waiting }),
      control({ name: paused ? "resumeClient" : "pauseClient", client }),
      waiting > 0 && control({ name: "cancelClient", client, waiting }),
      h("a", { class: "button", href: findLink({ client }) }, "Its envelopes")),
    paused && h("p", { class: "badge watch" }, "Paused"),
    h("dl", { class: "facts" },
      h("dt", null, "Waiting"), h("dd", null, count(waiting)),
      Object.entries(states).filter(([, number]) => number > 0).map(([state, number]) => [
        h("dt", null, stateWords[state] ?? state),
        h("dd", null, h("a", { href: findLink({ client, state }) }, count(number)))])),
    needsAttention.length > 0 && h("section", null,
      h("h3", null, `Needs somebody (${count(needsAttentionCount)})`),
      h("ul", { class: "plain" }, needsAttention.map((item) => h("li", null,
        h("p", null, h("a", { href: storyLink(item.id) }, `Lane ${item.lane}`), " ",
          badge("blocked"), h("span", { class: "soft wrap" }, ` ${item.reason ?? ""}`)),
        item.errorMessage && h("p", { class: "wrap" }, item.errorMessage),
        h("div", { class: "acts" },
          control({ name: "retry", id: item.id, client, lane: item.lane }),
          control({ name: "editBlocked", id: item.id }),
          control({ name: "discard", id: item.id, client, lane: item.lane })))))),
    h("section", null,
      h("h3", null, many(lanes.length, "lane")),
      h("ul", { class: "cards" }, lanes.map((lane) => laneCard(client, lane)))),
  ];
}

const stretchOf = ({ first, last }) => first === last ? first : `${first}–${last}`;

function laneCard(client, lane) {
  const about = { client, lane: lane.name, waiting: lane.waiting };
  const ended = Object.entries(lane.ended).filter(([, number]) => number > 0)
    .map(([state, number]) => `${count(number)} ${(stateWords[state] ?? state).toLowerCase()}`)
      .join(", ");
  return h("li", { class: "card" },
    h("div", { class: "card-top" }, h("h4", { class: "wrap" }, lane.name),
      h("p", { class: `badge ${laneLevels[lane.state] ?? "plain"}` },
        laneWords[lane.state] ?? lane.state)),
    h("dl", null,
      h("dt", null, "Waiting"),
      h("dd", null, count(lane.waiting),
        lane.parked ? `, ${count(lane.parked)} of them parked` : ""),
      lane.head && [h("dt", null, "Head"),
        h("dd", null, h("a", { href: storyLink(lane.head) }, "its story"))],
      lane.order !== "strict" && [h("dt", null, "Order"), h("dd", null, "newest first")],
      lane.evidence && [h("dt", null, "Evidence"), h("dd", null, "in a ledger")],
      lane.missing?.length > 0 && [
        h("dt", null, "Missing"), h("dd", null, lane.missing.map(stretchOf).join(", "))],
      ended && [h("dt", null, "Ended"), h("dd", null, ended)]),
    h("div", { class: "acts" },
      lane.waiting > 0 && lane.state !== "blocked" && control({ name: "runLane", ...about }),
      lane.waiting > 0 && control({ name: "cancelLane", ...about }),
      control({ name: lane.paused ? "resumeLane" : "pauseLane", ...about }),
      h("a", { class: "button", href: findLink({ client, lane: lane.name }) }, "Envelopes")));
}
