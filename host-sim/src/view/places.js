"use strict";
// The places of a machine's processors in a picture.
//
// The histories name processors by column and row over all planes, as meshalloc-sim lays them out
// (layout.rs). Along each axis these consist of digits of coordinates; the first digit is the
// column or row within a plane. Here a row of planes that is too long for the width of the picture
// is broken into several, or one layer of the machine is shown alone. The text above a plane has
// its coordinates in the dimensions beyond the second, the text above a cube its number.

/** Gaps between planes, in processors. */
const GAP = 0.7;
/** Height and font of a line of coordinates, and the approximate width of a character. */
const LABEL_HEIGHT = 15;
const LABEL_FONT = "11px system-ui, sans-serif";
const CHARACTER_WIDTH = 6.6;
/** The least height of a picture with few rows. */
const STRIP_HEIGHT = 40;
/** The fraction of the height that lines of coordinates may take. */
const LABEL_PART_MAX = 0.4;
/** Margin of a machine that wraps around, for the parts of jobs beyond its border. */
const OPEN = 4;
/** Room for the coordinates left of planes and below them. */
const AXIS = { left: 20, below: 14 };

const product = (numbers) => numbers.reduce((one, other) => one * other, 1);

/** The planes along one axis: `digits` beyond the first, each with the number of successive planes
 * with the same digit, `each` among all planes and `eachShown` among those in the picture. */
class PlaneAxis {
  constructor(meta, isUp, layer) {
    const [first, ...digits] = meta.digits.filter((digit) => digit.isUp === isUp);
    this.size = first?.side ?? 1;
    let [all, shown] = [1, 1];
    this.digits = digits.map((digit) => {
      const fixed = layer && digit.dimension > 1 ? digitOf(digit, layer[digit.dimension]) : null;
      const made = { ...digit, each: all, eachShown: shown, fixed };
      all *= digit.side;
      if (fixed === null) shown *= digit.side;
      return made;
    });
    this.shown = this.digits.filter(({ fixed }) => fixed === null);
    [this.all, this.count] = [all, shown];
    // A gap is wider the more digits start again at 0 there.
    this.gaps = [0];
    for (let at = 1; at < shown; at++) {
      const isNew = ({ eachShown, side }) => at % (eachShown * side) === 0;
      const ends = this.shown.findIndex((digit) => !isNew(digit));
      this.gaps.push(this.gaps[at - 1] + 1 + (ends < 0 ? this.shown.length : ends));
    }
  }

  /** The place in the picture of a plane of the machine; `null` if it is not shown. */
  toShown(plane) {
    let shown = 0;
    for (const { each, eachShown, side, fixed } of this.digits) {
      const digit = Math.floor(plane / each) % side;
      if (fixed === null) shown += digit * eachShown;
      else if (digit !== fixed) return null;
    }
    return shown;
  }

  /** The inverse of `toShown`. */
  toAll(shown) {
    const digit = ({ eachShown, side, fixed }) => fixed ?? Math.floor(shown / eachShown) % side;
    return this.digits.reduce((plane, one) => plane + digit(one) * one.each, 0);
  }

  /** The contribution of a plane of the machine to the coordinate in a dimension. */
  part(plane, dimension) {
    const digits = this.digits.filter((digit) => digit.dimension === dimension);
    return digits.reduce((sum, { each, side, step, descends }) => {
      const digit = Math.floor(plane / each) % side;
      return sum + step * (descends ? side - 1 - digit : digit);
    }, 0);
  }
}

/** The digit of a coordinate, as a place along its axis. */
function digitOf({ step, side, descends }, coordinate) {
  const digit = Math.floor(coordinate / step) % side;
  return descends ? side - 1 - digit : digit;
}

/** The number of layers. Without cubes a layer is a plane. */
const layersOf = ({ dimensions }) => product(dimensions.slice(2).map(({ side }) => side));

