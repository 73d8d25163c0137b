// Small dense linear algebra in doubles: matrices are arrays of rows.
// eigenvalues: Householder reduction to Hessenberg form, then Francis' double-shift QR steps
// (Golub & Van Loan, Matrix Computations, 7.5). riccati: matrix sign function of the Hamiltonian
// (Roberts 1980), by Newton iteration with determinant scaling.

const identity = (n) => Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => +(i === j)));
const transposed = (A) => A[0].map((_, j) => A.map((row) => row[j]));
const matmul = (A, B) => {
  const columns = B[0].length;
  return A.map((row) => {
    const out = new Array(columns).fill(0);
    row.forEach((x, k) => { if (x) for (let j = 0; j < columns; j++) out[j] += x * B[k][j]; });
    return out;
  });
};
const combined = (A, B, b) => A.map((row, i) => row.map((x, j) => x + b * B[i][j]));
const stacked = (...blocks) => blocks.flatMap((row) => row[0].map((_, i) => row.flatMap((block) => block[i])));

// Solve A X = B by elimination with row pivots; null for a singular matrix. Also log2 |det A|.
function solved(A, B) {
  const n = A.length, width = n + B[0].length;
  const rows = A.map((row, i) => {
    const full = new Float64Array(width);
    full.set(row);
    full.set(B[i], n);
    return full;
  });
  let size = 0;
  for (let k = 0; k < n; k++) {
    let best = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(rows[i][k]) > Math.abs(rows[best][k])) best = i;
    if (!rows[best][k] || !Number.isFinite(rows[best][k])) return null;
    [rows[k], rows[best]] = [rows[best], rows[k]];
    const pivot = rows[k];
    size += Math.log2(Math.abs(pivot[k]));
    for (let i = k + 1; i < n; i++) {
      const row = rows[i], factor = row[k] / pivot[k];
      if (factor) for (let j = k; j < width; j++) row[j] -= factor * pivot[j];
    }
  }
  const X = new Array(n);
  for (let i = n - 1; i >= 0; i--) {
    X[i] = Array.from(rows[i].subarray(n));
    for (let k = i + 1; k < n; k++) {
      const factor = rows[i][k];
      if (factor) for (let j = 0; j < X[i].length; j++) X[i][j] -= factor * X[k][j];
    }
    for (let j = 0; j < X[i].length; j++) X[i][j] /= rows[i][i];
  }
  return { X, size };
}

// Powers of two that give rows and columns of a matrix similar sizes, for accurate eigenvalues.
function balanced(A) {
  const H = A.map((row) => [...row]), n = H.length;
  for (let changed = true; changed;) {
    changed = false;
    for (let i = 0; i < n; i++) {
      let row = 0, column = 0;
      for (let j = 0; j < n; j++) if (j !== i) { row += Math.abs(H[i][j]); column += Math.abs(H[j][i]); }
      if (!row || !column) continue;
      const factor = 2 ** Math.round(Math.log2(row / column) / 2);
      if (column * factor + row / factor < 0.95 * (row + column)) {
        changed = true;
        for (let j = 0; j < n; j++) H[i][j] /= factor;
        for (let j = 0; j < n; j++) H[j][i] *= factor;
      }
    }
  }
  return H;
}

function hessenberg(A) {
  const H = balanced(A), n = H.length;
  for (let k = 0; k < n - 2; k++) {
    const v = new Array(n).fill(0);
    let size = 0;
    for (let i = k + 1; i < n; i++) { v[i] = H[i][k]; size += v[i] * v[i]; }
    const length = Math.sqrt(size);
    if (!length || size === v[k + 1] * v[k + 1]) continue;
    v[k + 1] += v[k + 1] < 0 ? -length : length;
    const norm = v.reduce((sum, x) => sum + x * x, 0);
    for (let j = 0; j < n; j++) {
      let dot = 0;
      for (let i = k + 1; i < n; i++) dot += v[i] * H[i][j];
      for (let i = k + 1; i < n; i++) H[i][j] -= (2 * dot / norm) * v[i];
    }
    for (let i = 0; i < n; i++) {
      let dot = 0;
      for (let j = k + 1; j < n; j++) dot += v[j] * H[i][j];
      for (let j = k + 1; j < n; j++) H[i][j] -= (2 * dot / norm) * v[j];
    }
    for (let i = k + 2; i < n; i++) H[i][k] = 0;
  }
  return H;
}

