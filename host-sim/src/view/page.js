"use strict";
// Builds the page and handles input.

/** How long a page plays from the beginning to the end at the initial speed, in seconds. */
const SECONDS_TO_PLAY = 120;
/** Height below the meshes for queues, states and the record of a job. */
const BELOW_MESHES = 310;
/** The least height that a mesh may have. */
const MESH_HEIGHT_MIN = 240;
/** Additional height for the rows about slices in the record of a job. */
const BELOW_SLICES = 88;
/** The least size of a processor in a picture of layers, as far as the width allows; the greatest
 * height of that picture, and of one layer. */
const CELL_MIN = 7;
const LAYERS_HEIGHT_MAX = 2400;
const ALONE_HEIGHT_MAX = 520;
/** The widest window in which a page begins with one layer alone. */
const ALONE_WIDTH_MAX = 600;

/** The mean wait of a run's jobs, if there is one, and the number of refused jobs. */
function summaryText(meta, run) {
  const parts = [];
  if (run.meanWait !== null) parts.push(`mean wait ${timeText(meta, run.meanWait * meta.ticks)}`);
  if (run.saturated) parts.push(run.meanWait === null ? "saturated: no mean wait" : "saturated");
  if (run.grows) parts.push("the mean grows with the length of the run");
  if (run.measuredRefused) {
    parts.push(`${countText(run.measuredRefused)} of ${counted(run.measured, "job")} refused`);
  }
  return parts.join(", ");
}

/** The signs of failures and preemption, and what they mean. */
function failureSigns({ restart, preempts }) {
  const again = ["again", "interrupted: waits to start again"];
  if (restart === null) return preempts ? [again] : [];
  const signs = [["down", "down: has failed"]];
  if (restart === "spare") signs.push(["spare", "spare: given to no job"]);
  signs.push(
    keepsPlace({ restart })
      ? ["stopped", "stopped by a failure: starts again when its place works"]
      : again,
  );
  return signs;
}

