"use strict";
// The record of a job in every run, and how it came to its processors.

const DAY_SECONDS = 86400;

/** A time or span in the unit of the workload, in a few digits; of more than a day as days, hours, minutes and seconds. */
function timeText(meta, ticks) {
  const value = ticks / meta.ticks;
  if (meta.unit === "s" && value >= DAY_SECONDS) {
    const clock = new Date((value % DAY_SECONDS) * 1000).toISOString().slice(11, 19);
    return `${Math.floor(value / DAY_SECONDS)} d ${clock}`;
  }
  const text = value.toLocaleString("en", { maximumFractionDigits: meta.ticks > 1 ? 2 : 0 });
  return `${text} ${meta.unit}`;
}

function element(name, properties = {}, children = []) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** Fills `section` with what is known of a job, a column for each run; empties it without a job. */
function showJob(section, { meta, jobs, runs }, job) {
  section.replaceChildren();
  section.hidden = job === null;
  if (job === null) return;
  const span = (from, to) => (to < Infinity ? timeText(meta, to - from) : "–");
  const at = (time) => (time < Infinity ? timeText(meta, time) : "–");
  const arrival = jobs.arrival[job];
  const waits = runs.map((run) => (job < run.count ? waitOf(run, job) : null));
  const rows = [
    ["started", (run) => (run.refused[job] ? "refused" : at(run.start[job]))],
    ["waited", (run) => span(arrival, run.start[job])],
    ["left", (run) => at(run.leave[job])],
    ["ahead at arrival", (_, wait) => wait.steps[0][1]],
    ["overtaken by", (_, wait) => wait.overtaken],
    ["misses", (run) => run.misses[job]],
    ["held", (run) => (run.held[job] ? `${run.held[job]} in ${run.first[job + 1] - run.first[job]}` : "–")],
    ["place in the queue", (run, wait) => path(wait, Math.max(...waits.map((one) => one?.to ?? 0)))],
  ];
  const swatch = element("span", { className: "swatch" });
  swatch.style.background = colourOf(job);
  const shape = meta.shapes[jobs.shape[job]];
  const head = element("h2", {}, [swatch, `Job ${jobs.number[job]}`]);
  const service = jobs.service[job] >= 0 ? `, runs ${timeText(meta, jobs.service[job])}` : "";
  const about = `${shape}, ${jobs.processors[job]} processors, arrived at ${timeText(meta, arrival)}${service}`;
  const names = runs.map((run) => element("th", { scope: "col", textContent: run.name }));
  const body = rows.map(([name, value]) => {
    const cells = runs.map((run, place) => {
      const content = job < run.count ? value(run, waits[place]) : "–";
      return element("td", {}, [content instanceof Node ? content : String(content)]);
    });
    return element("tr", {}, [element("th", { scope: "row", textContent: name }), ...cells]);
  });
  const table = element("table", {}, [
    element("thead", {}, [element("tr", {}, [element("td"), ...names])]),
    element("tbody", {}, body),
  ]);
  section.append(head, element("p", { textContent: about }), element("div", { className: "scroll" }, [table]));
}

/** The places of a job in the queue from its arrival to its start, as a small picture. */
function path(wait, latest) {
  const [width, height] = [84, 30];
  const most = Math.max(1, wait.steps[0][1]);
  const x = (time) => 1 + ((time - wait.from) / Math.max(1, latest - wait.from)) * (width - 2);
  const y = (place) => height - 2 - (place / most) * (height - 5);
  let line = "";
  for (const [place, [time, ahead]] of wait.steps.entries()) {
    line += place ? `H${x(time)}V${y(ahead)}` : `M${x(time)} ${y(ahead)}`;
  }
  line += `H${x(wait.to)}`;
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  for (const [name, value] of [["width", width], ["height", height], ["role", "img"], ["aria-label", `${most} at most`]]) {
    picture.setAttribute(name, value);
  }
  const drawn = document.createElementNS(space, "path");
  drawn.setAttribute("d", line);
  picture.append(drawn);
  return picture;
}
