"use strict";
// Times and numbers as text, and round steps for axes.

const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 3600;
const DAY_SECONDS = 86400;

/** A whole number with separated thousands. */
const countText = (count) => count.toLocaleString("en");

/** A number of things: `1 job`, `2,000 jobs`. */
const counted = (count, name) => `${countText(count)} ${name}${count === 1 ? "" : "s"}`;

/** Whether a time is shown in days and hours rather than in seconds: in a log from an hour on. A
 * synthetic workload, whose options are in seconds, changes only from a day on. */
function isLong(meta, value) {
  return meta.unit === "s" && value >= (meta.isLog ? HOUR_SECONDS : DAY_SECONDS);
}

/** A time or span in the unit of the workload, in a few digits; a long one as days, hours, minutes
 * and seconds. */
function timeText(meta, ticks) {
  const value = ticks / meta.ticks;
  if (isLong(meta, value)) {
    const seconds = Math.floor(value);
    const two = (number) => String(number % 60).padStart(2, "0");
    const days = Math.floor(seconds / DAY_SECONDS);
    const hours = Math.floor((seconds % DAY_SECONDS) / HOUR_SECONDS);
    const rest = `${two(Math.floor(seconds / MINUTE_SECONDS))}:${two(seconds)}`;
    return days ? `${countText(days)} d ${two(hours)}:${rest}` : `${hours}:${rest}`;
  }
  const text = value.toLocaleString("en", { maximumFractionDigits: meta.ticks > 1 ? 2 : 0 });
  return `${text} ${meta.unit}`;
}

/** The unit for times up to this one: its name, and its length in the unit of the workload. */
function unitOf(meta, value) {
  if (!isLong(meta, value)) return [meta.unit, 1];
  return value >= 2 * DAY_SECONDS ? ["d", DAY_SECONDS] : ["h", HOUR_SECONDS];
}

/** The time that passes in a second of playing, in two digits. */
function rateText(meta, ticks) {
  const value = ticks / meta.ticks;
  const [name, length] = unitOf(meta, value);
  return `${(value / length).toLocaleString("en", { maximumSignificantDigits: 2 })} ${name}/s`;
}

/** The least of 1, 2, 5, 10, 20, .. (and 0.5, 0.2, ..) that is at least `least`. */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9));
}

/** Multiples of a round step from 0 to `most`, at most `count` steps. */
function roundTicks(most, count) {
  if (!(most > 0)) return [0];
  const step = roundStep(most / count);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, place) => place * step);
}

/** Times at round steps from 0 to `end`, at most `count` steps: each as ticks and text. */
function timeTicks(meta, end, count) {
  const [name, length] = unitOf(meta, end / meta.ticks);
  const inUnit = roundTicks(end / meta.ticks / length, count);
  const digits = { maximumSignificantDigits: 6 };
  const text = (value) => `${value.toLocaleString("en", digits)} ${name}`;
  return inUnit.map((value) => [value * length * meta.ticks, text(value)]);
}
