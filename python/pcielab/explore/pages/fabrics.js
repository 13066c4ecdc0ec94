// The third page: a fabric as a tree, flows drawn with the pointer, and their mutual influence.
import { listenForFiles } from "./dropped.js";
import { ask, dark, element, setting, showProblem, stayConnected, theme } from "./session.js";
import { fill } from "./table.js";

const byId = (id) => document.getElementById(id);
const LEVEL = 92, LEAF = 108, EDGE = 34, RADIUS = 13, BESIDE = 5;
const KINDS = { host: "H", device: "D", "internal-switch": "s", "external-switch": "S", "host-adapter": "a", "endpoint-adapter": "e" };
const ENDS = ["host", "device"];
const columns = (heads) => Object.entries(heads).map(([key, head]) => ({ key, head, kind: key.endsWith("gbytes_per_s") ? "value" : "name" }));
const FLOWS = columns({ name: "flow", source: "from", destination: "to", gbytes_per_s: "GB/s", limit: "limited by", fits: "fits" });
const INFLUENCES = columns({ change: "change", what: "of", flow: "flow", gbytes_per_s: "GB/s", then_gbytes_per_s: "then GB/s" });
const SVG = "http://www.w3.org/2000/svg";

const words = new URLSearchParams(location.search);
const state = { name: words.get("name"), set: words.get("set") ?? "", method: words.get("method") ?? "max-min", flows: null };
const pairs = words.getAll("flow").map((text) => text.split(">")).filter((pair) => pair.length === 2);
if (words.has("none") || pairs.length) state.flows = pairs.map(([source, destination]) => ({ source, destination }));
let found, fabrics, answer, dragged = null, picked = null;

const shape = (tag, attributes, text) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

const remember = () => {
  const kept = new URLSearchParams({ name: state.name, method: state.method });
  if (state.flows === null && state.set) kept.set("set", state.set);
  if (state.flows !== null && state.flows.length === 0) kept.set("none", "1");
  for (const flow of state.flows ?? []) kept.append("flow", `${flow.source}>${flow.destination}`);
  history.replaceState(null, "", `?${kept}`);
};

const show = async () => {
  remember();
  showProblem(null);
  try {
    const asked = { name: state.name, method: state.method };
    if (state.flows === null) asked.set = state.set || undefined;
    else asked.flows = state.flows;
    answer = await ask("fabric", asked);
    byId("title").textContent = `${answer.title} · MODELLED`;
    draw();
    const rows = answer.flows.map((flow) => ({ ...flow, fits: flow.fits ? "yes" : "no" }));
    fill(byId("flows"), FLOWS, rows);
    dressRows();
    fill(byId("influences"), INFLUENCES, answer.influences);
  } catch (problem) {
    showProblem(problem);
    if (answer) state.flows = answer.flows.map(plain);
  }
  document.documentElement.dataset.settled = "yes";
};

const plain = ({ gbytes_per_s: _share, limit: _limit, fits: _fits, ...flow }) => flow;

// Gives every row of a flow its colour and a button to remove it.
const dressRows = () => {
  const colours = found.themes[theme()].range.category;
  [...document.querySelectorAll("#flows tbody tr")].forEach((row, index) => {
    const off = element("button", { type: "button", textContent: "×" });
    off.setAttribute("aria-label", `remove ${answer.flows[index].name}`);
    off.addEventListener("click", () => {
      state.flows = answer.flows.filter((_, other) => other !== index).map(plain);
      show();
    });
    const swatch = element("span", { className: "swatch" });
    swatch.style.background = colours[index % colours.length];
    row.firstChild.prepend(swatch, " ");
    row.append(element("td", {}, off));
  });
};

const at = (node) => ({ x: EDGE + node.x * LEAF + 20, y: EDGE + node.level * LEVEL });

