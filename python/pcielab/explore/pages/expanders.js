// The page that asks what a CXL memory expander gives: a question as a form, its bounds and its curve.
import { begin, give, listen, offer } from "./form.js";
import { ask, showProblem, theme } from "./session.js";
import { fill } from "./table.js";

const byId = (id) => document.getElementById(id);
const columns = (heads) => Object.entries(heads).map(([key, head]) => ({ key, head, kind: typeof head === "string" && key !== "bound" ? "value" : "name" }));
const BOUNDS = columns({ bound: "bound", gbytes_per_s: "GB/s" });
const LOADS = columns({ load: "load", gbytes_per_s: "GB/s", read_latency_ns: "read (ns)", to_memory_wait_ns: "slots to memory (ns)", bank_wait_ns: "bank (ns)", bus_wait_ns: "bus (ns)", from_memory_wait_ns: "slots from memory (ns)" });
const SHOWN = [0, 0.25, 0.5, 0.75, 0.9], STEPS = 98, ERRORS = 1;
const CURVE = Array.from({ length: STEPS + 1 }, (_, step) => step / 100);
// Its flits have 256 B from this generation on.
const FLIT_MODE = 6;

const form = byId("question");
let found, latest, asked = 0;

const shippedOf = (name) => found.expanders.shipped[name];
const value = (name) => form.elements[name].value;
const usual = () => {
  const { link, memory } = shippedOf(value("expander"));
  return { generation: link.generation, lanes: link.lanes, channels: memory.channels, speed: memory.megatransfers_per_s };
};
const KEYS = { generation: "link.generation", lanes: "link.lanes", channels: "memory.channels", speed: "memory.megatransfers_per_s" };

// What the form changes of the shipped expander, by dotted key.
const changes = () => {
  const own = usual(), made = {};
  for (const [name, key] of Object.entries(KEYS)) if (value(name) && Number(value(name)) !== own[name]) made[key] = Number(value(name));
  if (made["link.generation"] >= FLIT_MODE) made["link.flit_bytes"] = 256;
  return made;
};

const command = () => {
  const { "link.generation": generation, "link.lanes": lanes, "link.flit_bytes": _flits, ...others } = changes();
  const parts = ["pcielab model cxl", value("expander"), `--reads ${value("reads")}%`, `--loads ${SHOWN.map((load) => (load ? `${load * 100}%` : "0")).join(",")}`];
  if (generation) parts.push(`--gen ${generation}`);
  if (lanes) parts.push(`--lanes ${lanes}`);
  for (const [key, number] of Object.entries(others)) parts.push(`--set expander.${key}=${number}`);
  return parts.join(" ");
};

const draw = async () => {
  const node = byId("curve");
  const x = { field: "gbytes_per_s", type: "quantitative", title: "bandwidth of reads and writes (GB/s)" };
  const y = { field: "read_latency_ns", type: "quantitative", title: "read latency (ns)", scale: { zero: false } };
  const tooltip = [{ field: "gbytes_per_s", format: ".2f" }, { field: "read_latency_ns", format: ".1f" }, { field: "load", format: ".0%" }];
  const spec = { data: { values: latest.loads }, mark: { type: "line", point: { size: 12 } }, encoding: { x, y, tooltip }, width: Math.max(150, node.clientWidth - 10), height: 260, autosize: { type: "fit-x", contains: "padding" }, config: found.themes[theme()] };
  await window.vegaEmbed(node, spec, { actions: false, renderer: "canvas", ast: true, logLevel: ERRORS, tooltip: { theme: theme() } });
};

const show = async () => {
  const number = ++asked;
  history.replaceState(null, "", `?${new URLSearchParams(new FormData(form))}`);
  try {
    if (!form.checkValidity()) return form.reportValidity();
    const question = { name: value("expander"), changes: changes(), read_shares: [Number(value("reads")) / 100], loads: CURVE };
    const [got] = await ask("expander", question);
    if (number !== asked) return;
    latest = got;
    showProblem(null);
    byId("peak").textContent = `${got.peak_gbytes_per_s.toFixed(2)} GB/s: ${got.bound}`;
    byId("because").textContent = `What binds: ${found.expanders.because[got.bound]}.`;
    fill(byId("bounds"), BOUNDS, Object.entries(got.ceilings).map(([bound, gbytes_per_s]) => ({ bound, gbytes_per_s })));
    fill(byId("loads"), LOADS, got.loads.filter(({ load }) => SHOWN.includes(load)));
    byId("command").textContent = command();
    await draw();
  } catch (problem) {
    if (number === asked) showProblem(problem);
  }
  document.documentElement.dataset.settled = "yes";
};

const start = async () => {
  found = await begin();
  offer(form.elements.expander, found.expanders.shipped);
  const given = new URLSearchParams(location.search);
  if (given.has("expander")) give(form.elements.expander, given.get("expander"));
  for (const [name, number] of Object.entries(usual())) form.elements[name].value = number;
  for (const [name, text] of given) give(form.elements.namedItem(name), text);
  listen(form, show, () => latest && draw());
  await show();
};

start().catch(showProblem);
