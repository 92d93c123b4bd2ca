// Builds and changes what the page shows. What comes from the relay becomes text nodes and
// attribute values, never markup: the page's policy (require-trusted-types-for) would refuse
// anything else.

const svgNamespace = "http://www.w3.org/2000/svg";

/** The element of an id; they are all in page.html. */
export const $ = (id) => document.getElementById(id);

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** An element with attributes (`on` for listeners, `data` for data-*) and children. */
export const h = (tag, properties, ...children) =>
  fill(document.createElement(tag), properties, children);

/** The same for SVG. */
export const svg = (tag, properties, ...children) =>
  fill(document.createElementNS(svgNamespace, tag), properties, children);

/** Sets an element's text, only if it is another one: a selection in it stays. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Puts these in the place of all that an element holds. */
export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/**
 * Makes the children of a list be one for each item, in order, and keeps those that are there:
 * whoever has the focus in one keeps it. An item's element is made anew only where `stamp` differs;
 * `update(element, item)` sets what changes all the time in place.
 */
export function keep(list, items, { key, stamp, make, update }) {
  const old = new Map([...list.children].map((child) => [child.dataset.key, child]));
  let place = list.firstElementChild;
  for (const item of items) {
    const name = key(item);
    const mark = stamp(item);
    let child = old.get(name);
    old.delete(name);
    if (!child || child.dataset.stamp !== mark) {
      const made = make(item);
      made.dataset.key = name;
      made.dataset.stamp = mark;
      if (child) {
        const focus = focusPath(child);
        if (place === child) place = made;
        child.replaceWith(made);
        restoreFocus(made, focus);
      }
      child = made;
    }
    update?.(child, item);
    if (place === child) place = child.nextElementSibling;
    else list.insertBefore(child, place);
  }
  for (const child of old.values()) {
    if (child.contains(document.activeElement)) focusInstead(list);
    child.remove();
  }
}

/** Which of the controls has the focus: by its words, as it may stand elsewhere. */
function focusPath(element) {
  const active = document.activeElement;
  return element.contains(active) ? active.dataset.act ?? active.textContent : undefined;
}

function restoreFocus(element, name) {
  if (name === undefined) return;
  const controls = [...element.querySelectorAll("a, button, summary, input, select")];
  const same = controls.find((control) => (control.dataset.act ?? control.textContent) === name);
  (same ?? controls[0])?.focus();
}

/** What had the focus goes away: the heading of its section takes it. */
function focusInstead(list) {
  focusHeading(headingOf(list));
}

function headingOf(element) {
  return element?.closest("section, dialog")?.querySelector("h1, h2");
}

function focusHeading(heading) {
  if (!heading?.isConnected) return;
  heading.tabIndex = -1;
  heading.focus();
}

/**
 * Notes what has the focus, before a dialog opens. The function that it returns gives it back, or
 * gives it to the heading of its section where it has gone by then.
 */
export function focusToReturn() {
  const active = document.activeElement;
  const heading = headingOf(active);
  return () => {
    if (!active || active === document.body) return;
    if (active.isConnected) active.focus();
    else focusHeading(heading);
  };
}

let isPressed = false;
let waiting;

/**
 * Draws now, or once no pointer is down: a control that is made anew between press and release
 * would lose its click. Only the last of several drawings of a name is done.
 */
export function whenReleased(name, draw) {
  if (!isPressed) return draw();
  waiting.set(name, draw);
}

addEventListener("pointerdown", () => {
  isPressed = true;
  waiting ??= new Map();
}, true);
for (const end of ["pointerup", "pointercancel", "blur"]) {
  addEventListener(end, () => setTimeout(() => {
    isPressed = false;
    const drawings = [...waiting?.values() ?? []];
    waiting?.clear();
    for (const draw of drawings) draw();
  }), true);
}

/** Whether somebody has selected text within an element, which drawing it anew would take away. */
export function isSelected(element) {
  const selection = getSelection();
  return selection.type === "Range" && element.contains(selection.anchorNode);
}

/** A point in time, in the reader's own zone, with the whole of it on request. */
export function time(text, shown, title) {
  return h("time", { datetime: text, title }, shown);
}
