"use strict";
// Sends commands to the module and draws its replies. All decisions are made in Rust.

/** The initial strategies. */
const STRATEGIES_FIRST = ["first-fit", "best-fit", "free-submesh-list", "multiple-buddy"];
/** Preferred replacements for strategies that do not serve a machine. */
const STRATEGIES_OTHER = ["adaptive-scan", "tree-collapsing", "naive", "paging"];
/** The initial commands: requests, released jobs and a fault. */
const COMMANDS_FIRST = [
  ..."5x4 3x7 6x3 4x4 2x9 7x3 3x3 5x5 4x2".split(" ").map((shape) => `request ${shape}`),
  ..."2 4 7".split(" ").map((job) => `release ${job}`),
  "fault 13 12",
  "request 6x6",
];
/** The load when playing begins without one, in percent. */
const LOAD_FIRST = 70;
/** The least time between two pictures while playing, in milliseconds. */
const FRAME = 60;
/** The longest command, in bytes. */
const INPUT_MAX = 4096;
/** The most time that one command lets pass, in milliseconds. */
const ADVANCE_MAX = 1_000_000;
/** The greatest height of a mesh, as a fraction of the window's. */
const MESH_PART = 0.6;
const CHARTS = [
  "In use (requested), % of all",
  "Externally fragmented, % of all",
  "Internally fragmented, % of those held",
];

/** Loads the module in the page. The returned function sends it a command, and returns the state or
 * throws the error. */
async function load() {
  const text = atob(document.getElementById("module").textContent);
  const packed = new Blob([Uint8Array.from(text, (letter) => letter.charCodeAt(0))]);
  const bytes = packed.stream().pipeThrough(new DecompressionStream("gzip"));
  const module = await new Response(bytes).arrayBuffer();
  const { exports } = (await WebAssembly.instantiate(module)).instance;
  let hasFailed = false;
  return (command) => {
    if (hasFailed) throw new Error("the module has failed: load the page again");
    const input = new TextEncoder().encode(command);
    if (input.length > INPUT_MAX) throw new Error(`longer than ${INPUT_MAX} bytes`);
    const at = exports.input(input.length);
    new Uint8Array(exports.memory.buffer, at, input.length).set(input);
    // It stays true if the module panics.
    hasFailed = true;
    const length = exports.carry_out();
    hasFailed = false;
    const output = new Uint8Array(exports.memory.buffer, exports.output(), length);
    const reply = JSON.parse(new TextDecoder().decode(output));
    if (reply.failed !== undefined) throw new Error(reply.failed);
    return reply.done;
  };
}

/** The lists of rectangles, in pixels of a picture. */
function rectsOf({ first, rects }, places) {
  const list = (at) => rects.slice(first[at], first[at + 1]).map((rect) => places.rect(...rect));
  return Array.from({ length: first.length - 1 }, (_, at) => list(at));
}

function drawFaults(context, faulty, places, colours) {
  for (const [x, y] of faulty) {
    const [left, top, width, height] = places.rect(x, y, 1, 1);
    context.fillStyle = colours.ink;
    context.fillRect(left, top, width, height);
    context.strokeStyle = colours.paper;
    context.lineWidth = 1.5;
    context.beginPath();
    const part = width / 4;
    context.moveTo(left + part, top + part);
    context.lineTo(left + width - part, top + height - part);
    context.moveTo(left + width - part, top + part);
    context.lineTo(left + part, top + height - part);
    context.stroke();
  }
}

/** The jobs that run in a panel, each with its number and rectangles. */
function jobsOf({ numbers, jobs: { first, rects } }) {
  return numbers.map((number, at) => {
    return { job: number, number, rects: rects.slice(first[at], first[at + 1]) };
  });
}

