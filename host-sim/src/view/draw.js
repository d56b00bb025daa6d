"use strict";
// Draws meshes and queues on canvases.

/** Colours of jobs, distinct for all kinds of colour vision (Okabe and Ito 2008). */
const JOB_COLOURS = ["#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2"];
/** Whether black text is easier to read on each colour than white. */
const JOB_IS_LIGHT = [true, true, false, true, true, false, false];
/** The least size of a processor that shows the rank of its job. */
const RANK_CELL_MIN = 14;
/** Colours and dashes of the runs' curves, which so differ also without colour. The lengths of the
 * two lists have no common factor, so the first 20 curves all differ. */
const RUN_COLOURS = ["run0", "run1", "run2", "run3"];
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [14, 4]];

function element(name, properties = {}, children = []) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** Fill and ink of a job with the colour of this number. */
function lookOf(colour) {
  return { fill: JOB_COLOURS[colour], ink: JOB_IS_LIGHT[colour] ? "#000" : "#fff" };
}

/** The same, paler. */
function paleLook(colour, colours) {
  const parts = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const paper = parts(colours.paper);
  const mix = (part, at) => Math.round(0.35 * part + 0.65 * paper[at]);
  const mixed = parts(JOB_COLOURS[colour]).map(mix);
  return { fill: `rgb(${mixed})`, ink: colours.ink };
}

/** The first colour from `first` on that no neighbour has, or `first` if all are taken.
 * `colour` has the colours of the neighbours. */
function freeColour(first, neighbours, colour) {
  const used = new Set(Array.from(neighbours, (one) => colour[one]));
  for (let step = 0; step < JOB_COLOURS.length; step++) {
    const candidate = (first + step) % JOB_COLOURS.length;
    if (!used.has(candidate)) return candidate;
  }
  return first;
}

/** Chooses colours for the jobs of pictures of the same places. A job has one colour in all of
 * them, another than jobs that it touches in one. Jobs in `known`, which maps numbers to colours,
 * keep theirs. Afterwards `known` has exactly these jobs. */
function keepColours(known, pictures, places) {
  const old = new Map(known);
  known.clear();
  const numbers = new Set(pictures.flatMap((jobs) => jobs.map(({ number }) => number)));
  for (const number of numbers) if (old.has(number)) known.set(number, old.get(number));
  const owners = pictures.map((jobs) => new Owners(jobs, places));
  const itself = JOB_COLOURS.map((_, colour) => colour);
  for (const number of [...numbers].filter((number) => !known.has(number))) {
    const used = pictures.flatMap((jobs, at) => {
      const rects = jobs.find((job) => job.number === number)?.rects ?? [];
      const others = [...owners[at].around(rects)].map((place) => jobs[place].number);
      return others.filter((other) => other !== number).map((other) => known.get(other));
    });
    known.set(number, freeColour(number % JOB_COLOURS.length, used, itself));
  }
}

/** The colours of the page. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  const names = ["ink", "soft", "paper", "free", "line", ...RUN_COLOURS];
  return Object.fromEntries(names.map((name) => [name, get(`--${name}`)]));
}

/** Fits a canvas to its box on the screen; returns its context, in CSS pixels. */
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

