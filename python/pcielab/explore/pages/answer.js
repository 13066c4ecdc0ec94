// An answer of `pcielab why`: its sentences, the bars of its picture, and its tables.
import { element, theme } from "./session.js";
import { fill } from "./table.js";

const byId = (id) => document.getElementById(id);
const ERRORS = 1, NARROW = 500, BAR = 22, LEAST_WIDTH = 150;
const ROLES = { value: "measured", bound: "bound", cause: "possible defect", change: "with a change" };

const columnsOf = (rows) => Object.keys(rows[0] ?? {}).map((key) => ({ key, head: key.replaceAll("_", " "), kind: typeof rows[0][key] === "number" ? "value" : "name" }));

const changeRow = ({ what, who, before, after, unit }) => ({ change: what, before, after, unit, who: who.replaceAll("-", " ") });

// Shows the words and the tables.
export const showAnswer = (answer) => {
  byId("asked").textContent = answer.question;
  byId("sentences").replaceChildren(...answer.sentences.map((textContent) => element("li", { textContent })));
  byId("notes").replaceChildren(...answer.notes.map((textContent) => element("p", { textContent })));
  const changes = answer.changes.map(changeRow);
  fill(byId("changes"), columnsOf(changes), changes);
  fill(byId("rows"), columnsOf(answer.rows), answer.rows);
};

// Draws the bars; the picture's view, for files.
export const drawAnswer = async (node, answer, config) => {
  const narrow = node.clientWidth < NARROW;
  // Two bars may have one name: a bound of the NIC with and without a feature.
  const values = answer.bars.map((bar, index) => ({ ...bar, role: ROLES[bar.role], row: `${index}|${bar.name}` }));
  const y = { field: "row", type: "nominal", title: null, sort: null, axis: { labelExpr: "slice(datum.label, indexof(datum.label, '|') + 1)", labelLimit: narrow ? 150 : 380 } };
  // Room for the number beside the longest bar.
  const most = 1.15 * Math.max(...values.map((bar) => bar.value));
  const x = { field: "value", type: "quantitative", title: answer.unit, scale: { domain: [0, most], nice: false } };
  const present = Object.values(ROLES).filter((role) => values.some((bar) => bar.role === role));
  const color = { field: "role", type: "nominal", title: null, scale: { domain: Object.values(ROLES) }, legend: { orient: "top", columns: narrow ? 2 : 4, values: present } };
  const tooltip = [{ field: "name" }, { field: "value", format: ".4~r", title: answer.unit }, { field: "role" }];
  const spec = {
    data: { values }, encoding: { x, y }, height: BAR * values.length, width: Math.max(LEAST_WIDTH, node.clientWidth - 10),
    description: `${answer.question}: ${answer.bars.map(({ name, value }) => `${name} ${value.toPrecision(3)} ${answer.unit}`).join(", ")}`,
    layer: [{ mark: "bar", encoding: { color, tooltip } }, { mark: { type: "text", align: "left", dx: 4 }, encoding: { text: { field: "value", type: "quantitative", format: ".3~r" } } }],
    autosize: { type: "fit-x", contains: "padding" }, config,
  };
  return (await window.vegaEmbed(node, spec, { actions: false, renderer: "canvas", ast: true, logLevel: ERRORS, tooltip: { theme: theme() } })).view;
};
