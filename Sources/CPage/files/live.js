// Keeps what the page shows up to date: the relay sends its status whenever that changes, once a
// second at the most, and the page reads it now and then besides, since needs and reloads come
// without a change of what is stored. EventSource cannot send a token, so the events are read by
// fetch.

import { Refusal, ask, call } from "./relay.js";

const readPauseMs = 1000;
const readAnywayMs = 5000;
const readHiddenMs = 30000;
const retryFirstMs = 1000;
const retryMaxMs = 15000;
/** A stream that has said nothing for so long, heartbeats included, is dead. */
const silenceMaxMs = 90000;
/** After a refusal, such as of one listener too many, it is asked for again so much later. */
const calmMs = 30000;

/** Reads server-sent events (HTML Living Standard, section 9.2.6) out of a stream of text. */
export class EventReader {
  #rest = "";
  #name = "";
  #data = [];

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
        events.push({ name: this.#name || "message", data: this.#data.join("\n") });
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
  }
}

/**
 * The connection to the relay. It calls `onStatus(status)`, `onOperations(list)` with what was done
 * lately, `onOperation(operation)` with one that has come further, and `onLink(state, detail)`,
 * where the state is `live`, `polling` (there is no stream), `lost` with `since` and `retryAt`, or
 * `refused` with the `refusal`.
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
  /** How many readings the stream has told. */
  #toldCount = 0;
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
    const toldCount = this.#toldCount;
    try {
      const status = await call("GET", "status");
      // What the stream has told meanwhile is newer.
      if (this.#isRunning && toldCount === this.#toldCount) this.#found(status);
      else this.#readLater();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (this.#isRunning) this.#failed(error);
    } finally {
      this.#isReading = false;
    }
  }

  #found(status) {
    // The stream is asked for once it is known that somebody answers, and to whom.
    if (this.#lostAt || !this.#stream) this.#listen();
    else if (!this.#heardAt) this.#readOperations();
    else if (Date.now() - this.#heardAt > silenceMaxMs) this.#stream.abort();
    this.#show(status);
  }

  #show(status) {
    const lostAt = this.#lostAt;
    this.#lostAt = undefined;
    this.#retryMs = retryFirstMs;
    this.#readLater();
    this.#on.onLink(this.#heardAt ? "live" : "polling", { lostAt });
    this.#on.onStatus(status);
  }

  #readLater() { this.#readAfter(document.hidden ? readHiddenMs : readAnywayMs); }

  async #readOperations() {
    try {
      const { operations } = await call("GET", "v1/operations");
      if (this.#isRunning) this.#on.onOperations(operations);
    } catch (error) {
      // Whether the relay is there at all is told by the next reading.
      if (!(error instanceof Refusal)) throw error;
    }
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

  // What the relay tells by itself.

  async #listen() {
    clearTimeout(this.#streamTimer);
    this.#stream?.abort();
    const stream = new AbortController();
    this.#stream = stream;
    this.#heardAt = 0;
    let wait = retryFirstMs;
    try {
      const response = await ask("GET", "v1/status/events",
        { headers: { Accept: "text/event-stream" }, signal: stream.signal });
      this.#heardAt = Date.now();
      // What began and ended while nobody listened is in the list alone.
      this.#readOperations();
      await this.#hear(response.body.pipeThrough(new TextDecoderStream()).getReader(), stream);
    } catch (error) {
      // Whether the relay is there at all is told by the next reading.
      if (error instanceof Refusal && error.status > 0) wait = calmMs;
    }
    stream.abort();
    if (this.#stream !== stream || !this.#isRunning) return;
    this.#heardAt = 0;
    this.changed();
    this.#streamTimer = setTimeout(() => {
      if (!this.#lostAt) this.#listen();
    }, wait);
  }

  async #hear(reader, stream) {
    const events = new EventReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done || stream.signal.aborted) return;
      this.#heardAt = Date.now();
      for (const event of events.push(value)) this.#tell(event);
    }
  }

  #tell({ name, data }) {
    if (name === "operation") this.#on.onOperation(JSON.parse(data));
    if (name !== "status") return;
    this.#toldCount += 1;
    this.#show(JSON.parse(data));
  }
}
