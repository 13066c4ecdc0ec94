// The pictures: Vega-Lite specifications that are compiled once, and then get new data.
import { theme } from "./session.js";

const BYTES = "datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + 'M'"
  + " : datum.value >= 1024 ? format(datum.value / 1024, '~g') + 'K' : format(datum.value, '~g')";
const RIBBON = 9;
// Vega warns about every picture without data.
const ERRORS = 1;

const powers = (low, high, step) => {
  const found = [];
  for (let power = low; power <= high; power *= step) found.push(power);
  return found;
};

const bytesAxis = (field, title, low, high, step) => ({
  field, type: "quantitative", title,
  scale: { type: "log", base: 2, domain: [low, high], nice: false, clamp: true },
  axis: { values: powers(low, high, step), labelExpr: BYTES },
});
const gbps = (field) => ({ field, type: "quantitative", title: "bandwidth (Gb/s)", scale: { zero: true } });
const tips = (...fields) => fields.map(([field, title, format]) => ({ field, title, format, type: format ? "quantitative" : "nominal" }));

// The colour of a run, the same in every picture.
const coloured = (runs, colours) => ({
  field: "run", type: "nominal", title: null, scale: { domain: runs, range: runs.map((_, index) => colours[index % colours.length]) },
  legend: runs.length > 1 ? { symbolType: "circle" } : null,
});

// Simulated points, and those of the overlay.
const points = (x, color, swept) => ({
  data: { name: "points" }, mark: { type: "point", filled: true, size: 42, opacity: 1, tooltip: true },
  encoding: {
    x, y: gbps("gbps"), color,
    shape: { field: "kind", type: "nominal", scale: { domain: ["simulated", "overlay"], range: ["circle", "diamond"] }, legend: null },
    tooltip: tips(["run", "run"], ["kind", "kind"], swept, ["gbps", "Gb/s", ".2f"]),
  },
});

const sizeChart = ({ runs, colours, bounds, width }) => {
  const narrow = width < 500, height = narrow ? 190 : 300;
  const x = bytesAxis("size", "transfer size (bytes)", 8, 4096, 2);
  const color = coloured(runs, colours);
  return {
    height,
    layer: [
      {
        data: { name: "ribbon" }, mark: { type: "rect", tooltip: true },
        encoding: {
          x: { ...x, field: "from" }, x2: { field: "to" }, y: { value: height - RIBBON }, y2: { value: height },
          fill: { field: "binds", type: "nominal", title: "binding bound", scale: { domain: Object.keys(bounds), range: Object.values(bounds) }, legend: null },
          tooltip: tips(["binds", "binding bound"], ["size", "size (B)", "d"], ["slack", "next bounds"]),
        },
      },
      {
        data: { name: "references" }, mark: { type: "line", style: "reference", tooltip: true },
        encoding: {
          x, y: gbps("gbps"),
          strokeDash: { field: "name", type: "nominal", title: "reference, MODELLED", scale: { range: [[7, 3], [2, 3], [1, 5], [8, 3, 2, 3]] }, legend: narrow ? null : { direction: "horizontal", symbolType: "stroke", symbolSize: 420, symbolStrokeWidth: 1.8 } },
          tooltip: tips(["name", "reference"], ["size", "size (B)", "d"], ["gbps", "Gb/s", ".2f"]),
        },
      },
      {
        data: { name: "bounds" }, mark: { type: "line", strokeWidth: 1.6, tooltip: true },
        encoding: { x, y: gbps("gbps"), color, tooltip: tips(["run", "bound of"], ["size", "size (B)", "d"], ["gbps", "Gb/s, modelled", ".2f"], ["binds", "binding bound"]) },
      },
      points(x, color, ["size", "size (B)", "d"]),
    ],
    resolve: { scale: { strokeDash: "independent" } },
  };
};

const windowChart = ({ runs, colours }) => {
  const x = bytesAxis("window", "window (bytes)", 4096, 67108864, 4);
  const color = coloured(runs, colours);
  return {
    height: 220,
    layer: [
      { data: { name: "edges" }, mark: { type: "rule", style: "reference", strokeDash: [3, 3] }, encoding: { x } },
      { data: { name: "edges" }, mark: { type: "text", angle: 270, align: "left", baseline: "bottom", dx: 4, dy: -3, fontSize: 10 }, encoding: { x, y: { value: 216 }, text: { field: "name" } } },
      { data: { name: "bounds" }, mark: { type: "line", strokeWidth: 1.6 }, encoding: { x, y: gbps("gbps"), color } },
      points(x, color, ["window", "window (B)", "d"]),
    ],
  };
};

// A cumulative distribution of latencies, here and on the page of stores.
export const CDF = {
  height: 220, mark: { type: "line", interpolate: "step-after", tooltip: true },
  encoding: {
    x: { field: "ns", type: "quantitative", title: "latency (ns)", scale: { zero: false } },
    y: { field: "share", type: "quantitative", title: "share of samples", scale: { domain: [0, 1] } },
  },
};

const latencyChart = ({ runs, colours }) => ({
  ...CDF, data: { name: "cdf" },
  encoding: { ...CDF.encoding, color: coloured(runs, colours), tooltip: tips(["run", "run"], ["ns", "ns", ".1f"], ["share", "share", ".3f"]) },
});

const SPECIFICATIONS = { size: sizeChart, window: windowChart, latency: latencyChart };
const NAMES = { size: ["ribbon", "references", "bounds", "points"], window: ["edges", "bounds", "points"], latency: ["cdf"] };

export class Charts {
  constructor(setting) {
    this.setting = setting;
    this.views = {};
    this.shown = {};
    this.clicked = () => {};
  }

  colours() {
    return this.setting.themes[theme()].range.category;
  }

  // Recompiles the pictures for other runs, another theme or width.
  async build(runs) {
    for (const node of document.querySelectorAll("[data-chart]")) {
      const name = node.dataset.chart;
      const setting = { runs, colours: this.colours(), bounds: this.setting.bounds, width: node.clientWidth };
      const specification = {
        $schema: "https://vega.github.io/schema/vega-lite/v6.json",
        width: Math.max(150, node.clientWidth - 10), autosize: { type: "fit-x", contains: "padding", resize: true },
        datasets: Object.fromEntries(NAMES[name].map((one) => [one, []])),
        ...SPECIFICATIONS[name](setting), config: this.setting.themes[theme()],
      };
      this.views[name]?.finalize();
      const embedded = await window.vegaEmbed(node, specification, { actions: false, renderer: "canvas", ast: true, logLevel: ERRORS, tooltip: { theme: theme() } });
      this.views[name] = embedded.view;
      this.shown[name] = {};
      embedded.view.addEventListener("click", (_event, item) => item?.datum && this.clicked(name, item.datum));
    }
  }

  async show(name, data) {
    const view = this.views[name];
    if (!view) return;
    // Unchanged data are not laid out again.
    let changed = false;
    for (const [dataset, rows] of Object.entries(data)) {
      const text = JSON.stringify(rows);
      if (this.shown[name][dataset] === text) continue;
      this.shown[name][dataset] = text;
      view.data(dataset, rows);
      changed = true;
    }
    if (changed) await view.runAsync();
  }

  async picture(name, kind) {
    const view = this.views[name];
    if (kind === "svg") return view.toSVG();
    const canvas = await view.toCanvas(2);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }
}
