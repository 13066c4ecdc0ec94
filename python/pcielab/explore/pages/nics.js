// The page that asks why a NIC moves no more frames: a question as a form, the answer of `why`, and the NIC's features and queues.
import { drawAnswer, showAnswer } from "./answer.js";
import { begin, give, listen, offer } from "./form.js";
import { ask, element, showProblem, theme } from "./session.js";
import { fill } from "./table.js";
import { listenForTaking, shellWord } from "./taking.js";

const byId = (id) => document.getElementById(id);
const OWN_FILE = "nic.toml";
// Words of the address, with their options of the command and their keys of the link.
const LINK = { generation: ["--gen", "generation"], lanes: ["--lanes", "lanes"], mps: ["--mps", "mps_bytes"], mrrs: ["--mrrs", "mrrs_bytes"] };
const QUEUES = ["key", "value", "meaning", "source"].map((key) => ({ key, head: key, kind: "name" }));

const form = byId("question");
let found, latest, view, asked = 0;
// What the form does not hold: features that are on, changes of the NIC by dotted key, and the text of an own NIC.
const state = { features: [], sets: {}, own: null };

const value = (name) => form.elements[name].value.trim();
const reference = () => [state.own === null ? value("nic") : OWN_FILE, ...state.features].join("+");
const link = () => Object.fromEntries(Object.entries(LINK).filter(([name]) => value(name)).map(([name, [, key]]) => [key, Number(value(name))]));

const remember = () => {
  const words = new URLSearchParams([...new FormData(form)].filter(([, text]) => text.trim()));
  for (const feature of state.features) words.append("feature", feature);
  for (const [key, one] of Object.entries(state.sets)) words.append("set", `${key}=${one}`);
  if (state.own !== null) words.set("own", state.own);
  history.replaceState(null, "", `?${words}`);
};

const command = () => {
  const parts = ["pcielab", "why", "--nic", reference(), "--line", value("line"), "--frame", value("frame")];
  if (value("direction")) parts.push("--direction", value("direction"));
  for (const [name, [option]] of Object.entries(LINK)) if (value(name)) parts.push(option, value(name));
  for (const [key, one] of Object.entries(state.sets)) parts.push("--set", `nic.${key}=${one}`);
  if (value("measured")) parts.push("--measured", value("measured"));
  return parts.map(shellWord).join(" ");
};

const python = () => {
  const sets = Object.keys(state.sets).length ? `, ${JSON.stringify(state.sets)}` : "";
  const direction = value("direction") ? JSON.stringify(value("direction")) : "nic.direction";
  const more = [];
  if (Object.keys(link()).length) more.push(`link=model.Link(${Object.values(LINK).map(([, key]) => `${key}=${latest.link[key]}`).join(", ")})`);
  if (value("measured")) more.push(`measured=${value("measured")}`);
  return `import pcielab\nfrom pcielab import model\n\nnic = model.load_nic(${JSON.stringify(reference())}${sets})\nframes = pcielab.Frames(nic, [${value("frame")}], model.Ethernet(line_gbps=${value("line")}), ${direction})\nprint(pcielab.why(${["frames", ...more].join(", ")}))\n`;
};

// A feature as a box, which turns it on or off.
const feature = ({ name, what, source, is_on }) => {
  const box = element("input", { type: "checkbox", checked: is_on });
  box.addEventListener("change", () => {
    state.features = box.checked ? [...state.features, name] : state.features.filter((one) => one !== name);
    show();
  });
  return element("label", { className: "feature", title: source }, box, element("span", {}, element("strong", { textContent: name }), `: ${what}`));
};

// A queue's value as a number, which changes it.
const number = ({ key, value: own }) => {
  const input = element("input", { type: "number", value: own, min: 0 });
  input.setAttribute("aria-label", key);
  input.addEventListener("change", () => {
    if (input.value === "") delete state.sets[key];
    else state.sets[key] = Number(input.value);
    show();
  });
  return input;
};

const showNic = () => {
  byId("about").textContent = `${latest.name}: ${latest.description}.`;
  const none = element("p", { className: "faint", textContent: "This NIC has no features that are on or off." });
  byId("features").replaceChildren(...(latest.features.length ? latest.features.map(feature) : [none]));
  fill(byId("queues"), QUEUES, latest.queues);
  [...document.querySelectorAll("#queues tbody tr")].forEach((row, index) => row.cells[1].replaceChildren(number(latest.queues[index])));
};

const draw = async () => { view = await drawAnswer(byId("bars"), latest.answer, found.themes[theme()]); };

const show = async () => {
  const mine = ++asked;
  remember();
  try {
    if (!form.checkValidity()) return form.reportValidity();
    const nic = { name: reference(), changes: state.sets, ...(state.own === null ? {} : { text: state.own }) };
    const question = { nic, line_gbps: Number(value("line")), frame_bytes: Number(value("frame")), link: link() };
    if (value("direction")) question.direction = value("direction");
    if (value("measured")) question.measured = Number(value("measured"));
    const got = await ask("nic", question);
    if (mine !== asked) return;
    latest = got;
    showProblem(null);
    showAnswer(got.answer);
    showNic();
    byId("command").textContent = command();
    byId("python").textContent = python();
    await draw();
  } catch (problem) {
    if (mine === asked) showProblem(problem);
  }
  document.documentElement.dataset.settled = "yes";
};

// Another NIC has other features and keys.
const take = (own) => {
  Object.assign(state, { features: [], sets: {}, own });
  byId("own").value = own ?? template();
  return show();
};

// Takes a dropped file as a NIC.
const keep = async (file) => {
  if (!file.name.endsWith(".toml")) return false;
  await take(await file.text());
  return true;
};

const template = () => `name = "mine"\ndescription = "My NIC"\nprovenance = "my data sheet"\nbase = "${value("nic")}"\n\n[queues]\nring_descriptors = 256\n`;

const listenToControls = () => {
  listen(form, show, () => latest && draw());
  // Another NIC is asked about at once.
  form.elements.nic.addEventListener("input", (event) => event.stopPropagation());
  form.elements.nic.addEventListener("change", () => take(null));
  byId("take-own").addEventListener("click", () => take(byId("own").value));
  byId("leave-own").addEventListener("click", () => take(null));
  listenForTaking({ name: "nic", view: () => view, rows: () => latest?.answer.bars ?? [] });
};

const start = async () => {
  found = await begin(keep);
  offer(form.elements.nic, found.nics.names);
  for (const line of found.nics.lines) form.elements.line.append(element("option", { value: line, textContent: line }));
  const given = new URLSearchParams(location.search);
  for (const [name, text] of given.size ? given : Object.entries(found.nics.first)) give(form.elements.namedItem(name), text);
  if (!value("frame")) form.elements.frame.value = found.nics.first.frame;
  state.features = given.getAll("feature");
  state.own = given.get("own");
  for (const change of given.getAll("set")) {
    const at = change.indexOf("=");
    if (at > 0 && Number.isFinite(Number(change.slice(at + 1)))) state.sets[change.slice(0, at)] = Number(change.slice(at + 1));
  }
  byId("own").value = state.own ?? template();
  listenToControls();
  await show();
};

start().catch(showProblem);
