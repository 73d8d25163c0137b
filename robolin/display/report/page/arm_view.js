// The robot on a canvas: links as meshes or capsules, joint axes, centres of mass, inertias as boxes.
// Matrices are nine numbers, row by row; everything is in the axes of the arm's root.

const FIRST_YAW = 0.6;
const FIRST_PITCH = 0.35;

// A canvas, cleared, in units of the page, with the colours of the style; null while it has no size.
// A canvas of the same size keeps its memory, which is faster.
function clearedCanvas(canvas) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width || !height) return null;
  const size = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
  const context = canvas.getContext("2d"), colors = getComputedStyle(document.documentElement), known = {};
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  Object.assign(context, { lineWidth: 1, lineCap: "butt", globalAlpha: 1 });
  const color = (name) => (known[name] ??= colors.getPropertyValue(`--${name}`).trim());
  return { canvas, context, width, height, ratio, color };
}

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

function rotationAbout(axis, angle) {
  const [x, y, z] = axis, c = Math.cos(angle), s = Math.sin(angle), d = 1 - c;
  return [
    c + d * x * x, d * x * y - s * z, d * x * z + s * y,
    d * x * y + s * z, c + d * y * y, d * y * z - s * x,
    d * x * z - s * y, d * y * z + s * x, c + d * z * z,
  ];
}

// Give every link its numbers; each kind is packed for all links.
function unpackLinks(shape, numbers) {
  for (const [name, place] of Object.entries(shape.packed)) {
    const all = numbers(place), size = all.length / shape.links.length;
    shape.links.forEach((link, i) => { link[name] = Array.from(all.subarray(i * size, (i + 1) * size)); });
  }
  return shape;
}

const HOME = { rotation: [1, 0, 0, 0, 1, 0, 0, 0, 1], origin: [0, 0, 0] };

