// The first page: a question in the address, with its answers as pictures.
import { fromAddress, named, openOn, PINS_MOST, toAddress, toLink } from "./address.js";
import { Charts } from "./charts.js";
import { Controls } from "./controls.js";
import { listenForFiles, pageOf } from "./dropped.js";
import { ask, bytes, dark, download, element, onResize, Problem, rounded, setting, shared, showProblem, stayConnected, stream } from "./session.js";
import { copy, quoted } from "./taking.js";

const TITLES = { run: "This bandwidth, simulated as a single test", latency: "This latency, simulated as a single test", why: "What binds this bandwidth, and what to change", model: "The link alone, in closed form", python: "The same in Python",
  sweep: "The points over sizes: save as explored.toml, then run pcielab sweep explored.toml -o explored", suite: "A suite of all curves", profile: "The changed system" };
const byId = (id) => document.getElementById(id);
const NOW = "now";
const VIEWS = ["size", "window"];
// Points are simulated when a slider has rested for so long: the workers would take the cores that its curves need.
const REST_MS = 80;

class Workbench {
  constructor(found) {
    this.setting = found;
    openOn(found.opening);
    this.state = fromAddress(location.search);
    this.charts = new Charts(found);
    this.controls = new Controls(found, (question, done) => this.ask(question, done));
    this.controls.listen(() => this.state.question);
    this.runs = new Map();
    this.sliding = false;
    this.page = crypto.randomUUID();
    // A figure within another page: one picture, the first values, and the slider that its axis leaves.
    const view = new URLSearchParams(location.search).get("view");
    if (VIEWS.includes(view)) document.documentElement.dataset.view = view;
    this.charts.clicked = (_chart, datum) => datum.size && this.explain(datum.size);
  }

  async start() {
    stayConnected();
    listenForFiles((own) => location.assign(own.kind === "fabric" ? pageOf(own) : toAddress({ ...this.state, question: { ...this.state.question, system: own.name, sets: {} } })));
    await this.offerOverlays();
    byId("pin").addEventListener("click", () => this.pin());
    byId("share").addEventListener("click", () => copy(toLink(this.state), shared(this.state.question.system)));
    for (const name of ["run", "python"]) byId(`copy-${name}`).addEventListener("click", () => this.copyOf(name));
    byId("overlay").addEventListener("change", (event) => this.enter({ ...this.state, overlay: event.target.value }));
    byId("csv").addEventListener("click", () => download("explored.csv", this.csv(), "text/csv"));
    for (const node of document.querySelectorAll("[data-picture]")) node.addEventListener("click", () => this.pictures(node.dataset.picture));
    window.addEventListener("popstate", () => this.enter(fromAddress(location.search), true));
    window.addEventListener("keydown", (event) => {
      if (event.key === "p" && !/INPUT|SELECT/.test(document.activeElement.tagName)) this.pin();
    });
    const again = () => this.rebuild();
    dark.addEventListener("change", again);
    onResize(again);
    // Without a server there is no search.
    byId("meet")?.addEventListener("click", () => this.meet());
    byId("target")?.addEventListener("keydown", (event) => event.key === "Enter" && this.meet());
    byId("take-out").addEventListener("toggle", () => this.takeOut());
    byId("numbers").addEventListener("toggle", () => this.numbers());
    await this.enter(this.state, true);
  }

  async offerOverlays() {
    const stores = await ask("stores");
    for (const store of stores.filter((one) => one.kind === "transfers")) byId("overlay").append(element("option", { value: `store:${store.store}`, textContent: `${store.name} (${store.origin})` }));
    for (const name of this.setting.systems) byId("overlay").append(element("option", { value: `system:${name}`, textContent: `${name}, unchanged (simulated)` }));
  }

  // Enters a whole state: from the address, a pin or an overlay.
  async enter(state, fromHistory = false) {
    this.state = state;
    if (!fromHistory) history.pushState(null, "", toAddress(state));
    byId("overlay").value = state.overlay;
    this.overlaid = null;
    for (const run of this.runs.values()) {
      run.stop?.abort();
      clearTimeout(run.rest);
    }
    this.runs = new Map([[NOW, this.run(NOW, state.question)]]);
    state.pins.forEach((pin, index) => this.runs.set(`pin-${index}`, this.run(`${String.fromCharCode(65 + index)}: ${named(pin)}`, pin)));
    if (state.overlay.startsWith("system:")) {
      const question = { ...state.question, system: state.overlay.slice(7), sets: {} };
      this.runs.set("overlay", this.run(`${question.system}, unchanged`, question));
    }
    this.listPins();
    await this.build();
    await this.buildKeys();
    if (state.overlay.startsWith("store:")) await this.overlay(Number(state.overlay.slice(6)));
    await Promise.all([...this.runs.keys()].map((key) => this.answer(key)));
    if (fromHistory && !this.runs.get(NOW).answer) await this.openInstead();
  }

