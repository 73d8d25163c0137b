// The page: unpack numbers, move the slider, fill the tables of a time, and copy tables.

const data = JSON.parse(document.getElementById("data").textContent);
const unpacked = new Map();

function numbers(place) {
  if (!unpacked.has(place)) {
    const exact = data.arrays[place].startsWith(":"), text = atob(data.arrays[place].slice(exact ? 1 : 0));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0)), view = new DataView(bytes.buffer);
    const found = exact ? new Float64Array(bytes.length / 8) : new Float32Array(bytes.length / 4);
    for (let i = 0; i < found.length; i++) found[i] = exact ? view.getFloat64(8 * i, true) : view.getFloat32(4 * i, true);
    unpacked.set(place, found);
  }
  return unpacked.get(place);
}

const shown = (value) => (Number.isFinite(value) ? Number(value.toPrecision(6)).toString() : "");

function nearest(times, time) {
  let best = 0;
  times.forEach((each, i) => { if (Math.abs(each - time) < Math.abs(times[best] - time)) best = i; });
  return best;
}

// ------------------------------------------------------------------ tables to copy

function copyable(table) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "copy";
  button.setAttribute("aria-label", `copy the table ${table.caption.textContent}`);
  table.caption.append(button);
  button.addEventListener("click", async () => {
    const lines = [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent).join("\t"));
    const text = `${lines.join("\n")}\n`;
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      done = copiedBySelection(text);
    }
    window.robolinCopied = text;
    announce(done ? "copied" : "the browser does not allow copying");
    button.textContent = done ? "copied" : "not allowed";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
}

function copiedBySelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

function announce(text) {
  document.getElementById("announced").textContent = text;
}

// ------------------------------------------------------------------ the linear model

class Model {
  constructor(box, model) {
    this.model = model;
    this.plane = box.querySelector(".plane canvas");
    this.plane.hidden = false;
    this.words = box.querySelector("[data-role=now]");
    this.body = box.querySelector("table tbody");
    this.times = numbers(model.times);
    this.chosenTimes = numbers(model.chosen);
    new ResizeObserver(() => this.draw()).observe(this.plane);
  }

  moveTo(time) {
    this.instant = nearest(this.times, time);
    const chosen = nearest(this.chosenTimes, time);
    this.words.textContent = `Poles at ${shown(this.times[this.instant])} ${data.clock}, matrices at ` +
      `${shown(this.chosenTimes[chosen])} ${data.clock}, the nearest stored times.`;
    if (this.body) this.fill(chosen);
    this.draw();
  }

  fill(chosen) {
    const { states, columns } = this.model, matrices = numbers(this.model.matrices);
    const start = chosen * states * columns;
    [...this.body.rows].forEach((row, i) => {
      for (let j = 0; j < columns; j++) row.cells[j + 1].textContent = shown(matrices[start + i * columns + j]);
    });
  }

  // unstable half-plane, damping ratios as lines and natural frequencies as arcs
  drawPlane(context, width, height, scale, color) {
    const [x0, y0] = [width / 2, height / 2], far = width + height;
    context.fillStyle = color("unstable");
    context.fillRect(x0, 0, width / 2, height);
    context.strokeStyle = color("line");
    context.fillStyle = color("faint");
    context.font = "11px system-ui, sans-serif";
    context.lineWidth = 0.7;
    context.beginPath();
    for (const ratio of [0.2, 0.4, 0.6, 0.8]) {
      for (const side of [-1, 1]) {
        context.moveTo(x0, y0);
        context.lineTo(x0 - far * ratio, y0 + side * far * Math.sqrt(1 - ratio * ratio));
      }
    }
    const step = 10 ** Math.floor(Math.log10(Math.max(x0, y0) / scale));
    const frequency = [1, 2, 5].map((k) => (k * step) / 2).filter((w) => w * scale > 25);
    for (const w of frequency) {
      context.moveTo(x0, y0 - w * scale);
      context.arc(x0, y0, w * scale, -Math.PI / 2, Math.PI / 2, true);
    }
    context.moveTo(0, y0);
    context.lineTo(width, y0);
    context.moveTo(x0, 0);
    context.lineTo(x0, height);
    context.stroke();
    for (const w of frequency) context.fillText(shown(w), x0 - w * scale + 3, y0 - 4);
    context.fillText("real, 1/s", width - 56, y0 - 6);
    context.fillText("imaginary, 1/s", x0 + 6, 14);
    context.fillText("unstable", width - 52, height - 8);
  }

