// Meshes of the robot on a canvas, with a depth buffer: no WebGL, so every browser and printer shows them.

function shorts(text) {
  const bytes = atob(text), found = new Uint16Array(bytes.length / 2);
  for (let i = 0; i < found.length; i++) found[i] = bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8);
  return found;
}

// cosine between a face and a vertex normal from which an edge is drawn sharp
const CREASE = 0.7;

class Mesh {
  constructor({ low, step, points, triangles }) {
    this.points = Float32Array.from(shorts(points), (x, i) => low[i % 3] + step * x);
    this.triangles = shorts(triangles);
    this.normals = this.cornerNormals();
  }

  faceNormals() {
    const { points: p, triangles: t } = this, found = new Float32Array(t.length);
    for (let f = 0; f < t.length; f += 3) {
      const [a, b, c] = [3 * t[f], 3 * t[f + 1], 3 * t[f + 2]];
      const u = [0, 1, 2].map((k) => p[b + k] - p[a + k]), v = [0, 1, 2].map((k) => p[c + k] - p[a + k]);
      for (let k = 0; k < 3; k++) found[f + k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
    }
    return found;
  }

  // smooth over rounded surfaces, that of the face at sharp edges
  cornerNormals() {
    const t = this.triangles, faces = this.faceNormals();
    const sums = new Float32Array(this.points.length), found = new Float32Array(3 * t.length);
    for (let i = 0; i < t.length; i++) for (let k = 0; k < 3; k++) sums[3 * t[i] + k] += faces[i - (i % 3) + k];
    for (let i = 0; i < t.length; i++) {
      const f = i - (i % 3), v = 3 * t[i];
      const size = Math.hypot(faces[f], faces[f + 1], faces[f + 2]) || 1;
      const length = Math.hypot(sums[v], sums[v + 1], sums[v + 2]) || 1;
      const along = (faces[f] * sums[v] + faces[f + 1] * sums[v + 1] + faces[f + 2] * sums[v + 2]) / (size * length);
      for (let k = 0; k < 3; k++) found[3 * i + k] = along > CREASE ? sums[v + k] / length : faces[f + k] / size;
    }
    return found;
  }
}

class Solids {
  constructor(shape) {
    const meshes = shape.meshes.map((mesh) => new Mesh(mesh));
    this.parts = shape.parts.map((part) => ({ ...part, mesh: meshes[part.mesh] }));
    this.canvas = document.createElement("canvas");
  }

  placed(part, poses) {
    const on = part.link < 0 ? HOME : poses[part.link];
    return { rotation: product(on.rotation, part.rotation), origin: apply(on, part.origin) };
  }

  // some points of every part
  outline(poses) {
    return this.parts.flatMap((part) => {
      const { points } = part.mesh, pose = this.placed(part, poses), found = [];
      const step = 3 * Math.ceil(points.length / 3 / 60);
      for (let i = 0; i < points.length; i += step) found.push(apply(pose, points.subarray(i, i + 3)));
      return found;
    });
  }

  // matrix and offset from points of a part to pixels and depth
  projection(view, pose, scale, size, map) {
    const rows = [0, 1, 2].map((k) => view.seen(map([0, 1, 2].map((i) => pose.rotation[3 * i + k]), true)));
    const o = view.seen(map(pose.origin, false)), m = view.seen(view.centre);
    const factor = [scale, -scale, scale], shift = [size[0] / 2, size[1] / 2, 0];
    return {
      rows: [0, 1, 2].map((r) => [0, 1, 2].map((k) => factor[r] * rows[k][r])),
      offset: [0, 1, 2].map((r) => factor[r] * (o[r] - m[r]) + shift[r]),
    };
  }

  screen(mesh, { rows, offset }) {
    const p = mesh.points, found = new Float32Array(p.length);
    for (let r = 0; r < 3; r++) {
      const [x, y, z] = rows[r], shift = offset[r];
      for (let i = 0; i < p.length; i += 3) found[i + r] = x * p[i] + y * p[i + 1] + z * p[i + 2] + shift;
    }
    return found;
  }

  // solids in front of each other by depth; light comes from above and from the left
  draw(view, context, poses, width, height, sharp) {
    const size = [Math.round(width * sharp), Math.round(height * sharp)];
    const pixels = new Uint32Array(size[0] * size[1]), depth = new Float32Array(size[0] * size[1]).fill(-Infinity);
    const body = rgb(view.color("body")), floor = rgb(view.color("shade"));
    // on a dark page black parts stay visible
    const lift = floor[0] + floor[1] + floor[2] < 1 ? 0.16 : 0;
    for (const part of this.parts) {
      const pose = this.placed(part, poses);
      const place = this.projection(view, pose, view.scale * sharp, size, (p) => p);
      const p = this.screen(part.mesh, place), { triangles: t, normals: n } = part.mesh;
      const [[a0, a1, a2], [b0, b1, b2], [c0, c1, c2]] = place.rows.map((row) => row.map((x) => x / (view.scale * sharp)));
      const colour = (part.colour || body).map((x) => 255 * (lift + (1 - lift) * x));
      const light = (i, side) => {
        const u = side * n[i], v = side * n[i + 1], w = side * n[i + 2];
        const x = a0 * u + a1 * v + a2 * w, y = b0 * u + b1 * v + b2 * w, z = c0 * u + c1 * v + c2 * w;
        return Math.min(1, 0.5 - 0.12 * y + 0.48 * Math.max(0, -0.4 * x - 0.6 * y + 0.69 * z));
      };
      for (let f = 0; f < t.length; f += 3) {
        const a = 3 * t[f], b = 3 * t[f + 1], c = 3 * t[f + 2];
        const area = (p[b] - p[a]) * (p[c + 1] - p[a + 1]) - (p[c] - p[a]) * (p[b + 1] - p[a + 1]);
        if (Math.abs(area) < 1e-6) continue;
        // both sides of a surface are visible
        const side = area < 0 ? 1 : -1;
        fillTriangle(p, a, b, c, area, light(3 * f, side), light(3 * f + 3, side), light(3 * f + 6, side), colour, pixels, depth, size);
      }
    }
    context.imageSmoothingQuality = "high";
    context.drawImage(this.image(pixels, size), 0, 0, width, height);
  }