/** The coordinates of a layer, by dimension. */
function layerAt({ dimensions }, number) {
  let rest = number;
  return dimensions.map(({ side }, place) => {
    if (place < 2) return 0;
    const coordinate = rest % side;
    rest = Math.floor(rest / side);
    return coordinate;
  });
}

/** Names and coordinates in the dimensions beyond the second, in the order of addresses. */
function layerText(meta, number) {
  const at = layerAt(meta, number);
  const texts = meta.dimensions.map(({ name }, place) => `${name} = ${at[place]}`).slice(2);
  return (meta.highFirst ? texts.reverse() : texts).join(", ");
}

/** Columns and rows of a plane, and how many planes there are to the right and upwards: only those
 * of one layer, if one is given. */
function planesOf(meta, layer = null) {
  const at = layer === null ? null : layerAt(meta, layer);
  const [x, y] = [false, true].map((isUp) => new PlaneAxis(meta, isUp, at));
  return { w: x.size, h: y.size, across: x.count, up: y.count, axes: [x, y] };
}

/** The planes in bands of at most `columns`, as large as fits into `width` and `height`, with this
 * number of `lines` of coordinates in each band. */
class Arrangement {
  constructor(planes, columns, width, height, lines) {
    const { w, h, across, up, axes } = planes;
    const [x, y] = axes;
    const bands = Math.ceil(across / columns);
    const starts = Array.from({ length: bands }, (_, band) => band * columns);
    const gaps = (first, last) => x.gaps[last] - x.gaps[first];
    const widths = starts.map((start) => gaps(start, Math.min(start + columns, across) - 1));
    const cellsAcross = columns * w + GAP * Math.max(...widths);
    // Bands are further apart than the planes within a band.
    this.bandGap = GAP * Math.max(1, y.shown.length);
    this.cellsUp = bands * (up * h + GAP * y.gaps.at(-1)) + this.bandGap * (bands - 1);
    const room = height - bands * lines * LABEL_HEIGHT;
    Object.assign(this, { columns, bands, lines, cellsAcross });
    this.cell = Math.min(width / cellsAcross, Math.max(room, 1) / this.cellsUp);
  }
}

/** The arrangement with the largest planes whose bands have whole groups of `unit` planes. */
function largest(planes, unit, width, height, lines) {
  let best = null;
  for (let columns = planes.across; columns >= 1; columns -= unit) {
    const next = new Arrangement(planes, columns, width, height, lines);
    if (!best || next.cell > best.cell * 1.001) best = next;
  }
  return best;
}

/** The places of processors in a picture of at most this size; dimension 1 goes upwards. With a
 * `layer` only its processors have places. */
class Places {
  constructor(meta, width, heightMax, layer = null) {
    this.meta = meta;
    this.layer = layer;
    this.planes = planesOf(meta, layer);
    this.labelled = null;
    const { across, up, w, axes } = this.planes;
    const margin = meta.wraps?.some((wraps) => wraps) ? OPEN : 0;
    const axis = layersOf(meta) > 1 || meta.cube ? AXIS : { left: 0, below: 0 };
    this.margin = { left: margin + axis.left, top: margin };
    const around = { across: 2 * margin + axis.left, up: 2 * margin + axis.below };
    const [roomAcross, roomUp] = [width - around.across, heightMax - around.up];
    // Layers of cubes stay whole.
    const last = axes[0].shown.at(-1);
    const unit = meta.cube && last?.dimension === 2 ? last.eachShown : meta.cube ? across : 1;
    let found = null;
    for (const labelled of this.labellings()) {
      const { group } = labelled;
      const lines = up / group.up;
      const fitted = largest(this.planes, unit, roomAcross, roomUp, lines);
      if (fitted.bands * lines * LABEL_HEIGHT > LABEL_PART_MAX * heightMax) continue;
      const room = Math.min(group.across, fitted.columns) * w * fitted.cell;
      const lengths = this.cornersOf(group).map((at) => this.label(labelled, at).length);
      if (Math.max(...lengths) * CHARACTER_WIDTH > room) continue;
      this.labelled = labelled;
      found = fitted;
      break;
    }
    found ??= largest(this.planes, unit, roomAcross, roomUp, 0);
    Object.assign(this, found);
    this.cellUp = Math.max(this.cell, STRIP_HEIGHT / this.cellsUp);
    this.width = this.cell * this.cellsAcross + around.across;
    const labels = this.bands * this.lines * LABEL_HEIGHT;
    this.height = this.cellUp * this.cellsUp + labels + around.up;
    this.hasAxes = axis === AXIS;
  }

