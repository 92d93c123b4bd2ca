// Finds envelopes by whose they are, by time and by what came of them, a page at a time, and hands
// what a filter matches to acts on many.

import { clientLink, control, findLink, storyLink } from "./steer.js";
import { $, h, replace, say, time } from "./dom.js";
import { brief, clock, count, many, stateWords } from "./format.js";
import { manyControls } from "./many.js";
import { Refusal, call, now, query } from "./relay.js";
import { describe, endings, groupOf, groupStates, groups, names, times } from "./selection.js";

const pageCount = 50;
const idSyntax = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

let shown;
let searching;

const form = $("find-form");

/** Sets the form up; `go` is told where a search leads. */
export function begin(go) {
  replace(form.elements.state, groups.map(([value, words]) => h("option", { value }, words)));
  replace(form.elements.upstream, h("option", { value: "" }, "Any upstream"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const client = form.elements.client.value.trim();
    if (idSyntax.test(client)) return go(storyLink(client));
    const parts = Object.fromEntries([...names, ...endings]
      .map((name) => [name, asked(form.elements[name])]).filter(([, value]) => value));
    go(findLink(parts));
  });
  form.addEventListener("reset", () => setTimeout(() => go("#find")));
  $("found-more").addEventListener("click", () => more());
}

/** What a field asks for; a time as it stood in the address, unless somebody has changed it. */
function asked(field) {
  const value = field.value.trim();
  if (!times.includes(field.name) || value === "") return value;
  return value === field.dataset.shown ? field.dataset.time : new Date(value).toISOString();
}

/** Sets a field to what is asked for; times are those of this place, to the second. */
function put(field, part = "") {
  const at = times.includes(field.name) ? Date.parse(part) : NaN;
  if (Number.isNaN(at)) {
    field.value = times.includes(field.name) ? "" : part;
    return;
  }
  const here = at - new Date(at).getTimezoneOffset() * 60000;
  field.value = new Date(here).toISOString().slice(0, 19);
  Object.assign(field.dataset, { shown: field.value, time: part });
}

/** Names the upstreams that can be asked for. */
export function offerUpstreams(names) {
  const select = form.elements.upstream;
  const value = select.value;
  if ([...select.options].slice(1).map((option) => option.value).join("\n")
    === names.join("\n")) return;
  replace(select, h("option", { value: "" }, "Any upstream"),
    names.map((name) => h("option", { value: name }, name)));
  offer(value);
}

/** Sets the upstream that is asked for, be it that none of that name is known. */
function offer(value) {
  const select = form.elements.upstream;
  if (value && ![...select.options].some((option) => option.value === value)) {
    select.append(h("option", { value }, value));
  }
  select.value = value;
}

/** Shows what a search's parts find; nothing for none. */
export async function show(asked) {
  const parts = asked?.state ? { ...asked, state: groupOf(asked.state) } : asked;
  searching?.abort();
  shown = undefined;
  $("found").hidden = !parts;
  if (!parts) return;
  for (const name of [...names, ...endings]) {
    if (name === "upstream") offer(parts[name] ?? "");
    else put(form.elements[name], parts[name]);
  }
  if (endings.some((name) => parts[name])) $("find-details").open = true;
  const filter = { ...parts, state: groupStates[parts.state] ?? parts.state };
  shown = { parts, filter, envelopes: [], next: undefined };
  replace($("found-rows"));
  delete $("found-acts").dataset.kind;
  say($("found-note"), "Looking…");
  $("found-heading").focus({ preventScroll: true });
  $("found-heading").scrollIntoView({ block: "nearest" });
  await more();
}

/** Reads what is shown once more: something was done about it. */
export async function refresh() {
  if (!shown) return;
  const wanted = Math.max(pageCount, Math.min(200, shown.envelopes.length));
  await read({ limit: wanted }, true);
}

const more = () => read({ limit: pageCount, cursor: shown?.next }, false);

async function read(page, isAnew) {
  const about = shown;
  searching?.abort();
  searching = new AbortController();
  try {
    const answer = await call("GET",
      `v1/envelopes${query({ ...about.filter, ...page })}`, { signal: searching.signal });
    if (about !== shown) return;
    about.envelopes = isAnew ? answer.envelopes : [...about.envelopes, ...answer.envelopes];
    about.next = answer.next;
    // A page that is empty though more is there: the relay looks at so many at a time.
    if (answer.next && about.envelopes.length === 0) return await more();
    showRows();
  } catch (error) {
    if (error instanceof Refusal) say($("found-note"), error.message);
    else if (error?.name !== "AbortError") throw error;
  }
}

function showRows() {
  const { envelopes, next, parts } = shown;
  const focus = document.activeElement?.closest?.("#found-rows")
    ? document.activeElement.getAttribute("href") : undefined;
  replace($("found-rows"), envelopes.map(row));
  const links = [...$("found-rows").querySelectorAll("a")];
  if (focus) links.find((link) => link.getAttribute("href") === focus)?.focus();
  const isClient = parts.client
    && h("a", { href: clientLink(parts.client) }, `See client ${parts.client}`);
  const number = `${next ? "The first " : ""}${many(envelopes.length, "envelope")}`;
  const words = envelopes.length === 0
    ? `Nothing is kept that is ${describe(parts)}. `
    : `${number}, oldest first: ${describe(parts)}. `;
  // A lane can be paused before anything of it has come.
  const isLane = envelopes.length === 0 && parts.client && parts.lane
    && control({ name: "pauseLane", client: parts.client, lane: parts.lane });
  replace($("found-note"), words, isClient);
  offerActs(isLane ? "lane" : "many",
    () => isLane || manyControls(shown.filter, describe(parts)));
  $("found-more").hidden = !next;
  $("found-acts").hidden = envelopes.length === 0 && !isLane;
}

/** Offers acts of another kind; those that are there keep their focus. */
function offerActs(kind, make) {
  if ($("found-acts").dataset.kind === kind) return;
  $("found-acts").dataset.kind = kind;
  replace($("found-acts"), make());
}

const levels = { blocked: "act", failed: "act", expired: "act", delivered: "ok",
  cancelled: "note" };

/** A state as a badge. */
export const badge = (state) => h("span", { class: `badge ${levels[state] ?? "plain"}` },
  stateWords[state] ?? state);

function row(envelope) {
  const { id, client, lane, method, path, state, acceptedAt, attemptCount, tag } = envelope;
  // Of what was delivered there is nothing to say.
  const word = state === "delivered" ? "" : envelope.reason ?? envelope.lastError ?? "";
  return h("tr", null,
    h("td", null, badge(state)),
    h("td", { class: "wrap" }, h("a", { href: storyLink(id) }, h("b", null, method), " ", path),
      h("small", { class: "soft" }, ` ${envelope.upstream}${tag ? `, tag ${tag}` : ""}`)),
    h("td", { class: "wrap" }, h("a", { href: clientLink(client) }, client),
      lane !== "default" && h("small", { class: "soft" }, ` ${lane}`)),
    h("td", null, time(acceptedAt, `${brief(now() - Date.parse(acceptedAt))} ago`,
      clock(acceptedAt, now()))),
    h("td", { class: "number" }, count(attemptCount)),
    h("td", { class: "wrap soft" }, word));
}
