
/** Meaning of a status: 0, the number of a joint counted from 1, -1 or -2. */
export function explain(status) {
  if (status === 0) return "success";
  if (status > 0) return `joint '${info.joints[status - 1]}' moves no inertia: no result exists`;
  return status === -1
    ? "an angle is NaN, or larger than 2^20 rad"
    : "the state is singular: the result does not exist";
}

/** Instantiate the module: from its bytes, a Response or a URL; by default the file of this arm. */
export async function load(source = new URL(info.file, import.meta.url)) {
  let bytes = source;
  if (source instanceof URL && source.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    bytes = await readFile(source);
  } else if (source instanceof URL || typeof source === "string") {
    bytes = await fetch(source);
  }
  if (typeof Response !== "undefined" && bytes instanceof Response) {
    if (!bytes.ok) throw new Error(`${bytes.url}: HTTP status ${bytes.status}`);
    bytes = await bytes.arrayBuffer();
  }
  const { instance } = await WebAssembly.instantiate(bytes);
  return bind(instance.exports);
}

/** Functions of an instance of the module. */
export function bind(exports) {
  const memory = exports.memory.buffer;
  const view = ({ address, shape }) =>
    new Float64Array(memory, address, shape.reduce((product, size) => product * size, 1));
  const arm = {};
  for (const [name, { inputs, results }] of Object.entries(info.functions)) {
    const names = Object.keys(inputs);
    const given = Object.values(inputs).map(view);
    const found = Object.entries(results).map(([key, result]) => [key, view(result)]);
    arm[name] = (...values) => {
      if (values.length !== names.length) {
        throw new TypeError(`${name}: takes ${names.join(", ")}, got ${values.length} arguments`);
      }
      values.forEach((value, i) => {
        if (value?.length !== given[i].length) {
          const length = given[i].length;
          throw new TypeError(`${name}: ${names[i]} must have ${length} numbers, got ${value?.length}`);
        }
        given[i].set(value);
      });
      const result = { status: exports[name]() };
      for (const [key, numbers] of found) result[key] = numbers.slice();
      return result;
    };
  }
  return Object.assign(arm, settings(memory));
}

/** Changes of the arm; only code with loops reads its numbers from memory. */
function settings(memory) {
  const model = info.model;
  const tables = () => {
    if (model === null) throw new Error("constants are folded: generate with --layout loops");
    return model.numbers.map((address) => new Float64Array(memory, address));
  };
  const payloads = new Map();
  return {
    set_gravity(gravity) {
      if (gravity?.length !== 3) throw new TypeError("set_gravity: takes x, y, z in m/s²");
      for (const table of tables()) table.set(gravity, 0);
    },
    set_payload(frame, mass, position = [0, 0, 0]) {
      const places = tables();
      const at = model.frames[frame];
      if (at === undefined) throw new RangeError(`set_payload: link '${frame}' does not move`);
      if (!(mass >= 0 && mass < Infinity)) throw new RangeError("set_payload: mass must be ≥ 0");
      payloads.set(frame, { link: at.link, mass, com: placed(at, position) });
      const here = [...payloads.values()].filter((each) => each.link === at.link);
      const own = model.links[at.link - 1];
      const body = merged([own, ...here.map((each) => ({ ...each, rotary: [0, 0, 0, 0, 0, 0] }))]);
      const numbers = [body.mass, ...rotated(own.axes, body.com), ...turned(own.axes, body.rotary)];
      for (const table of places) table.set(numbers, model.start + model.stride * (at.link - 1));
    },
  };
}

// the arithmetic of robolin's model reader, in the same order: the same bits

const rotated = (R, [x, y, z]) =>
  [0, 3, 6].map((i) => R[i] * x + R[i + 1] * y + R[i + 2] * z);

const placed = ({ rotation, translation }, point) =>
  rotated(rotation, point).map((x, i) => x + translation[i]);

const product = (A, B) =>
  [0, 3, 6].flatMap((i) =>
    [0, 1, 2].map((j) => A[i] * B[j] + A[i + 1] * B[j + 3] + A[i + 2] * B[j + 6]));

function turned(R, [xx, xy, xz, yy, yz, zz]) {
  const back = [R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]];
  const full = product(product(R, [xx, xy, xz, xy, yy, yz, xz, yz, zz]), back);
  return [full[0], full[1], full[2], full[4], full[5], full[8]];
}

/** Sum of rigid bodies by the parallel-axis theorem. */
function merged(bodies) {
  const parts = bodies.filter((body) => body.mass || body.rotary.some(Boolean));
  if (parts.length <= 1) return parts[0] ?? { mass: 0, com: [0, 0, 0], rotary: [0, 0, 0, 0, 0, 0] };
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const mass = sum(parts.map((part) => part.mass));
  const heavy = parts.filter((part) => part.mass);
  let com = (heavy[0] ?? parts[0]).com;
  if (heavy.length > 1) {
    com = [0, 1, 2].map((i) => sum(heavy.map((part) => part.mass * part.com[i])) / mass);
  }
  const about = parts.map(({ mass: m, com: c, rotary: [xx, xy, xz, yy, yz, zz] }) => {
    const [x, y, z] = c.map((value, i) => value - com[i]);
    return [
      xx + m * (y * y + z * z), xy - m * x * y, xz - m * x * z,
      yy + m * (x * x + z * z), yz - m * y * z, zz + m * (x * x + y * y),
    ];
  });
  return { mass, com, rotary: [0, 1, 2, 3, 4, 5].map((i) => sum(about.map((row) => row[i]))) };
}