  /** Possible labels above planes, the best first: `group` is the number of planes with one label,
   * `shown` the dimensions whose coordinates it has, with or without their names. */
  labellings() {
    const { across, up, axes } = this.planes;
    const { cube, dimensions } = this.meta;
    const named = (labelling) => [true, false].map((isNamed) => ({ ...labelling, isNamed }));
    if (cube) {
      const within = ({ dimension, step }) => step < cube[dimension];
      const sides = axes.map(({ shown }) => shown.filter(within).map(({ side }) => side));
      const group = { across: product(sides[0]), up: product(sides[1]) };
      return named({ shown: [], group });
    }
    const further = axes.flatMap(({ shown }, axis) => shown.map((digit) => ({ ...digit, axis })));
    further.sort((one, other) => one.dimension - other.dimension);
    return further.flatMap((_, lowest) => {
      const shown = further.slice(lowest);
      // The planes in which all shown coordinates are the same.
      const same = (at, all) => shown.find(({ axis }) => axis === at)?.eachShown ?? all;
      const names = shown.map(({ dimension }) => ({ dimension, ...dimensions[dimension] }));
      return named({ shown: names, group: { across: same(0, across), up: same(1, up) } });
    });
  }

  /** The first plane to the right and upwards of each group. */
  cornersOf(group) {
    const corners = [];
    for (let p = 0; p < this.planes.across; p += group.across) {
      for (let q = 0; q < this.planes.up; q += group.up) corners.push([p, q]);
    }
    return corners;
  }

  /** A plane of the picture among all planes. */
  toAll(plane) {
    return plane.map((at, axis) => this.planes.axes[axis].toAll(at));
  }

  /** The coordinate of a column and row in a dimension. */
  coordinate([x, y], dimension) {
    const { w, h, axes } = this.planes;
    const [p, q] = [Math.floor(x / w), Math.floor(y / h)];
    const within = [x % w, y % h][dimension] ?? 0;
    return within + axes[0].part(p, dimension) + axes[1].part(q, dimension);
  }

  /** The number of the cube of a column and row, the first dimension fastest. */
  cubeOf(place) {
    const { cube, dimensions } = this.meta;
    let stride = 1;
    return dimensions.reduce((number, { side }, dimension) => {
      const at = Math.floor(this.coordinate(place, dimension) / cube[dimension]) * stride;
      stride *= side / cube[dimension];
      return number + at;
    }, 0);
  }

  /** The text above a plane of the picture: its coordinates in the order of addresses, or the
   * number of its cube. */
  label({ shown, isNamed }, plane) {
    const { meta, planes } = this;
    const [p, q] = this.toAll(plane);
    const place = [p * planes.w, q * planes.h];
    if (meta.cube) return `${isNamed ? "cube " : ""}${this.cubeOf(place)}`;
    const texts = shown.map(({ dimension, name }) => {
      const coordinate = this.coordinate(place, dimension);
      return isNamed ? `${name} = ${coordinate}` : String(coordinate);
    });
    if (meta.highFirst) texts.reverse();
    const isDigits = meta.highFirst && shown.every(({ side }) => side <= 10);
    return texts.join(isNamed ? ", " : isDigits ? "" : ",");
  }