const draw = () => {
  const tree = byId("tree");
  const nodes = new Map(answer.nodes.map((node) => [node.node, { ...node, ...at(node) }]));
  const width = Math.max(...[...nodes.values()].map((node) => node.x)) + LEAF, height = Math.max(...[...nodes.values()].map((node) => node.y)) + EDGE + 12;
  tree.setAttribute("viewBox", `0 0 ${width} ${height}`);
  tree.style.minWidth = `${0.85 * width}px`;
  tree.style.maxWidth = `${width * 1.25}px`;
  const loads = new Map(answer.edges.map((edge) => [edge.edge, edge]));
  const parts = [], labels = [];
  const below = new Set(answer.links.map((link) => link.upper));
  for (const link of answer.links) {
    const upper = nodes.get(link.upper), lower = nodes.get(link.lower);
    const both = [loads.get(`${link.upper}->${link.lower}`), loads.get(`${link.lower}->${link.upper}`)];
    const used = Math.max(0, ...both.map((edge) => (edge ? edge.load_gbytes_per_s / edge.capacity_gbytes_per_s : 0)));
    const line = shape("line", { x1: upper.x, y1: upper.y, x2: lower.x, y2: lower.y, "stroke-width": 2 + 5 * used });
    line.style.stroke = used > 0.995 ? "var(--full)" : used > 0 ? "var(--used)" : "var(--line)";
    line.append(shape("title", {}, `${link.upper} – ${link.lower}: ${link.text}, ${(100 * used).toFixed(0)} % used`));
    parts.push(line);
    const carried = both.map((edge, way) => (edge?.load_gbytes_per_s > 0 ? `${way ? "↑" : "↓"}${edge.load_gbytes_per_s.toFixed(2)}` : "")).filter(Boolean).join(" ");
    // Below a leaf, where there is no other edge.
    const position = below.has(link.lower) ? { x: lower.x * 0.6 + upper.x * 0.4 + 16, y: lower.y * 0.6 + upper.y * 0.4 } : { x: lower.x - RADIUS, y: lower.y + RADIUS + 15 };
    if (carried) labels.push(shape("text", { class: "load", ...position }, carried));
  }
  const upper = new Map(answer.links.map((link) => [link.lower, link.upper]));
  const colours = found.themes[theme()].range.category;
  answer.flows.forEach((flow, index) => {
    const beside = BESIDE * (1 + index - answer.flows.length / 2);
    const way = route(flow, upper).map((name) => nodes.get(name)).map((node) => `${node.x + beside},${node.y - beside / 2}`);
    const path = shape("polyline", { class: "flow", points: way.join(" ") });
    path.style.stroke = colours[index % colours.length];
    parts.push(path);
  });
  for (const node of nodes.values()) {
    const end = ENDS.includes(node.kind);
    const circle = shape("circle", { class: `node${end ? " end" : ""}${node.node === picked ? " picked" : ""}`, cx: node.x, cy: node.y, r: RADIUS, "data-node": node.node });
    if (end) {
      circle.setAttribute("tabindex", "0");
      circle.setAttribute("role", "button");
      circle.setAttribute("aria-label", `${node.kind} ${node.node}`);
    }
    circle.append(shape("title", {}, `${node.node} (${node.kind})`));
    const letter = shape("text", { x: node.x, y: node.y + 4, "text-anchor": "middle" }, KINDS[node.kind]);
    letter.style.pointerEvents = "none";
    parts.push(circle, letter, shape("text", { x: node.x + RADIUS + 4, y: node.y + 4 }, node.node));
  }
  tree.replaceChildren(...parts, ...labels);
};

// The nodes on a flow's path: up from its source to the common ancestor, and down.
const route = (flow, upper) => {
  const above = (name) => (upper.has(name) ? [name, ...above(upper.get(name))] : [name]);
  const up = above(flow.source), down = above(flow.destination);
  const top = up.find((name) => down.includes(name));
  return [...up.slice(0, up.indexOf(top) + 1), ...down.slice(0, down.indexOf(top)).reverse()];
};

const add = (source, destination) => {
  if (!source || !destination || source === destination) return;
  state.flows = [...answer.flows.map(plain), { source, destination }];
  show();
};

// The first click picks a node, the second one shows the path to another.
const pick = async (node) => {
  const first = picked;
  picked = first === null ? node : null;
  draw();
  if (first === null || first === node) return;
  try {
    const found = await ask("path", { name: state.name, source: first, destination: node });
    byId("path-text").textContent = found.text;
    byId("path").hidden = false;
    showProblem(null);
  } catch (problem) {
    showProblem(problem);
  }
};

const nodeOf = (event) => {
  const under = document.elementFromPoint(event.clientX, event.clientY);
  return under?.classList.contains("end") ? under.dataset.node : null;
};

const listen = () => {
  const tree = byId("tree");
  let began = null, line = null;
  tree.addEventListener("pointerdown", (event) => {
    began = nodeOf(event);
    if (!began) return;
    event.preventDefault();
    const node = { ...at(answer.nodes.find((one) => one.node === began)) };
    line = shape("path", { class: "flow" });
    line.dataset.from = `M${node.x},${node.y}`;
    tree.append(line);
  });
  tree.addEventListener("pointermove", (event) => {
    if (!line) return;
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(tree.getScreenCTM().inverse());
    line.setAttribute("d", `${line.dataset.from} L${point.x},${point.y}`);
  });
  window.addEventListener("pointerup", (event) => {
    line?.remove();
    line = null;
    const ended = nodeOf(event);
    if (began && began === ended) pick(began);
    else if (began) add(began, ended);
    began = null;
  });
  tree.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    const node = event.target.dataset.node;
    if (!dragged) dragged = node;
    else {
      add(dragged, node);
      dragged = null;
    }
  });
};

const offerSets = () => {
  const { sets } = fabrics.find((one) => one.name === state.name);
  byId("set").replaceChildren(...["", ...sets].map((name) => element("option", { value: name, textContent: name || "default of the file" })));
  byId("set").value = state.set;
};

const start = async () => {
  stayConnected();
  listenForFiles();
  found = await setting();
  fabrics = await ask("fabrics");
  if (!fabrics.some((one) => one.name === state.name)) state.name = fabrics[0].name;
  for (const one of fabrics) byId("fabric").append(element("option", { value: one.name, textContent: one.name, title: one.title }));
  byId("fabric").value = state.name;
  byId("method").value = state.method;
  offerSets();
  byId("fabric").addEventListener("change", (event) => { Object.assign(state, { name: event.target.value, set: "", flows: null }); picked = null; byId("path").hidden = true; offerSets(); show(); });
  byId("set").addEventListener("change", (event) => { Object.assign(state, { set: event.target.value, flows: null }); show(); });
  byId("method").addEventListener("change", (event) => { state.method = event.target.value; show(); });
  byId("clear").addEventListener("click", () => { state.flows = []; show(); });
  dark.addEventListener("change", () => answer && draw());
  listen();
  await show();
};

start().catch(showProblem);