// Eigenvalues [re, im] of a real matrix; null if the iteration does not converge.
function eigenvalues(A) {
  const H = hessenberg(A), found = [], tiny = 2 ** -52;
  let last = H.length - 1, rounds = 0, shift = 0;
  while (last >= 0) {
    let first = last;
    for (; first > 0; first--) {
      const scale = Math.abs(H[first - 1][first - 1]) + Math.abs(H[first][first]);
      if (Math.abs(H[first][first - 1]) <= tiny * (scale || 1)) { H[first][first - 1] = 0; break; }
    }
    let x = H[last][last];
    if (first === last) { found.push([x + shift, 0]); last--; rounds = 0; continue; }
    let y = H[last - 1][last - 1], w = H[last][last - 1] * H[last - 1][last];
    if (first === last - 1) {
      const p = (y - x) / 2, q = p * p + w, z = Math.sqrt(Math.abs(q));
      if (q >= 0) {
        const s = p + (p < 0 ? -z : z);
        found.push([x + shift + s, 0], [s ? x + shift - w / s : x + shift, 0]);
      } else {
        found.push([x + shift + p, z], [x + shift + p, -z]);
      }
      last -= 2; rounds = 0; continue;
    }
    if (++rounds > 90) return null;
    if (rounds % 10 === 0) {
      // exceptional shift
      shift += x;
      for (let i = 0; i <= last; i++) H[i][i] -= x;
      const s = Math.abs(H[last][last - 1]) + Math.abs(H[last - 1][last - 2]);
      x = y = 0.75 * s; w = -0.4375 * s * s;
    }
    francisStep(H, first, last, x, y, w);
  }
  return found;
}

function francisStep(H, first, last, x, y, w) {
  const tiny = 2 ** -52;
  let m = last - 2, p, q, r;
  for (; m >= first; m--) {
    const z = H[m][m], a = x - z, b = y - z;
    p = (a * b - w) / H[m + 1][m] + H[m][m + 1];
    q = H[m + 1][m + 1] - z - a - b;
    r = H[m + 2][m + 1];
    const s = Math.abs(p) + Math.abs(q) + Math.abs(r);
    p /= s; q /= s; r /= s;
    if (m === first) break;
    const near = Math.abs(p) * (Math.abs(H[m - 1][m - 1]) + Math.abs(z) + Math.abs(H[m + 1][m + 1]));
    if (Math.abs(H[m][m - 1]) * (Math.abs(q) + Math.abs(r)) <= tiny * near) break;
  }
  for (let i = m + 2; i <= last; i++) { H[i][i - 2] = 0; if (i > m + 2) H[i][i - 3] = 0; }
  for (let k = m; k < last; k++) {
    const three = k < last - 1;
    let scale = 1;
    if (k > m) {
      p = H[k][k - 1]; q = H[k + 1][k - 1]; r = three ? H[k + 2][k - 1] : 0;
      scale = Math.abs(p) + Math.abs(q) + Math.abs(r);
      if (!scale) continue;
      p /= scale; q /= scale; r /= scale;
    }
    const s = (p < 0 ? -1 : 1) * Math.sqrt(p * p + q * q + r * r);
    if (!s) continue;
    if (k > m) H[k][k - 1] = -s * scale;
    else if (m !== first) H[k][k - 1] = -H[k][k - 1];
    p += s;
    const a = p / s, b = q / s, c = r / s;
    q /= p; r /= p;
    for (let j = k; j <= last; j++) {
      const t = H[k][j] + q * H[k + 1][j] + (three ? r * H[k + 2][j] : 0);
      H[k][j] -= t * a; H[k + 1][j] -= t * b;
      if (three) H[k + 2][j] -= t * c;
    }
    for (let i = first; i <= Math.min(last, k + 3); i++) {
      const t = a * H[i][k] + b * H[i][k + 1] + (three ? c * H[i][k + 2] : 0);
      H[i][k] -= t; H[i][k + 1] -= t * q;
      if (three) H[i][k + 2] -= t * r;
    }
  }
}

