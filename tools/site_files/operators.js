// Operators of one arm while its joints move.

const arms = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const cross = (p) => [[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]];
const product = (A, B) => A.map((row) => B[0].map((_, j) => row.reduce((sum, x, k) => sum + x * B[k][j], 0)));
const turned = (A) => A[0].map((_, j) => A.map((row) => row[j]));

// φ(k+1, k) for the vector from joint k+1 to joint k
function phi(l) {
  const x = cross(l);
  return [0, 1, 2, 3, 4, 5].map((i) => [0, 1, 2, 3, 4, 5].map((j) => {
    if (i === j) return 1;
    return i < 3 && j >= 3 ? x[i][j - 3] : 0;
  }));
}

class Operators {
  async choose(index) {
    const { info, module, links } = arms[index];
    const bytes = Uint8Array.from(atob(module), (letter) => letter.charCodeAt(0));
    const { instance } = await WebAssembly.instantiate(bytes);
    this.arm = boundModule(info)(instance.exports);
    this.links = links;
    this.n = links.length;
    this.q = info.joints.map((_, i) => (i % 2 ? -0.7 : 0.3));
    at("sliders").replaceChildren(...info.joints.map((name, i) => this.slider(name, i)));
    at("link").replaceChildren(...links.map((name, i) => {
      const option = document.createElement("option");
      option.value = String(i);
      option.textContent = `${this.n - i}: ${name}`;
      return option;
    }));
    at("link").value = String(this.n - 1);
    this.before = null;
    this.update();
  }

  slider(name, i) {
    const label = document.createElement("label"), text = document.createElement("span");
    const input = document.createElement("input"), output = document.createElement("output");
    text.textContent = name;
    Object.assign(input, { type: "range", min: -Math.PI, max: Math.PI, step: "any", value: this.q[i] });
    input.addEventListener("input", () => {
      this.q[i] = Number(input.value);
      this.update();
    });
    label.append(text, input, output);
    return label;
  }

  // every operator of link i, counted from the base, as rows
  of(i) {
    const { n, found } = this, block = (name, size) => Array.from(found[name].subarray(i * size, (i + 1) * size));
    const square = (values) => [0, 1, 2, 3, 4, 5].map((r) => values.slice(6 * r, 6 * r + 6));
    const k = n - i;
    return {
      [`φ(${k + 1},${k}): shift to the joint of the link inboard`]: phi(block("shift", 3)),
      [`H(${k}): axis of the joint`]: [block("H", 6)],
      [`M(${k}): inertia of the link`]: square(block("M", 36)),
      [`P(${k}): inertia with the free links outboard`]: square(block("P", 36)),
      [`D(${k}) = H P H*: inertia about the joint`]: [block("D", 1)],
      [`G(${k}) = P H* / D: gain`]: [block("G", 6)],
    };
  }

  // R(k) = φ R(k-1) φ* + M(k), and H(j) φ(j,k) R(k) H*(k), from the tip to the base
  massMatrix() {
    const n = this.n, mass = [...Array(n)].map(() => new Array(n).fill(0));
    const parts = [...Array(n).keys()].map((i) => Object.values(this.of(i)));
    let R = null;
    for (let i = n - 1; i >= 0; i--) {
      const [, H, M] = parts[i];
      R = R ? M.map((row, r) => row.map((x, c) => x + R[r][c])) : M;
      let column = product(R, turned(H));
      for (let j = i; j >= 0; j--) {
        mass[j][i] = mass[i][j] = product(parts[j][1], column)[0][0];
        column = product(parts[j][0], column);
      }
      R = product(product(parts[i][0], R), turned(parts[i][0]));
    }
    return mass;
  }

  update() {
    this.found = this.arm.operators(this.q);
    const shown = this.of(Number(at("link").value) || 0);
    [...at("sliders").children].forEach((label, i) => {
      label.lastChild.textContent = `${this.q[i].toFixed(3)} rad`;
      label.children[1].setAttribute("aria-valuetext", label.lastChild.textContent);
    });
    at("operators").replaceChildren(...Object.entries(shown).map(([title, rows]) => this.table(title, rows)));
    const mass = this.massMatrix();
    at("mass").tBodies[0].replaceChildren(...mass.map((row) => this.row(row)));
    const d = Array.from(this.found.D), whole = d.reduce((a, b) => a * b, 1);
    at("words").textContent = `The product of all D is the determinant of the mass matrix: ${whole.toPrecision(6)}.`;
    this.before = shown;
    this.draw();
  }

  table(title, rows) {
    const box = document.createElement("div"), table = document.createElement("table");
    box.className = "table";
    table.createCaption().textContent = title;
    const body = table.createTBody(), before = this.before && this.before[title];
    rows.forEach((row, i) => body.append(this.row(row, before && before[i])));
    box.append(table);
    return box;
  }

  row(values, before) {
    const row = document.createElement("tr");
    values.forEach((value, j) => {
      const cell = row.insertCell();
      cell.textContent = Math.abs(value) < 1e-14 ? "0" : Number(value.toPrecision(4)).toString();
      if (before && Math.abs(before[j] - value) > 1e-12) cell.className = "changed";
    });
    return row;
  }

  // the plane with the larger extent
  draw() {
    const canvas = at("view"), ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d"), colors = getComputedStyle(document.documentElement);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const points = [[0, 0, 0]];
    for (let i = 0; i < this.n; i++) {
      const last = points[points.length - 1];
      points.push(last.map((x, j) => x + this.found.shift[3 * i + j]));
    }
    // the link beyond the last joint ends at its centre of mass
    const tip = 36 * (this.n - 1), m = this.found.M[tip + 35] || 1, M = this.found.M;
    const end = points[points.length - 1];
    points.push([end[0] + M[tip + 16] / m, end[1] + M[tip + 5] / m, end[2] + M[tip + 9] / m]);
    const flat = arms[Number(at("arm").value)].info.name === "two-link" ? [0, 1] : [0, 2];
    const reach = 1.1 * Math.max(0.1, ...points.flat().map(Math.abs));
    const scale = Math.min(width, height) / 2 / reach;
    const place = (p) => [width / 2 + scale * p[flat[0]], height / 2 - scale * p[flat[1]]];
    const chosen = Number(at("link").value) || 0;
    points.slice(1).forEach((p, i) => {
      context.strokeStyle = colors.getPropertyValue(i - 1 === chosen ? "--second" : "--body-dark").trim();
      context.lineWidth = i - 1 === chosen ? 7 : 4;
      context.lineCap = "round";
      context.beginPath();
      context.moveTo(...place(points[i]));
      context.lineTo(...place(p));
      context.stroke();
    });
    context.fillStyle = colors.getPropertyValue("--first").trim();
    for (const p of points.slice(1, -1)) {
      context.beginPath();
      context.arc(...place(p), 5, 0, 2 * Math.PI);
      context.fill();
    }
    canvas.setAttribute("aria-label", `The arm at ${this.q.map((x) => x.toFixed(2)).join(", ")} rad`);
  }
}

const page = new Operators();
arms.forEach(({ info }, i) => {
  const option = document.createElement("option");
  option.value = String(i);
  option.textContent = info.name;
  at("arm").append(option);
});
at("arm").addEventListener("change", () => page.choose(Number(at("arm").value)));
at("link").addEventListener("change", () => { page.before = null; page.update(); });
window.addEventListener("resize", () => page.draw());
page.choose(0).then(() => { document.documentElement.dataset.ready = "true"; });
window.robolinOperators = page;
