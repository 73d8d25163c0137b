// The page at work: numbers unpacked, the slider, the tables of the instant, and copying.

const data = JSON.parse(document.getElementById("data").textContent);
const unpacked = new Map();

function numbers(place) {
  if (!unpacked.has(place)) {
    const text = atob(data.arrays[place]), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const view = new DataView(bytes.buffer), found = new Float32Array(bytes.length / 4);
    for (let i = 0; i < found.length; i++) found[i] = view.getFloat32(4 * i, true);
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
    this.words = box.querySelector("[data-role=told]");
    this.body = box.querySelector("table tbody");
    this.times = numbers(model.times);
    this.chosenTimes = numbers(model.chosen);
    new ResizeObserver(() => this.draw()).observe(this.plane);
  }

  moveTo(time) {
    this.instant = nearest(this.times, time);
    const chosen = nearest(this.chosenTimes, time);
    this.words.textContent = `Poles at ${shown(this.times[this.instant])} ${data.clock}, matrices at ` +
      `${shown(this.chosenTimes[chosen])} ${data.clock}, the nearest instants on this page.`;
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

  draw() {
    const canvas = this.plane, ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height || this.instant === undefined) return;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const re = numbers(this.model.real), im = numbers(this.model.imaginary), per = this.model.poles;
    const reach = (list) => list.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-6) * 1.1;
    // poles on one of the axes have the scale of the other there too
    const least = 1e-3 * Math.max(reach(re), reach(im));
    const [across, up] = [re, im].map((part) => (reach(part) < least ? 1e3 * least : reach(part)));
    const at = (x, y) => [width / 2 + (x / across) * (width / 2 - 24), height / 2 - (y / up) * (height / 2 - 20)];
    const colors = getComputedStyle(document.documentElement);
    const color = (name) => colors.getPropertyValue(`--${name}`).trim();
    context.strokeStyle = color("line");
    context.beginPath();
    context.moveTo(0, height / 2);
    context.lineTo(width, height / 2);
    context.moveTo(width / 2, 0);
    context.lineTo(width / 2, height);
    context.stroke();
    context.fillStyle = color("faint");
    context.font = "12px system-ui, sans-serif";
    context.fillText(`±${shown(across)} 1/s, real`, width - 120, height / 2 - 6);
    context.fillText(`±${shown(up)} 1/s, imaginary`, width / 2 + 6, 14);
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

// ------------------------------------------------------------------ the instant

const times = data.frames ? numbers(data.frames.times) : new Float32Array([0]);
const views = [...document.querySelectorAll(".arm")].map((figure) => {
  const arm = data.arms[Number(figure.dataset.arm)];
  return { view: new ArmView(figure, unpackLinks(arm.shape, numbers), arm.name), arm };
});
const models = [...document.querySelectorAll("[data-model]")].map(
  (box) => new Model(box, data.models[Number(box.dataset.model)]));
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

function play() {
  const button = document.getElementById("play");
  let running = null, started = 0, from = 0;
  const span = times[times.length - 1] - times[0];
  const seconds = data.clock === "row" ? times.length / 30 : Math.min(Math.max(span, 2), 30);
  const stop = () => {
    cancelAnimationFrame(running);
    running = null;
    button.textContent = "play";
    button.setAttribute("aria-pressed", "false");
  };
  const step = (now) => {
    const time = from + ((now - started) / 1000 / seconds) * span;
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
  play();
}
document.querySelectorAll("table").forEach(copyable);
choose(0, true);
window.addEventListener("beforeprint", () => {
  curves.makeAll();
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  curves.remake();
  for (const { view } of views) view.draw();
  for (const model of models) model.draw();
});
document.documentElement.dataset.ready = "true";
window.robolinReport = { data, numbers, curves, views, models, choose, linkPoses };
