"use strict";
// Reads the histories of the runs, the lists of view/data.rs, and computes the state of a run
// at any time.

/** The list of running jobs is stored after this number of starts, again and again. */
const KEY_EVERY = 256;

/** The times of a list, `Infinity` for never. */
const timesOf = (list) => Float64Array.from(list, (time) => time ?? Infinity);

/** Reads the description and the lists of the page. */
async function load() {
  const meta = JSON.parse(document.getElementById("meta").textContent);
  const text = document.getElementById("lists").textContent;
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const lists = await new Response(stream).json();
  // These are the same in all runs.
  const { dimensions, wraps, highFirst } = meta.runs[0].picture;
  Object.assign(meta, { dimensions, wraps, highFirst });
  const jobs = readJobs(lists.jobs);
  const runs = meta.runs.map((about, at) => readRun(lists.runs[at], about, jobs, meta));
  return { meta, jobs, runs };
}

/** Each job's arrival, request and service time (-1: that follows from the run), in ticks. */
function readJobs({ arrival, processors, shape, service, number }) {
  return {
    count: arrival.length,
    arrival: Float64Array.from(arrival),
    processors: Int32Array.from(processors),
    shape: Int32Array.from(shape),
    service: Float64Array.from(service, (ticks) => ticks ?? -1),
    number: Float64Array.from(arrival, (_, job) => number[job] ?? job + 1),
  };
}

/** Whether an interrupted job keeps its processors until all of them work again. */
function keepsPlace({ restart }) {
  return restart === "in-place" || restart === "spare";
}

/** A run as stretches, the times in which a job runs. Stretch N is the first of job N. Later
 * stretches, after interruptions, follow the first ones of all jobs. Each has its job, its start
 * and end (`Infinity`: never), and its rectangles. */
function readRun(lists, about, jobs, meta) {
  const count = about.jobs;
  const total = lists.start.length;
  const job = Int32Array.from(lists.start, (_, at) => (at < count ? at : lists.later[at - count]));
  const [start, end, refused] = [lists.start, lists.end, lists.refused].map(timesOf);
  const interrupted = Uint8Array.from(lists.interrupted);
  const held = Int32Array.from(lists.beyond, (more, at) => jobs.processors[job[at]] + more);
  const misses = Int32Array.from(lists.misses);
  const slice = Int32Array.from(lists.slice, (kind) => kind ?? -1);
  const ranks = new Map(lists.ranks);
  const { first, rects } = readRects(lists);
  const started = job.map((_, at) => at).filter((at) => start[at] < Infinity);
  const refusals = Int32Array.from(refused, (_, at) => at).filter((at) => refused[at] < Infinity);
  refusals.sort((one, other) => refused[one] - refused[other]);
  // The next stretch of the same job, or -1.
  const next = new Int32Array(total).fill(-1);
  const last = Int32Array.from({ length: count }, (_, at) => at);
  for (let at = count; at < total; at++) {
    next[last[job[at]]] = at;
    last[job[at]] = at;
  }
  const times = { start, leave: end, interrupted, next, last };
  const stretches = { job, ...times, held, slice, ranks, first, rects };
  const run = { ...about, ...stretches, misses, refused, refusals, count, jobs };
  run.restart = meta.restart ?? (meta.preempts ? "elsewhere" : null);
  // The jobs that took the processors of others, by the stretches that they ended.
  run.preemptors = new Map(lists.preempted);
  run.keeps = keepsPlace(meta);
  run.starts = started.sort((one, other) => start[one] - start[other]);
  run.ends = run.starts.filter((at) => end[at] < Infinity);
  run.ends.sort((one, other) => end[one] - end[other]);
  run.interruptions = run.ends.filter((at) => interrupted[at]);
  run.failures = lists.failures && readFailures(lists.failures);
  run.keys = keys(run);
  // The machine as it is drawn for this run: with its cubes only if switches join them.
  run.meta = { ...meta, ...about.picture };
  run.colour = coloursOf(run);
  return run;
}

/** Lists of rectangles: where each begins in the list of all. */
function readRects({ counts, rects }) {
  const first = new Int32Array(counts.length + 1);
  counts.forEach((count, at) => (first[at + 1] = first[at] + count));
  return { first, rects: Int32Array.from(rects) };
}