/** Draws the planes, with all processors free. */
function drawPlanes(context, places, colours) {
  const { w, h } = places.planes;
  for (const [p, q] of places.shownPlanes()) {
    const rect = places.rect(p * w, q * h, w, h);
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
}

/** The owner of each processor, by column and row. */
class Cells {
  constructor(width, height) {
    Object.assign(this, { width, height });
    this.owners = new Int32Array(width * height).fill(-1);
  }

  /** For all planes of a machine. */
  static of({ w, h, axes }) {
    return new Cells(w * axes[0].all, h * axes[1].all);
  }

  take(rects, owner) {
    for (const [left, low, width, height] of rects) {
      for (let y = low; y < low + height; y++) {
        const from = y * this.width + left;
        this.owners.fill(owner, from, from + width);
      }
    }
  }

  /** Frees the processors of these rectangles that this owner has. */
  give(rects, owner) {
    for (const [left, low, width, height] of rects) {
      for (let y = low; y < low + height; y++) {
        for (let x = left; x < left + width; x++) {
          const at = y * this.width + x;
          if (this.owners[at] === owner) this.owners[at] = -1;
        }
      }
    }
  }

  /** The owner of the processor in this column and row; -1 if it is free. */
  at([x, y]) {
    return this.owners[y * this.width + x];
  }

  /** The owners of processors around these rectangles, also at corners. If the rectangles touch,
   * their own owner is among them. */
  around(rects) {
    const found = new Set();
    const look = (x, y) => {
      if (x >= 0 && x < this.width && y >= 0 && y < this.height) found.add(this.at([x, y]));
    };
    for (const [left, low, width, height] of rects) {
      for (let x = left - 1; x <= left + width; x++) {
        look(x, low - 1);
        look(x, low + height);
      }
      for (let y = low; y < low + height; y++) {
        look(left - 1, y);
        look(left + width, y);
      }
    }
    found.delete(-1);
    return found;
  }
}

/** The job that has each processor, as its place in `jobs`. */
class Owners extends Cells {
  constructor(jobs, { planes }) {
    const { w, h, axes } = planes;
    super(w * axes[0].all, h * axes[1].all);
    for (const [place, { rects }] of jobs.entries()) this.take(rects, place);
  }
}

/** Hatches boxes of the picture with rising or, if `down`, falling lines, which continue from box
 * to box. */
function hatch(context, boxes, colour, { step = 6, width = 1.5, down = false } = {}) {
  if (!boxes.length) return;
  context.save();
  const area = new Path2D();
  for (const box of boxes) area.rect(...box);
  context.clip(area);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  for (const [left, top, across, up] of boxes) {
    const from = down ? left - top - up : left + top;
    for (let at = Math.floor(from / step) * step; at <= from + across + up; at += step) {
      // The line on which x + y, or x - y if `down`, is `at`.
      const x = (y) => (down ? at + y : at - y);
      context.moveTo(x(top), top);
      context.lineTo(x(top + up), top + up);
    }
  }
  context.stroke();
  context.restore();
}

/** The rectangles that join the parts of each job: in a machine of cubes in the gaps between
 * planes, else beyond the borders where the job wraps around. A list for each job. */
function jointsOf(jobs, owners, places) {
  const joints = jobs.map(() => []);
  const { planes, meta, columns } = places;
  const { w, h, across, up, axes } = planes;
  const add = (cells, rect) => {
    const job = owners.at(cells[0]);
    if (job >= 0 && cells.every((cell) => owners.at(cell) === job)) joints[job].push(rect);
  };
  for (const [p, q] of places.shownPlanes()) {
    const [x, y] = [p * w, q * h];
    const [left, top, width, height] = places.rect(x, y, w, h);
    const cellLeft = (at) => left + at * places.cell;
    const cellTop = (at) => top + (h - 1 - at) * places.cellUp;
    if (!meta.cube) {
      const size = Math.min(OPEN, 0.45 * GAP * places.cell);
      for (let at = 0; at < h && meta.wraps?.[0]; at++) {
        const ends = [[x, y + at], [x + w - 1, y + at]];
        add(ends, [left - size, cellTop(at), size, places.cellUp]);
        add(ends, [left + width, cellTop(at), size, places.cellUp]);
      }
      for (let at = 0; at < w && meta.wraps?.[1]; at++) {
        const ends = [[x + at, y], [x + at, y + h - 1]];
        add(ends, [cellLeft(at), top - size, places.cell, size]);
        add(ends, [cellLeft(at), top + height, places.cell, size]);
      }
      continue;
    }
    const [i, j] = [axes[0].toShown(p), axes[1].toShown(q)];
    const hasRight = i + 1 < across && (i + 1) % columns !== 0;
    const hasUp = j + 1 < up;
    const nextX = hasRight && axes[0].toAll(i + 1) * w;
    const nextY = hasUp && axes[1].toAll(j + 1) * h;
    const right = left + width;
    const gapRight = hasRight && places.rect(nextX, y, 1, 1)[0] - right;
    const gapUp = hasUp && top - (places.rect(x, nextY, 1, 1)[1] + places.cellUp);
    const last = [x + w - 1, y + h - 1];
    for (let at = 0; at < h && hasRight; at++) {
      const cells = [[last[0], y + at], [nextX, y + at]];
      add(cells, [right, cellTop(at), gapRight, places.cellUp]);
    }
    for (let at = 0; at < w && hasUp; at++) {
      const cells = [[x + at, last[1]], [x + at, nextY]];
      add(cells, [cellLeft(at), top - gapUp, places.cell, gapUp]);
    }
    if (hasRight && hasUp) {
      const cells = [last, [nextX, last[1]], [last[0], nextY], [nextX, nextY]];
      add(cells, [right, top - gapUp, gapRight, gapUp]);
    }
  }
  return joints;
}

/** Draws rectangles in one colour, with lines around their union, from outside to inside. */
function drawTogether(context, rects, colour, lines) {
  const path = new Path2D();
  for (const rect of rects) path.rect(...rect);
  for (const [line, width] of lines) {
    context.strokeStyle = line;
    context.lineWidth = width;
    context.stroke(path);
  }
  context.fillStyle = colour;
  context.fill(path);
}

/** Draws a text in the middle of a rectangle, if there is room beside these marks. */
function drawNumber(context, text, [left, top, width, height], ink, marks) {
  if (width <= 7 * text.length + 4 || height <= 13) return;
  const [x, y] = [left + width / 2, top + height / 2];
  const meets = ({ box }) =>
    Math.abs(box[0] + box[2] / 2 - x) < (box[2] + 7 * text.length) / 2 &&
    Math.abs(box[1] + box[3] / 2 - y) < (box[3] + 11) / 2;
  if (marks.some(meets)) return;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = LABEL_FONT;
  context.fillStyle = ink;
  context.fillText(text, x, y + 0.5);
}

/** The boxes for the number of a job: its largest part; if several planes are shown, every part; in
 * a machine of cubes, its part of each cube. */
function boxesOf(rects, places) {
  const shown = rects.map((rect) => [rect, places.rect(...rect)]).filter(([, box]) => box);
  const { across, up } = places.planes;
  if (!places.meta.cube) {
    const boxes = shown.map(([, box]) => box);
    if (across * up > 1 || boxes.length < 2) return boxes;
    return [boxes.reduce((a, b) => (b[2] * b[3] > a[2] * a[3] ? b : a))];
  }
  const cubes = new Map();
  for (const [rect, box] of shown) {
    const cube = places.cubeOf(rect);
    const boxes = cubes.get(cube) ?? [];
    cubes.set(cube, [...boxes, box]);
  }
  return [...cubes.values()].map((boxes) => {
    const edge = (value, limit) => limit(...boxes.map(value));
    const [left, top] = [edge((box) => box[0], Math.min), edge((box) => box[1], Math.min)];
    const width = edge((box) => box[0] + box[2], Math.max) - left;
    const height = edge((box) => box[1] + box[3], Math.max) - top;
    // The box around all parts if they fill it up to the gaps, else the first part.
    const area = boxes.reduce((sum, box) => sum + box[2] * box[3], 0);
    const room = GAP * places.cell * (width + height);
    return area + 2 * room >= width * height ? [left, top, width, height] : boxes[0];
  });
}

/** Draws jobs, each with fill and ink, number and rectangles. The `chosen` one has a thick outline,
 * and lines between its cubes. Returns the owners of all processors. */
function drawJobs(context, jobs, places, colours, chosen) {
  const owners = new Owners(jobs, places);
  const joints = jointsOf(jobs, owners, places);
  const thin = [[colours.paper, places.cell >= 5 ? 2 : 1]];
  const thick = [[colours.paper, 9], [colours.ink, 5]];
  const isCubes = Boolean(places.meta.cube);
  const marks = places.marks();
  const draw = ({ number, rects, ranks, fill, ink }, place, lines) => {
    const parts = rects.map((rect) => places.rect(...rect)).filter((rect) => rect);
    const [inside, outside] = isCubes ? [joints[place], []] : [[], joints[place]];
    drawTogether(context, [...parts, ...inside], fill, lines);
    drawTogether(context, outside, fill, []);
    if (ranks?.length && places.cell >= RANK_CELL_MIN && lines === thick) {
      for (const [rank, cell] of ranks.entries()) {
        const [x, y] = [cell % owners.width, Math.floor(cell / owners.width)];
        const rect = places.rect(x, y, 1, 1);
        if (rect) drawNumber(context, String(rank), rect, ink, marks);
      }
      return;
    }
    const boxes = boxesOf(rects, places);
    for (const box of boxes) drawNumber(context, String(number), box, ink, marks);
  };
  for (const [place, job] of jobs.entries()) draw(job, place, thin);
  const place = jobs.findIndex(({ job }) => job === chosen);
  if (place >= 0) {
    const boxes = isCubes ? boxesOf(jobs[place].rects, places) : [];
    const path = new Path2D();
    for (const [left, top, width, height] of boxes) path.lineTo(left + width / 2, top + height / 2);
    for (const [colour, width] of [[colours.paper, 5], [colours.ink, 2]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.stroke(path);
    }
    draw(jobs[place], place, thick);
  }
  drawLabels(context, places, colours, jobs, owners);
  for (const { text, box: [left, top, , height] } of marks) {
    context.strokeText(text, left, top + height / 2);
    context.fillStyle = colours.soft;
    context.fillText(text, left, top + height / 2);
  }
  return owners;
}

/** Draws the coordinates next to planes, and the texts above planes or cubes. If a job is both
 * below and above a text, the text stands on the job's colour. */
function drawLabels(context, places, colours, jobs, owners) {
  context.textBaseline = "middle";
  context.font = LABEL_FONT;
  context.fillStyle = colours.soft;
  for (const { text, x, y, align } of places.ticks()) {
    context.textAlign = align;
    context.fillText(text, x, y);
  }
  context.textAlign = "left";
  context.strokeStyle = colours.paper;
  context.lineWidth = 3;
  for (const { text, left, y, columns, rows } of places.labels()) {
    const job = places.meta.cube && rows.length > 1 ? owners.at([columns[0], rows[0]]) : -1;
    const has = (row) => columns.every((column) => owners.at([column, row]) === job);
    const isOn = job >= 0 && rows.every(has);
    const x = left + (isOn ? 3 : 0);
    // Elsewhere an outline in the colour of the paper keeps it readable.
    if (!isOn) context.strokeText(text, x, y);
    context.fillStyle = isOn ? jobs[job].ink : colours.soft;
    context.fillText(text, x, y);
  }
}

/** Draws the processors that are down, and the spares. */
function drawDown(context, down, spares, places, colours) {
  const boxes = (rects) => rects.map((rect) => places.rect(...rect)).filter((box) => box);
  hatch(context, boxes(spares), colours.soft, { down: true, width: 1 });
  hatch(context, boxes(down), colours.ink);
  outline(context, boxes(down), colours, [[colours.ink, 1]]);
}

/** Draws a mesh; returns the owners of the processors, as places in the returned jobs. */
function drawMesh(canvas, run, state, now, places, colours, chosen) {
  const context = fitted(canvas, places.width, places.height);
  drawPlanes(context, places, colours);
  const stretch = (look) => (at) => {
    const job = run.job[at];
    const number = run.jobs.number[job];
    const [rects, ranks] = [rectsAt(run, at), ranksOf(run, at)];
    return { job, number, rects, ranks, ...look(run.colour[at]) };
  };
  const jobs = state.running.map(stretch(lookOf));
  jobs.push(...state.stopped.map(stretch((colour) => paleLook(colour, colours))));
  const owners = drawJobs(context, jobs, places, colours, chosen);
  const spares = run.failures && !state.hasEnded ? run.failures.spares : [];
  drawDown(context, state.hasEnded ? [] : downAt(run, now), spares, places, colours);
  if (state.hasEnded) {
    context.textAlign = "center";
    context.fillStyle = colours.ink;
    context.fillText("the run has ended", places.width / 2, places.height / 2);
  }
  return { owners, jobs };
}

function outline(context, rects, colours, lines = [[colours.paper, 5], [colours.ink, 2.5]]) {
  for (const [colour, width] of lines) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    for (const rect of rects) context.strokeRect(...rect);
  }
}

/** Draws a cross over a job that a failure interrupted. */
function cross(context, [left, top, width, height], colours) {
  const [x, y] = [left + width / 2, top + height / 2];
  context.beginPath();
  for (const way of [1, -1]) {
    context.moveTo(x - 4, y - 4 * way);
    context.lineTo(x + 4, y + 4 * way);
  }
  for (const [colour, line] of [[colours.paper, 4], [colours.ink, 2]]) {
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.stroke();
  }
}

/** Draws the jobs that wait, the first at the left, in the sizes of their requests; returns
 * where. */
function drawQueue(canvas, run, state, width, sizes, colours, chosen) {
  const height = 44;
  const context = fitted(canvas, width, height);
  const [wMax, hMax] = [0, 1].map((side) => Math.max(...sizes.map((sides) => sides[side])));
  const scale = Math.min(6, 34 / hMax, 60 / wMax);
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
    context.fillStyle = JOB_COLOURS[run.colour?.[job] ?? job % JOB_COLOURS.length];
    context.fillRect(...rect);
    if (state.again?.has(job)) cross(context, rect, colours);
    if (job === chosen) outline(context, [rect], colours);
    drawn.push({ job, from: left, to: left + w + 4 });
    left += w + 4;
  }
  return drawn;
}

