"use strict";
// Puts the page together, and follows what its reader does.

/** Events a second at the speed at which a page begins. */
const EVENTS_A_SECOND = 8;

async function start() {
  const page = await load();
  const { meta, jobs, runs } = page;
  const $ = (id) => document.getElementById(id);
  const scrub = $("scrub");
  const sizes = meta.shapes.map((shape) => {
    const sides = shape.split("x").map(Number);
    // Every second dimension to the right, the others upwards.
    const along = (first) => sides.filter((_, place) => place % 2 === first).reduce((one, other) => one * other, 1);
    return [along(0), along(1)];
  });
  let now = 0;
  let chosen = null;
  let pinned = false;
  let playing = false;
  let before = 0;
  let speed = Math.max(1, (meta.end / Math.max(1, jobs.count * (1 + 2 * runs.length))) * EVENTS_A_SECOND);
  let colours = palette();

  const cards = runs.map((run, place) => {
    const mesh = element("canvas", { className: "mesh" });
    mesh.setAttribute("role", "img");
    const queue = element("canvas", { className: "queue" });
    queue.setAttribute("role", "img");
    queue.setAttribute("aria-label", `Jobs that wait, ${run.name}`);
    const swatch = element("canvas", { className: "key" });
    const state = element("p", { className: "state" });
    const wait = run.meanWait === null ? "" : `mean wait ${timeText(meta, run.meanWait * meta.ticks)}`;
    const head = element("h2", {}, [swatch, run.name, element("small", { textContent: wait })]);
    const card = element("article", {}, [head, mesh, queue, state]);
    $("meshes").append(card);
    return { run, place, mesh, queue, swatch, state, card, drawn: [] };
  });
  const aspect = meta.gapsAcross.length / meta.gapsUp.length;
  $("meshes").classList.toggle("wide", aspect > 2.5);

  const charts = [
    ["used", "Processors in use (requested), % of all"],
    ["fragmented", "Free but fragmented processors, % of all"],
    ["waiting", "Jobs that wait"],
  ].map(([name, title]) => {
    const most = runs.reduce((most, run) => run[name].reduce((a, b) => Math.max(a, b), most), 0);
    const canvas = element("canvas", { className: "chart" });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", title);
    const isCount = name === "waiting";
    const top = isCount ? `up to ${Math.ceil(most)}` : "";
    $("charts").append(element("h2", {}, [title, element("small", { textContent: top })]), canvas);
    return { name, canvas, points: meta.points, most: isCount ? Math.max(1, most) : meta.nodes };
  });

  const draw = () => {
    const marked = chosen === null ? undefined : cards.find(({ card }) => card.matches(":hover")) ?? cards[0];
    for (const card of cards) {
      const { run } = card;
      const state = stateAt(run, now, meta.nodes);
      card.now = state;
      card.places = new Places(meta, card.mesh.clientWidth);
      drawMesh(card.mesh, run, state, card.places, colours, chosen);
      card.drawn = drawQueue(card.queue, run, state, card.places, sizes, colours, chosen);
      drawSwatch(card.swatch, card.place, colours);
      const percent = (count) => `${((100 * count) / meta.nodes).toFixed(1)} %`;
      card.state.textContent = state.hasEnded
        ? "ended"
        : `${state.running.length} run, ${state.waiting.length} wait; ${percent(state.used)} in use, ` +
          `${percent(state.fragmented)} fragmented`;
      card.mesh.setAttribute("aria-label", `${run.name}: ${card.state.textContent}`);
    }
    let mark = null;
    if (marked && chosen < marked.run.count) {
      const { run } = marked;
      const to = Math.min(run.start[chosen], run.end);
      mark = { job: chosen, from: jobs.arrival[chosen], to, leave: run.start[chosen] < Infinity ? run.leave[chosen] : to };
    }
    for (const chart of charts) drawChart(chart.canvas, chart, runs, now, meta.end, mark, colours);
    $("time").textContent = `${timeText(meta, now)} of ${timeText(meta, meta.end)}`;
    $("speed").textContent = `${Number((speed / meta.ticks).toPrecision(2)).toLocaleString("en")} ${meta.unit}/s`;
    scrub.value = (now / meta.end) * scrub.max;
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
    $("play").textContent = on ? "⏸" : "▶";
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
      showJob($("job"), page, job);
    }
    redraw();
  };

  /** The job under a point of a mesh or queue. */
  const jobAt = (card, event) => {
    if (event.target === card.queue) {
      const found = card.drawn.find(({ from, to }) => from <= event.offsetX && event.offsetX < to);
      return found ? found.job : null;
    }
    const [x, y] = card.places.at(event.offsetX, event.offsetY);
    const { first, rects } = card.run;
    const isThere = (job) => {
      for (let at = 4 * first[job]; at < 4 * first[job + 1]; at += 4) {
        const [left, low, w, h] = [rects[at], rects[at + 1], rects[at + 2], rects[at + 3]];
        if (left <= x && x < left + w && low <= y && y < low + h) return true;
      }
      return false;
    };
    return card.now.running.find(isThere) ?? null;
  };
  for (const card of cards) {
    for (const canvas of [card.mesh, card.queue]) {
      canvas.addEventListener("pointermove", (event) => {
        if (!pinned) choose(jobAt(card, event), false);
      });
      canvas.addEventListener("pointerleave", () => {
        if (!pinned) choose(null, false);
      });
      canvas.addEventListener("click", (event) => choose(jobAt(card, event), true));
    }
  }
  for (const { canvas } of charts) {
    const follow = (event) => {
      if (event.buttons & 1) seek((event.offsetX / canvas.clientWidth) * meta.end);
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
  document.addEventListener("keydown", (event) => {
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    action();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours = palette();
    redraw();
  });
  addEventListener("resize", redraw);
  showJob($("job"), page, null);
  // An address that ends in #at=TIME&job=NUMBER shows that; else the middle, as an empty machine shows nothing.
  const wanted = new URLSearchParams(location.hash.slice(1));
  now = wanted.has("at") ? Math.min(wanted.get("at") * meta.ticks, meta.end) : Math.round(meta.end / 2);
  const job = jobs.number.indexOf(Number(wanted.get("job") ?? NaN));
  if (job >= 0) choose(job, true);
  draw();
  // For scripts that drive the page.
  window.view = { page, draw, seek: (time) => ((now = time), draw()), state: () => ({ now, chosen, playing, speed }) };
  document.documentElement.dataset.ready = "true";
}

start();