  // An address may name what is not there, as a system: opens on the first question and says why.
  async openInstead() {
    const refused = byId("problem").textContent, first = fromAddress("");
    if (toAddress(first) === toAddress(this.state)) return;
    history.replaceState(null, "", toAddress(first));
    await this.enter(first, true);
    showProblem(new Problem(`${refused} (shown instead: ${first.question.system})`));
  }

  run(name, question) {
    return { name, question, answer: null, points: { size: new Map(), window: new Map() }, cdf: [], stop: null };
  }

  async overlay(store) {
    this.overlaid = await ask("overlay", { store });
    await this.rebuild();
  }

  build() {
    const names = [...this.runs.values()].map((run) => run.name);
    return this.charts.build(this.overlaid ? [...names, this.overlaid.name] : names);
  }

  async rebuild() {
    await this.build();
    await this.draw();
    this.listPins();
  }

  async buildKeys() {
    try {
      const plain = await ask("system", { ...this.state.question, sets: {} });
      this.controls.build(plain.keys, plain.keys);
    } catch (problem) {
      showProblem(problem);
    }
  }

  // Asks the question of a control. While a slider moves, all its positions share one entry of the history.
  async ask(question, done) {
    const began = performance.now();
    const before = toAddress(this.state), other = question.system !== this.state.question.system;
    this.state = { ...this.state, question };
    const address = toAddress(this.state);
    if (this.sliding) history.replaceState(null, "", address);
    else if (address !== before) history.pushState(null, "", address);
    this.sliding = !done;
    // A released slider repeats its last position.
    if (address === before) return;
    byId("met")?.replaceChildren();
    const run = this.runs.get(NOW);
    run.question = question;
    if (other) await this.buildKeys();
    this.controls.values(question);
    await this.answer(NOW, began);
  }

  // Asks one question at a time, and then the last one that came meanwhile.
  async answer(key, began = performance.now()) {
    const run = this.runs.get(key);
    run.stop?.abort();
    clearTimeout(run.rest);
    if (key === NOW) delete document.documentElement.dataset.settled;
    if (run.busy) {
      run.next = began;
      return;
    }
    run.busy = true;
    const question = run.question;
    try {
      run.answer = await ask("answer", question);
      run.points = { size: new Map(), window: new Map() };
      run.cdf = [];
      if (key === NOW) {
        showProblem(null);
        this.controls.show(question, `${run.answer.title} · ${run.answer.link}`);
        this.controls.values(question);
      }
      await this.draw();
      if (key === NOW) document.documentElement.dataset.pictureMs = (performance.now() - began).toFixed(1);
    } catch (problem) {
      showProblem(problem);
      run.busy = false;
      return;
    }
    run.busy = false;
    if (run.next) {
      const next = run.next;
      run.next = null;
      return this.answer(key, next);
    }
    if (key === NOW) {
      this.bounds(question.size);
      this.takeOut();
    }
    run.rest = setTimeout(() => this.simulate(key, run, began), REST_MS);
  }

  async simulate(key, run, began) {
    const stop = new AbortController();
    run.stop = stop;
    let first = true, drawn = performance.now();
    // A measured value is the question: it is explained before the points are simulated.
    if (key === NOW && run.question.measured !== null) this.explain(run.question.size);
    try {
      for await (const point of stream("points", { page: `${this.page}-${key}`, question: run.question }, stop.signal)) {
        if (run.stop !== stop) return;
        if (point.problem) throw new Problem(point.problem);
        if (point.done) break;
        this.take(run, point);
        if (first || performance.now() - drawn > 60) {
          drawn = performance.now();
          await this.draw();
        }
        if (first && key === NOW) document.documentElement.dataset.firstPointMs = (performance.now() - began).toFixed(1);
        first = false;
      }
      await this.draw();
      if (key === NOW) this.settled();
    } catch (problem) {
      if (problem.name !== "AbortError") showProblem(problem);
    }
  }

  take(run, point) {
    if (point.panel === "latency") run.cdf = (point.cdf ?? []).map(([ns, share]) => ({ run: run.name, ns, share }));
    else if (point.gbps !== undefined) run.points[point.panel].set(point[point.panel], point);
  }

  settled() {
    byId("state").textContent = "";
    this.numbers();
    document.documentElement.dataset.settled = toAddress(this.state);
    if (this.state.question.measured === null) this.explain(this.explained ?? this.state.question.size);
  }

