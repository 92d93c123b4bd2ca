// Speaks with the relay: the token, the calls, and its refusals.

const tokenKey = "waystation.token";
const callTimeoutMs = 30000;

/** What this page stands beside: a proxy may have put the relay below a path of its own. */
export const base = new URL(".", location.href);

/** Told of `acted` whenever the page has changed something. */
export const deeds = new EventTarget();

/** The operator's token: in this tab alone, and gone with it. */
export const token = {
  get: () => sessionStorage.getItem(tokenKey) ?? "",
  set: (text) => sessionStorage.setItem(tokenKey, text),
  clear: () => sessionStorage.removeItem(tokenKey),
};

let skewMs = 0;

/** The time now by the relay's clock, as far as its answers tell it. */
export const now = () => Date.now() + skewMs;

/** The relay refused a call, or could not be asked. */
export class Refusal extends Error {
  constructor(status, problem) {
    super([problem.detail, problem.fix].filter(Boolean).join(" ") || problem.title);
    this.status = status;
    this.problem = problem;
  }

  /** Whether there was no answer at all. */
  get isLost() { return this.status === 0; }
}

const lost = () => new Refusal(0,
  { title: "No answer", detail: "The relay could not be reached." });

async function problem(response) {
  try {
    const problem = await response.json();
    if (problem && typeof problem === "object") return problem;
  } catch {
    // Something between answered, in words of its own.
  }
  return { title: `Status ${response.status}`,
    detail: `The answer had the status ${response.status}.` };
}

/** The way of a call, with each name in it encoded: `path("v1/clients", name)`. */
export const path = (start, ...names) => [start, ...names.map(encodeURIComponent)].join("/");

/** A call's answer as it came; throws a `Refusal` for anything but 2xx. */
export async function ask(method, where, { body, type, signal, headers } = {}) {
  const fields = new Headers({ Accept: "application/json", ...headers });
  const shown = token.get();
  if (shown) fields.set("Authorization", `Bearer ${shown}`);
  if (body !== undefined) fields.set("Content-Type", type ?? "application/json");
  let response;
  try {
    response = await fetch(new URL(where, base), {
      method, headers: fields, signal, cache: "no-store", redirect: "error",
      referrerPolicy: "no-referrer", body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted && signal.reason?.name !== "TimeoutError") throw error;
    throw lost();
  }
  noteClock(response);
  if (response.ok) return response;
  throw new Refusal(response.status, await problem(response));
}

function noteClock(response) {
  const said = Date.parse(response.headers.get("Date") ?? "");
  if (Number.isNaN(said)) return;
  // `Date` is of whole seconds: what is within two of them is no difference.
  const difference = said + 500 - Date.now();
  skewMs = Math.abs(difference) > 2000 ? difference : 0;
}

/** A call's answer as a value. */
export async function call(method, where, options = {}) {
  const limit = AbortSignal.timeout(callTimeoutMs);
  const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit;
  const response = await ask(method, where, { ...options, signal });
  try {
    return await response.json();
  } catch {
    options.signal?.throwIfAborted();
    throw lost();
  }
}

/** A query of those parts that say something. */
export function query(parts) {
  const said = Object.entries(parts).filter(([, value]) => value !== undefined && value !== "");
  return said.length === 0 ? "" : `?${new URLSearchParams(said)}`;
}