  /** Describes the planes in a sentence; empty for a single plane. */
  sentence() {
    const { across, up } = this.planes;
    if (across * up === 1) return "";
    const { cube, highFirst, dimensions } = this.meta;
    const names = dimensions.map(({ name }) => name);
    const ordered = (list) => (highFirst ? list.toReversed() : list).join(", ");
    const upwards = names[1] ? `, ${names[1]} upwards` : "";
    if (cube) {
      const planes = `its planes by ${names.slice(2).join(", ")}, the first at the upper left`;
      const isWhole = this.layer === null && product(cube.slice(2)) > 1;
      const each = isWhole ? `: ${planes}` : "";
      const above = this.labelled ? " Above: its number." : "";
      return `Each square is a cube${each}; ${names[0]} to the right${upwards}.${above}`;
    }
    const within = `Each plane: ${names[0]} to the right${upwards}.`;
    const { shown } = this.labelled ?? { shown: [] };
    const isAll = shown.length === names.length - 2;
    const where = isAll ? "each plane" : "groups of planes";
    const above = shown.length ? ` Above ${where}: ${ordered(shown.map(({ name }) => name))}.` : "";
    const rest = names.slice(2, names.length - shown.length);
    const inTurn = rest.map((name, place) => `${name} ${place % 2 ? "upwards" : "to the right"}`);
    return within + above + (rest.length ? ` From plane to plane: ${ordered(inTurn)}.` : "");
  }

  /** The texts above planes: left end and vertical middle, and the columns and rows of the
   * processors below and above each text. */
  labels() {
    if (!this.labelled) return [];
    const { group } = this.labelled;
    const labels = [];
    for (let p = 0; p < this.planes.across; p++) {
      if (p % group.across && p % this.columns) continue;
      for (let q = group.up - 1; q < this.planes.up; q += group.up) {
        const [left, top] = this.corner(p, q);
        const text = this.label(this.labelled, [p, q]);
        const { w, h, up } = this.planes;
        const [P, Q] = this.toAll([p, q]);
        const columns = Array.from({ length: group.across * w }, (_, at) => P * w + at);
        const rows = [(Q + 1) * h - 1];
        if (q + 1 < up) rows.push(this.toAll([p, q + 1])[1] * h);
        labels.push({ text, left, y: top - LABEL_HEIGHT / 2, columns, rows });
      }
    }
    return labels;
  }

  /** The coordinates in the upper left corners of the planes of the cubes at the left edge, with
   * or without names, where there is room: the texts with their boxes. */
  marks() {
    const { cube, dimensions } = this.meta;
    const { w, h, across, up, axes } = this.planes;
    if (!cube || this.layer !== null || product(cube.slice(2)) < 2) return [];
    const within = ({ dimension, step }) => step < cube[dimension];
    const wide = product(axes[0].shown.filter(within).map(({ side }) => side));
    const marks = [];
    for (let p = 0; p < across; p++) {
      if (p % this.columns >= wide) continue;
      for (let q = 0; q < up; q++) {
        const [P, Q] = this.toAll([p, q]);
        const at = (_, number) => this.coordinate([P * w, Q * h], number + 2);
        const numbers = dimensions.slice(2).map(at);
        const names = numbers.map((number, place) => `${dimensions[place + 2].name} ${number}`);
        const [left, top] = this.corner(p, q);
        const width = (text) => text.length * CHARACTER_WIDTH + 4;
        const text = [names.join(", "), numbers.join(",")].find((of) => width(of) <= w * this.cell);
        if (text === undefined || h * this.cellUp < LABEL_HEIGHT) continue;
        marks.push({ text, box: [left + 2, top + 1, width(text), LABEL_HEIGHT - 2] });
      }
    }
    return marks;
  }