  async draw() {
    const runs = [...this.runs.values()].filter((run) => run.answer);
    const now = this.runs.get(NOW);
    if (!now.answer) return;
    const bounds = (panel, word) => runs.flatMap((run) => run.answer[panel].map((row) => ({ run: run.name, [word]: row[word], gbps: row.gbps, binds: row.binds })));
    const points = (panel) => [
      ...runs.flatMap((run) => [...run.points[panel].values()].map((point) => ({ run: run.name, kind: "simulated", [panel]: point[panel], gbps: point.gbps }))),
      ...this.overlayRows(panel),
    ];
    this.legend(now.answer.sizes);
    await Promise.all([
      this.charts.show("size", { ribbon: ribbon(now.answer.sizes), references: now.answer.references, bounds: bounds("sizes", "size"), points: points("size") }),
      this.charts.show("window", { edges: now.answer.edges, bounds: bounds("windows", "window"), points: points("window") }),
      this.charts.show("latency", { cdf: runs.flatMap((run) => run.cdf) }),
    ]);
    if (byId("numbers").open) this.numbers();
  }

  // Names the colours of the ribbon, in the order of sizes.
  legend(rows) {
    const found = [...new Set(rows.map((row) => row.binds))];
    const items = found.map((bound) => {
      const swatch = element("span", { className: "swatch square" });
      swatch.style.background = this.setting.bounds[bound] ?? "currentColor";
      return element("li", {}, swatch, bound);
    });
    byId("legend").replaceChildren(element("li", { className: "faint", textContent: "binding bound:" }), ...items);
  }

  // Rows of a store with the question's parameters except the swept one.
  overlayRows(panel) {
    if (!this.overlaid) return [];
    const { question } = this.state, word = `${panel}_bytes`, other = panel === "size" ? "window_bytes" : "size_bytes";
    const same = (row) => row.operation === question.bandwidth && row.bandwidth_gbps !== null;
    const exact = this.overlaid.rows.filter((row) => same(row) && row.cache === question.cache && row[other] === question[other === "size_bytes" ? "size" : "window"]);
    return exact.map((row) => ({ run: this.overlaid.name, kind: "overlay", [panel]: row[word], gbps: row.bandwidth_gbps }));
  }

  numbers() {
    const run = this.runs.get(NOW);
    const rows = (run.answer?.sizes ?? []).map((row) => {
      const simulated = run.points.size.get(row.size)?.gbps;
      const text = simulated === undefined ? "…" : rounded(simulated);
      const button = element("button", { type: "button", textContent: "why" });
      button.addEventListener("click", () => this.explain(row.size));
      const cells = [[row.size, "number"], [rounded(row.gbps), "number"], [row.binds, ""], [text, "number"]];
      const made = element("tr", {}, ...cells.map(([textContent, className]) => element("td", { textContent, className })), element("td", {}, button));
      made.dataset.size = row.size;
      // The whole number, which a command prints too.
      if (simulated !== undefined) made.dataset.gbps = simulated;
      return made;
    });
    document.querySelector("#numbers tbody").replaceChildren(...rows);
  }

  // The bounds of a size; its sentences come when the points are there.
  bounds(size) {
    this.explained = size;
    this.explanation = {};
    const run = this.runs.get(NOW), row = run.answer?.sizes.find((one) => one.size === size);
    const measured = this.measuredAt(size);
    const bars = (row?.ceilings ?? []).map((one) => ({ ...one, text: one.slack > 0 ? `, ${(100 * one.slack).toFixed(0)} % more` : ", binding" }));
    if (measured !== null) bars.unshift({ bound: "measured", gbps: measured, text: "" });
    const most = Math.max(1e-9, ...bars.map((one) => one.gbps));
    byId("ceilings").replaceChildren(...bars.map((one) => {
      const bar = element("div", { className: "bar" });
      bar.style.width = `${(100 * one.gbps) / most}%`;
      bar.style.background = this.setting.bounds[one.bound] ?? "currentColor";
      return element("div", { className: "ceiling" }, element("span", { textContent: one.bound }), element("div", {}, bar, element("small", { textContent: `${one.gbps.toFixed(2)} Gb/s${one.text}` })));
    }));
    document.querySelector("#why h2").textContent = `Binding bound at ${bytes(size)} B · MODELLED`;
    byId("sentences").replaceChildren();
  }

  // The measured value, which is of the question's own size.
  measuredAt(size) {
    const { question } = this.runs.get(NOW);
    return size === question.size ? question.measured : null;
  }

  async explain(size) {
    this.bounds(size);
    const asked = this.explanation, question = { ...this.runs.get(NOW).question, size, measured: this.measuredAt(size) };
    byId("sentences").replaceChildren(element("li", { className: "faint", textContent: "trying one change at a time …" }));
    try {
      const found = await ask("why", { question, operation: question.bandwidth });
      // A later answer may have come first.
      if (asked !== this.explanation) return;
      byId("sentences").replaceChildren(...found.sentences.map((text) => element("li", { textContent: text })));
    } catch (problem) {
      if (asked === this.explanation) byId("sentences").replaceChildren();
      showProblem(problem);
    }
  }