/** The rectangles of the number `place`. */
function rectsAt({ first, rects }, place) {
  const list = [];
  for (let at = first[place]; at < first[place + 1]; at++) {
    list.push(rects.subarray(4 * at, 4 * at + 4));
  }
  return list;
}

/** The outages, each with start, end and rectangles, the rectangles of the spares, and how
 * many processors are down, and of these held by jobs, from each time on. */
function readFailures(lists) {
  const count = lists.start.length;
  const end = timesOf(lists.end);
  const [down, held] = [lists.down, lists.held].map((list) => Int32Array.from(list));
  const areas = readRects(lists);
  const area = ([, , width, height]) => width * height;
  const spares = rectsAt(areas, count);
  const spared = spares.reduce((sum, rect) => sum + area(rect), 0);
  const ends = Int32Array.from(end, (_, at) => at).filter((at) => end[at] < Infinity);
  ends.sort((one, other) => end[one] - end[other]);
  const times = { start: timesOf(lists.start), end, ends, time: timesOf(lists.time) };
  return { count, ...times, ...areas, spares, spared, down, held };
}

/** Colours each job when it starts for the first time. The first candidate is the colour of its
 * number. Colours of jobs that touch it then are skipped. It keeps its colour when it starts
 * again. */
function coloursOf(run) {
  const { job, meta, start, leave, next, starts, ends } = run;
  const colour = Uint8Array.from(job, (number) => number % JOB_COLOURS.length);
  const cells = Cells.of(planesOf(meta));
  let ended = 0;
  for (const at of starts) {
    for (; ended < ends.length && leave[ends[ended]] <= start[at]; ended++) {
      const gone = ends[ended];
      if (!run.keeps || !run.interrupted[gone]) cells.give(rectsAt(run, gone), gone);
    }
    if (leave[at] <= start[at] && !(run.keeps && run.interrupted[at])) continue;
    const rects = rectsAt(run, at);
    if (at < run.count) colour[at] = freeColour(colour[at], cells.around(rects), colour);
    cells.take(rects, at);
    if (next[at] >= 0) colour[next[at]] = colour[at];
  }
  return colour;
}

/** The processors of a stretch with a folded side, in the order of the ranks along that side. Each
 * is its row times the columns of the picture plus its column. */
const ranksOf = (run, at) => run.ranks.get(at) ?? [];

/** The running stretches, and the first job that may wait for its first start, after every
 * `KEY_EVERY` starts. */
function keys(run) {
  const keys = [{ running: [], head: 0 }];
  let running = [];
  let head = 0;
  for (let at = 0; at < run.starts.length; at++) {
    running.push(run.starts[at]);
    if ((at + 1) % KEY_EVERY) continue;
    const now = run.start[run.starts[at]];
    running = running.filter((job) => run.leave[job] > now);
    while (head < run.count && (run.start[head] <= now || run.refused[head] <= now)) head++;
    keys.push({ running: running.slice(), head });
  }
  return keys;
}

/** The number of the ascending times `time[order[0]]`, `time[order[1]]`, .. that are at most
 * `limit`. */
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

/** The state of a run after all events at `now`: the running stretches, those that a failure ended
 * while the job keeps its processors (`stopped`), the jobs that wait, and those of them that were
 * interrupted (`again`). */
