"use strict";
// Reads the histories of the runs (their form is described in view/data.rs) and gives the state of a run at any time.

/** A list of the running jobs is kept for every so many starts. */
const KEY_EVERY = 256;

/** Numbers of seven bits a byte, the lowest first. */
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  number() {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  }

  /** `count` numbers into an array, each through `value(number, place)`. */
  fill(array, count, value) {
    for (let place = 0; place < count; place++) array[place] = value(this.number(), place);
    return array;
  }
}

/** The description and the columns of the page. */
async function load() {
  const meta = JSON.parse(document.getElementById("meta").textContent);
  const text = document.getElementById("columns").textContent;
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const reader = new Reader(new Uint8Array(await new Response(stream).arrayBuffer()));
  const jobs = readJobs(reader, meta);
  const runs = meta.runs.map((run) => readRun(reader, run, jobs));
  return { meta, jobs, runs };
}

/** What all runs share: for each job its arrival, request and service time; times in ticks. */
function readJobs(reader, meta) {
  const count = meta.jobs;
  let before = 0;
  const arrival = reader.fill(new Float64Array(count), count, (step) => (before += step));
  const processors = reader.fill(new Int32Array(count), count, (number) => number);
  const shape = reader.fill(new Int32Array(count), count, (number) => number);
  const service = reader.fill(new Float64Array(count), count, (number) => number - 1);
  let name = 0;
  const number = new Float64Array(count);
  if (meta.isLog) {
    reader.fill(number, count, (step) => (name += step % 2 ? -(step + 1) / 2 : step / 2));
  } else {
    for (let job = 0; job < count; job++) number[job] = job + 1;
  }
  return { count, arrival, processors, shape, service, number };
}

/** A run: for each job its start and end (`Infinity`: never), and its rectangles. */
function readRun(reader, about, jobs) {
  const count = about.jobs;
  const start = reader.fill(new Float64Array(count), count, (wait, job) =>
    wait ? jobs.arrival[job] + wait - 1 : Infinity,
  );
  const started = [];
  for (let job = 0; job < count; job++) if (start[job] < Infinity) started.push(job);
  const end = new Float64Array(count).fill(Infinity);
  for (const job of started) {
    const ran = reader.number();
    if (ran) end[job] = start[job] + (ran === 1 ? jobs.service[job] : ran - 2);
  }
  const held = new Int32Array(count);
  for (const job of started) held[job] = jobs.processors[job] + reader.number();
  const misses = new Int32Array(count);
  for (const job of started) misses[job] = reader.number();
  const first = new Int32Array(count + 1);
  const slice = new Int32Array(count).fill(-1);
  const ranks = new Map();
  if (about.slices.length) {
    for (const job of started) {
      slice[job] = reader.number() - 1;
      if (!about.slices[slice[job]]?.folded) continue;
      let cell = 0;
      const step = (number) => (cell += number % 2 ? -(number + 1) / 2 : number / 2);
      const length = reader.number();
      ranks.set(job, reader.fill(new Int32Array(length), length, step));
    }
  }
  const sizes = new Int32Array(count);
  for (const job of started) sizes[job] = reader.number();
  for (let job = 0; job < count; job++) first[job + 1] = first[job] + sizes[job];
  const rects = reader.fill(new Int32Array(4 * first[count]), 4 * first[count], (number) => number);
  const refused = new Uint8Array(count);
  const refusals = [];
  for (let job = 0; job < count; job++) {
    if (start[job] === Infinity) refused[job] = reader.number();
    if (refused[job]) refusals.push(job);
  }
  const columns = { start, leave: end, held, misses, slice, ranks, first, rects, refused, refusals };
  const run = { ...about, ...columns, count, jobs };
  run.starts = Int32Array.from(started).sort((one, other) => start[one] - start[other]);
  run.ends = run.starts.filter((job) => end[job] < Infinity).sort((one, other) => end[one] - end[other]);
  run.keys = keys(run);
  return run;
}

