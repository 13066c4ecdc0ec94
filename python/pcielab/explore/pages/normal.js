// The page that asks whether a value is normal: a question as a form, and its answer.
import { begin, give, listen, offer } from "./form.js";
import { ask, element, showProblem, theme } from "./session.js";
import { fill } from "./table.js";

const byId = (id) => document.getElementById(id);
const columns = (heads, values) => Object.entries(heads).map(([key, head]) => ({ key, head, kind: values.includes(key) ? "value" : "name" }));
const BOUNDS = columns({ bound: "bound", allows: "allows", unit: "unit", ratio: "ratio", because: "because", assumed: "assumed" }, ["allows", "ratio"]);
const CAUSES = columns({ cause: "cause", title: "title", effect: "effect", origin: "origin", check: "check" }, []);
const FIGURES = columns({ id: "id", ratio: "ratio", value: "value", unit: "unit", quantity: "quantity", link: "link", device: "device", year: "year", source: "source" }, ["ratio", "value"]);
const ERRORS = 1, NARROW = 500;

const form = byId("question");
let found, latest, asked = 0;

const fields = () => Object.fromEntries([...new FormData(form)].filter(([, text]) => text.trim()));

const draw = async () => {
  byId("drawn").hidden = !latest.picture;
  if (!latest.picture) return;
  const strip = byId("strip");
  // A narrow page has room for the ids of figures; the table below has their devices.
  if (strip.clientWidth < NARROW) for (const { encoding } of latest.picture.layer) if (encoding.y) encoding.y.axis = { labelExpr: "slice(datum.label, -5, -1)", labelOverlap: false };
  const spec = { ...latest.picture, width: Math.max(150, strip.clientWidth - 10), autosize: { type: "fit-x", contains: "padding" }, config: found.themes[theme()] };
  await window.vegaEmbed(strip, spec, { actions: false, renderer: "canvas", ast: true, logLevel: ERRORS, tooltip: { theme: theme() } });
};

const show = async () => {
  const number = ++asked;
  history.replaceState(null, "", `?${new URLSearchParams(fields())}`);
  try {
    const got = await ask("normal", fields());
    if (number !== asked) return;
    latest = got;
    showProblem(null);
    const { answer } = got;
    byId("verdict").textContent = `${answer.value} ${answer.unit}: ${answer.verdict}`;
    byId("sentences").replaceChildren(...answer.sentences.map((textContent) => element("p", { textContent })));
    byId("missing").textContent = Object.entries(answer.missing).map(([option, reason]) => `${option.slice(2)} not given: ${reason}`).join("; ");
    fill(byId("bounds"), BOUNDS, answer.bounds);
    byId("worth").hidden = !answer.causes.length;
    fill(byId("causes"), CAUSES, answer.causes);
    fill(byId("figures"), FIGURES, answer.figures);
    await draw();
  } catch (problem) {
    if (number === asked) showProblem(problem);
  }
  document.documentElement.dataset.settled = "yes";
};

const start = async () => {
  found = await begin();
  for (const [name, choices] of Object.entries(found.normal)) offer(form.elements[name], choices);
  for (const [name, text] of new URLSearchParams(location.search)) give(form.elements.namedItem(name), text);
  if (!location.search) form.elements.engine.value = "copy";
  listen(form, show, () => latest && draw());
  await show();
};

start().catch(showProblem);
