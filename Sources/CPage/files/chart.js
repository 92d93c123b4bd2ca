// Draws one chart of lines as SVG.

import { h, replace, say, svg } from "./dom.js";
import { clock } from "./format.js";

const height = 150;
const edge = { top: 8, right: 8, bottom: 20 };
const leftMin = 44;
/** The width of one of an axis's letters, at the most. */
const letterWidth = 7.5;

/** The first round number that is not below: 1, 2 or 5 times a power of ten. */
export function niceCeiling(number) {
  if (!(number > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(number));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= number * 0.999);
}

const durations = [
  1, 2, 4, 10, 20, 40, 100, 200, 400,
  ...[1, 2, 4, 10, 20, 30, 60, 120, 240, 600, 1200, 1800].map((seconds) => seconds * 1000),
  ...[1, 2, 4, 6, 12, 24, 48].map((hours) => hours * 3600000),
];

/** The same for milliseconds: its half, too, is a round number of some unit. */
export function durationCeiling(milliseconds) {
  const day = 86400000;
  return durations.find((duration) => duration >= milliseconds * 0.999)
    ?? niceCeiling(milliseconds / day / 2) * 2 * day;
}

/** Times for the axis: at most `countMax`, at round distances. */
export function timeTicks(from, to, countMax) {
  const steps = [10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  const step = (steps.find((step) => (to - from) / (step * 1000) <= countMax) ?? 86400) * 1000;
  const offset = new Date(from).getTimezoneOffset() * 60000;
  const ticks = [];
  for (let at = Math.ceil((from - offset) / step) * step
    + offset; at <= to; at += step) ticks.push(at);
  return ticks;
}

/** A path through the points; where one has no value the line is broken. */
function line(points, x, y) {
  let path = "";
  let isDown = false;
  for (const [at, value] of points) {
    if (value === undefined || value === null) {
      isDown = false;
      continue;
    }
    path += `${isDown ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    isDown = true;
  }
  return path;
}

/**
 * A chart: its heading, a legend that says the latest values, the lines, and the same as a table.
 *
 * `draw({ series, from, to, now })` shows other data; `series` is a list of `{ name, line, points
 * }`, with points `[time, value]` in order.
 */
export class Chart {
  #format;
  #axis;
  #ceiling;
  #left = leftMin;
  #data;
  #legend = h("ul", { class: "legend" });
  #picture = svg("svg", { role: "img", height });
  #reading = h("p", { class: "reading soft", "aria-hidden": "true" });
  #table = h("table");
  #details;

  constructor(title, { format, axis, ceiling = niceCeiling }) {
    this.#format = format;
    this.#axis = axis;
    this.#ceiling = ceiling;
    this.#details = h("details", { on: { toggle: () => this.#fillTable() } },
      h("summary", null, "As a table", h("span", { class: "heard" }, `: ${title}`)),
      h("div", { class: "scroll", tabindex: "0", role: "region",
        "aria-label": `${title}, as a table` }, this.#table));
    this.element = h("figure", { class: "chart" },
      h("figcaption", null, h("h3", null, title), this.#legend), this.#picture, this.#reading,
      this.#details);
    this.title = title;
    this.#picture.addEventListener("pointermove", (event) => this.#point(event));
    this.#picture.addEventListener("pointerleave", () => this.#point());
    new ResizeObserver(() => this.#redraw()).observe(this.#picture);
  }

  draw(data) {
    this.#data = data;
    this.#redraw();
    if (this.#details.open) this.#fillTable();
  }

  #redraw() {
    const width = Math.round(this.#picture.getBoundingClientRect().width);
    if (!this.#data || width < 60) return;
    const { series, from, to, now } = this.#data;
    const values = series.flatMap(({ points }) => points.map(([, value]) => value ?? 0));
    const top = this.#ceiling(Math.max(0, ...values));
    const ticks = [0, top / 2, top].map((value) => [value, this.#axis(value)]);
    const letters = Math.max(...ticks.map(([, text]) => text.length));
    const left = Math.max(leftMin, Math.ceil(letters * letterWidth) + 8);
    this.#left = left;
    const inner = { width: width - left - edge.right, height: height - edge.top - edge.bottom };
    const x = (at) => left + (at - from) / Math.max(1, to - from) * inner.width;
    const y = (value) => edge.top + inner.height * (1 - value / top);
    this.#picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    replace(this.#picture,
      ticks.map(([value, text]) => [
        svg("line", { class: "grid", x1: left, x2: width - edge.right, y1: y(value),
          y2: y(value) }),
        svg("text", { class: "tick", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, text),
      ]),
      timeTicks(from, to, Math.max(2, Math.floor(inner.width / 80))).map((at) =>
        svg("text", { class: "tick", x: Math.min(x(at), width - 18), y: height - 4,
          "text-anchor": "middle" },
          clock(at, now, to - from < 300000))),
      series.map(({ line: name, points }) => [
        svg("path", { class: `line ${name}`, d: line(points, x, y) }),
        points.length === 1 && svg("circle",
          { class: `point ${name}`, cx: x(points[0][0]), cy: y(points[0][1] ?? 0), r: 2.5 }),
      ]),
      svg("line", { class: "cross", y1: edge.top, y2: edge.top + inner.height, x1: -9, x2: -9 }));
    this.#picture.setAttribute("aria-label", this.#summary());
    this.#drawLegend();
  }

  #summary() {
    const parts = this.#data.series.map(({ name, points }) => {
      const values = points.map(([, value]) => value)
        .filter((value) => value !== undefined && value !== null);
      if (values.length === 0) return `${name}: nothing known`;
      return `${name}: now ${this.#format(values.at(-1))}, at the most`
        + ` ${this.#format(Math.max(...values))}`;
    });
    return `${this.title}. ${parts.join("; ")}.`;
  }

  #drawLegend() {
    const { series } = this.#data;
    if (this.#legend.childElementCount !== series.length) {
      replace(this.#legend, series.map(({ name, line }) => h("li", null,
        svg("svg", { class: "swatch", viewBox: "0 0 18 8", "aria-hidden": "true" },
          svg("path", { class: `line ${line}`, d: "M1 4H17" })), `${name} `, h("b"))));
    }
    series.forEach(({ points }, index) => {
      const value = points.at(-1)?.[1];
      say(this.#legend.children[index].lastElementChild, value === undefined || value === null
        ? "–" : this.#format(value));
    });
  }

  #point(event) {
    const cross = this.#picture.querySelector(".cross");
    if (!this.#data || !cross) return;
    const { series, from, to, now } = this.#data;
    const points = series[0]?.points ?? [];
    if (!event || points.length === 0) {
      cross.setAttribute("x1", -9);
      cross.setAttribute("x2", -9);
      return say(this.#reading, "");
    }
    const box = this.#picture.getBoundingClientRect();
    const inner = box.width - this.#left - edge.right;
    const wanted = from + (event.clientX - box.left - this.#left) / inner * (to - from);
    const index = points.reduce((best, [at], index) =>
      Math.abs(at - wanted) < Math.abs(points[best][0] - wanted) ? index : best, 0);
    const place = this.#left + (points[index][0] - from) / Math.max(1, to - from) * inner;
    cross.setAttribute("x1", place);
    cross.setAttribute("x2", place);
    const values = series.map(({ name, points }) => {
      const value = points[index]?.[1];
      return `${name} ${value === undefined || value === null ? "–" : this.#format(value)}`;
    });
    say(this.#reading, `${clock(points[index][0], now)}  ${values.join(" · ")}`);
  }

  #fillTable() {
    if (!this.#details.open || !this.#data) return;
    const { series, now } = this.#data;
    const points = series[0]?.points ?? [];
    const step = Math.max(1, Math.ceil((points.length - 1) / 60));
    const rows = points.map((_, index) => index)
      .filter((index) => (points.length - 1 - index) % step === 0).reverse();
    replace(this.#table,
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Time"),
        series.map(({ name }) => h("th", { scope: "col", class: "number" }, name)))),
      h("tbody", null, rows.map((index) => h("tr", null,
        h("th", { scope: "row" }, clock(points[index][0], now)),
        series.map(({ points }) => {
          const value = points[index]?.[1];
          return h("td", { class: "number" }, value === undefined || value === null
            ? "–" : this.#format(value));
        })))));
  }
}
