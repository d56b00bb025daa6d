"use strict";
// Where the processors of a machine are in a picture.
//
// The histories have columns and rows of the planes side by side (map/layout.rs). Here a row of
// planes that is too long for the width of the picture is broken into several. Above planes stand
// their coordinates in the dimensions beyond the second.

/** Gaps between planes, in processors. */
const GAP = 0.7;
/** A line of coordinates, and about how wide a character of it is. */
const LABEL_HEIGHT = 15;
const LABEL_FONT = "11px system-ui, sans-serif";
const CHARACTER_WIDTH = 6.6;
/** The least height of a picture of few rows. */
const STRIP_HEIGHT = 40;
/** The part of the height that lines of coordinates may take. */
const LABEL_PART_MAX = 0.4;

/** Columns and rows of a plane, and how many planes there are to the right and upwards. */
function planesOf(meta) {
  const [, , w, h] = meta.planes[0];
  return { w, h, across: meta.gapsAcross.length / w, up: meta.gapsUp.length / h };
}

/** The dimensions beyond the second: for each its name, its side, and how many planes one after
 * another, in a row or upwards, have the same coordinate. */
function furtherDimensions(meta) {
  const strides = [1, 1];
  return meta.dimensions.slice(2).map(({ name, side }, place) => {
    const stride = strides[place % 2];
    strides[place % 2] *= side;
    return { name, side, stride, isAcross: place % 2 === 0 };
  });
}

/** The planes in bands of at most `columns`, as large as they fit into `width` and `height`, with
 * a number of `lines` of coordinates in each band. */
class Arrangement {
  constructor(meta, columns, width, height, lines) {
    const { w, h, across, up } = planesOf(meta);
    const bands = Math.ceil(across / columns);
    const starts = Array.from({ length: bands }, (_, band) => band * columns);
    const gaps = (first, last) => meta.gapsAcross[last * w] - meta.gapsAcross[first * w];
    const widths = starts.map((start) => gaps(start, Math.min(start + columns, across) - 1));
    const cellsAcross = columns * w + GAP * Math.max(...widths);
    this.cellsUp = bands * (up * h + GAP * meta.gapsUp.at(-1)) + GAP * (bands - 1);
    const room = height - bands * lines * LABEL_HEIGHT;
    Object.assign(this, { columns, bands, lines, cellsAcross });
    this.cell = Math.min(width / cellsAcross, Math.max(room, 1) / this.cellsUp);
  }
}

/** The bands in which the planes are largest. */
function largest(meta, width, height, lines) {
  let best = null;
  for (let columns = planesOf(meta).across; columns >= 1; columns--) {
    const next = new Arrangement(meta, columns, width, height, lines);
    if (!best || next.cell > best.cell * 1.001) best = next;
  }
  return best;
}

/** Where processors are in a picture no larger than this: dimension 1 goes upwards. */
class Places {
  constructor(meta, width, heightMax) {
    this.meta = meta;
    this.planes = planesOf(meta);
    this.labelled = null;
    const { up } = this.planes;
    let found = null;
    const further = furtherDimensions(meta);
    for (let lowest = 0; lowest < further.length && !found; lowest++) {
      const shown = further.slice(lowest);
      // The planes in which all shown coordinates are the same.
      const same = (isAcross, all) => shown.find((one) => one.isAcross === isAcross)?.stride ?? all;
      const group = { across: same(true, this.planes.across), up: same(false, up) };
      const lines = up / group.up;
      const fitted = largest(meta, width, heightMax, lines);
      if (fitted.bands * lines * LABEL_HEIGHT > LABEL_PART_MAX * heightMax) continue;
      const room = Math.min(group.across, fitted.columns) * this.planes.w * fitted.cell;
      const corners = this.cornersOf(group);
      const lengths = (named) => corners.map((at) => Places.label(meta, shown, at, named).length);
      const longest = (named) => Math.max(...lengths(named));
      const isNamed = [true, false].find((named) => longest(named) * CHARACTER_WIDTH <= room);
      if (isNamed === undefined) continue;
      this.labelled = { shown, group, isNamed };
      found = fitted;
    }
    found ??= largest(meta, width, heightMax, 0);
    Object.assign(this, found);
    this.cellUp = Math.max(this.cell, STRIP_HEIGHT / this.cellsUp);
    this.width = this.cell * this.cellsAcross;
    this.height = this.cellUp * this.cellsUp + this.bands * this.lines * LABEL_HEIGHT;
  }

