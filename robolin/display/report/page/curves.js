// Curves over time by uPlot, created when they become visible; all share one cursor.

const LINE_NAMES = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh"];

function lineName(curves, i) {
  return curves.lines ? curves.lines[i] : LINE_NAMES[i % LINE_NAMES.length];
}

// "time [s]"; rows and iterations have no unit
function clockLabel(clock) {
  return clock === "s" ? "time [s]" : clock;
}

// repeat every time for all numbers at it
function repeated(times, count) {
  if (count === 1) return times;
  const found = new Float32Array(times.length * count);
  times.forEach((time, i) => found.fill(time, i * count, (i + 1) * count));
  return found;
}

// NaN is a gap
function withGaps(values) {
  return values.some(Number.isNaN) ? Array.from(values, (x) => (Number.isNaN(x) ? null : x)) : values;
}

// the default of uPlot, except for a constant curve
function aroundValues(plot, low, high) {
  if (low !== high) return uPlot.rangeNum(low, high, 0.1, true);
  const room = Math.abs(low) || 1;
  return [low - room, low + room];
}

// true if the curves are more than flat lines when drawn with their limits
function visibleWith(columns, limits) {
  let low = Infinity, high = -Infinity;
  for (const column of columns) {
    for (const value of column) {
      if (value === null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return high - low >= 0.05 * (Math.max(high, ...limits) - Math.min(low, ...limits));
}

// strips above the curve for the times at which a limit is exceeded
function drawBeyond(plot, intervals, color) {
  const { left, top, width } = plot.bbox, context = plot.ctx;
  context.save();
  context.fillStyle = color;
  for (const [start, end] of intervals) {
    const [a, b] = [start, end].map((x) => Math.min(Math.max(plot.valToPos(x, "x", true), left), left + width));
    context.fillRect(a - 1, top, Math.max(b - a, 2), 5 * (window.devicePixelRatio || 1));
  }
  context.restore();
}

class Curves {
  constructor(data, arrays, onPick) {
    this.data = data;
    this.arrays = arrays;
    this.onPick = onPick;
    this.made = new Map();
    this.time = null;
    this.sharedScales = true;
    for (const line of document.querySelectorAll(".scales")) {
      line.hidden = false;
      line.querySelector("input").addEventListener("change", (event) => {
        this.sharedScales = event.target.checked;
        this.remake();
      });
    }
    this.watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) this.make(entry.target);
    }, { rootMargin: "200px" });
    this.resizer = new ResizeObserver((entries) => {
      for (const entry of entries) {
        const plot = this.made.get(entry.target.closest("[data-figure]"));
        const width = Math.floor(entry.contentRect.width);
        if (plot && width > 50 && width !== plot.width) plot.setSize({ width, height: plot.height });
      }
    });
    for (const figure of document.querySelectorAll("[data-figure]")) this.watcher.observe(figure);
  }

  makeAll() {
    for (const figure of document.querySelectorAll("[data-figure]")) this.make(figure);
  }

  // colours of another scheme need new plots
  remake() {
    const figures = [...this.made.keys()];
    for (const plot of this.made.values()) plot.destroy();
    this.made.clear();
    for (const figure of figures) this.make(figure);
  }

  make(figure) {
    if (this.made.has(figure)) return;
    this.watcher.unobserve(figure);
    const curves = this.data.figures[Number(figure.dataset.figure)];
    const place = figure.querySelector(".curves");
    const x = repeated(this.arrays(curves.x), curves.repeat || 1);
    const columns = [x, ...curves.series.map((series) => withGaps(this.arrays(series.y)))];
    const limits = (curves.limits || []).filter((limit) => limit !== null);
    const near = visibleWith(columns.slice(1), limits) && !(curves.shared && this.sharedScales);
    for (const limit of limits) columns.push(new Float32Array(x.length).fill(limit));
    const plot = new uPlot(this.options(curves, limits, near, place), columns, place);
    plot.ctx.canvas.setAttribute("role", "img");
    plot.ctx.canvas.setAttribute("aria-label", figure.querySelector("figcaption").textContent);
    plot.root.querySelector(".u-legend").setAttribute("role", "presentation");
    this.made.set(figure, plot);
    this.resizer.observe(place);
    plot.over.addEventListener("click", () => {
      const index = plot.cursor.idx;
      if (!curves.clock && index !== null && index !== undefined) this.onPick(columns[0][index]);
    });
  }

  options(curves, limits, near, place) {
    const colors = getComputedStyle(document.documentElement);
    const color = (name) => colors.getPropertyValue(`--${name}`).trim();
    const axis = { stroke: color("faint"), grid: { stroke: color("line"), width: 0.5 }, ticks: { stroke: color("line") } };
    const clock = clockLabel(curves.clock || this.data.clock);
    const number = (u, v) => (v === null || v === undefined ? "" : Number(v.toPrecision(6)).toString());
    // uPlot's own would call small numbers 0
    const marks = curves.log ? {} : { values: (plot, splits) => splits.map((v) => number(plot, v)) };
    return {
      width: Math.max(200, Math.floor(place.clientWidth || 380)),
      height: 190,
      scales: { x: { time: false }, y: curves.log ? { distr: 3, log: 10 } : { range: this.range(curves) } },
      axes: [{ ...axis, label: clock, labelSize: 18, size: 32 }, { ...axis, size: 62, label: curves.unit, labelSize: 16, ...marks }],
      cursor: { drag: { x: true, y: false }, y: false },
      hooks: { drawAxes: [(plot) => drawBeyond(plot, curves.beyond || [], color("over"))], ready: [(plot) => { if (this.time !== null && !curves.clock) this.point(plot, this.time); }] },
      legend: { live: true },
      series: [
        { label: clock, value: number },
        ...curves.series.map((series, i) => ({
          // the only curve of a plot has the unit as its name
          label: series.label === "value" ? curves.unit || series.label : series.label,
          stroke: color(lineName(curves, i)),
          width: curves.points ? 0 : lineName(curves, i) === "body-dark" ? 3.5 : 1.5,
          dash: lineName(curves, i) === "second" ? [6, 3] : undefined,
          points: { show: curves.points ? true : undefined, size: 3, fill: color(lineName(curves, i)) },
          paths: curves.points ? () => null : undefined,
          value: number,
        })),
        ...limits.map(() => ({ label: "limit", auto: near, class: "limit", stroke: color("limit"), width: 1, dash: [2, 3], points: { show: false }, value: number })),
      ],
    };
  }

  range(curves) {
    if (curves.reach) return [-curves.reach, curves.reach];
    return curves.shared && this.sharedScales ? curves.shared : aroundValues;
  }

  point(plot, time) {
    const left = plot.valToPos(time, "x");
    plot.setCursor({ left, top: plot.over.clientHeight / 2 }, false);
  }

  moveTo(time) {
    this.time = time;
    for (const [figure, plot] of this.made) {
      if (!this.data.figures[Number(figure.dataset.figure)].clock) this.point(plot, time);
    }
  }
}