/** Sets the colour and dashes of the run in this place. */
function styleRun(context, place, colours) {
  context.strokeStyle = colours[RUN_COLOURS[place % RUN_COLOURS.length]];
  context.setLineDash(DASHES[place % DASHES.length]);
}

/** How to draw each sign of the legend of failures. */
const SIGNS = {
  down: (context, box, colours) => {
    context.fillStyle = colours.free;
    context.fillRect(...box);
    hatch(context, [box], colours.ink);
    outline(context, [box], colours, [[colours.ink, 1]]);
  },
  spare: (context, box, colours) => {
    context.fillStyle = colours.free;
    context.fillRect(...box);
    hatch(context, [box], colours.soft, { down: true, width: 1 });
  },
  stopped: (context, box, colours) => {
    context.fillStyle = paleLook(0, colours).fill;
    context.fillRect(...box);
  },
  again: (context, box, colours) => {
    context.fillStyle = JOB_COLOURS[0];
    context.fillRect(...box);
    cross(context, box, colours);
  },
};

/** Draws a sign of the legend of failures. */
function drawSign(canvas, name, colours) {
  SIGNS[name](fitted(canvas, 30, 14), [1, 1, 28, 12], colours);
}

/** Draws the line that stands for a run in the charts. */
function drawSwatch(canvas, place, colours) {
  const context = fitted(canvas, 30, 10);
  styleRun(context, place, colours);
  context.lineWidth = 2.5;
  context.beginPath();
  context.moveTo(0, 5);
  context.lineTo(30, 5);
  context.stroke();
}