  /** The first plane to the right and upwards of each group. */
  cornersOf(group) {
    const corners = [];
    for (let p = 0; p < this.planes.across; p += group.across) {
      for (let q = 0; q < this.planes.up; q += group.up) corners.push([p, q]);
    }
    return corners;
  }

  /** The coordinates of a plane in these dimensions, in the order of addresses. */
  static label(meta, dimensions, [p, q], isNamed) {
    const texts = dimensions.map(({ name, side, stride, isAcross }) => {
      const coordinate = Math.floor((isAcross ? p : q) / stride) % side;
      return isNamed ? `${name} = ${coordinate}` : String(coordinate);
    });
    if (meta.highFirst) texts.reverse();
    const isDigits = meta.highFirst && dimensions.every(({ side }) => side <= 10);
    return texts.join(isNamed ? ", " : isDigits ? "" : ",");
  }

  /** What the planes are, in a sentence; nothing for a single one. */
  sentence() {
    const { across, up } = this.planes;
    if (across * up === 1) return "";
    const names = this.meta.dimensions.map(({ name }) => name);
    const ordered = (list) => (this.meta.highFirst ? list.toReversed() : list).join(", ");
    const within = `Each plane: ${names[0]} to the right, ${names[1]} upwards.`;
    const { shown } = this.labelled ?? { shown: [] };
    const isAll = shown.length === names.length - 2;
    const where = isAll ? "each plane" : "groups of planes";
    const above = shown.length ? ` Above ${where}: ${ordered(shown.map(({ name }) => name))}.` : "";
    const rest = names.slice(2, names.length - shown.length);
    const inTurn = rest.map((name, place) => `${name} ${place % 2 ? "upwards" : "to the right"}`);
    return within + above + (rest.length ? ` From plane to plane: ${ordered(inTurn)}.` : "");
  }

  /** Texts above planes: left end and middle. */
  labels() {
    if (!this.labelled) return [];
    const { shown, group, isNamed } = this.labelled;
    const labels = [];
    for (let p = 0; p < this.planes.across; p++) {
      if (p % group.across && p % this.columns) continue;
      for (let q = group.up - 1; q < this.planes.up; q += group.up) {
        const [left, top] = this.corner(p, q);
        const text = Places.label(this.meta, shown, [p, q], isNamed);
        labels.push({ text, left, y: top - LABEL_HEIGHT / 2 });
      }
    }
    return labels;
  }

  /** Left and top of a plane. */
  corner(p, q) {
    const { w, h, up } = this.planes;
    const band = Math.floor(p / this.columns);
    const { gapsAcross, gapsUp } = this.meta;
    const start = band * this.columns * w;
    const left = (p * w - start + GAP * (gapsAcross[p * w] - gapsAcross[start])) * this.cell;
    const bandHeight = this.cellUp * (up * h + GAP * gapsUp.at(-1)) + this.lines * LABEL_HEIGHT;
    const bottom = (band + 1) * bandHeight + band * GAP * this.cellUp;
    // The lines of coordinates of the groups below.
    const lines = this.labelled ? Math.floor(q / this.labelled.group.up) : 0;
    const below = ((q + 1) * h + GAP * gapsUp[q * h]) * this.cellUp + lines * LABEL_HEIGHT;
    return [left, bottom - below];
  }

  /** Left, top, width and height of a rectangle of processors within a plane. */
  rect(x, y, w, h) {
    const plane = this.planes;
    const [left, top] = this.corner(Math.floor(x / plane.w), Math.floor(y / plane.h));
    const up = plane.h - (y % plane.h) - h;
    const across = x % plane.w;
    return [left + across * this.cell, top + up * this.cellUp, w * this.cell, h * this.cellUp];
  }

  /** Column and row under a point; `null` where there is none. */
  at(px, py) {
    for (const [x, y, w, h] of this.meta.planes) {
      const [left, top, width, height] = this.rect(x, y, w, h);
      if (left <= px && px < left + width && top <= py && py < top + height) {
        const up = Math.min(h - 1, Math.floor((top + height - py) / this.cellUp));
        return [x + Math.floor((px - left) / this.cell), y + up];
      }
    }
    return null;
  }

  /** The coordinates of the processor in this column and row. */
  name([x, y]) {
    const strides = [1, 1];
    const texts = this.meta.dimensions.map(({ name, side }, place) => {
      const stride = strides[place % 2];
      strides[place % 2] *= side;
      return `${name} = ${Math.floor([x, y][place % 2] / stride) % side}`;
    });
    return (this.meta.highFirst ? texts.reverse() : texts).join(", ");
  }
}