  /** The coordinates left of the planes and below the last ones. A plane has the first coordinate
   * and, if there is room, the last; a cube has the first. */
  ticks() {
    if (!this.hasAxes) return [];
    const { w, h, across, up } = this.planes;
    const ends = (count, size) => (this.meta.cube || count * size < 34 ? [0] : [0, count - 1]);
    // A cube has coordinates at its first plane.
    const each = this.meta.cube && this.labelled ? this.labelled.group : { across: 1, up: 1 };
    const ticks = [];
    for (let p = 0; p < across; p += each.across) {
      const isFirst = p % this.columns === 0;
      const isLast = Math.floor(p / this.columns) === this.bands - 1;
      for (let q = 0; q < up; q += each.up) {
        const [P, Q] = this.toAll([p, q]);
        const [left, top] = this.corner(p, q);
        const bottom = top + h * this.cellUp;
        const text = (x, y, dimension) => this.coordinate([P * w + x, Q * h + y], dimension);
        for (const at of isFirst && this.meta.dimensions.length > 1 ? ends(h, this.cellUp) : []) {
          const y = bottom - (at + 0.5) * this.cellUp;
          ticks.push({ text: text(0, at, 1), x: this.margin.left - 6, y, align: "right" });
        }
        for (const at of isLast && q === 0 ? ends(w, this.cell) : []) {
          const x = left + (at + 0.5) * this.cell;
          const y = this.height - AXIS.below / 2;
          ticks.push({ text: text(at, 0, 0), x, y, align: "center" });
        }
      }
    }
    return ticks;
  }

  /** Left and top of a plane of the picture. */
  corner(p, q) {
    const { w, h, up, axes } = this.planes;
    const [x, y] = axes;
    const band = Math.floor(p / this.columns);
    const start = band * this.columns;
    const left = ((p - start) * w + GAP * (x.gaps[p] - x.gaps[start])) * this.cell;
    const bandHeight = this.cellUp * (up * h + GAP * y.gaps.at(-1)) + this.lines * LABEL_HEIGHT;
    const bottom = (band + 1) * bandHeight + band * this.bandGap * this.cellUp;
    // The number of lines of coordinates below.
    const lines = this.labelled ? Math.floor(q / this.labelled.group.up) : 0;
    const below = ((q + 1) * h + GAP * y.gaps[q]) * this.cellUp + lines * LABEL_HEIGHT;
    return [left + this.margin.left, bottom - below + this.margin.top];
  }

  /** Left, top, width and height of a rectangle of processors within a plane; `null` if that is
   * not in the picture. */
  rect(x, y, w, h) {
    const { axes, ...plane } = this.planes;
    const p = axes[0].toShown(Math.floor(x / plane.w));
    const q = axes[1].toShown(Math.floor(y / plane.h));
    if (p === null || q === null) return null;
    const [left, top] = this.corner(p, q);
    const up = plane.h - (y % plane.h) - h;
    const across = x % plane.w;
    return [left + across * this.cell, top + up * this.cellUp, w * this.cell, h * this.cellUp];
  }

  /** The planes of the picture: column and row among all planes of the machine. */
  shownPlanes() {
    const { across, up, axes } = this.planes;
    const planes = [];
    for (let q = 0; q < up; q++) {
      for (let p = 0; p < across; p++) planes.push([axes[0].toAll(p), axes[1].toAll(q)]);
    }
    return planes;
  }

  /** Column and row under a point; `null` where there is none. */
  at(px, py) {
    const { w, h } = this.planes;
    for (const [p, q] of this.shownPlanes()) {
      const [left, top, width, height] = this.rect(p * w, q * h, w, h);
      if (left <= px && px < left + width && top <= py && py < top + height) {
        const up = Math.min(h - 1, Math.floor((top + height - py) / this.cellUp));
        return [p * w + Math.floor((px - left) / this.cell), q * h + up];
      }
    }
    return null;
  }

  /** The coordinates of the processor in this column and row. */
  name(place) {
    const { cube, dimensions, highFirst } = this.meta;
    const texts = dimensions.map(({ name }, at) => `${name} = ${this.coordinate(place, at)}`);
    const text = (highFirst ? texts.reverse() : texts).join(", ");
    return cube ? `${text}, cube ${this.cubeOf(place)}` : text;
  }
}
