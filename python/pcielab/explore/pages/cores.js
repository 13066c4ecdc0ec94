// The page that asks what loads and stores of a core cost: a question as a form, a table by instruction, and rates over size.
import { begin, give, listen, offer } from "./form.js";
import { ask, showProblem, theme } from "./session.js";
import { fill } from "./table.js";

const byId = (id) => document.getElementById(id);
const WORDS = ["instruction", "bound", "because"];
const HEADS = { instruction: "instruction", gbytes_per_s: "GB/s", least: "least", most: "most", core_ns: "core (ns)", core_ns_least: "least (ns)", core_ns_most: "most (ns)", done_ns: "done (ns)", bound: "bound", because: "because" };
const ROWS = Object.entries(HEADS).map(([key, head]) => ({ key, head, kind: WORDS.includes(key) ? "name" : "value" }));
// One store each, of at most a line.
const SINGLE = ["doorbell", "exchange"], LINE_BYTES = 64;
const ANY_SIZE = ["uncached-store", "combined-store", "direct-store", "enqueue-store", "uncached-load", "streaming-load", "read-modify-write"];
const CURVE = Array.from({ length: 21 }, (_, power) => 2 ** power);
const ERRORS = 1;
const BYTES = "datum.value >= 1048576 ? datum.value / 1048576 + 'M' : datum.value >= 1024 ? datum.value / 1024 + 'K' : datum.value";
const SIDES = ["core", "bar"];

const form = byId("question");
let found, curve, asked = 0;

const value = (name) => form.elements[name].value;
const side = (kind) => found.cores[kind][value(kind)];
const instructions = () => {
  const { stores, loads } = side("core");
  const lacking = { "direct-store": !stores.direct_ns, "enqueue-store": !loads.enqueues };
  return ANY_SIZE.filter((instruction) => !lacking[instruction]);
};

const access = (instruction, size_bytes) => ({ instruction, size_bytes, width_bytes: null, cores: Number(value("cores")), switches: 0, remote: false, fenced: false, first_touch: false, window_set: false });

const command = () => {
  const parts = SIDES.map((kind) => `--${kind} ${value(kind)}`);
  parts.push(`--sizes ${value("size")}`, `--cores ${value("cores")}`, `--gen ${value("generation")}`, `--lanes ${value("lanes")}`);
  return ["pcielab model mmio", ...parts].join(" ");
};

// An answer as a row of the command.
const row = ({ instruction, size_bytes, gbytes_per_s, core_ns, done_ns, bound }) => ({
  instruction, size_bytes, bound, because: found.cores.because[bound], done_ns: done_ns.usual,
  gbytes_per_s: gbytes_per_s.usual, least: gbytes_per_s.least, most: gbytes_per_s.most,
  core_ns: core_ns.usual, core_ns_least: core_ns.least, core_ns_most: core_ns.most,
});

const draw = async () => {
  const node = byId("curve");
  const x = { field: "size_bytes", type: "quantitative", title: "size of an access", scale: { type: "log", base: 2, nice: false }, axis: { values: CURVE.filter((_, power) => power % 4 === 0), labelExpr: BYTES } };
  const y = { field: "gbytes_per_s", type: "quantitative", title: "rate (GB/s)", scale: { type: "log" } };
  const color = { field: "instruction", type: "nominal", title: null, scale: { domain: ANY_SIZE }, legend: { orient: "bottom", columns: node.clientWidth < 500 ? 2 : 4 } };
  const tooltip = ["instruction", "size_bytes", "gbytes_per_s", "least", "most", "bound"].map((field) => (ROWS.some(({ key, kind }) => key === field && kind === "value") ? { field, format: ".4~r" } : { field }));
  const spec = { data: { values: curve }, mark: { type: "line", point: { size: 12 } }, encoding: { x, y, color, tooltip }, width: Math.max(150, node.clientWidth - 10), height: 280, autosize: { type: "fit-x", contains: "padding" }, config: found.themes[theme()] };
  await window.vegaEmbed(node, spec, { actions: false, renderer: "canvas", ast: true, logLevel: ERRORS, tooltip: { theme: theme() } });
};

const show = async () => {
  const number = ++asked;
  history.replaceState(null, "", `?${new URLSearchParams(new FormData(form))}`);
  try {
    if (!form.checkValidity()) return form.reportValidity();
    const size = Number(value("size")), own = instructions();
    const link = { ...found.cores.link, generation: Number(value("generation")), lanes: Number(value("lanes")) };
    const chosen = [...own, ...(size <= LINE_BYTES ? SINGLE : [])].map((instruction) => access(instruction, size));
    const accesses = [...chosen, ...own.flatMap((instruction) => CURVE.map((size_bytes) => access(instruction, size_bytes)))];
    const got = await ask("accesses", { core: value("core"), bar: value("bar"), link, accesses });
    if (number !== asked) return;
    const rows = got.map(row);
    curve = rows.slice(chosen.length);
    showProblem(null);
    byId("sides").textContent = `${SIDES.map((kind) => side(kind).title).join("; ")}; Gen${link.generation} x${link.lanes}, MODELLED`;
    byId("notes").textContent = SIDES.map((kind) => side(kind).provenance.notes ?? "").join(" ").trim();
    fill(byId("accesses"), ROWS, rows.slice(0, chosen.length));
    byId("command").textContent = command();
    await draw();
  } catch (problem) {
    if (number === asked) showProblem(problem);
  }
  document.documentElement.dataset.settled = "yes";
};

const start = async () => {
  found = await begin();
  for (const kind of SIDES) offer(form.elements[kind], found.cores[kind]);
  const given = new URLSearchParams(location.search);
  for (const [name, text] of [...Object.entries(found.cores.first), ...given]) give(form.elements.namedItem(name), text);
  listen(form, show, () => curve && draw());
  await show();
};

start().catch(showProblem);
