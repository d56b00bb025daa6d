"use strict";
// Draws meshes and queues on canvases.

/** Colours that people with any colour vision can tell apart (Okabe and Ito 2008), for jobs. */
const JOB_COLOURS = ["#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2"];
/** Whether black is easier to read on them than white. */
const JOB_IS_LIGHT = [true, true, false, true, true, false, false];
/** Colours and dashes of the runs' curves, so that they differ without colour, too. Their numbers have no common factor, so the
 * first 20 curves all differ. */
const RUN_COLOURS = ["run0", "run1", "run2", "run3"];
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [14, 4]];

function element(name, properties = {}, children = []) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const colourOf = (job) => JOB_COLOURS[job % JOB_COLOURS.length];

/** The colours of the page. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  const names = ["ink", "soft", "paper", "free", "line", ...RUN_COLOURS];
  return Object.fromEntries(names.map((name) => [name, get(`--${name}`)]));
}

/** Fits a canvas to its box on the screen; gives its context, in CSS pixels. */
function fitted(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.height = `${height}px`;
    canvas.style.width = `${width}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** The planes of free processors. */
function drawPlanes(context, places, colours) {
  for (const [x, y, w, h] of places.meta.planes) {
    const rect = places.rect(x, y, w, h);
    context.fillStyle = colours.free;
    context.fillRect(...rect);
    if (places.cell >= 7) {
      context.strokeStyle = colours.line;
      context.lineWidth = 0.5;
      context.beginPath();
      for (let at = 1; at < w; at++) {
        context.moveTo(rect[0] + at * places.cell, rect[1]);
        context.lineTo(rect[0] + at * places.cell, rect[1] + rect[3]);
      }
      for (let at = 1; at < h; at++) {
        context.moveTo(rect[0], rect[1] + at * places.cellUp);
        context.lineTo(rect[0] + rect[2], rect[1] + at * places.cellUp);
      }
      context.stroke();
    }
  }
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.font = LABEL_FONT;
  context.fillStyle = colours.soft;
  for (const { text, left, y } of places.labels()) context.fillText(text, left, y);
}

/** The rectangles of a job, and its number in the largest of them. */
function drawJob(context, rects, job, number, places, colours) {
  context.fillStyle = colourOf(job);
  for (const rect of rects) context.fillRect(...rect);
  context.strokeStyle = colours.paper;
  context.lineWidth = places.cell >= 5 ? 1.5 : 0.75;
  for (const rect of rects) context.strokeRect(...rect);
  const text = String(number);
  const [left, top, width, height] = rects.reduce((a, b) => (b[2] * b[3] > a[2] * a[3] ? b : a));
  if (width > 7 * text.length + 4 && height > 13) {
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.font = LABEL_FONT;
    context.fillStyle = JOB_IS_LIGHT[job % JOB_COLOURS.length] ? "#000" : "#fff";
    context.fillText(text, left + width / 2, top + height / 2 + 0.5);
  }
}

function drawMesh(canvas, run, state, places, colours, chosen) {
  const context = fitted(canvas, places.width, places.height);
  drawPlanes(context, places, colours);
  const rectsOf = (job) => {
    const rects = [];
    for (let at = run.first[job]; at < run.first[job + 1]; at++) {
      rects.push(places.rect(...run.rects.subarray(4 * at, 4 * at + 4)));
    }
    return rects;
  };
  for (const job of state.running) {
    drawJob(context, rectsOf(job), job, run.jobs.number[job], places, colours);
  }
  if (state.running.includes(chosen)) outline(context, rectsOf(chosen), colours);
  if (state.hasEnded) {
    context.textAlign = "center";
    context.fillStyle = colours.ink;
    context.fillText("the run has ended", places.width / 2, places.height / 2);
  }
}

function outline(context, rects, colours) {
  for (const [colour, width] of [[colours.paper, 5], [colours.ink, 2.5]]) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    for (const rect of rects) context.strokeRect(...rect);
  }
}

/** The jobs that wait, the first at the left, each as large as its request; gives where they are. */
function drawQueue(canvas, run, state, width, sizes, colours, chosen) {
  const height = 44;
  const context = fitted(canvas, width, height);
  const scale = Math.min(6, 34 / Math.max(...sizes.map(([, h]) => h)), 60 / Math.max(...sizes.map(([w]) => w)));
  const drawn = [];
  let left = 1;
  context.font = LABEL_FONT;
  context.textBaseline = "middle";
  context.fillStyle = colours.soft;
  if (!state.waiting.length && !state.hasEnded) context.fillText("no job waits", 1, height / 2);
  for (const [place, job] of state.waiting.entries()) {
    const [w, h] = sizes[run.jobs.shape[job]].map((side) => Math.max(3, side * scale));
    if (left + w > width - 52 && place < state.waiting.length - 1) {
      context.fillStyle = colours.soft;
      context.fillText(`+${countText(state.waiting.length - place)}`, left + 2, height / 2);
      break;
    }
    const rect = [left, (height - h) / 2, w, h];
    context.fillStyle = colourOf(job);
    context.fillRect(...rect);
    if (job === chosen) outline(context, [rect], colours);
    drawn.push({ job, from: left, to: left + w + 4 });
    left += w + 4;
  }
  return drawn;
}

/** Colour and dashes of the run in this place. */
function styleRun(context, place, colours) {
  context.strokeStyle = colours[RUN_COLOURS[place % RUN_COLOURS.length]];
  context.setLineDash(DASHES[place % DASHES.length]);
}

/** The line of a run in the charts, for its heading. */
function drawSwatch(canvas, place, colours) {
  const context = fitted(canvas, 30, 10);
  styleRun(context, place, colours);
  context.lineWidth = 2.5;
  context.beginPath();
  context.moveTo(0, 5);
  context.lineTo(30, 5);
  context.stroke();
}
