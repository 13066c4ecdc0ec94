// The second page: runs and their tests, two runs side by side, and the distribution of a row.
import { CDF } from "./charts.js";
import { listenForFiles } from "./dropped.js";
import { ask, dark, element, setting, showProblem, stayConnected, theme } from "./session.js";
import { fill } from "./table.js";

const byId = (id) => document.getElementById(id);
const words = new URLSearchParams(location.search);
let state = { store: Number(words.get("store") ?? 0), other: words.get("other") ?? "", filter: words.get("filter") ?? "", sort: words.get("sort") ?? "" };
let found, stores, shown = null;

const remember = () => {
  const kept = new URLSearchParams(Object.entries(state).filter(([, value]) => value !== "" && value !== 0));
  history.replaceState(null, "", kept.size ? `?${kept}` : location.pathname);
};

// The order in the address: the key of a column, after a minus if large values come first.
const order = () => (state.sort === "" ? null : { key: state.sort.replace(/^-/, ""), down: state.sort.startsWith("-") });

const distribution = async (row, node) => {
  const test = row.id ?? row.test_a;
  try {
    const flow = row.flow ?? null;
    const { cdf } = await ask("distribution", { store: state.store, test, flow });
    shown = { cdf, name: [row.family, row.name ?? row.experiment, row.flow, row.connection, `test ${test}`].filter((part) => part !== null && part !== undefined).join(" · ") };
    for (const other of document.querySelectorAll("tr.chosen")) other.classList.remove("chosen");
    node?.classList.add("chosen");
    await draw();
  } catch (problem) {
    showProblem(problem);
  }
};

const draw = async () => {
  byId("picture").hidden = !shown;
  if (!shown) return;
  const store = stores[state.store];
  byId("picture").querySelector("figcaption").textContent = shown.cdf.length
    ? `${shown.name} · ${store.origin.toUpperCase()}` : `${shown.name}: no distribution in the store`;
  const chart = byId("distribution");
  chart.hidden = shown.cdf.length === 0;
  if (chart.hidden) return;
  await window.vegaEmbed(chart, {
    ...CDF, width: Math.max(150, chart.clientWidth - 10), autosize: { type: "fit-x", contains: "padding" },
    data: { values: shown.cdf.map(([ns, share]) => ({ ns, share })) },
    config: found.themes[theme()],
  }, { actions: false, renderer: "canvas", ast: true, tooltip: { theme: theme() } });
};

const list = ({ columns, rows, all }, noun) => {
  const by = order();
  byId("count").textContent = rows.length < all ? `the first ${rows.length} of ${all} ${noun}` : `${all} ${noun}`;
  const sort = (next) => {
    state.sort = next ? `${next.down ? "-" : ""}${next.key}` : "";
    remember();
    list({ columns, rows, all }, noun);
    if (next) byId("rows").querySelector(`th:nth-child(${1 + columns.findIndex(({ key }) => key === next.key)}) button`).focus();
  };
  fill(byId("rows"), columns, rows, { choose: distribution, order: columns.some(({ key }) => key === by?.key) ? by : null, sort });
};

const show = async () => {
  remember();
  showProblem(null);
  const store = stores[state.store];
  byId("about").textContent = `${store.title} · ${store.origin.toUpperCase()} · ${store.extent}`;
  byId("summary").hidden = state.other === "";
  try {
    if (state.other === "") {
      const tests = await ask("tests", { store: state.store, filter: state.filter });
      const noun = store.rows;
      byId("rows-title").textContent = noun[0].toUpperCase() + noun.slice(1);
      list(tests, noun);
    } else {
      const compared = await ask("compare", { a: state.store, b: Number(state.other) });
      const asked = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
      const rows = compared.rows.rows.filter((row) => asked.every((word) => Object.values(row).join(" ").toLowerCase().includes(word)));
      byId("rows-title").textContent = `Side by side: A is ${compared.names[0]}, B is ${compared.names[1]}`;
      fill(byId("summary").querySelector("table"), compared.summary.columns, compared.summary.rows);
      list({ ...compared.rows, rows, all: asked.length ? rows.length : compared.rows.all }, "pairs");
    }
  } catch (problem) {
    showProblem(problem);
  }
  document.documentElement.dataset.settled = "yes";
};

const start = async () => {
  stayConnected();
  listenForFiles();
  found = await setting();
  stores = await ask("stores");
  byId("none").hidden = stores.length > 0;
  if (!stores.length) {
    document.documentElement.dataset.settled = "yes";
    return;
  }
  if (!stores[state.store]) state.store = 0;
  for (const store of stores) {
    const option = () => element("option", { value: store.store, textContent: `${store.name} (${store.origin})` });
    byId("store").append(option());
    byId("other").append(option());
  }
  byId("store").value = state.store;
  byId("other").value = state.other;
  byId("filter").value = state.filter;
  byId("store").addEventListener("change", (event) => { state.store = Number(event.target.value); shown = null; draw(); show(); });
  byId("other").addEventListener("change", (event) => { state.other = event.target.value; show(); });
  let later;
  byId("filter").addEventListener("input", (event) => { state.filter = event.target.value; clearTimeout(later); later = setTimeout(show, 150); });
  dark.addEventListener("change", draw);
  window.addEventListener("resize", draw);
  await show();
};

start().catch(showProblem);