function stateAt(run, now, nodes) {
  const state = { running: [], stopped: [], waiting: [], again: new Set(), refused: 0, used: 0 };
  const hasEnded = now > run.end;
  Object.assign(state, { held: 0, fragmented: 0, down: 0, interrupted: 0, hasEnded });
  if (state.hasEnded) return state;
  const started = countUpTo(run.start, run.starts, run.starts.length, now);
  const place = Math.floor(started / KEY_EVERY);
  const key = run.keys[place];
  for (const at of key.running) if (run.leave[at] > now) state.running.push(at);
  for (let at = place * KEY_EVERY; at < started; at++) {
    if (run.leave[run.starts[at]] > now) state.running.push(run.starts[at]);
  }
  const arrived = countUpTo(run.jobs.arrival, null, run.count, now);
  for (let job = key.head; job < arrived; job++) {
    if (run.start[job] > now && !(run.refused[job] <= now)) state.waiting.push(job);
  }
  const { interruptions } = run;
  state.interrupted = countUpTo(run.leave, interruptions, interruptions.length, now);
  const since = new Map();
  for (const at of interruptions.subarray(0, state.interrupted)) {
    if (run.next[at] >= 0 && run.start[run.next[at]] <= now) continue;
    if (run.keeps) state.stopped.push(at);
    else if (run.preemptors.has(at)) since.set(run.job[at], run.jobs.arrival[run.job[at]]);
    else since.set(run.job[at], run.leave[at]);
  }
  if (since.size) {
    state.again = new Set(since.keys());
    const isLast = run.restart === "elsewhere:last";
    const joined = (job) => (isLast ? since.get(job) ?? run.jobs.arrival[job] : 0);
    state.waiting.push(...since.keys());
    state.waiting.sort((one, other) => joined(one) - joined(other) || one - other);
  }
  state.refused = countUpTo(run.refused, run.refusals, run.refusals.length, now);
  for (const at of state.running) state.used += run.jobs.processors[run.job[at]];
  for (const at of [...state.running, ...state.stopped]) state.held += run.held[at];
  let free = nodes - state.held;
  if (run.failures) {
    const { time, down, held, spared } = run.failures;
    const last = countUpTo(time, null, time.length, now) - 1;
    state.down = last < 0 ? 0 : down[last];
    free -= spared + (last < 0 ? 0 : down[last] - held[last]);
  }
  const head = state.waiting.reduce((least, job) => Math.min(least, job), Infinity);
  if (run.jobs.processors[head] <= free) state.fragmented = free;
  return state;
}

/** The rectangles of the processors that are down. */
function downAt({ failures }, now) {
  const rects = [];
  if (!failures) return rects;
  const begun = countUpTo(failures.start, null, failures.count, now);
  for (let at = 0; at < begun; at++) {
    if (failures.end[at] > now) rects.push(...rectsAt(failures, at));
  }
  return rects;
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
    if (!run.failures) continue;
    consider(run.failures.start, null, run.failures.count);
    consider(run.failures.end, run.failures.ends, run.failures.ends.length);
  }
  return best;
}

/** Whether interrupted jobs go back to their old place in the queue. */
const goesBack = ({ restart }) => restart === "elsewhere";

/** A job's wait until its first start or the end of the run: the jobs ahead of it over time, and
 * the number of later jobs that started before it. `null` for a job that never waited, because it
 * was refused or had not arrived when the run ended. */
function waitOf(run, job) {
  if (job >= run.count || run.refused[job] <= run.end) return null;
  const { arrival } = run.jobs;
  const from = arrival[job];
  const to = Math.min(run.start[job], run.end);
  let ahead = 0;
  for (let other = 0; other < job; other++) {
    if (run.start[other] > from && !(run.refused[other] <= from)) ahead++;
  }
  const changes = [];
  let overtaken = 0;
  const last = countUpTo(run.start, run.starts, run.starts.length, to);
  for (let at = countUpTo(run.start, run.starts, run.starts.length, from); at < last; at++) {
    const other = run.starts[at];
    const isFirst = other < run.count;
    if (run.job[other] < job && (isFirst || goesBack(run))) changes.push([run.start[other], -1]);
    else if (other > job && isFirst && run.start[other] < run.start[job]) overtaken++;
  }
  for (const at of goesBack(run) ? run.interruptions : []) {
    const again = run.next[at] < 0 ? Infinity : run.start[run.next[at]];
    if (run.job[at] >= job || run.leave[at] > to || again <= from) continue;
    if (run.leave[at] <= from) ahead++;
    else changes.push([run.leave[at], 1]);
  }
  for (const other of run.refusals) {
    const at = run.refused[other];
    if (other < job && at > from && at <= to) changes.push([at, -1]);
  }
  changes.sort(([one], [other]) => one - other);
  const steps = [[from, ahead]];
  for (const [time, change] of changes) steps.push([time, (ahead += change)]);
  return { from, to, steps, overtaken, isOver: run.start[job] < Infinity };
}

/** The stretches of a job, in order. */
function stretchesOf(run, job) {
  const stretches = [];
  for (let at = job; at >= 0 && run.start[at] < Infinity; at = run.next[at]) stretches.push(at);
  return stretches;
}
