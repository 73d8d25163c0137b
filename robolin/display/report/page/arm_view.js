// The arm in space on a canvas: links as lines, joint axes, centres of mass, inertias as boxes.
// Matrices are nine numbers, row by row; everything is in the axes of the arm's root.

const FIRST_YAW = 0.6;
const FIRST_PITCH = 0.35;

function apply(pose, v) {
  const r = pose.rotation, p = pose.origin;
  return [
    r[0] * v[0] + r[1] * v[1] + r[2] * v[2] + p[0],
    r[3] * v[0] + r[4] * v[1] + r[5] * v[2] + p[1],
    r[6] * v[0] + r[7] * v[1] + r[8] * v[2] + p[2],
  ];
}

function product(a, b) {
  const out = new Array(9);
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 3; j++) {
      out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
    }
  }
  return out;
}

function turnedAbout(axis, angle) {
  const [x, y, z] = axis, c = Math.cos(angle), s = Math.sin(angle), d = 1 - c;
  return [
    c + d * x * x, d * x * y - s * z, d * x * z + s * y,
    d * x * y + s * z, c + d * y * y, d * y * z - s * x,
    d * x * z - s * y, d * y * z + s * x, c + d * z * z,
  ];
}

// Give every link its numbers, of which each kind is packed for all of them.
function unpackLinks(shape, numbers) {
  for (const [name, place] of Object.entries(shape.packed)) {
    const all = numbers(place), size = all.length / shape.links.length;
    shape.links.forEach((link, i) => { link[name] = Array.from(all.subarray(i * size, (i + 1) * size)); });
  }
  return shape;
}

const HOME = { rotation: [1, 0, 0, 0, 1, 0, 0, 0, 1], origin: [0, 0, 0] };

// Where every link is when joints are at q.
function linkPoses(shape, q) {
  const poses = [];
  for (const link of shape.links) {
    const inboard = link.parent < 0 ? HOME : poses[link.parent];
    const value = link.ratio * q[link.place] + link.offset;
    const seat = product(inboard.rotation, link.rotation);
    let origin = apply(inboard, link.translation);
    let rotation = seat;
    if (link.turns) {
      rotation = product(seat, turnedAbout(link.axis, value));
    } else {
      const [x, y, z] = link.axis;
      origin = apply({ rotation: seat, origin }, [x * value, y * value, z * value]);
    }
    poses.push({ rotation, origin });
  }
  return poses;
}

const BOX_FACES = [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]];

function boxCorners(link, pose) {
  const { half, sides: axes } = link, corners = [];
  for (let i = 0; i < 8; i++) {
    const s = [i & 4 ? half[0] : -half[0], i & 2 ? half[1] : -half[1], i & 1 ? half[2] : -half[2]];
    const at = [0, 1, 2].map((r) =>
      link.com[r] + axes[3 * r] * s[0] + axes[3 * r + 1] * s[1] + axes[3 * r + 2] * s[2]);
    corners.push(apply(pose, at));
  }
  return corners;
}

