// The live section: sliders, and everything that the WebAssembly module of the arm computes from them.

const LIVE_SPAN = 100;
// ms between texts while a slider moves: more are not readable, and each costs a layout
const LIVE_READING = 60;

// a text or an attribute that stays the same needs no layout
function setAttribute(node, name, text) {
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

function setText(node, text) {
  if (!node.firstChild) node.append("");
  if (node.firstChild.data !== text) node.firstChild.data = text;
}

function setValue(slider, text) {
  setAttribute(slider, "aria-valuetext", text);
  setText(slider.nextElementSibling, text);
}

class Live {
  constructor(box, live, drawn) {
    Object.assign(this, { box, live, drawn, n: live.limits.length, later: null, slowest: 0, designs: 0 });
    Object.assign(this, { pending: null, unread: null, lastRead: 0 });
    this.q = live.start.slice();
    this.state = null;
    this.view = null;
  }

  async start() {
    const text = atob(this.live.module), bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const { instance } = await WebAssembly.instantiate(bytes);
    this.arm = boundModule(this.live.info)(instance.exports);
    this.box.querySelector("[data-live=content]").hidden = false;
    this.sliders = [...this.box.querySelectorAll("input[data-joint]")];
    this.sliders.forEach((slider, i) => slider.addEventListener("input", () => {
      this.q[i] = Number(slider.value);
      this.state = null;
      this.changed();
    }));
    for (const name of ["payload", "gravity", "weight"]) {
      this[name] = this.box.querySelector(`input[data-live=${name}]`);
      this[name].addEventListener("input", () => this.changed());
    }
    this.joint = this.box.querySelector("select[data-live=joint]");
    this.joint.addEventListener("change", () => this.changed());
    this.box.querySelector("[data-do=zero]").addEventListener("click", () => {
      this.q = this.live.start.slice();
      this.state = null;
      this.payload.value = "0";
      this.gravity.value = "1";
      this.weight.value = "2";
      this.changed();
    });
    for (const canvas of this.box.querySelectorAll("canvas")) new ResizeObserver(() => this.paint()).observe(canvas);
    const arm = this.drawn, shape = { ...arm.shape, meshes: [] };
    this.view = new ArmView(this.box.querySelector(".arm"), shape, arm.name, [this.q]);
    this.view.overlay = (context) => this.drawEllipsoid(context);
    this.update();
  }

  // positions, velocities and torques of a time of the motion
  take(q, qd, tau) {
    if (!this.arm) return;
    this.q = Array.from(q);
    this.state = null;
    if (data.frames && data.frames.rows.length > 1 && tau) {
      // accelerations of the motion, by the model of the file
      this.arm.set_gravity(this.live.info.model.gravity);
      this.arm.set_payload(this.live.frame, 0);
      const { qdd } = this.arm.linearize_forward(this.q, qd, tau);
      this.state = { qd: Array.from(qd), qdd: Array.from(qdd) };
    }
    this.changed();
  }

  // one update per frame, however many events there are
  changed() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => { this.pending = null; this.update(LIVE_READING); });
  }

  compute() {
    const { arm, n, live } = this, q = this.q, rest = new Array(n).fill(0);
    arm.set_gravity(live.info.model.gravity.map((g) => g * Number(this.gravity.value)));
    arm.set_payload(live.frame, Number(this.payload.value));
    const hold = arm.inverse(q, rest, rest).tau;
    const qd = this.state ? this.state.qd : rest;
    const tau = this.state ? arm.inverse(q, qd, this.state.qdd).tau : hold;
    const mass = arm.mass_matrix(q).mass_matrix;
    const frame = arm.jacobian(q, qd);
    const linear = arm.linearize_forward(q, qd, tau);
    return { hold, qd, tau, mass, frame, linear };
  }

  model({ linear }) {
    const n = this.n, rows = (values) => identity(n).map((_, i) => Array.from(values.subarray(i * n, (i + 1) * n)));
    const zero = identity(n).map((row) => row.map(() => 0));
    const A = stacked([zero, identity(n)], [rows(linear.dqdd_dq), rows(linear.dqdd_dqd)]);
    const inputs = this.live.actuated;
    const B = stacked([zero], [rows(linear.dqdd_dtau)]).map((row) => inputs.map((j) => row[j]));
    return { A, B };
  }

  update(reading = 0) {
    const started = performance.now();
    this.found = this.compute();
    const status = this.found.linear.status;
    this.linear = status === 0 ? this.model(this.found) : null;
    this.poles = this.linear && eigenvalues(this.linear.A);
    clearTimeout(this.later);
    // a slow computer designs the controller after the movement
    if (this.slowest < 8) this.design();
    else this.later = setTimeout(() => { this.design(); this.paint(); this.writeNumbers(); }, 120);
    // texts last: the canvases read their size, which is known until a text changes
    this.view.show(this.q);
    this.paint();
    this.write();
    if (started - this.lastRead >= reading) this.writeNumbers();
    else this.unread ??= setTimeout(() => this.writeNumbers(), reading);
    this.lastUpdate = performance.now() - started;
  }

  design() {
    const started = performance.now();
    this.gains = this.closed = this.response = null;
    if (this.linear && this.live.actuated.length) {
      const { A, B } = this.linear, n = this.n, weight = 10 ** Number(this.weight.value);
      const Q = [...new Array(n).fill(weight), ...new Array(n).fill(1)];
      this.gains = riccati(A, B, Q, new Array(B[0].length).fill(1));
      if (this.gains) {
        const loop = combined(A, matmul(B, this.gains.K), -1);
        this.closed = eigenvalues(loop);
        this.respond(loop);
      }
    }
    // the browser compiles the first calls, so they do not count
    const taken = performance.now() - started;
    this.designs += 1;
    if (this.designs > 10) this.slowest = Math.min(taken, 0.5 * (this.slowest + taken));
  }

  // from an offset of one joint, until the slowest pole has decayed to 1 %
  respond(loop) {
    const slow = this.closed ? Math.max(...this.closed.map(([re]) => re)) : 0;
    if (!(slow < 0)) return;
    const duration = Math.min(Math.max(4.6 / -slow, 0.05), 20), step = duration / LIVE_SPAN;
    const advance = exponential(loop.map((row) => row.map((x) => x * step)));
    let x = new Array(2 * this.n).fill(0);
    x[Number(this.joint.value)] = 0.1;
    const rows = [];
    for (let i = 0; i <= LIVE_SPAN; i++) {
      rows.push(x.slice(0, this.n));
      const now = x;
      x = advance.map((row) => {
        let sum = 0;
        for (let j = 0; j < row.length; j++) sum += row[j] * now[j];
        return sum;
      });
    }
    this.response = { duration, rows };
  }

  write() {
    const { live } = this;
    this.sliders.forEach((slider, i) => {
      const unit = live.info.units[i], text = `${this.q[i].toFixed(3)} ${unit}`;
      const moved = Number(slider.value) !== this.q[i];
      if (moved && (slider !== document.activeElement || this.state)) slider.value = String(this.q[i]);
      setValue(slider, text);
    });
    const outputs = {
      payload: `${shown(Number(this.payload.value))} kg`,
      gravity: `${shown(Number(this.gravity.value))} ×`,
      weight: `10^${shown(Number(this.weight.value))}`,
    };
    for (const [name, text] of Object.entries(outputs)) {
      setValue(this[name], text);
    }
    this.torques(({ row, share }) => {
      const bar = row.querySelector("rect.use");
      setAttribute(bar, "width", (100 * Math.min(share ?? 0, 1)).toFixed(1));
      setAttribute(bar, "class", `use ${share > 1 ? "over" : share > 0.8 ? "near" : "within"}`);
    });
  }

  // each row of the torques with its value, the limit on its side and the used part of it
  torques(visit) {
    [...this.box.querySelector("[data-live=torques]").children].forEach((row, i) => {
      const tau = this.found.tau[i], [low, high] = this.live.limits[i], end = tau < 0 ? low : high;
      visit({ row, i, tau, end, share: end === null || !end ? null : Math.abs(tau / end) });
    });
  }

  writeNumbers() {
    const { box, found, live, n } = this;
    clearTimeout(this.unread);
    this.unread = null;
    this.lastRead = performance.now();
    this.torques(({ row, i, tau, end, share }) => {
      setText(row.querySelector("b"), share === null ? "" : `${(100 * share).toFixed(0)} %`);
      // less than a billionth of the limit is round-off of the positions
      const value = share !== null && share < 1e-9 ? "0" : shown(Number(tau.toPrecision(4)));
      setText(row.querySelector(".value"),
        `${value} ${live.efforts[i]}${end === null ? "" : ` of ${shown(Math.abs(end))}`}`);
    });
    this.fillTable("mass", found.mass, n);
    this.fillTable("jacobian", found.frame.jacobian, n);
    setText(box.querySelector("[data-live=words]"), this.words());
  }

  fillTable(name, values, columns) {
    const rows = this.box.querySelector(`table[data-key=live-${name}]`).tBodies[0].rows;
    // entries that are only round-off are shown as 0
    const least = 1e-14 * values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
    [...rows].forEach((row, i) => {
      for (let j = 0; j < columns; j++) {
        const value = values[i * columns + j];
        const text = Math.abs(value) < least ? "0" : Number(value.toPrecision(4)).toString();
        const cell = row.cells[j + 1].firstChild;
        if (cell.data !== text) cell.data = text;
      }
    });
  }

  words() {
    const parts = [this.state ? "State of the motion at the selected time." : "At rest: torques hold the robot."];
    parts.push(`Positions ${this.q.map((x) => shown(Number(x.toPrecision(3)))).join(", ")}.`);
    if (!this.linear) return `${parts.join(" ")} No linear model exists here.`;
    if (this.poles) {
      const unstable = this.poles.filter(([re]) => re > 1e-9).length;
      parts.push(`${unstable} of ${this.poles.length} open-loop poles are unstable.`);
    }
    const sizes = this.axes.map(({ length }) => length), volume = sizes.reduce((a, b) => a * b, 1);
    parts.push(`Manipulability ${shown(Number(volume.toPrecision(4)))}, ellipsoid axes ` +
      `${sizes.map((x) => shown(Number(x.toPrecision(3)))).join(", ")}.`);
    if (this.closed) {
      const slow = Math.max(...this.closed.map(([re]) => re));
      parts.push(`With LQR, the slowest pole is ${shown(Number(slow.toPrecision(4)))} 1/s.`);
    } else if (this.slowest < 8) {
      parts.push("LQR: the linear model is not stabilizable by the actuated joints.");
    }
    return parts.join(" ");
  }

  // principal axes of the velocity ellipsoid: eigenvectors of Jv Jvᵀ, by Jacobi's rotations
  get axes() {
    const J = this.found.frame.jacobian, n = this.n, first = this.live.linearRows;
    const S = [0, 1, 2].map((i) => [0, 1, 2].map((j) => {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += J[(first + i) * n + k] * J[(first + j) * n + k];
      return sum;
    }));
    const V = identity(3);
    for (let round = 0; round < 8; round++) {
      for (const [p, q] of [[0, 1], [0, 2], [1, 2]]) {
        if (!S[p][q]) continue;
        const angle = 0.5 * Math.atan2(2 * S[p][q], S[p][p] - S[q][q]), c = Math.cos(angle), s = Math.sin(angle);
        for (let k = 0; k < 3; k++) [S[k][p], S[k][q]] = [c * S[k][p] + s * S[k][q], c * S[k][q] - s * S[k][p]];
        for (let k = 0; k < 3; k++) [S[p][k], S[q][k]] = [c * S[p][k] + s * S[q][k], c * S[q][k] - s * S[p][k]];
        for (let k = 0; k < 3; k++) [V[k][p], V[k][q]] = [c * V[k][p] + s * V[k][q], c * V[k][q] - s * V[k][p]];
      }
    }
    return [0, 1, 2].map((i) => ({ length: Math.sqrt(Math.max(S[i][i], 0)), axis: V.map((row) => row[i]) }))
      .sort((a, b) => b.length - a.length);
  }

  drawEllipsoid(context) {
    if (!this.found) return;
    const { view } = this, axes = this.axes, centre = Array.from(this.found.frame.position);
    const scale = (0.25 * this.live.reach) / Math.max(axes[0].length, 1e-9);
    context.save();
    context.strokeStyle = view.color("limit");
    context.lineWidth = 1.5;
    for (const [i, j] of [[0, 1], [0, 2], [1, 2]]) {
      context.beginPath();
      for (let k = 0; k <= 48; k++) {
        const c = scale * axes[i].length * Math.cos((2 * Math.PI * k) / 48);
        const s = scale * axes[j].length * Math.sin((2 * Math.PI * k) / 48);
        const [x, y] = view.flat(centre.map((x0, m) => x0 + c * axes[i].axis[m] + s * axes[j].axis[m]));
        if (k) context.lineTo(x, y); else context.moveTo(x, y);
      }
      context.stroke();
    }
    context.restore();
  }

  canvas(name) {
    const cleared = clearedCanvas(this.box.querySelector(`canvas[data-live=${name}]`));
    if (cleared) cleared.context.font = "12px system-ui, sans-serif";
    return cleared;
  }

  paint() {
    if (!this.found) return;
    this.paintPoles();
    this.paintResponse();
  }

  paintPoles() {
    const drawn = this.canvas("poles");
    if (!drawn) return;
    const { canvas, context, width, height, color } = drawn;
    const open = this.poles ?? [], closed = this.closed ?? [], all = [...open, ...closed];
    const reach = 1.15 * Math.max(1e-6, ...all.map(([re, im]) => Math.max(Math.abs(re), Math.abs(im))));
    // near and far poles on one plot: a root scale
    const root = (x) => Math.sign(x) * Math.sqrt(Math.abs(x) / reach);
    const at = ([re, im]) => [width / 2 + (width / 2) * root(re), height / 2 - (height / 2) * root(im)];
    context.fillStyle = color("unstable");
    context.fillRect(width / 2, 0, width / 2, height);
    context.strokeStyle = color("line");
    context.strokeRect(-1, height / 2, width + 2, 0);
    context.strokeRect(width / 2, -1, 0, height + 2);
    context.lineWidth = 2;
    context.strokeStyle = color("first");
    for (const pole of open) {
      const [x, y] = at(pole);
      context.beginPath();
      context.moveTo(x - 4, y - 4); context.lineTo(x + 4, y + 4);
      context.moveTo(x - 4, y + 4); context.lineTo(x + 4, y - 4);
      context.stroke();
    }
    context.strokeStyle = color("second");
    for (const pole of closed) {
      context.beginPath();
      context.arc(...at(pole), 4, 0, 2 * Math.PI);
      context.stroke();
    }
    context.fillStyle = color("faint");
    context.fillText(`±${shown(Number(reach.toPrecision(2)))} 1/s, root scale`, 6, height - 6);
    const text = (poles) => poles.map(([re, im]) => `${shown(Number(re.toPrecision(3)))}${im ? ` ${im < 0 ? "-" : "+"} ` +
      `${shown(Math.abs(Number(im.toPrecision(3))))}i` : ""}`).join(", ");
    canvas.setAttribute("aria-label", `Open-loop poles: ${text(open)}. Closed-loop poles: ${text(closed)}.`);
  }

  paintResponse() {
    const drawn = this.canvas("response");
    if (!drawn) return;
    const { canvas, context, width, height, color } = drawn;
    if (!this.response) { canvas.setAttribute("aria-label", "No step response"); return; }
    const { rows, duration } = this.response;
    const most = Math.max(...rows.flat().map(Math.abs)) * 1.1;
    const x = (i) => (width * i) / LIVE_SPAN, y = (value) => height / 2 - (value / most) * (height / 2 - 8);
    context.strokeStyle = color("line");
    context.strokeRect(-1, y(0), width + 2, 0);
    for (let joint = 0; joint < this.n; joint++) {
      const chosen = joint === Number(this.joint.value);
      context.strokeStyle = color(chosen ? "second" : "first");
      context.globalAlpha = chosen ? 1 : 0.45;
      context.lineWidth = chosen ? 2.5 : 1.25;
      context.beginPath();
      rows.forEach((row, i) => (i ? context.lineTo(x(i), y(row[joint])) : context.moveTo(x(i), y(row[joint]))));
      context.stroke();
    }
    context.globalAlpha = 1;
    context.fillStyle = color("faint");
    context.fillText(`${shown(Number(duration.toPrecision(3)))} s`, width - 50, height - 6);
    context.fillText(`±${shown(Number(most.toPrecision(2)))}`, 6, 14);
    canvas.setAttribute("aria-label", `Step response from 0.1 of the selected joint over ` +
      `${shown(Number(duration.toPrecision(3)))} s; it settles to 1 %`);
  }
}