function drawPanel(canvas, run, state, view) {
  const { places, colours } = view;
  const context = fitted(canvas, places.width, places.height);
  drawPlanes(context, places, colours);
  const jobs = jobsOf(run);
  for (const job of jobs) Object.assign(job, lookOf(view.known.get(job.number)));
  drawJobs(context, jobs, places, colours, state.latest);
  drawFaults(context, state.faulty, places, colours);
  const boxes = view.boxes === "none" ? [] : rectsOf(run.boxes, places);
  context.strokeStyle = colours.accent;
  const inset = ([left, top, width, height]) => [left + 2, top + 2, width - 4, height - 4];
  for (const [at, rects] of boxes.entries()) {
    if (at > 0 && view.boxes === "largest") break;
    context.lineWidth = at === 0 ? 2.5 : 1;
    context.setLineDash(at === 0 ? [6, 3] : [2, 2]);
    for (const rect of rects) context.strokeRect(...inset(rect));
  }
  context.setLineDash([]);
  if (view.canvas === canvas && view.cursor) {
    outline(context, [places.rect(...view.cursor, 1, 1)], colours);
    if (view.corner) {
      const marked = cellsBetween(view.corner, view.cursor, places);
      context.fillStyle = colours.accent;
      context.globalAlpha = 0.35;
      for (const [x, y] of marked) context.fillRect(...places.rect(x, y, 1, 1));
      context.globalAlpha = 1;
    }
  }
}

/** Adds a command to those before it. Times that pass are added up, and a load replaces the one
 * before, so that playing makes one entry. */
function remember(commands, command) {
  const [verb, value] = command.split(" ");
  const before = commands.at(-1)?.split(" ") ?? [];
  if (verb === "advance" && before[0] === verb) {
    commands[commands.length - 1] = `${verb} ${Number(before[1]) + Number(value)}`;
  } else if (verb === "load" && before[0] === verb) commands[commands.length - 1] = command;
  else commands.push(command);
}

/** A command that was remembered, in parts that the module carries out. */
function partsOf(command) {
  const [verb, value] = command.split(" ");
  if (verb !== "advance") return [command];
  const whole = Math.floor(value / ADVANCE_MAX);
  const parts = Array(whole).fill(`${verb} ${ADVANCE_MAX}`);
  return [...parts, `${verb} ${value % ADVANCE_MAX}`];
}

/** What was set up and done, as the part of an address behind #, and back. */
const addressOf = ({ machine, strategies, load, seed, commands }) =>
  new URLSearchParams({
    machine,
    strategies: strategies.join(),
    load,
    seed,
    do: commands.join(";"),
  }).toString();

function storyOf(address) {
  const get = new URLSearchParams(address);
  const list = (name, separator) => (get.get(name) ?? "").split(separator).filter(Boolean);
  return {
    machine: get.get("machine") ?? "",
    strategies: list("strategies", ","),
    load: get.get("load") ?? "0",
    seed: get.get("seed") ?? "1",
    commands: list("do", ";"),
  };
}

/** The coordinates of two cells. */
const coordinatesOf = (cells, places) =>
  cells.map((cell) => places.meta.dimensions.map((_, at) => places.coordinate(cell, at)));

/** The box with these opposite corners as a request. */
function shapeBetween(one, other, places) {
  const [from, to] = coordinatesOf([one, other], places);
  return from.map((at, dimension) => Math.abs(at - to[dimension]) + 1).join("x");
}

/** Columns and rows of the box with these opposite corners. */
function cellsBetween(one, other, places) {
  const [from, to] = coordinatesOf([one, other], places);
  const { w, h } = places.planes;
  const range = (from, count) => Array.from({ length: count }, (_, at) => from + at);
  const cells = places.shownPlanes().flatMap(([p, q]) =>
    range(q * h, h).flatMap((y) => range(p * w, w).map((x) => [x, y])),
  );
  const isWithin = (at, dimension) => (at - from[dimension]) * (at - to[dimension]) <= 0;
  return cells.filter((cell) => coordinatesOf([cell], places)[0].every(isWithin));
}

/** The content of a column and row: the number of a job, "faulty" or "free". */
function contentOf(run, state, [column, row]) {
  const { first, rects } = run.jobs;
  const holds = ([x, y, w, h]) => x <= column && column < x + w && y <= row && row < y + h;
  const at = rects.findIndex(holds);
  const job = at < 0 ? null : run.numbers[first.findIndex((start) => start > at) - 1];
  const isFaulty = state.faulty.some(([x, y]) => x === column && y === row);
  const texts = [job === null ? "" : `job ${job}`, isFaulty ? "faulty" : ""].filter(Boolean);
  return { job, text: texts.join(", ") || "free" };
}

const percentText = (thousandths) => `${(thousandths / 10).toFixed(1)} %`;

function stateText(run) {
  const { running, waiting, refused } = run.statistics;
  const [used, external, internal] = run.levels.map(percentText);
  const jobs = `${running} run, ${waiting} wait, ${refused} refused`;
  return `${jobs}. In use ${used}; fragmented ${external} externally, ${internal} internally.`;
}