// Inverse of a matrix in one array, in place by Gauss-Jordan steps with row pivots; log2 |det|, or null.
function inverted(Z, n) {
  const order = new Int32Array(n);
  let size = 0;
  for (let k = 0; k < n; k++) {
    let best = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(Z[i * n + k]) > Math.abs(Z[best * n + k])) best = i;
    const pivot = Z[best * n + k];
    if (!pivot || !Number.isFinite(pivot)) return null;
    order[k] = best;
    if (best !== k) {
      for (let j = 0; j < n; j++) [Z[k * n + j], Z[best * n + j]] = [Z[best * n + j], Z[k * n + j]];
    }
    size += Math.log2(Math.abs(pivot));
    Z[k * n + k] = 1;
    for (let j = 0; j < n; j++) Z[k * n + j] /= pivot;
    for (let i = 0; i < n; i++) {
      const factor = Z[i * n + k];
      if (i === k || !factor) continue;
      Z[i * n + k] = 0;
      for (let j = 0, r = i * n, p = k * n; j < n; j++, r++, p++) Z[r] -= factor * Z[p];
    }
  }
  for (let k = n - 1; k >= 0; k--) {
    const other = order[k];
    if (other !== k) for (let i = 0; i < n; i++) [Z[i * n + k], Z[i * n + other]] = [Z[i * n + other], Z[i * n + k]];
  }
  return { size };
}

// sign(Z) = lim ½ (c Z + (c Z)⁻¹), with c = |det Z|^(-1/n)
function matrixSign(rows) {
  const n = rows.length, Z = Float64Array.from(rows.flat()), inverse = new Float64Array(n * n);
  for (let round = 0; round < 60; round++) {
    inverse.set(Z);
    const known = inverted(inverse, n);
    if (!known) return null;
    const c = 2 ** (-known.size / n);
    let change = 0, size = 0;
    for (let i = 0; i < Z.length; i++) {
      const next = 0.5 * (c * Z[i] + inverse[i] / c);
      change += Math.abs(next - Z[i]);
      size += Math.abs(next);
      Z[i] = next;
    }
    if (!Number.isFinite(size)) return null;
    if (change <= 1e-13 * n * size) return rows.map((_, i) => Array.from(Z.subarray(i * n, (i + 1) * n)));
  }
  return null;
}

// Stabilizing P of AᵀP + P A - P B R⁻¹ Bᵀ P + Q = 0 and K = R⁻¹ Bᵀ P, for diagonal Q and R.
// A change of units x → d x makes the Hamiltonian well scaled.
function riccati(A, B, Q, R) {
  const n = A.length, input = transposed(B).map((row, i) => row.map((x) => x / R[i]));
  const G = matmul(B, input), cost = Q.map((x, i) => Q.map((_, j) => (i === j ? x : 0)));
  const total = (M) => M.reduce((sum, row) => sum + row.reduce((s, x) => s + Math.abs(x), 0), 0);
  const d = 2 ** Math.round(Math.log2(total(G) / total(cost) || 1) / 2);
  const H = stacked(
    [A, G.map((row) => row.map((x) => -x / d))],
    [cost.map((row) => row.map((x) => -x * d)), transposed(A).map((row) => row.map((x) => -x))]);
  const W = matrixSign(H);
  if (!W) return null;
  const left = W.map((row, i) => row.slice(n).map((x, j) => x + (i - n === j ? 1 : 0)));
  const right = W.map((row, i) => row.slice(0, n).map((x, j) => -x - (i === j ? 1 : 0)));
  const turned = transposed(left), P = solved(matmul(turned, left), matmul(turned, right));
  if (!P) return null;
  const symmetric = P.X.map((row, i) => row.map((x, j) => (0.5 * (x + P.X[j][i])) / d));
  return { P: symmetric, K: matmul(input, symmetric) };
}

// exp(A) by scaling, a Taylor polynomial and squaring
function exponential(A) {
  const size = Math.max(...A.map((row) => row.reduce((sum, x) => sum + Math.abs(x), 0)));
  const halvings = Math.max(0, Math.ceil(Math.log2(size || 1)) + 3);
  const S = A.map((row) => row.map((x) => x / 2 ** halvings));
  let sum = identity(A.length), term = sum;
  for (let k = 1; k <= 14; k++) {
    term = matmul(term, S).map((row) => row.map((x) => x / k));
    sum = combined(sum, term, 1);
  }
  for (let k = 0; k < halvings; k++) sum = matmul(sum, sum);
  return sum;
}