  draw() {
    const cleared = this.instant === undefined ? null : clearedCanvas(this.plane);
    if (!cleared) return;
    const { canvas, context, width, height, color } = cleared;
    const re = numbers(this.model.real), im = numbers(this.model.imaginary), per = this.model.poles;
    const largest = (list) => list.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-6);
    // equal axes: as wide as the canvas allows
    const scale = Math.min((width / 2 - 24) / largest(re), (height / 2 - 20) / largest(im));
    const at = (x, y) => [width / 2 + scale * x, height / 2 - scale * y];
    this.drawPlane(context, width, height, scale, color);
    for (let i = 0; i < re.length; i++) {
      const [x, y] = at(re[i], im[i]);
      context.globalAlpha = 0.25;
      context.fillRect(x - 1.5, y - 1.5, 3, 3);
    }
    context.globalAlpha = 1;
    context.strokeStyle = color("first");
    context.lineWidth = 2;
    for (let i = this.instant * per; i < (this.instant + 1) * per; i++) {
      const [x, y] = at(re[i], im[i]);
      context.beginPath();
      context.moveTo(x - 5, y - 5);
      context.lineTo(x + 5, y + 5);
      context.moveTo(x - 5, y + 5);
      context.lineTo(x + 5, y - 5);
      context.stroke();
    }
    const now = [...Array(per).keys()].map((i) => {
      const k = this.instant * per + i;
      return `${shown(re[k])}${im[k] ? ` ${im[k] < 0 ? "-" : "+"} ${shown(Math.abs(im[k]))}i` : ""}`;
    });
    canvas.setAttribute("aria-label", `Poles in 1/s: ${now.join(", ")}`);
  }
}

// ------------------------------------------------------------------ the time

const times = data.frames ? numbers(data.frames.times) : new Float32Array([0]);
const views = [...document.querySelectorAll(".arm:not([data-arm=live])")].map((figure) => {
  const arm = data.arms[Number(figure.dataset.arm)];
  const q = numbers(arm.values[0]), count = q.length / arm.joints, later = [];
  // 25 times suffice to see how far the robot reaches
  for (let i = 0; i < count; i += Math.max(1, count / 25)) {
    later.push(q.subarray(Math.floor(i) * arm.joints, (Math.floor(i) + 1) * arm.joints));
  }
  return { view: new ArmView(figure, unpackLinks(arm.shape, numbers), arm.name, later), arm };
});
const models = [...document.querySelectorAll("[data-model]")].map(
  (box) => new Model(box, data.models[Number(box.dataset.model)]));
const live = data.live ? new Live(document.getElementById("live"), data.live, data.arms[0]) : null;
const slider = document.getElementById("instant");
const curves = new Curves(data, numbers, (time) => choose(nearest(times, time)));

function fillInstant(index) {
  for (const table of document.querySelectorAll("table[data-key^=instant]")) {
    const arm = data.arms[Number(table.dataset.key.slice(8))];
    [...table.tBodies[0].rows].forEach((row, joint) => {
      arm.values.forEach((place, i) => {
        row.cells[i + 1].textContent = shown(numbers(place)[index * arm.joints + joint]);
      });
    });
  }
}