// Poses of all links at positions q.
function linkPoses(shape, q) {
  const poses = [];
  for (const link of shape.links) {
    const inboard = link.parent < 0 ? HOME : poses[link.parent];
    const value = link.ratio * q[link.place] + link.offset;
    const seat = product(inboard.rotation, link.rotation);
    let origin = apply(inboard, link.translation);
    let rotation = seat;
    if (link.turns) {
      rotation = product(seat, rotationAbout(link.axis, value));
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
  constructor(figure, shape, name, later) {
    this.shape = shape;
    // positions of other times, which have to fit into the view
    this.later = later;
    this.name = name;
    this.canvas = figure.querySelector("canvas");
    this.solids = shape.meshes.length ? new Solids(shape) : null;
    this.shown = { meshes: true, boxes: false, masses: false, axes: true, names: false };
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

  // right, up and towards the viewer
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
    const cleared = clearedCanvas(this.canvas);
    if (!cleared) return;
    const { canvas, context, width, height, ratio, color } = cleared;
    const poses = linkPoses(this.shape, this.q);
    this.poses = poses;
    if (!this.centre) this.fit(poses);
    // the first pose fills 70 % of the canvas, and the whole motion stays inside
    const fitted = (reach, share) => Math.min((share * width) / (2 * reach[0]), (share * height) / (2 * reach[1]));
    const scale = this.zoom * Math.min(fitted(this.reach, 0.7), fitted(this.farthest, 0.97));
    const middle = this.seen(this.centre);
    this.flat = (p) => {
      const [x, y, depth] = this.seen(p);
      return [width / 2 + scale * (x - middle[0]), height / 2 - scale * (y - middle[1]), depth];
    };
    this.scale = scale;
    this.color = color;
    const solid = this.solids && this.shown.meshes, capsules = solid ? [] : this.capsules(poses);
    this.drawGround(context);
    if (solid) this.drawSolids(context, poses, width, height, ratio);
    this.drawShadow(context, capsules);
    const parts = this.parts(poses, capsules);
    // parts that are farther away are drawn first
    parts.sort((a, b) => a.depth - b.depth);
    for (const part of parts) part.draw(context);
    if (this.overlay) this.overlay(context);
    if (this.shown.names) this.drawNames(context, poses);
    const tip = poses[poses.length - 1].origin;
    canvas.setAttribute("aria-label",
      `${this.name}: last link at x ${tip[0].toFixed(3)}, y ${tip[1].toFixed(3)}, z ${tip[2].toFixed(3)} m`);
  }

  // while the robot moves, a slow computer draws it less sharply
  drawSolids(context, poses, width, height, ratio) {
    const started = performance.now(), quick = this.slow && started - this.lastDrawn < 400;
    this.solids.drawShadow(this, context, poses, width, height);
    this.solids.draw(this, context, poses, width, height, quick ? Math.min(ratio, 1) : Math.max(ratio, 2));
    this.lastDrawn = performance.now();
    if (!quick) this.slow = this.lastDrawn - started > 30;
    clearTimeout(this.settled);
    if (quick) this.settled = setTimeout(() => this.draw(), 450);
  }

  // centre of the first pose in the first view, and half of its width and height on the canvas
  fit(poses) {
    const [yaw, pitch] = [this.yaw, this.pitch];
    [this.yaw, this.pitch] = [FIRST_YAW, FIRST_PITCH];
    const flat = (list) => this.outline(list).map(([p, r]) => [this.seen(p), r]);
    const first = flat(poses), all = [...first, ...this.later.flatMap((q) => flat(linkPoses(this.shape, q)))];
    const range = (points, i) =>
      [Math.min(...points.map(([p, r]) => p[i] - r)), Math.max(...points.map(([p, r]) => p[i] + r))];
    const half = (points, i) => (([low, high]) => (high - low) / 2)(range(points, i));
    // a motion that leaves the view of the first pose has its own centre
    const wide = [0, 1].some((i) => half(all, i) > 1.3 * half(first, i));
    const middle = [0, 1, 2].map((i) => (([low, high]) => (low + high) / 2)(range(wide ? all : first, i)));
    const rows = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((axis) => this.seen(axis));
    this.centre = rows.map((row) => row[0] * middle[0] + row[1] * middle[1] + row[2] * middle[2]);
    this.reach = [0, 1].map((i) => half(first, i) || 1);
    this.farthest = [0, 1].map((i) =>
      Math.max(this.reach[i], ...all.map(([p, r]) => Math.abs(p[i] - middle[i]) + r)));
    // a robot without a fixed base stands on the ground
    const v = this.shape.view, height = (p) => v[6] * p[0] + v[7] * p[1] + v[8] * p[2];
    this.ground = this.shape.floating ? Math.min(...this.outline(poses).map(([p, r]) => height(p) - r)) : 0;
    [this.yaw, this.pitch] = [yaw, pitch];
  }

  // points of the meshes, or of the capsules with their radii
  outline(poses) {
    if (this.solids) return this.solids.outline(poses).map((p) => [p, 0]);
    return [[[0, 0, 0], 0], ...this.capsules(poses).flatMap(({ a, b, radius }) => [[a, radius], [b, radius]])];
  }

  // joint to joint and to the centre of mass
  capsules(poses) {
    const { base, links } = this.shape, found = [];
    const thickest = Math.max(...links.map((link) => link.radius[0]));
    for (const end of base) found.push({ a: [0, 0, 0], b: end, radius: thickest });
    links.forEach((link, i) => {
      const ends = link.mass > 0 ? [...link.segments, link.com] : link.segments;
      for (const end of ends) found.push({ a: poses[i].origin, b: apply(poses[i], end), radius: link.radius[0] });
    });
    return found;
  }

  // shading across the axis makes a line with round ends look like a cylinder
  capsule(context, a, b, radius, colors) {
    const p = this.flat(a), q = this.flat(b), half = Math.max(this.scale * radius, 1.5);
    let [x, y] = [q[1] - p[1], p[0] - q[0]];
    const length = Math.hypot(x, y);
    [x, y] = length > 0.5 ? [x / length, y / length] : [-0.6, -0.8];
    // light comes from above and from the left
    if (0.6 * x + 0.8 * y > 0) [x, y] = [-x, -y];
    const shade = context.createLinearGradient(p[0] + half * x, p[1] + half * y, p[0] - half * x, p[1] - half * y);
    [0, 0.35, 1].forEach((at, i) => shade.addColorStop(at, this.color(colors[i])));
    context.strokeStyle = shade;
    context.lineWidth = 2 * half;
    context.lineCap = "round";
    context.beginPath();
    context.moveTo(p[0], p[1]);
    context.lineTo(q[0] + 0.01, q[1]);
    context.stroke();
  }

  // straight down on the ground, for parts above it
  drawShadow(context, capsules) {
    const v = this.shape.view, height = (p) => v[6] * p[0] + v[7] * p[1] + v[8] * p[2];
    const down = (p) => p.map((x, i) => x - (height(p) - this.ground) * v[6 + i]);
    for (const { a, b, radius } of capsules) {
      if (Math.min(height(a), height(b)) > this.ground - radius) {
        this.line(context, down(a), down(b), Math.max(1.6 * this.scale * radius, 2), this.color("shadow"));
      }
    }
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
    // level with gravity for any axes of the root
    const level = (x, y) => [0, 1, 2].map((i) => v[i] * x + v[3 + i] * y + v[6 + i] * this.ground);
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

  parts(poses, capsules) {
    const found = capsules.map(({ a, b, radius }) => ({
      depth: this.depth(a, b),
      draw: (context) => this.capsule(context, a, b, radius, ["body-light", "body", "body-dark"]),
    }));
    this.shape.links.forEach((link, i) => {
      const pose = poses[i];
      if (capsules.length && link.turns && link.radius[0]) found.push(this.hub(link, pose));
      if (this.shown.axes) found.push(this.axis(link, pose));
      if (link.mass > 0 && this.shown.masses) found.push(this.ball(link, pose));
      if (link.box && this.shown.boxes) found.push(...this.faces(link, pose));
    });
    for (const closure of this.shape.closures) found.push(this.closure(closure, poses));
    return found;
  }

  // revolute joint: a short cylinder about its axis
  hub(link, pose) {
    const radius = link.radius[0], at = (s) => apply(pose, link.axis.map((x) => s * radius * x));
    return { depth: this.depth(pose.origin) + 1e-7, draw: (context) =>
      this.capsule(context, at(-0.45), at(0.45), 1.04 * radius, ["hub-light", "hub", "hub-dark"]) };
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
    const length = 2.2 * link.radius[0];
    const a = pose.origin, b = apply(pose, link.axis.map((x) => length * x));
    return { depth: this.depth(b) + 1e-6, draw: (context) => {
      this.line(context, a, b, 2, this.color("axis"));
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
    return { depth: Infinity, draw: (context) => {
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
