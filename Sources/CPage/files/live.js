// Keeps what the page shows up to date: it listens to the relay's events, and reads /status again
// at most once a second while something changes. EventSource cannot send a token, so the events are
// read by fetch.

import { Refusal, ask, call } from "./relay.js";

const readPauseMs = 1000;
const readAnywayMs = 5000;
const readHiddenMs = 30000;
const retryFirstMs = 1000;
const retryMaxMs = 15000;
/** A stream that has said nothing for so long, heartbeats included, is dead. */
const silenceMaxMs = 90000;
/** With more events than this in a second, asking once a second costs everybody less. */
const eventsPerSecondMax = 300;
const calmMs = 30000;
/** After a longer loss nobody reads up on what was missed: /status says how it stands. */
const resumeMaxMs = 120000;

/** Reads server-sent events (HTML Living Standard, section 9.2.6) out of a stream of text. */
export class EventReader {
  #rest = "";
  #name = "";
  #data = [];
  #id;

  /** The events that a piece of text completes. */
  push(text) {
    const events = [];
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) this.#take(line.endsWith("\r") ? line.slice(0, -1) : line, events);
    return events;
  }

  #take(line, events) {
    if (line === "") {
      if (this.#data.length > 0) {
        events.push({ name: this.#name || "message", data: this.#data.join("\n"), id: this.#id });
      }
      this.#name = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#name = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id") this.#id = value;
  }
}

/**
 * The connection to the relay. It calls `onStatus(status)`, `onEvent(name, data)` and
 * `onLink(state, detail)`, where the state is `live`, `polling` (there are no events, or too many
 * of them to be told one by one), `lost` with `since` and `retryAt`, or `refused` with the
 * `refusal`.
 */
export class Live {
  #on;
  #isRunning = false;

  #readTimer;
  #readDueAt = Infinity;
  #lastReadAt = 0;
  #isReading = false;
  #retryMs = retryFirstMs;
  #lostAt;

  #stream;
  #streamTimer;
  #heardAt = 0;
  #endedAt = 0;
  #lastID;
  #calmUntil = 0;
  #wasLeft = false;

  constructor(on) {
    this.#on = on;
    addEventListener("online", () => this.now());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.changed();
    });
    // A browser keeps a page that was left, to go back to; its stream would hold one of the six
    // connections that are made to one place, and the seventh visit would wait for a minute.
    addEventListener("pagehide", () => {
      this.#wasLeft = this.#isRunning;
      this.stop();
    });
    addEventListener("pageshow", ({ persisted }) => {
      if (persisted && this.#wasLeft) this.start();
    });
  }

  /** Begins, or begins anew under another token. */
  start() {
    this.stop();
    this.#isRunning = true;
    this.#lastID = undefined;
    this.#calmUntil = 0;
    this.now();
  }

  /** Ends until it is started again. */
  stop() {
    this.#isRunning = false;
    this.#stream?.abort();
    this.#stream = undefined;
    clearTimeout(this.#readTimer);
    clearTimeout(this.#streamTimer);
    this.#readDueAt = Infinity;
  }

  /** Reads at once. */
  now() {
    this.#retryMs = retryFirstMs;
    this.#lastReadAt = 0;
    this.#readAfter(0);
  }

  /** Something has changed, or may have. */
  changed() { this.#readAfter(0); }

  // How it stands.

  /** Reads after a while, or sooner if that is due anyway, but never twice within the pause. */
  #readAfter(milliseconds) {
    if (!this.#isRunning) return;
    const due = Math.max(Date.now() + milliseconds, this.#lastReadAt + readPauseMs);
    if (due >= this.#readDueAt) return;
    this.#readDueAt = due;
    clearTimeout(this.#readTimer);
    this.#readTimer = setTimeout(() => this.#read(), due - Date.now());
  }

  async #read() {
    this.#readDueAt = Infinity;
    // What has changed since is read by the next.
    if (this.#isReading) return this.#readAfter(readPauseMs);
    this.#isReading = true;
    this.#lastReadAt = Date.now();
    try {
      const status = await call("GET", "status");
      if (this.#isRunning) this.#found(status);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (this.#isRunning) this.#failed(error);
    } finally {
      this.#isReading = false;
    }
  }

  #found(status) {
    const lostAt = this.#lostAt;
    this.#lostAt = undefined;
    this.#retryMs = retryFirstMs;
    // The events are asked for once it is known that somebody answers, and to whom.
    if (lostAt || !this.#stream) this.#listen();
    else if (this.#heardAt && Date.now() - this.#heardAt > silenceMaxMs) this.#stream?.abort();
    const isCalming = Date.now() < this.#calmUntil;
    this.#readAfter(document.hidden ? readHiddenMs : isCalming ? readPauseMs : readAnywayMs);
    this.#on.onLink(this.#heardAt ? "live" : "polling", { lostAt });
    this.#on.onStatus(status);
  }

  #failed(refusal) {
    if (refusal.status === 401 || refusal.status === 403) {
      this.stop();
      return this.#on.onLink("refused", { refusal });
    }
    this.#lostAt ??= Date.now();
    const wait = this.#retryMs * (0.75 + Math.random() / 2);
    this.#retryMs = Math.min(retryMaxMs, this.#retryMs * 2);
    this.#readAfter(wait);
    this.#on.onLink("lost", { since: this.#lostAt, retryAt: this.#readDueAt, refusal });
  }

  // What happens.

  async #listen() {
    clearTimeout(this.#streamTimer);
    this.#stream?.abort();
    const stream = new AbortController();
    this.#stream = stream;
    this.#heardAt = 0;
    let wait = retryFirstMs;
    try {
      const headers = { Accept: "text/event-stream" };
      if (this.#lastID && Date.now() - this.#endedAt < resumeMaxMs) {
        headers["Last-Event-ID"] = this.#lastID;
      }
      const response = await ask("GET", "v1/events", { headers, signal: stream.signal });
      this.#heardAt = Date.now();
      this.changed();
      await this.#hear(response.body.pipeThrough(new TextDecoderStream()).getReader(), stream);
    } catch (error) {
      // Whether the relay is there at all is told by the next reading.
      if (error instanceof Refusal && error.status > 0) wait = calmMs;
    }
    stream.abort();
    if (this.#stream !== stream || !this.#isRunning) return;
    this.#heardAt = 0;
    this.#endedAt = Date.now();
    this.changed();
    this.#streamTimer = setTimeout(() => {
      if (!this.#lostAt) this.#listen();
    }, Math.max(wait, this.#calmUntil - Date.now()));
  }

  async #hear(reader, stream) {
    const events = new EventReader();
    let second = 0;
    let countInSecond = 0;
    for (;;) {
      const { value, done } = await reader.read();
      if (done || stream.signal.aborted) return;
      this.#heardAt = Date.now();
      const now = Math.floor(this.#heardAt / 1000);
      if (now !== second) [second, countInSecond] = [now, 0];
      for (const event of events.push(value)) {
        if (event.id) this.#lastID = event.id;
        this.#tell(event);
        countInSecond += 1;
      }
      if (countInSecond > eventsPerSecondMax) {
        this.#calmUntil = Date.now() + calmMs;
        this.#lastID = undefined;
        return;
      }
    }
  }

  #tell({ name, data }) {
    if (name !== "progress") this.changed();
    if (name === "snapshot" || name === "forgotten") return;
    let value;
    try {
      value = JSON.parse(data);
    } catch {
      return;
    }
    this.#on.onEvent(name, value);
  }
}