  // straight down on the ground, coarse, so that its edge is soft
  drawShadow(view, context, poses, width, height) {
    const sharp = 0.3, size = [Math.ceil(width * sharp), Math.ceil(height * sharp)];
    const pixels = new Uint32Array(size[0] * size[1]), depth = new Float32Array(size[0] * size[1]).fill(-Infinity);
    const up = view.shape.view.slice(6), above = (p) => up[0] * p[0] + up[1] * p[1] + up[2] * p[2];
    const shade = rgb(view.color("shadow")).map((x) => 255 * x);
    for (const part of this.parts) {
      const down = (p, direction) => p.map((x, i) => x - (above(p) - (direction ? 0 : view.ground)) * up[i]);
      const pose = this.placed(part, poses);
      if (above(pose.origin) < view.ground) continue;
      const p = this.screen(part.mesh, this.projection(view, pose, view.scale * sharp, size, down)), t = part.mesh.triangles;
      for (let f = 0; f < t.length; f += 3) {
        const a = 3 * t[f], b = 3 * t[f + 1], c = 3 * t[f + 2];
        const area = (p[b] - p[a]) * (p[c + 1] - p[a + 1]) - (p[c] - p[a]) * (p[b + 1] - p[a + 1]);
        if (Math.abs(area) > 1e-6) fillTriangle(p, a, b, c, area, 1, 1, 1, shade, pixels, depth, size);
      }
    }
    const image = this.image(pixels, size);
    context.imageSmoothingQuality = "low";
    context.globalAlpha = 0.25;
    for (let k = 0; k < 8; k++) context.drawImage(image, 4 * Math.cos((k * Math.PI) / 4), 2 * Math.sin((k * Math.PI) / 4), width, height);
    context.globalAlpha = 1;
  }

  image(pixels, size) {
    [this.canvas.width, this.canvas.height] = size;
    this.canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), ...size), 0, 0);
    return this.canvas;
  }
}

// red, green and blue from 0 to 1 of a colour as #rrggbb
const rgb = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16) / 255);

// pixels of a triangle whose depth is nearest so far; brightness and depth are linear in it
function fillTriangle(p, a, b, c, area, la, lb, lc, [red, green, blue], pixels, depth, [width, height]) {
  const x0 = p[a], y0 = p[a + 1], z0 = p[a + 2], x1 = p[b], y1 = p[b + 1], x2 = p[c], y2 = p[c + 1];
  const top = Math.max(0, Math.ceil(Math.min(y0, y1, y2) - 0.5));
  const bottom = Math.min(height - 1, Math.floor(Math.max(y0, y1, y2) - 0.5));
  const dx1 = (x1 - x0) / area, dx2 = (x2 - x0) / area, dy1 = (y1 - y0) / area, dy2 = (y2 - y0) / area;
  const z1 = p[b + 2] - z0, z2 = p[c + 2] - z0, l1 = lb - la, l2 = lc - la;
  const zx = z1 * dy2 - z2 * dy1, zy = dx1 * z2 - dx2 * z1, lx = l1 * dy2 - l2 * dy1, ly = dx1 * l2 - dx2 * l1;
  for (let row = top; row <= bottom; row++) {
    const at = row + 0.5;
    let left = Infinity, right = -Infinity, cross;
    if (y0 > at !== y1 > at) {
      left = right = x0 + ((at - y0) / (y1 - y0)) * (x1 - x0);
    }
    if (y1 > at !== y2 > at) {
      cross = x1 + ((at - y1) / (y2 - y1)) * (x2 - x1);
      left = Math.min(left, cross);
      right = Math.max(right, cross);
    }
    if (y2 > at !== y0 > at) {
      cross = x2 + ((at - y2) / (y0 - y2)) * (x0 - x2);
      left = Math.min(left, cross);
      right = Math.max(right, cross);
    }
    const first = Math.max(0, Math.ceil(left - 0.5)), last = Math.min(width - 1, Math.floor(right - 0.5));
    let d = z0 + zx * (first + 0.5 - x0) + zy * (at - y0);
    let l = la + lx * (first + 0.5 - x0) + ly * (at - y0);
    for (let i = row * width + first, end = row * width + last; i <= end; i++, d += zx, l += lx) {
      if (d <= depth[i]) continue;
      depth[i] = d;
      pixels[i] = 0xff000000 | ((blue * l) << 16) | ((green * l) << 8) | (red * l);
    }
  }
}