class ArmView {
  constructor(figure, shape, name) {
    this.shape = shape;
    this.name = name;
    this.canvas = figure.querySelector("canvas");
    this.shown = { boxes: true, masses: true, axes: true, names: false };
    this.q = null;
    this.heaviest = Math.max(1e-12, ...shape.links.map((link) => link.mass));
    this.reset();
    figure.querySelector("svg").remove();
    this.canvas.hidden = false;
    const controls = figure.querySelector(".controls");
    controls.hidden = false;
    controls.addEventListener("change", (event) => {
      this.shown[event.target.dataset.show] = event.target.checked;
      this.draw();
    });
    controls.querySelector("[data-do=reset]").addEventListener("click", () => {
      this.reset();
      this.draw();
    });
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  reset() {
    this.yaw = FIRST_YAW;
    this.pitch = FIRST_PITCH;
    this.zoom = 1;
  }

  listen() {
    const canvas = this.canvas;
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = [event.clientX, event.clientY];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held) return;
      this.turn((held[0] - event.clientX) / 150, (event.clientY - held[1]) / 150);
      held = [event.clientX, event.clientY];
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { held = null; });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.magnify(Math.exp(-event.deltaY / 500));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
      if (steps[event.key]) this.turn(...steps[event.key]);
      else if (event.key === "+" || event.key === "=") this.magnify(1.15);
      else if (event.key === "-") this.magnify(1 / 1.15);
      else if (event.key === "0") { this.reset(); this.draw(); }
      else return;
      event.preventDefault();
    });
  }

  turn(about, tilt) {
    this.yaw += about;
    this.pitch = Math.max(-1.55, Math.min(1.55, this.pitch + tilt));
    this.draw();
  }

  magnify(factor) {
    this.zoom = Math.max(0.1, Math.min(50, this.zoom * factor));
    this.draw();
  }

  show(q) {
    this.q = q;
    this.draw();
  }

  // right, up and towards whoever looks
  seen(p) {
    const cy = Math.cos(this.yaw), sy = Math.sin(this.yaw);
    const cp = Math.cos(this.pitch), sp = Math.sin(this.pitch);
    const v = this.shape.view;
    const [x, y, z] = [0, 3, 6].map((i) => v[i] * p[0] + v[i + 1] * p[1] + v[i + 2] * p[2]);
    const near = cy * x + sy * y;
    return [cy * y - sy * x, cp * z - sp * near, cp * near + sp * z];
  }

  draw() {
    if (!this.q) return;
    const canvas = this.canvas, ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const poses = linkPoses(this.shape, this.q);
    this.poses = poses;
    // the view stays where the first pose put it, so that the arm moves and not the picture
    if (!this.centre) {
      const ends = [[0, 0, 0], ...poses.flatMap((pose, i) => this.outline(this.shape.links[i], pose))];
      this.centre = [0, 1, 2].map((i) =>
        (Math.min(...ends.map((p) => p[i])) + Math.max(...ends.map((p) => p[i]))) / 2);
      this.radius = Math.max(...ends.map((p) => Math.hypot(...p.map((x, i) => x - this.centre[i]))));
    }
    // room for the first pose, and for an arm that stretches out later
    const room = Math.max(2.3 * this.radius, 1.2 * this.shape.size);
    const scale = (this.zoom * Math.min(width, height)) / room;
    const middle = this.seen(this.centre);
    this.flat = (p) => {
      const [x, y, depth] = this.seen(p);
      return [width / 2 + scale * (x - middle[0]), height / 2 - scale * (y - middle[1]), depth];
    };
    this.scale = scale;
    const colors = getComputedStyle(document.documentElement);
    this.color = (name) => colors.getPropertyValue(`--${name}`).trim();
    this.drawGround(context);
    const parts = this.parts(poses);
    // what is farther away is drawn first
    parts.sort((a, b) => a.depth - b.depth);
    for (const part of parts) part.draw(context);
    if (this.shown.names) this.drawNames(context, poses);
    const tip = poses[poses.length - 1].origin;
    canvas.setAttribute("aria-label",
      `${this.name}: last link at x ${tip[0].toFixed(3)}, y ${tip[1].toFixed(3)}, z ${tip[2].toFixed(3)} m`);
  }

  // what has to fit into the picture: of boxes those that are not far larger than links are
  outline(link, pose) {
    const ends = [pose.origin, ...[link.com, ...link.segments].map((end) => apply(pose, end))];
    const fits = link.box && Math.max(...link.half) < 0.3 * this.shape.size;
    return fits ? [...ends, ...boxCorners(link, pose)] : ends;
  }

  line(context, a, b, width, color) {
    const p = this.flat(a), q = this.flat(b);
    context.strokeStyle = color;
    context.lineWidth = width;
    context.lineCap = "round";
    context.beginPath();
    context.moveTo(p[0], p[1]);
    context.lineTo(q[0], q[1]);
    context.stroke();
  }

  drawGround(context) {
    const size = this.shape.size, color = this.color("line"), v = this.shape.view;
    // level with gravity, whatever the root's axes are
    const level = (x, y) => [0, 1, 2].map((i) => v[i] * x + v[3 + i] * y);
    for (let i = -4; i <= 4; i++) {
      const at = (i * size) / 4;
      this.line(context, level(at, -size), level(at, size), 0.5, color);
      this.line(context, level(-size, at), level(size, at), 0.5, color);
    }
    const directions = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    context.font = "12px system-ui, sans-serif";
    directions.forEach((d, i) => {
      const end = d.map((x) => x * size * 0.15);
      this.line(context, [0, 0, 0], end, 1.5, this.color("faint"));
      const [x, y] = this.flat(d.map((v) => v * size * 0.18));
      context.fillStyle = this.color("faint");
      context.fillText("xyz"[i], x - 3, y + 4);
    });
  }

  depth(...points) {
    return points.reduce((sum, p) => sum + this.flat(p)[2], 0) / points.length;
  }

  parts(poses) {
    const found = [], ink = this.color("ink");
    const segment = (a, b) => found.push({
      depth: this.depth(a, b), draw: (context) => this.line(context, a, b, 5, ink),
    });
    for (const end of this.shape.base) segment([0, 0, 0], end);
    this.shape.links.forEach((link, i) => {
      const pose = poses[i];
      for (const end of link.segments) segment(pose.origin, apply(pose, end));
      if (this.shown.axes) found.push(this.axis(link, pose));
      if (link.mass > 0 && this.shown.masses) found.push(this.ball(link, pose));
      if (link.box && this.shown.boxes) found.push(...this.faces(link, pose));
    });
    for (const closure of this.shape.closures) found.push(this.closure(closure, poses));
    return found;
  }

  // a ring around both ends, and a broken line between them where they are apart
  closure(closure, poses) {
    const ends = closure.ends.map((end) => apply(end.link < 0 ? HOME : poses[end.link], end.at));
    return { depth: this.depth(...ends) + 3e-6, draw: (context) => {
      context.setLineDash([4, 4]);
      this.line(context, ...ends, 2, this.color("bad"));
      context.setLineDash([]);
      context.strokeStyle = this.color("limit");
      for (const end of ends) {
        const [x, y] = this.flat(end);
        context.beginPath();
        context.arc(x, y, 8, 0, 2 * Math.PI);
        context.stroke();
      }
    } };
  }

  axis(link, pose) {
    const length = 0.07 * this.shape.size;
    const a = apply(pose, link.axis.map((x) => -length * x)), b = apply(pose, link.axis.map((x) => length * x));
    return { depth: this.depth(pose.origin) + 1e-6, draw: (context) => {
      this.line(context, a, b, 2.5, this.color("axis"));
      const p = this.flat(a), q = this.flat(b), turn = Math.atan2(q[1] - p[1], q[0] - p[0]);
      context.beginPath();
      context.moveTo(q[0] + 7 * Math.cos(turn), q[1] + 7 * Math.sin(turn));
      context.lineTo(q[0] + 5 * Math.cos(turn + 2.2), q[1] + 5 * Math.sin(turn + 2.2));
      context.lineTo(q[0] + 5 * Math.cos(turn - 2.2), q[1] + 5 * Math.sin(turn - 2.2));
      context.fillStyle = this.color("axis");
      context.fill();
    } };
  }

  ball(link, pose) {
    const at = apply(pose, link.com), radius = 3 + 10 * Math.cbrt(link.mass / this.heaviest);
    return { depth: this.depth(at) + 2e-6, draw: (context) => {
      const [x, y] = this.flat(at);
      context.globalAlpha = 0.8;
      context.fillStyle = this.color("second");
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
      context.globalAlpha = 1;
    } };
  }

  faces(link, pose) {
    const corners = boxCorners(link, pose), color = this.color("box");
    return BOX_FACES.map((face) => ({
      depth: this.depth(...face.map((i) => corners[i])), draw: (context) => {
        context.beginPath();
        for (const i of face) {
          const [x, y] = this.flat(corners[i]);
          context.lineTo(x, y);
        }
        context.closePath();
        context.fillStyle = color;
        context.strokeStyle = color;
        context.lineWidth = 1;
        context.globalAlpha = 0.1;
        context.fill();
        context.globalAlpha = 0.6;
        context.stroke();
        context.globalAlpha = 1;
      },
    }));
  }

  drawNames(context, poses) {
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = this.color("ink");
    this.shape.links.forEach((link, i) => {
      const [x, y] = this.flat(poses[i].origin);
      context.fillText(link.joint.slice(0, 40), x + 8, y - 6);
    });
  }
}