function choose(index, quietly) {
  index = Math.max(0, Math.min(times.length - 1, index));
  const time = times[index];
  const text = data.frames ? `${shown(time)} ${data.clock}, row ${data.frames.rows[index]}` : "";
  if (slider) {
    slider.value = String(index);
    slider.setAttribute("aria-valuetext", text);
    document.getElementById("when").textContent = text;
  }
  for (const { view, arm } of views) {
    const q = numbers(arm.values[0]);
    view.show(q.subarray(index * arm.joints, (index + 1) * arm.joints));
  }
  fillInstant(index);
  if (live) {
    const { values, joints } = data.arms[0];
    live.take(...values.map((place) => numbers(place).subarray(index * joints, (index + 1) * joints)));
  }
  for (const model of models) model.moveTo(time);
  curves.moveTo(time);
  if (!quietly) announce(text);
}

function atRow(row) {
  let best = 0;
  data.frames.rows.forEach((each, i) => {
    if (Math.abs(each - row) < Math.abs(data.frames.rows[best] - row)) best = i;
  });
  choose(best);
}

function rowsToGoTo() {
  for (const table of document.querySelectorAll("table[data-key=margins]")) {
    const column = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === "row");
    for (const row of table.tBodies[0].rows) {
      const cell = row.cells[column], button = document.createElement("button");
      button.type = "button";
      button.textContent = cell.textContent;
      button.setAttribute("aria-label", `go to row ${cell.textContent}`);
      button.addEventListener("click", () => atRow(Number(button.textContent)));
      cell.replaceChildren(button);
    }
  }
}

function barsToGoTo() {
  for (const bar of document.querySelectorAll("button[data-row]")) {
    bar.addEventListener("click", () => atRow(Number(bar.dataset.row)));
  }
}

function play() {
  const button = document.getElementById("play");
  let running = null, started = 0, from = 0;
  const span = times[times.length - 1] - times[0];
  const speed = document.getElementById("speed");
  const whole = data.clock === "row" ? times.length / 30 : Math.min(Math.max(span, 2), 30);
  const stop = () => {
    cancelAnimationFrame(running);
    running = null;
    button.textContent = "play";
    button.setAttribute("aria-pressed", "false");
  };
  const step = (now) => {
    const time = from + ((now - started) / 1000 / whole) * Number(speed.value) * span;
    choose(nearest(times, time), true);
    if (time >= times[times.length - 1]) stop();
    else running = requestAnimationFrame(step);
  };
  button.addEventListener("click", () => {
    if (running !== null) { stop(); return; }
    const index = Number(slider.value);
    from = index >= times.length - 1 ? times[0] : times[index];
    started = performance.now();
    button.textContent = "pause";
    button.setAttribute("aria-pressed", "true");
    running = requestAnimationFrame(step);
  });
}

if (data.frames && times.length > 1) {
  document.getElementById("clock").hidden = false;
  slider.addEventListener("input", () => choose(Number(slider.value)));
  for (const button of document.querySelectorAll("[data-step]")) {
    button.addEventListener("click", () => choose(Number(slider.value) + Number(button.dataset.step)));
  }
  rowsToGoTo();
  barsToGoTo();
  play();
}
document.querySelectorAll("table").forEach(copyable);
choose(0, true);
function redraw() {
  curves.remake();
  for (const { view } of views) view.draw();
  for (const model of models) model.draw();
  if (live && live.view) { live.view.draw(); live.paint(); }
}

window.addEventListener("beforeprint", () => {
  document.documentElement.classList.add("printing");
  curves.makeAll();
  redraw();
});
window.addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printing");
  redraw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
document.documentElement.dataset.ready = "true";
if (live) {
  live.start().then(() => choose(slider ? Number(slider.value) : 0, true)).catch(() => {
    document.getElementById("live").querySelector(".note").textContent =
      "This browser does not run WebAssembly here; the other sections do not need it.";
  }).finally(() => { document.documentElement.dataset.live = "true"; });
}
window.robolinReport = { data, numbers, curves, views, models, choose, linkPoses, live };