/** The processors of a job of which one side is folded, in the order of the ranks along that side,
 * each as its row times the columns of the picture plus its column. */
const ranksOf = (run, job) => run.ranks.get(job) ?? [];

/** The running jobs, and the first that waits, after every `KEY_EVERY` starts. */
function keys(run) {
  const keys = [{ running: [], head: 0 }];
  let running = [];
  let head = 0;
  for (let at = 0; at < run.starts.length; at++) {
    running.push(run.starts[at]);
    if ((at + 1) % KEY_EVERY) continue;
    const now = run.start[run.starts[at]];
    running = running.filter((job) => run.leave[job] > now);
    while (head < run.count && (run.start[head] <= now || run.refused[head])) head++;
    keys.push({ running: running.slice(), head });
  }
  return keys;
}

/** How many of the times `time[order[0]]`, `time[order[1]]`, .. are at most `limit`; they ascend. */
function countUpTo(time, order, count, limit) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[order ? order[middle] : middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The run after everything that happens at `now`. */
function stateAt(run, now, nodes) {
  const state = { running: [], waiting: [], refused: 0, used: 0, held: 0, fragmented: 0 };
  state.hasEnded = now > run.end;
  if (state.hasEnded) return state;
  const started = countUpTo(run.start, run.starts, run.starts.length, now);
  const place = Math.floor(started / KEY_EVERY);
  const key = run.keys[place];
  for (const job of key.running) if (run.leave[job] > now) state.running.push(job);
  for (let at = place * KEY_EVERY; at < started; at++) {
    if (run.leave[run.starts[at]] > now) state.running.push(run.starts[at]);
  }
  const arrived = countUpTo(run.jobs.arrival, null, run.count, now);
  for (let job = key.head; job < arrived; job++) {
    if (run.start[job] > now && !run.refused[job]) state.waiting.push(job);
  }
  state.refused = countUpTo(run.jobs.arrival, run.refusals, run.refusals.length, now);
  for (const job of state.running) {
    state.used += run.jobs.processors[job];
    state.held += run.held[job];
  }
  const free = nodes - state.held;
  const head = state.waiting[0];
  if (head !== undefined && run.jobs.processors[head] <= free) state.fragmented = free;
  return state;
}

/** The time of the next event of any run after `now`, or of the last one before it. */
function eventBeside(runs, jobs, now, forwards) {
  let best = forwards ? Infinity : 0;
  const consider = (time, order, count) => {
    if (forwards) {
      const at = countUpTo(time, order, count, now);
      if (at < count) best = Math.min(best, time[order ? order[at] : at]);
      return;
    }
    // Times are whole ticks.
    const at = countUpTo(time, order, count, Math.ceil(now) - 1);
    if (at > 0) best = Math.max(best, time[order ? order[at - 1] : at - 1]);
  };
  consider(jobs.arrival, null, jobs.count);
  for (const run of runs) {
    consider(run.start, run.starts, run.starts.length);
    consider(run.leave, run.ends, run.ends.length);
  }
  return best;
}

/** How a job came to its processors: the jobs ahead of it over time, and the later ones that
 * started before it, until it started or the run ended. `null` for a job that never waited: it
 * was refused, or had not arrived when the run ended. */
function waitOf(run, job) {
  if (job >= run.count || run.refused[job]) return null;
  const { arrival } = run.jobs;
  const from = arrival[job];
  const to = Math.min(run.start[job], run.end);
  let ahead = 0;
  for (let other = 0; other < job; other++) {
    if (run.start[other] > from && !run.refused[other]) ahead++;
  }
  const steps = [[from, ahead]];
  const last = countUpTo(run.start, run.starts, run.starts.length, to);
  let overtaken = 0;
  for (let at = countUpTo(run.start, run.starts, run.starts.length, from); at < last; at++) {
    const other = run.starts[at];
    if (other < job) steps.push([run.start[other], --ahead]);
    else if (other > job && run.start[other] < run.start[job]) overtaken++;
  }
  return { from, to, steps, overtaken, isOver: run.start[job] < Infinity };
}