async function start() {
  const page = await load();
  const { meta, jobs, runs } = page;
  const $ = (id) => document.getElementById(id);
  const scrub = $("scrub");
  const sizes = meta.shapes.map((shape) => {
    const sides = shape.replace("any of ", "").split("x").map(Number);
    // A request without a shape, or with more than two sides, is drawn as a square. The number of
    // slices of a gang counts as a side.
    const side = Math.sqrt(product(sides));
    const isFlat = sides.length < 3 && !shape.startsWith("any");
    return isFlat ? [sides[0], sides[1] ?? 1] : [side, side];
  });
  let now = 0;
  let chosen = null;
  let pinned = false;
  let playing = false;
  let before = 0;
  let speed = meta.end / SECONDS_TO_PLAY;
  const layers = layersOf(meta);
  const hasSlices = runs.some(({ slices }) => slices.length);
  const slider = $("layer");
  const alone = $("alone");
  // Names the processor and job under the pointer.
  const where = element("p", { className: "where" });
  let colours = palette();

  const cards = runs.map((run, place) => {
    const mesh = element("canvas", { className: "mesh" });
    mesh.setAttribute("role", "img");
    const queue = element("canvas", { className: "queue" });
    queue.setAttribute("role", "img");
    queue.setAttribute("aria-label", `Jobs that wait, ${run.name}`);
    const swatch = element("canvas", { className: "key" });
    const state = element("p", { className: "state" });
    const summary = element("small", { textContent: summaryText(meta, run) });
    const head = element("h2", {}, [swatch, run.name, summary]);
    const card = element("article", {}, [head, mesh, queue, state]);
    $("meshes").append(card);
    return { run, place, mesh, queue, swatch, state, card, drawn: [] };
  });
  // A machine that is wide in every arrangement of its planes.
  const { w, h, across, up } = planesOf(runs[0].meta);
  $("meshes").classList.toggle("wide", w > 2.5 * h * across * up);
  $("meshes").classList.toggle("layered", layers > 1);
  $("layers").hidden = layers < 2;
  slider.max = layers - 1;
  const layer = () => (alone.checked ? Number(slider.value) : null);

  const legend = runs.map((run, place) => {
    const swatch = element("canvas", { className: "key" });
    // Which curves are drawn is chosen, if there are several.
    const box = element("input", { type: "checkbox", checked: true, hidden: runs.length === 1 });
    box.addEventListener("change", () => redraw());
    return { swatch, place, box, entry: element("label", {}, [box, swatch, run.name]) };
  });
  const signs = failureSigns(meta).map(([name, text]) => {
    const swatch = element("canvas", { className: "key sign" });
    $("failures").append(element("span", {}, [swatch, text]));
    return { name, swatch };
  });
  $("failures").hidden = !signs.length;
  const marking = element("p");
  const entries = legend.map(({ entry }) => entry);
  $("charts").append(element("p", { className: "legend" }, entries), marking);
  const kinds = [
    ["used", "Processors in use (requested), % of all"],
    ["fragmented", "Free but fragmented processors, % of all"],
    ["largest", "Largest slice that could be placed, % of all"],
    ["down", "Processors that are down, % of all"],
    ["waiting", "Jobs that wait"],
  ];
  // Only some pages have data on the largest slice and on failures.
  const measured = kinds.filter(([name]) => runs.every((run) => run[name]));
  const charts = measured.map(([name, title]) => {
    const most = runs.reduce((most, run) => run[name].reduce((a, b) => Math.max(a, b), most), 0);
    const canvas = element("canvas", { className: "chart" });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", title);
    const percent = name === "waiting" ? null : percentAbove(most, meta.nodes);
    const top = percent === null ? Math.max(1, most) : (percent / 100) * meta.nodes;
    $("charts").append(element("h2", { textContent: title }), canvas);
    return { name, canvas, percent, most: top };
  });

  /** The places of a card's processors, computed again only if the size of the window changes. */
  const placesOf = (card) => {
    const { clientHeight } = document.documentElement;
    const above = cards[0].mesh.offsetTop;
    const below = BELOW_MESHES + (hasSlices ? BELOW_SLICES : 0);
    const room = clientHeight - above - $("controls").offsetHeight - below;
    const width = card.card.clientWidth;
    const least = alone.checked ? Math.min(width, ALONE_HEIGHT_MAX) : MESH_HEIGHT_MIN;
    const size = [width, Math.max(least, room), layer()];
    if (String(size) !== card.size) {
      card.size = String(size);
      card.places = new Places(card.run.meta, ...size);
      let height = size[1];
      while (layers > 1 && card.places.cell < CELL_MIN && height < LAYERS_HEIGHT_MAX) {
        height *= 1.2;
        card.places = new Places(card.run.meta, width, height, layer());
      }
    }
    return card.places;
  };
  const draw = () => {
    document.documentElement.style.scrollPaddingBottom = `${$("controls").offsetHeight + 4}px`;
    document.documentElement.style.scrollPaddingTop = `${$("layers").offsetHeight}px`;
    // Before the meshes, which get the remaining room.
    const texts = cards.map((card) => placesOf(card).sentence());
    const isAlike = texts.every((text) => text === texts[0]);
    const named = texts.map((text, place) =>
      text && `Under ${runs[place].name}, ${text[0].toLowerCase()}${text.slice(1)}`);
    $("planes").textContent = isAlike ? texts[0] : named.filter(Boolean).join(" ");
    const text = layerText(meta, Number(slider.value));
    $("layer-name").textContent = alone.checked ? text : "all layers";
    slider.setAttribute("aria-valuetext", text);
    const hovered = cards.find(({ card }) => card.matches(":hover")) ?? cards[0];
    const marked = chosen === null ? undefined : hovered;
    for (const card of cards) {
      const { run } = card;
      const state = stateAt(run, now, meta.nodes);
      card.now = state;
      card.shown = drawMesh(card.mesh, run, state, now, placesOf(card), colours, chosen);
      card.drawn = drawQueue(card.queue, run, state, card.card.clientWidth, sizes, colours, chosen);
      drawSwatch(card.swatch, card.place, colours);
      const percent = (count) => `${((100 * count) / meta.nodes).toFixed(1)} %`;
      card.state.textContent = state.hasEnded
        ? "ended"
        : `${countText(state.running.length)} run, ${countText(state.waiting.length)} wait` +
          `${run.keeps ? `, ${countText(state.stopped.length)} stopped` : ""}` +
          `${state.refused ? `, ${countText(state.refused)} refused` : ""}; ` +
          `${percent(state.used)} in use, ${percent(state.fragmented)} fragmented` +
          (run.failures ? `, ${percent(state.down)} down` : "") +
          (run.failures || meta.preempts
            ? `; ${counted(state.interrupted, "interruption")} so far`
            : "");
      card.mesh.setAttribute("aria-label", `${run.name}: ${card.state.textContent}`);
    }
    let mark = null;
    const wait = marked && waitOf(marked.run, chosen);
    if (wait) {
      const { run } = marked;
      const upTo = (time) => Math.min(time, run.end);
      const waits = [[wait.from, wait.to]];
      const runsOf = stretchesOf(run, chosen).map((at) => {
        const again = run.next[at] < 0 ? Infinity : run.start[run.next[at]];
        const isInterrupted = Boolean(run.interrupted[at]);
        if (isInterrupted && !run.keeps) waits.push([run.leave[at], upTo(again)]);
        const { fill } = lookOf(run.colour[at]);
        return { from: run.start[at], to: upTo(run.leave[at]), isInterrupted, fill };
      });
      mark = { waits, runs: runsOf };
    }
    const ends = mark?.runs.some(({ isInterrupted }) => isInterrupted);
    const colouring =
      "grey while it waits, coloured below while it runs" +
      (ends ? ", with an upright line where it is interrupted" : "");
    marking.textContent = mark
      ? `Job ${jobs.number[chosen]} under ${marked.run.name}: ${colouring}.`
      : "";
    for (const { swatch, place } of legend) drawSwatch(swatch, place, colours);
    for (const { name, swatch } of signs) drawSign(swatch, name, colours);
    const isShown = (place) => legend[place].box.checked;
    for (const chart of charts) drawChart(chart.canvas, chart, page, isShown, now, mark, colours);
    $("time").textContent = `${timeText(meta, now)} of ${timeText(meta, meta.end)}`;
    $("speed").textContent = rateText(meta, speed);
    scrub.value = partOf(now, meta.end) * scrub.max;
  };

  let asked = false;
  const redraw = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
  const seek = (time) => {
    now = Math.min(Math.max(time, 0), meta.end);
    redraw();
  };
  const step = (forwards) => {
    play(false);
    seek(eventBeside(runs, jobs, now, forwards));
  };
  const frame = (moment) => {
    if (!playing) return;
    now = Math.min(meta.end, now + ((moment - before) / 1000) * speed);
    before = moment;
    if (now >= meta.end) play(false);
    draw();
    requestAnimationFrame(frame);
  };
  const play = (on) => {
    if (on && !playing) {
      if (now >= meta.end) now = 0;
      before = performance.now();
      requestAnimationFrame(frame);
    }
    playing = on;
    $("play").setAttribute("aria-pressed", on);
  };
  const faster = (factor) => {
    speed *= factor;
    redraw();
  };
  const choose = (job, pin) => {
    if (pin) pinned = job !== null;
    if (job !== chosen) {
      chosen = job;
      showJob($("job"), page, job, where);
    }
    if (pin && job !== null) $("job").scrollIntoView({ block: "nearest" });
    redraw();
  };

  /** The job under a point of a mesh or queue. */
  const jobAt = (card, event) => {
    if (event.target === card.queue) {
      const found = card.drawn.find(({ from, to }) => from <= event.offsetX && event.offsetX < to);
      return found ? found.job : null;
    }
    const place = card.places.at(event.offsetX, event.offsetY);
    const { owners, jobs: drawn } = card.shown;
    const found = place ? drawn[owners.at(place)] : undefined;
    const job = found?.job ?? null;
    const texts = [place ? card.places.name(place) : ""];
    if (job !== null) {
      const rank = found.ranks.indexOf(place[1] * owners.width + place[0]);
      texts.push(`job ${jobs.number[job]}${rank < 0 ? "" : `, rank ${rank}`}`);
    }
    card.mesh.title = texts.join(": ");
    where.textContent = job === null ? "" : `${card.mesh.title}, under ${card.run.name}.`;
    return job;
  };
  for (const card of cards) {
    for (const canvas of [card.mesh, card.queue]) {
      canvas.addEventListener("pointermove", (event) => {
        const job = jobAt(card, event);
        if (!pinned) choose(job, false);
      });
      canvas.addEventListener("pointerleave", () => {
        if (!pinned) choose(null, false);
      });
      canvas.addEventListener("click", (event) => choose(jobAt(card, event), true));
    }
  }
  for (const { canvas } of charts) {
    const follow = (event) => {
      if (event.buttons & 1) seek(new Frame(canvas.clientWidth, meta.end, 1).time(event.offsetX));
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      play(false);
      follow(event);
    });
    canvas.addEventListener("pointermove", follow);
  }

  scrub.addEventListener("input", () => {
    play(false);
    seek((scrub.value / scrub.max) * meta.end);
  });
  $("play").addEventListener("click", () => play(!playing));
  $("back").addEventListener("click", () => step(false));
  $("next").addEventListener("click", () => step(true));
  $("slower").addEventListener("click", () => faster(0.5));
  $("faster").addEventListener("click", () => faster(2));
  const jump = (time) => {
    play(false);
    seek(time);
  };
  const actions = {
    " ": () => play(!playing),
    ArrowLeft: () => step(false),
    ArrowRight: () => step(true),
    PageDown: () => jump(now + meta.end / 100),
    PageUp: () => jump(now - meta.end / 100),
    Home: () => jump(0),
    End: () => jump(meta.end),
    "+": () => faster(2),
    "-": () => faster(0.5),
    Escape: () => choose(null, true),
  };
  for (const event of ["input", "change"]) {
    slider.addEventListener(event, () => {
      alone.checked = true;
      redraw();
    });
    alone.addEventListener(event, redraw);
  }
  document.addEventListener("keydown", (event) => {
    const action = actions[event.key];
    // The slider and box of the layers have keys of their own.
    const isLayers = event.target.closest("#layers") && event.key !== "Escape";
    if (!action || isLayers || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    action();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours = palette();
    redraw();
  });
  addEventListener("resize", redraw);
  showJob($("job"), page, null, where);
  // A run in which no time passes has nothing to play.
  const all = document.querySelectorAll("#controls button, #scrub");
  for (const control of all) control.disabled = meta.end === 0;
  // An address may end in #at=TIME&job=NUMBER&layer=NUMBER. The default time is the middle, as the
  // machine is empty at the beginning.
  const wanted = new URLSearchParams(location.hash.slice(1));
  const at = Number(wanted.get("at") ?? NaN) * meta.ticks;
  const middle = Math.round(((jobs.arrival[0] ?? 0) + meta.end) / 2);
  now = Number.isNaN(at) ? middle : Math.min(Math.max(at, 0), meta.end);
  alone.checked = wanted.has("layer") || innerWidth <= ALONE_WIDTH_MAX;
  slider.value = wanted.get("layer") ?? 0;
  const job = jobs.number.indexOf(Number(wanted.get("job") ?? NaN));
  draw();
  if (job >= 0) choose(job, true);
  // For scripts that drive the page.
  window.view = {
    page,
    draw,
    seek: (time) => ((now = time), draw()),
    choose: (job) => (choose(job, true), draw()),
    layer,
    showLayer: (number) => {
      alone.checked = number !== null;
      if (number !== null) slider.value = number;
      draw();
    },
    places: () => cards[0].places,
    state: () => ({ now, chosen, playing, speed }),
  };
  document.documentElement.dataset.ready = "true";
}

start();