  // Sets the controls to the smallest change that meets the target.
  async meet() {
    const { question } = this.state, button = byId("meet"), text = byId("target").value.trim();
    if (button.disabled) return;
    button.disabled = true;
    byId("met").textContent = "searching …";
    let sentence = "";
    try {
      const target = text === "" || Number.isNaN(Number(text)) ? text : Number(text);
      const found = await ask("target", { question, operation: question[byId("target-of").value], target });
      // A moved slider asks another question.
      if (question !== this.state.question) return;
      sentence = found.sentence;
      showProblem(null);
      this.ask(this.controls.changedBy({ ...question, outstanding: found.outstanding }, found.changes), true);
    } catch (problem) {
      showProblem(problem);
    } finally {
      byId("met").textContent = sentence;
      button.disabled = false;
    }
  }

  pin() {
    const pins = [...this.state.pins, this.state.question].slice(-PINS_MOST);
    return this.enter({ ...this.state, pins });
  }

  listPins() {
    const colours = this.charts.colours();
    const made = [...this.runs.entries()].filter(([key]) => key.startsWith("pin-")).map(([key, run], index) => {
      const swatch = element("span", { className: "swatch" });
      swatch.style.background = colours[(index + 1) % colours.length];
      const off = element("button", { type: "button", textContent: "×" });
      off.setAttribute("aria-label", `unpin ${run.name}`);
      const at = Number(key.slice(4));
      off.addEventListener("click", () => this.enter({ ...this.state, pins: this.state.pins.filter((_, other) => other !== at) }));
      const back = element("button", { type: "button", textContent: run.name, title: "Restore this question" });
      back.addEventListener("click", () => this.enter({ ...this.state, question: run.question }));
      return element("li", {}, swatch, back, off);
    });
    byId("pins").replaceChildren(...made);
  }

  async copyOf(name) {
    try {
      // A measured value is explained; Python says so by itself.
      const wanted = name === "run" && this.state.question.measured !== null ? "why" : name;
      await copy((await ask("take-out", this.state.question))[wanted], "copied");
    } catch (problem) {
      showProblem(problem);
    }
  }

  async takeOut() {
    if (!byId("take-out").open) return;
    try {
      const taken = await ask("take-out", this.state.question);
      const made = Object.entries(TITLES).flatMap(([name, title]) => {
        const copy = element("button", { type: "button", textContent: "copy" });
        copy.addEventListener("click", () => navigator.clipboard.writeText(taken[name]));
        const save = element("button", { type: "button", textContent: "save" });
        save.addEventListener("click", () => download(name === "sweep" ? "explored.toml" : `${name}.toml`, taken[name], "text/plain"));
        const isFile = ["profile", "suite", "sweep"].includes(name);
        return [element("p", { className: "tools" }, element("strong", { textContent: title }), copy, ...(isFile ? [save] : [])), element("pre", { id: `taken-${name}`, textContent: taken[name] })];
      });
      byId("taken").replaceChildren(...made);
    } catch (problem) {
      showProblem(problem);
    }
  }

  async pictures(kind) {
    for (const name of ["size", "latency", "window"]) {
      download(`explored-${name}.${kind}`, await this.charts.picture(name, kind), kind === "svg" ? "image/svg+xml" : "image/png");
    }
  }

  csv() {
    const lines = ["run,origin,over,bytes,bandwidth_gbps,binds"];
    for (const run of this.runs.values()) {
      for (const [panel, rows, word] of [["size", run.answer?.sizes, "size"], ["window", run.answer?.windows, "window"]]) {
        for (const row of rows ?? []) lines.push([quoted(run.name), "modelled", panel, row[word], row.gbps, row.binds].join(","));
        for (const point of run.points[panel].values()) lines.push([quoted(run.name), "simulated", panel, point[panel], point.gbps, ""].join(","));
      }
    }
    return `${lines.join("\n")}\n`;
  }
}

// A piece around each size, half way to its neighbours.
const ribbon = (rows) => rows.map((row, index) => ({
  size: row.size, binds: row.binds,
  slack: row.ceilings.slice(1, 4).map((one) => `${one.bound} +${(100 * one.slack).toFixed(0)} %`).join(", "),
  from: index ? Math.sqrt(row.size * rows[index - 1].size) : row.size,
  to: index < rows.length - 1 ? Math.sqrt(row.size * rows[index + 1].size) : row.size,
}));

new Workbench(await setting()).start();
