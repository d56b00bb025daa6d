"use strict";
// The record of a job in every run, and its wait in the queue.

/** The text for a missing value. */
const NONE = "–";

/** The state of a job when the run ended: `refused`, `left`, `waits`, `runs`, `stopped` (it was
 * interrupted) or `absent` (it has not arrived). */
function fateOf(run, job) {
  if (job >= run.count) return "absent";
  if (run.refused[job] < Infinity) return "refused";
  if (run.start[job] === Infinity) return "waits";
  const last = run.last[job];
  if (run.leave[last] === Infinity) return "runs";
  return run.interrupted[last] ? "stopped" : "left";
}

const FATE_TEXTS = {
  absent: "not arrived",
  refused: "refused",
  waits: "waits at the end",
  runs: "runs at the end",
  stopped: "interrupted at the end",
};

/** The rows about the slices of a job: its sides and rings, and which side is folded. */
function sliceRows(job, { dimensions }) {
  const text = (value) => (run) => {
    const slice = run.slices[run.slice[job]];
    return slice ? value(slice) : NONE;
  };
  const names = (list) => list.map((dimension) => dimensions[dimension].name).join(" ");
  return [
    ["slice", text(({ sides }) => sides)],
    ["rings", text(({ rings }) => names(rings) || "none")],
    [
      "ranks",
      text(({ folded, closes, sides }) =>
        folded ? `${folded} folded into ${sides}, ${closes ? "a ring" : "a line"}` : "by its shape",
      ),
    ],
  ];
}

/** For what a job waited, and how long, the longest first. */
function reasonsText(meta, run, job) {
  const spans = (run.reasons[job] ?? []).toSorted(([, one], [, other]) => other - one);
  return spans.map(([name, ticks]) => `${timeText(meta, ticks)} ${name}`).join(", ") || NONE;
}

/** The times of this number of interruptions are shown. */
const INTERRUPTIONS_MAX = 3;

/** The times at which failures or other jobs interrupted a job, and at which it started again. */
function interruptionsText({ meta, jobs }, run, job) {
  const interrupted = stretchesOf(run, job).filter((at) => run.interrupted[at]);
  const texts = interrupted.slice(0, INTERRUPTIONS_MAX).map((at) => {
    const again = run.next[at] < 0 ? "" : `, again at ${timeText(meta, run.start[run.next[at]])}`;
    const by = run.preemptors.get(at);
    const cause = by === undefined ? "" : ` for job ${jobs.number[by]}`;
    return `at ${timeText(meta, run.leave[at])}${cause}${again}`;
  });
  const more = interrupted.length - texts.length;
  if (more > 0) texts.push(`${countText(more)} more`);
  return texts.join("; ") || "never";
}

