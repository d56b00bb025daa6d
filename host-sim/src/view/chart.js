"use strict";
// Curves over time, with their axes.

/** Height of a chart, and the margins around its curves, with numbers at the left and below. */
const CHART_HEIGHT = 104;
const CHART_MARGIN = { left: 52, right: 22, top: 8, bottom: 20 };
/** The least distance of numbers at the axes. */
const TICK_WIDTH = 90;
const TICK_HEIGHT = 32;

/** The area of the curves in a chart of this width, over the time from 0 to `end`. */
class Frame {
  constructor(width, end, most) {
    const { left, right, top, bottom } = CHART_MARGIN;
    Object.assign(this, { end, most, left, top });
    this.width = Math.max(1, width - left - right);
    this.height = CHART_HEIGHT - top - bottom;
    this.bottom = top + this.height;
  }

  x(time) {
    return this.left + partOf(time, this.end) * this.width;
  }

  y(value) {
    return this.bottom - (value / this.most) * this.height;
  }

  /** The time at this distance from the left edge of the chart. */
  time(x) {
    return ((x - this.left) / this.width) * this.end;
  }
}

/** The fraction of a span that has passed; 0 if the span has no length. */
const partOf = (time, end) => (end > 0 ? time / end : 0);

/** The top of the axis of a curve that reaches `most` of `all`, in percent: a round number. */
const percentAbove = (most, all) => Math.min(100, roundStep(Math.max(0.1, (100 * most) / all)));

/** The numbers at the vertical axis, each as value and text. `percent` is what its top stands for,
 * `null` for numbers of jobs. */
function valueTicks({ most, percent }, height) {
  const ticks = roundTicks(percent ?? most, Math.max(1, Math.floor(height / TICK_HEIGHT)));
  // Jobs are whole numbers.
  const whole = ticks.filter((value) => percent !== null || Number.isInteger(value));
  const text = (value) => value.toLocaleString("en", { maximumSignificantDigits: 3 });
  return whole.map((value) =>
    percent === null ? [value, countText(value)] : [(value / percent) * most, `${text(value)} %`],
  );
}

function drawAxes(context, frame, chart, meta, colours) {
  context.strokeStyle = colours.line;
  context.fillStyle = colours.soft;
  context.lineWidth = 1;
  context.font = LABEL_FONT;
  context.strokeRect(frame.left + 0.5, frame.top + 0.5, frame.width - 1, frame.height - 1);
  context.textBaseline = "middle";
  context.textAlign = "right";
  const line = (x, y, toX, toY) => {
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    context.stroke();
  };
  for (const [value, text] of valueTicks(chart, frame.height)) {
    const y = Math.round(frame.y(value)) - 0.5;
    line(frame.left - 4, y, frame.left + frame.width, y);
    context.fillText(text, frame.left - 7, y + 0.5);
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  const times = Math.max(1, Math.floor(frame.width / TICK_WIDTH));
  for (const [time, text] of timeTicks(meta, frame.end, times)) {
    const x = Math.round(frame.x(time)) + 0.5;
    line(x, frame.bottom, x, frame.bottom + 4);
    context.fillText(text, x, frame.bottom + 6);
  }
}

/** Draws a curve for each run that `isShown` by its place, and marks the present and the times in
 * which a job waits and runs. */
function drawChart(canvas, chart, { meta, runs }, isShown, now, mark, colours) {
  const width = canvas.parentElement.clientWidth;
  const context = fitted(canvas, width, CHART_HEIGHT);
  const frame = new Frame(width, meta.end, chart.most);
  const { top, bottom, height } = frame;
  if (mark) {
    const x = (time) => frame.x(Math.min(time, meta.end));
    context.fillStyle = colours.line;
    for (const [from, to] of mark.waits) {
      context.fillRect(x(from), top, Math.max(1, x(to) - x(from)), height);
    }
    for (const { from, to, fill } of mark.runs) {
      context.fillStyle = fill;
      if (to > from) context.fillRect(x(from), bottom - 6, Math.max(2, x(to) - x(from)), 6);
    }
    context.fillStyle = colours.ink;
    for (const { to, isInterrupted } of mark.runs) {
      if (isInterrupted) context.fillRect(x(to) - 1, bottom - 12, 2, 12);
    }
  }
  drawAxes(context, frame, chart, meta, colours);
  for (const [place, run] of runs.entries()) {
    if (!isShown(place)) continue;
    const values = run[chart.name];
    styleRun(context, place, colours);
    context.lineWidth = 1.5;
    context.beginPath();
    // A point for every six pixels, the mean of the values there.
    const step = Math.max(1, Math.round((6 * meta.points) / frame.width));
    for (let at = 0; at < values.length; at += step) {
      const part = values.slice(at, at + step);
      const value = part.reduce((sum, one) => sum + one, 0) / part.length;
      context.lineTo(frame.x(((at + part.length / 2) / meta.points) * meta.end), frame.y(value));
    }
    context.stroke();
  }
  context.setLineDash([]);
  context.fillStyle = colours.ink;
  context.fillRect(frame.x(now) - 0.75, top, 1.5, height);
}
