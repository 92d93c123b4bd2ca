// The dialogs that ask: for a yes, and for the operator's token; and the line that says what was
// done.

import { $, focusToReturn, replace, say } from "./dom.js";
import { token } from "./relay.js";

const saidMs = 6000;
let saidTimer;

/** Tells a person who looks, and one who listens, what has happened. */
export function tell(text) {
  say($("said"), text);
  // Shown anew, so that it lies above whatever has been opened since.
  $("said").hidePopover();
  $("said").showPopover();
  hear(text);
  clearTimeout(saidTimer);
  saidTimer = setTimeout(() => $("said").hidePopover(), saidMs);
}

let unheard = [];

/** Tells a person who listens: the same text twice, and together what comes at once. */
export function hear(text) {
  const line = $("announce");
  // What is outside of an open dialog is not there for who listens.
  const place = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  if (line.parentNode !== place) place.append(line);
  line.textContent = "";
  if (unheard.push(text) > 1) return;
  setTimeout(() => {
    say(line, unheard.join(" "));
    unheard = [];
  }, 100);
}

let asking;

/**
 * Asks before something is done, and does it: `run(progress)` may take its time, and what it throws
 * is shown, so that one may try again. `progress` has `show(...nodes)` and a `signal` that ends
 * where the person stops it.
 *
 * Resolves to what `run` gave; to undefined where it was left.
 */
export function confirm({ title, text, yes, isDangerous, more, run }) {
  asking?.leave();
  return new Promise((resolve) => {
    const dialog = $("ask");
    const stop = new AbortController();
    const form = dialog.querySelector("form");
    const returnFocus = focusToReturn();
    let isRunning = false;
    const end = (value) => {
      asking = undefined;
      form.removeEventListener("submit", submit);
      dialog.removeEventListener("cancel", cancel);
      dialog.removeEventListener("close", closed);
      $("ask-no").removeEventListener("click", leave);
      if (dialog.open) dialog.close();
      returnFocus();
      resolve(value);
    };
    const leave = () => {
      stop.abort();
      if (!isRunning) end(undefined);
    };
    // The event comes late: by then another question may have been opened.
    const closed = () => {
      if (!dialog.open) leave();
    };
    const cancel = (event) => {
      event.preventDefault();
      leave();
    };
    const submit = async (event) => {
      event.preventDefault();
      if (isRunning) return;
      isRunning = true;
      $("ask-yes").disabled = true;
      $("ask-error").hidden = true;
      say($("ask-no"), "Stop");
      try {
        end(await run({ signal: stop.signal,
          show: (...nodes) => replace($("ask-more"), ...nodes) }));
      } catch (error) {
        if (stop.signal.aborted) return end(undefined);
        say($("ask-error"), said(error));
        $("ask-error").hidden = false;
        $("ask-yes").disabled = false;
        say($("ask-no"), "Leave it");
        isRunning = false;
      }
    };
    asking = { leave: () => { stop.abort(); end(undefined); } };
    say($("ask-heading"), title);
    replace($("ask-text"), ...[text].flat()
      .map((line) => line instanceof Node ? line : paragraph(line)));
    replace($("ask-more"), more);
    say($("ask-yes"), yes);
    $("ask-yes").classList.toggle("danger", Boolean(isDangerous));
    $("ask-yes").disabled = false;
    say($("ask-no"), "Leave it");
    $("ask-error").hidden = true;
    form.addEventListener("submit", submit);
    dialog.addEventListener("cancel", cancel);
    dialog.addEventListener("close", closed);
    $("ask-no").addEventListener("click", leave);
    if (!dialog.open) dialog.showModal();
    // What cannot be undone is not what a stray Enter does.
    (more?.querySelector?.("input, textarea, select") ?? $(isDangerous ? "ask-no" : "ask-yes"))
      .focus();
  });
}

function paragraph(text) {
  const element = document.createElement("p");
  element.textContent = text;
  return element;
}

/** What a person is told of an error. */
export function said(error) {
  if (error?.status === 403) {
    return `${error.message} This token may only look: use one that may steer (“Token”, at the`
      + " top).";
  }
  return error?.message || String(error);
}

/** Asks for the operator's token; resolves to whether there is another one now. */
export function askForToken(reason) {
  const dialog = $("sign-in");
  if (dialog.open) return Promise.resolve(false);
  return new Promise((resolve) => {
    const field = $("sign-in-token");
    const form = dialog.querySelector("form");
    field.value = "";
    say($("sign-in-error"), reason ?? "");
    $("sign-in-error").hidden = !reason;
    $("sign-in-forget").hidden = !token.get();
    const end = (value) => {
      form.removeEventListener("submit", submit);
      dialog.removeEventListener("close", closed);
      $("sign-in-no").removeEventListener("click", closed);
      $("sign-in-forget").removeEventListener("click", forget);
      field.value = "";
      if (dialog.open) dialog.close();
      resolve(value);
    };
    const submit = (event) => {
      event.preventDefault();
      const text = field.value.trim();
      if (!/^[\x21-\x7e]+$/.test(text)) {
        say($("sign-in-error"), "A token is one word of visible characters, as you were given it.");
        $("sign-in-error").hidden = false;
        return field.focus();
      }
      token.set(text);
      end(true);
    };
    const closed = () => end(false);
    const forget = () => {
      token.clear();
      end(true);
    };
    form.addEventListener("submit", submit);
    dialog.addEventListener("close", closed);
    $("sign-in-no").addEventListener("click", closed);
    $("sign-in-forget").addEventListener("click", forget);
    dialog.showModal();
    field.focus();
  });
}