/** Fills `section` with the record of a job, a column for each run, or empties it without a job. */
function showJob(section, { meta, jobs, runs }, job, where) {
  section.replaceChildren();
  section.hidden = job === null;
  if (job === null) return;
  const arrival = jobs.arrival[job];
  const waits = runs.map((run) => waitOf(run, job));
  const [most, latest] = [(wait) => wait.steps[0][1], (wait) => wait.to].map((value) =>
    Math.max(...waits.map((wait) => (wait ? value(wait) : 0))),
  );
  const started = (value) => (run) => (run.start[job] < Infinity ? value(run) : NONE);
  const waited = (value) => (_, wait) => (wait ? value(wait) : NONE);
  const timeOr = (time, run) =>
    time < Infinity ? timeText(meta, time) : FATE_TEXTS[fateOf(run, job)];
  const left = (run) => (fateOf(run, job) === "left" ? run.leave[run.last[job]] : Infinity);
  const spanOf = (wait) => timeText(meta, wait.to - arrival);
  // Planes cut blocks into rectangles.
  const isFlat = meta.dimensions.length < 3;
  const blocks = (run) => run.first[job + 1] - run.first[job];
  const blocksText = (run) => (isFlat ? ` in ${countText(blocks(run))}` : "");
  const rows = [
    ["started", (run) => timeOr(run.start[job], run)],
    ["waited", waited((wait) => (wait.isOver ? spanOf(wait) : `over ${spanOf(wait)}`))],
    ...(runs.some(({ reasons }) => Object.keys(reasons).length)
      ? [["waited because", (run) => reasonsText(meta, run, job)]]
      : []),
    ["left", started((run) => timeOr(left(run), run))],
    ...(meta.restart === null && !meta.preempts
      ? []
      : [["interrupted", started((run) => interruptionsText({ meta, jobs }, run, job))]]),
    ["ahead at arrival", waited((wait) => countText(wait.steps[0][1]))],
    ["overtaken by", waited((wait) => countText(wait.overtaken))],
    ["misses", started((run) => countText(run.misses[job]))],
    ...(runs.some(({ slices }) => slices.length) ? sliceRows(job, meta) : []),
    ["held", started((run) => countText(run.held[job]) + blocksText(run))],
    ["jobs ahead", waited((wait) => path(wait, most, latest))],
  ];
  const shape = meta.shapes[jobs.shape[job]];
  const service = jobs.service[job] >= 0 ? `, runs ${timeText(meta, jobs.service[job])}` : "";
  const processors = counted(jobs.processors[job], "processor");
  const about = `${shape}, ${processors}, arrived at ${timeText(meta, arrival)}${service}`;
  const small = element("small", { textContent: about });
  const head = element("h2", {}, [`Job ${jobs.number[job]}`, small]);
  const names = runs.map((run) => {
    const swatch = element("span", { className: "swatch" });
    swatch.style.background = JOB_COLOURS[run.colour[job] ?? job % JOB_COLOURS.length];
    return element("th", { scope: "col" }, [swatch, run.name]);
  });
  const body = rows.map(([name, value]) => {
    const cells = runs.map((run, place) => element("td", {}, [value(run, waits[place])]));
    return element("tr", {}, [element("th", { scope: "row", textContent: name }), ...cells]);
  });
  const table = element("table", {}, [
    element("thead", {}, [element("tr", {}, [element("td"), ...names])]),
    element("tbody", {}, body),
  ]);
  const span = timeText(meta, latest - arrival);
  const scale = `Jobs ahead of it: 0 to ${countText(most)}, over ${span} from its arrival.`;
  const parts = [head, where, element("div", { className: "scroll" }, [table])];
  if (waits.some((wait) => wait)) parts.push(element("p", { textContent: scale }));
  section.append(...parts);
}

/** A small chart of the jobs ahead of a job in the queue, from its arrival to its start. All runs
 * have the same axes. */
function path(wait, most, latest) {
  const [width, height] = [84, 22];
  const x = (time) => 1 + ((time - wait.from) / Math.max(1, latest - wait.from)) * (width - 2);
  const y = (place) => height - 1.5 - (place / Math.max(1, most)) * (height - 3);
  let line = "";
  for (const [place, [time, ahead]] of wait.steps.entries()) {
    line += place ? `H${x(time)}V${y(ahead)}` : `M${x(time)} ${y(ahead)}`;
  }
  line += `H${x(wait.to)}`;
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  const last = wait.steps.at(-1)[1];
  const label = `from ${counted(wait.steps[0][1], "job")} ahead to ${countText(last)}`;
  const attributes = { width, height, role: "img", "aria-label": label };
  for (const [name, value] of Object.entries(attributes)) picture.setAttribute(name, value);
  const axes = document.createElementNS(space, "path");
  axes.setAttribute("class", "axes");
  axes.setAttribute("d", `M0.5 0V${height - 0.5}H${width}`);
  const drawn = document.createElementNS(space, "path");
  drawn.setAttribute("d", line);
  picture.append(axes, drawn);
  return picture;
}