function boxesText(run) {
  if (!run.largest) return "No free box.";
  const all = `${run.boxesTotal} maximal free box${run.boxesTotal === 1 ? "" : "es"}`;
  return `${run.statistics.free} free in ${all}, the largest ${run.largest}.`;
}

/** The means of the simulator, and the command that repeats them. */
function resultsOf({ panels, results, isRepeatable }, load) {
  const text = (textContent) => element("p", { textContent });
  if (!isRepeatable) {
    const why = "Requests, releases, faults and other loads change the run: no command repeats it.";
    return [text(`${why} Clear begins one whose results host-sim repeats.`)];
  }
  if (!results) return load ? [text("Results come when 50 jobs have left everywhere.")] : [];
  const cells = (kind, texts) =>
    element("tr", {}, texts.map((textContent) => element(kind, { textContent })));
  const number = (value, scale, unit) =>
    value === null ? "" : `${(scale * value).toFixed(2)} ${unit}`;
  const rows = results.means.map((means, at) => {
    const { waitingDelay, turnaround, utilization } = means ?? {};
    const { externalFragmentation, internalFragmentation } = means ?? {};
    const times = [waitingDelay, turnaround].map((value) => number(value ?? null, 1, "s"));
    const parts = [utilization, externalFragmentation, internalFragmentation];
    const shares = parts.map((value) => number(value ?? null, 100, "%"));
    return cells("td", [panels[at].name, ...times, ...shares]);
  });
  const names = ["waiting delay", "turnaround", "in use", "ext. fragm.", "int. fragm."];
  const heading = `The first ${results.jobs} jobs that left`;
  return [
    element("h2", { textContent: heading }),
    element("div", { className: "wide" }, [
      element("table", {}, [cells("th", ["strategy", ...names]), ...rows]),
    ]),
    text("The same from the command line:"),
    element("pre", {}, [element("code", { textContent: results.command })]),
  ];
}

