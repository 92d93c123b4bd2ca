// Numbers and times in words. Pure: the time now is handed in.

const whole = new Intl.NumberFormat("en");
const fine = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** A whole number with its thousands apart. */
export const count = (number) => whole.format(number);

/** "1 envelope", "1,204 envelopes". */
export const many = (number, word, words = `${word}s`) =>
  `${count(number)} ${number === 1 ? word : words}`;

/** Something a second, no finer than a person reads it; what is not nothing is never told as 0. */
export function rate(number) {
  if (number > 0 && number < 0.005) return "under 0.01/s";
  const digits = number >= 10 ? 0 : number >= 1 ? 1 : 2;
  return `${whole.format(Number(number.toFixed(digits)))}/s`;
}

/** A number for an axis: "1.2k", "3M". */
export function short(number) {
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(number) >= size) return `${fine.format(number / size)}${unit}`;
  }
  return fine.format(number);
}

/** Bytes, in powers of 1024. */
export function bytes(number) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit += 1;
  }
  return unit === 0 && number === 1 ? "1 byte" : `${fine.format(number)} ${units[unit]}`;
}

/** A stretch of time in its largest unit: "14 minutes". */
export function stretch(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 1) return "less than a second";
  if (seconds < 120) return many(seconds, "second");
  if (seconds < 7200) return many(Math.floor(seconds / 60), "minute");
  if (seconds < 172800) return many(Math.floor(seconds / 3600), "hour");
  return many(Math.floor(seconds / 86400), "day");
}

/** The same in few letters, for tables: "14 min". */
export function brief(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

/** How long something took: "340 ms", "12 s". */
export function took(milliseconds) {
  if (milliseconds < 1000) return `${milliseconds} ms`;
  if (milliseconds < 60000) return `${fine.format(milliseconds / 1000)} s`;
  return stretch(milliseconds);
}

/** The same for an axis: in few letters. */
export const tookBriefly = (milliseconds) =>
  milliseconds < 60000 ? took(milliseconds) : brief(milliseconds);

const two = (number) => String(number).padStart(2, "0");

/** The time of day in the reader's own zone, with the date unless it is today's. */
export function clock(text, now, withSeconds = true) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return String(text);
  const today = new Date(now);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const of = `${today.getFullYear()}-${two(today.getMonth() + 1)}-${two(today.getDate())}`;
  const hours = `${two(at.getHours())}:${two(at.getMinutes())}`;
  const shown = withSeconds ? `${hours}:${two(at.getSeconds())}` : hours;
  return day === of ? shown : `${day} ${shown}`;
}

/** What each state is to a person. */
export const stateWords = {
  held: "Held",
  parked: "Parked",
  queued: "Queued",
  delivering: "Being delivered",
  blocked: "Blocked",
  delivered: "Delivered",
  failed: "Failed",
  expired: "Expired",
  cancelled: "Cancelled",
};

/** What each outcome of an attempt is to a person. */
export const outcomeWords = {
  delivered: "Delivered",
  unreachable: "Not reached",
  refused: "Refused",
  ambiguous: "No answer: it may have arrived",
};

/** States of what waits. */
export const waitingStates = ["held", "parked", "queued", "delivering", "blocked"];