async function start() {
  const send = await load();
  const $ = (id) => document.getElementById(id);
  const selects = [...document.querySelectorAll(".strategy")];
  const view = { boxes: "largest", canvas: null, cursor: null, corner: null };
  // The colours of jobs.
  view.known = new Map();
  let state = null;
  // What was set up, the commands since then, and the same before it.
  let story = null;
  const stories = [];
  // The strategies that the user chose, also while a machine is not served by them.
  let wanted = [...STRATEGIES_FIRST];
  let cards = [];
  let playing = false;

  const setColours = () => {
    view.colours = palette();
    const style = getComputedStyle(document.documentElement);
    view.colours.accent = style.getPropertyValue("--accent").trim();
  };
  const tool = () => document.querySelector("[name=tool]:checked").value;

  const charts = CHARTS.map((title, level) => {
    const canvas = element("canvas", { className: "chart" });
    canvas.setAttribute("role", "img");
    const section = element("section", {}, [element("h2", { textContent: title }), canvas]);
    return { title, level, canvas, section, name: `level${level}`, percent: 100, most: 1000 };
  });
  const legend = element("p", { className: "legend" });
  $("charts").append(legend, ...charts.map(({ section }) => section));

  /** A card for each strategy. */
  const makeCards = () => {
    cards = state.panels.map(({ name, rule }, place) => {
      const swatch = element("canvas", { className: "key" });
      const mesh = element("canvas", { className: "mesh", tabIndex: 0 });
      mesh.setAttribute("role", "application");
      const queue = element("canvas", { className: "queue" });
      queue.setAttribute("role", "img");
      const message = element("p", { className: "message" });
      const texts = [element("p", { className: "state" }), element("p", { className: "state" })];
      const head = element("h2", {}, [swatch, name]);
      const why = element("p", { className: "rule", textContent: `Takes ${rule}.` });
      const card = element("article", {}, [head, why, mesh, message, queue, ...texts]);
      listen(mesh, place);
      return { name, place, swatch, mesh, queue, message, texts, card };
    });
    $("meshes").replaceChildren(...cards.map(({ card }) => card));
    const keys = cards.map(({ name }) => {
      const swatch = element("canvas", { className: "key" });
      return { swatch, entry: element("span", {}, [swatch, name]) };
    });
    legend.replaceChildren(...keys.map(({ entry }) => entry));
    for (const [place, { swatch }] of keys.entries()) cards[place].legend = swatch;
  };

  const draw = () => {
    document.documentElement.style.scrollPaddingBottom = `${$("controls").offsetHeight + 4}px`;
    const width = cards[0].card.clientWidth;
    const height = Math.max(200, MESH_PART * document.documentElement.clientHeight);
    view.places = new Places(state.picture, width, height);
    $("planes").textContent = view.places.sentence();
    const pictures = state.panels.filter(({ run }) => run).map(({ run }) => jobsOf(run));
    keepColours(view.known, pictures, view.places);
    for (const { place, name, swatch, legend, mesh, queue, message, texts, card } of cards) {
      drawSwatch(swatch, place, view.colours);
      drawSwatch(legend, place, view.colours);
      const { run, error } = state.panels[place];
      for (const part of [mesh, queue, ...texts]) part.hidden = !run;
      if (!run) {
        message.textContent = error;
        continue;
      }
      drawPanel(mesh, run, state, view);
      const sizes = run.waiting.map(({ size }) => size);
      const jobs = { shape: Object.fromEntries(run.waiting.map(({ number }, at) => [number, at])) };
      const waiting = { waiting: run.waiting.map(({ number }) => number), hasEnded: false };
      drawQueue(queue, { jobs }, waiting, card.clientWidth, sizes, view.colours, null);
      const why = run.blocked ? `The first job waits: ${run.blocked}.` : "";
      message.textContent = run.messages.slice(-2).join("; ") || why;
      message.classList.toggle("refused", run.messages.some((text) => text.includes("refused")));
      texts[0].textContent = stateText(run);
      texts[1].textContent = boxesText(run);
      const what = `${name} on ${state.machine}: ${texts[0].textContent} ${texts[1].textContent}`;
      mesh.setAttribute("aria-label", what);
      const inQueue = `${counted(run.waiting.length, "job")} in the queue`;
      queue.setAttribute("aria-label", `${name}: ${inQueue}. ${why}`);
    }
    const { points, end } = state;
    const meta = { points, end, unit: "s", ticks: 1_000_000, isLog: false };
    const runs = state.panels.map(({ run }) =>
      Object.fromEntries(charts.map(({ name, level }) => [name, run ? run.overTime[level] : []])),
    );
    const time = Math.min(state.now, state.end);
    for (const chart of charts) {
      drawChart(chart.canvas, chart, { meta, runs }, () => true, time, null, view.colours);
      const now = state.panels.filter(({ run }) => run);
      const values = now.map(({ name, run }) => `${name} ${percentText(run.levels[chart.level])}`);
      chart.canvas.setAttribute("aria-label", `${chart.title}, now: ${values.join(", ")}`);
    }
    $("results").replaceChildren(...resultsOf(state, $("load").value !== "0"));
    $("time").textContent = timeText(meta, state.now);
    $("percent").textContent = `${$("load").value} %`;
  };

  const say = (text) => ($("said").textContent = text);
  /** Writes what was done into the address; not for each picture while playing. */
  const keepAddress = () => {
    if (!playing) history.replaceState(null, "", `#${addressOf(story)}`);
  };
  /** Sends a command; returns whether it was carried out. */
  const act = (command, isQuiet) => {
    try {
      state = send(command);
      $("error").textContent = "";
      if (!isQuiet) say(state.message);
    } catch (error) {
      $("error").textContent = error.message;
      return false;
    }
    remember(story.commands, command);
    keepAddress();
    draw();
    return true;
  };

  /** Shows the choices of a story in the fields. */
  const fill = ({ machine, strategies, load, seed }) => {
    Object.assign($("machine"), { value: machine });
    Object.assign($("seed"), { value: seed });
    choose(strategies);
    $("load").value = load;
  };
  /** Chooses strategies, also such as do not serve the machine. */
  const choose = (names) => {
    for (const [place, select] of selects.entries()) {
      const name = names[place] ?? "";
      const options = [...select.options].map(({ value }) => value);
      const isNew = !options.includes(name);
      if (isNew) select.append(element("option", { value: name, textContent: name }));
      select.value = name;
    }
  };

  /** Starts with an empty machine and the chosen strategies; then come the commands. */
  const restart = (commands = []) => {
    play(false);
    const next = {
      machine: $("machine").value,
      strategies: selects.map(({ value }) => value).filter(Boolean),
      load: $("load").value,
      seed: $("seed").value || "0",
      commands: [],
    };
    const before = state;
    Object.assign(view, { canvas: null, cursor: null, corner: null });
    const { machine, strategies, load, seed } = next;
    try {
      state = send(`start ${load} ${seed} ${strategies.join()} ${machine}`);
    } catch (error) {
      $("error").textContent = error.message;
      $("machine").setAttribute("aria-invalid", "true");
      return false;
    }
    $("error").textContent = "";
    $("machine").removeAttribute("aria-invalid");
    if (story) stories.push(story);
    story = next;
    if (before?.machine !== state.machine || !before) fillSelects();
    makeCards();
    say(state.message);
    try {
      for (const command of commands) {
        for (const part of partsOf(command)) state = send(part);
        remember(story.commands, command);
        if (command.startsWith("load ")) $("load").value = command.slice(5);
      }
    } catch (error) {
      $("error").textContent = error.message;
    }
    keepAddress();
    draw();
    return true;
  };
  /** One step back: without the latest command, or to the machine before. */
  const back = () => {
    play(false);
    const last = story.commands.at(-1);
    const to = last ? { ...story, commands: story.commands.slice(0, -1) } : stories.pop();
    if (!to) {
      say("there is no step before");
      return;
    }
    fill(to);
    // The story that it went back from is not a step.
    if (restart(to.commands)) stories.pop();
    say(last ? `back to before: ${last}` : `back to ${state.machine}`);
  };
  /** Starts with what the address says. */
  const readAddress = () => {
    const to = storyOf(location.hash.slice(1));
    fill(to);
    wanted = to.strategies;
    return restart(to.commands);
  };
  /** Lists the strategies that serve the machine, and the chosen ones. */
  const fillSelects = () => {
    for (const [place, select] of selects.entries()) {
      const { value } = select;
      const names = [...new Set([...state.choices, ...(value ? [value] : [])])].sort();
      const options = names.map((name) => element("option", { value: name, textContent: name }));
      if (place > 0) options.unshift(element("option", { value: "", textContent: "none" }));
      select.replaceChildren(...options);
      select.value = value;
    }
  };

  /** Starts with another machine and the wanted strategies; those that do not serve it are
   * replaced. */
  const changeMachine = () => {
    choose(wanted);
    if (!restart()) return;
    const unserved = state.panels.filter(({ run }) => !run).map(({ name }) => name);
    if (!unserved.length) return;
    for (const select of selects.filter(({ value }) => unserved.includes(value))) {
      const isChosen = (name) => selects.some(({ value }) => value === name);
      const others = [...STRATEGIES_OTHER, ...state.choices];
      const other = others.find((name) => state.choices.includes(name) && !isChosen(name));
      select.value = other ?? "";
    }
    restart();
    // The machine without the replacements is not a step.
    stories.pop();
    say(`${state.message}; it is not served by ${unserved.join(", ")}`);
  };

  const request = (shape) => act(`request ${shape}`);
  const release = (card, cell) => {
    const { run } = state.panels[card];
    const { job } = contentOf(run, state, cell);
    if (job === null) say("no job is there");
    else act(`release ${job}`);
  };
  /** Applies the tool to a cell. For a request this is the second corner. */
  const use = (card, cell) => {
    if (tool() === "fault") act(`fault ${cell[0]} ${cell[1]}`);
    else if (tool() === "release") release(card, cell);
    else {
      const shape = shapeBetween(view.corner ?? cell, cell, view.places);
      view.corner = null;
      $("shape").value = shape;
      request(shape);
    }
  };

  const listen = (mesh, card) => {
    const cellAt = (event) => view.places.at(event.offsetX, event.offsetY);
    mesh.addEventListener("pointerdown", (event) => {
      const cell = cellAt(event);
      if (!cell || event.button !== 0) return;
      mesh.setPointerCapture(event.pointerId);
      Object.assign(view, { canvas: mesh, cursor: cell, corner: tool() === "ask" ? cell : null });
      draw();
    });
    mesh.addEventListener("pointermove", (event) => {
      const cell = cellAt(event);
      if (!cell) return;
      const { run } = state.panels[card];
      mesh.title = `${view.places.name(cell)}: ${contentOf(run, state, cell).text}`;
      const isNew = String(cell) !== String(view.cursor);
      if (view.canvas !== mesh || !view.corner || !isNew || !(event.buttons & 1)) return;
      view.cursor = cell;
      say(shapeBetween(view.corner, cell, view.places));
      draw();
    });
    mesh.addEventListener("pointerup", (event) => {
      if (view.canvas !== mesh || !view.cursor) return;
      const cell = cellAt(event) ?? view.cursor;
      view.cursor = null;
      use(card, cell);
    });
    mesh.addEventListener("pointercancel", () => {
      Object.assign(view, { cursor: null, corner: null });
      draw();
    });
    mesh.addEventListener("blur", () => {
      if (view.canvas === mesh) Object.assign(view, { canvas: null, cursor: null, corner: null });
      draw();
    });
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    mesh.addEventListener("keydown", (event) => {
      const { w, h, across } = view.places.planes;
      const cell = view.canvas === mesh && view.cursor ? view.cursor : null;
      if (moves[event.key]) {
        const [x, y] = moves[event.key];
        const [column, row] = cell ?? [0, 0];
        const clamp = (value, most) => Math.min(Math.max(value, 0), most - 1);
        const next = cell ? [clamp(column + x, w * across), clamp(row + y, h)] : [0, 0];
        Object.assign(view, { canvas: mesh, cursor: next });
        const { text } = contentOf(state.panels[card].run, state, next);
        const size = view.corner ? `${shapeBetween(view.corner, next, view.places)}, ` : "";
        say(`${size}${view.places.name(next)}: ${text}`);
        draw();
      } else if (event.key === "Enter" && cell) {
        if (tool() === "ask" && !view.corner) {
          view.corner = cell;
          say(`a request begins at ${view.places.name(cell)}`);
          draw();
        } else use(card, cell);
      } else if (event.key === "Escape") {
        view.corner = null;
        draw();
      } else return;
      event.preventDefault();
    });
  };

  /** Sets the default load if there is none, so that random jobs arrive. */
  const provideLoad = () => {
    if ($("load").value !== "0") return;
    $("load").value = LOAD_FIRST;
    act(`load ${LOAD_FIRST}`);
  };
  const step = () => {
    play(false);
    provideLoad();
    act("step");
  };
  let before = 0;
  const frame = (moment) => {
    if (!playing) return;
    const passed = moment - before;
    if (passed >= FRAME) {
      before = moment;
      const time = Math.round((Math.min(passed, 500) / 1000) * $("speed").value);
      if (!act(`advance ${time}`, true)) play(false);
    }
    requestAnimationFrame(frame);
  };
  const play = (on) => {
    if (on && !playing) {
      provideLoad();
      before = performance.now();
      requestAnimationFrame(frame);
    }
    const hasEnded = playing && !on;
    playing = on;
    if (hasEnded) keepAddress();
    $("play").textContent = on ? "Pause" : "Play";
    $("play").setAttribute("aria-pressed", on);
  };

  $("setup").addEventListener("submit", (event) => {
    event.preventDefault();
    restart();
  });
  $("setup").addEventListener("change", (event) => {
    if (event.target === $("machine")) changeMachine();
    else {
      const place = selects.indexOf(event.target);
      if (place >= 0) wanted[place] = event.target.value;
      restart();
    }
  });
  $("asking").addEventListener("submit", (event) => {
    event.preventDefault();
    request($("shape").value);
  });
  const chooseTool = () => $("meshes").classList.toggle("dragging", tool() === "ask");
  for (const radio of document.querySelectorAll("[name=tool]")) {
    radio.addEventListener("change", chooseTool);
  }
  $("boxes").addEventListener("change", () => {
    view.boxes = $("boxes").value;
    draw();
  });
  $("load").addEventListener("input", () => act(`load ${$("load").value}`));
  $("step").addEventListener("click", step);
  $("back").addEventListener("click", back);
  $("play").addEventListener("click", () => play(!playing));
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.matches("input:not([type=radio], [type=range]), select");
    if (isTyping || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "p") play(!playing);
    else if (event.key === "n") step();
    else if (event.key === "b") back();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    setColours();
    draw();
  });
  addEventListener("resize", draw);

  setColours();
  chooseTool();
  addEventListener("hashchange", readAddress);
  const isGiven = location.hash.length > 1;
  if (!isGiven || !readAddress()) {
    const { textContent } = $("error");
    wanted = [...STRATEGIES_FIRST];
    fill({ machine: "mesh 16x16", strategies: wanted, load: "0", seed: "1" });
    restart(COMMANDS_FIRST);
    $("error").textContent = textContent;
  }
  // For scripts that drive the page.
  window.lab = { state: () => state, places: () => view.places, colours: view.known, act, send };
  document.documentElement.dataset.ready = "true";
}

start();
