// The controls: every value of the system, and the words of the test, both listed by the server.
import { START } from "./address.js";
import { bytes, element } from "./session.js";

const STEPS = 400;
const OCTAVES = 5;
const GENERATION = "link.generation", FLIT = "link.flit";

// Positions of a slider as values: by ratios around a value, or evenly from 0 if that is 0.
const scaleOf = (key, own) => {
  const least = key.least ?? 0, most = key.most ?? Number.MAX_SAFE_INTEGER;
  const whole = key.kind === "whole";
  const round = (value) => (whole ? Math.round(value) : Number(value.toPrecision(4)));
  if (!(own > 0)) {
    const top = Math.min(most, own === 0 ? 1000 : 1);
    return { at: (step) => round(least + ((top - least) * step) / STEPS), step: (value) => Math.round((STEPS * (value - least)) / (top - least)) };
  }
  const low = Math.max(least, own / 2 ** OCTAVES, whole ? 1 : 0), high = Math.min(most, own * 2 ** OCTAVES);
  return {
    at: (step) => Math.min(most, Math.max(least, round(low * (high / low) ** (step / STEPS)))),
    step: (value) => Math.round((STEPS * Math.log(Math.max(value, low) / low)) / Math.log(high / low || 2)),
  };
};

// The words of a question whose controls match a selector; the controls of the system's values are not among them.
const asked = (kind) => Object.keys(START).filter((word) => document.getElementById(word)?.matches(kind));

// Whether a value is one of a few, and not any number of a range.
const isChosen = (key) => key.kind === "choice" || (key.choices.length > 1 && key.choices.every((one) => typeof one === "number"));

export class Controls {
  constructor(setting, changed) {
    this.setting = setting;
    this.changed = changed;
    this.own = {};
    for (const name of setting.systems) {
      const why = setting.experimental[name];
      const textContent = why ? `${name} (experimental)` : name;
      document.getElementById("system").append(element("option", { value: name, textContent, title: why ?? "" }));
    }
    for (const word of ["size", "window"]) document.getElementById(word).max = this.stops(word).length - 1;
    document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());
    document.getElementById("search").addEventListener("input", () => this.search());
  }

  stops(word) {
    return this.setting[`${word}s`];
  }

  listen(question) {
    for (const word of asked("select")) {
      document.getElementById(word).addEventListener("change", (event) => {
        const more = word === "system" ? { sets: {} } : {};
        this.changed({ ...question(), ...more, [word]: event.target.value }, true);
      });
    }
    for (const word of ["size", "window"]) {
      const node = document.getElementById(word);
      const moved = (done) => this.changed({ ...question(), [word]: this.stops(word)[Number(node.value)] }, done);
      node.addEventListener("input", () => moved(false));
      node.addEventListener("change", () => moved(true));
    }
    for (const word of asked("input[type=number]")) {
      document.getElementById(word).addEventListener("change", (event) => {
        const value = event.target.value === "" ? START[word] : Number(event.target.value);
        this.changed({ ...question(), [word]: value }, true);
      });
    }
    document.getElementById("reset").addEventListener("click", () => this.changed({ ...question(), sets: {} }, true));
    this.question = question;
  }

  set(key, value, done) {
    const sets = { ...this.question().sets };
    const put = (changed, to) => {
      delete sets[changed];
      if (to !== this.own[changed]) sets[changed] = to;
    };
    put(key, value);
    // Generation 6 and later run in flit mode only; a slower one has the mode of its profile.
    if (key === GENERATION) put(FLIT, value >= 6 || (this.own[GENERATION] < 6 && this.own[FLIT]));
    this.changed({ ...this.question(), sets }, done);
  }

  // A question with further changes of values; a value of the unchanged system is no change.
  changedBy(question, changes) {
    const sets = Object.entries({ ...question.sets, ...changes }).filter(([key, value]) => value !== this.own[key]);
    return { ...question, sets: Object.fromEntries(sets) };
  }

  // Shows a question in the controls of the test.
  show(question, title) {
    for (const word of asked("select, input[type=number]")) document.getElementById(word).value = question[word] ?? "";
    for (const word of ["size", "window"]) {
      const stops = this.stops(word);
      const nearest = stops.findIndex((stop) => stop >= question[word]);
      document.getElementById(word).value = nearest < 0 ? stops.length - 1 : nearest;
      document.getElementById(`${word}-text`).textContent = `${bytes(question[word])} B`;
    }
    document.getElementById("title").textContent = title;
  }

  // Rebuilds the controls of all values for another system; `own` has its unchanged values.
  build(keys, own) {
    this.own = Object.fromEntries(own.map((key) => [key.key, key.value]));
    this.rows = {};
    const groups = new Map();
    for (const key of keys) {
      if (key.key === "name" || key.key === "title") continue;
      if (!groups.has(key.group)) groups.set(key.group, []);
      groups.get(key.group).push(this.row(key));
    }
    const made = [...groups].map(([group, rows]) => element("details", { className: "group" }, element("summary", { textContent: group || "placement" }), ...rows));
    document.getElementById("keys").replaceChildren(...made);
    this.buildFirst(new Map(keys.map((key) => [key.key, key])));
    this.search();
  }

  // The first row: the values that people ask for first, of those that the system has.
  buildFirst(keys) {
    this.first = {};
    const found = Object.entries(this.setting.first).filter(([key]) => keys.has(key));
    const made = found.map(([key, label]) => {
      const [range, number] = this.inputs(keys.get(key));
      const input = range.tagName === "SELECT" ? range : number;
      // Its label names it; the list below has the key.
      input.removeAttribute("aria-label");
      this.first[key] = input;
      return element("label", { title: keys.get(key).meaning }, element("span", { textContent: label }), input);
    });
    document.getElementById("first").replaceChildren(...made);
  }

  row(key) {
    const inputs = this.inputs(key);
    const undo = element("button", { type: "button", textContent: "↺", title: `Back to ${this.own[key.key]}` });
    undo.setAttribute("aria-label", `undo ${key.key}`);
    undo.addEventListener("click", () => this.set(key.key, this.own[key.key], true));
    const about = [key.meaning, key.source && `Source: ${key.source}`].filter(Boolean);
    const row = element("div", { className: "key" }, element("code", { textContent: key.key + (key.unit ? ` (${key.unit})` : "") }),
      element("div", { className: "values" }, ...inputs, undo), ...about.map((text) => element("p", { textContent: text })));
    row.dataset.text = `${key.key} ${key.meaning}`.toLowerCase();
    row.dataset.key = key.key;
    this.rows[key.key] = { row, inputs, undo, scale: isChosen(key) || key.kind === "text" ? null : scaleOf(key, this.own[key.key]) };
    return row;
  }

  inputs(key) {
    const label = (node) => (node.setAttribute("aria-label", key.key), node);
    if (isChosen(key)) {
      const words = key.choices.map((one) => element("option", { value: JSON.stringify(one), textContent: String(one) }));
      const select = label(element("select", {}, ...words));
      select.addEventListener("change", () => this.set(key.key, JSON.parse(select.value), true));
      return [select, element("span")];
    }
    if (key.kind === "text") {
      const text = label(element("input", { type: "text" }));
      text.addEventListener("change", () => this.set(key.key, text.value, true));
      return [text, element("span")];
    }
    const range = label(element("input", { type: "range", min: 0, max: STEPS }));
    const number = label(element("input", { type: "text", inputMode: "decimal" }));
    range.addEventListener("input", () => this.set(key.key, this.rows[key.key].scale.at(Number(range.value)), false));
    range.addEventListener("change", () => this.set(key.key, this.rows[key.key].scale.at(Number(range.value)), true));
    number.addEventListener("change", () => {
      const value = number.value.trim();
      this.set(key.key, value === "" || Number.isNaN(Number(value)) ? value || this.own[key.key] : Number(value), true);
    });
    return [range, number];
  }

  // Shows the values of a question.
  values(question) {
    for (const [key, input] of Object.entries(this.first ?? {})) {
      const value = question.sets[key] ?? this.own[key];
      input.closest("label").classList.toggle("changed", key in question.sets);
      input.value = input.tagName === "SELECT" ? JSON.stringify(value) : value ?? "none";
    }
    for (const [key, { row, inputs, undo, scale }] of Object.entries(this.rows ?? {})) {
      const changed = key in question.sets;
      const value = changed ? question.sets[key] : this.own[key];
      row.classList.toggle("changed", changed);
      undo.disabled = !changed;
      const [first, second] = inputs;
      if (scale) {
        if (document.activeElement !== first && typeof value === "number") first.value = scale.step(value);
        if (document.activeElement !== second || changed) second.value = value ?? "none";
      } else first.value = first.tagName === "SELECT" ? JSON.stringify(value) : value ?? "none";
    }
  }

  search() {
    const words = document.getElementById("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const group of document.querySelectorAll("#keys .group")) {
      let found = 0;
      for (const row of group.querySelectorAll(".key")) {
        row.hidden = !words.every((word) => row.dataset.text.includes(word));
        found += row.hidden ? 0 : 1;
      }
      group.hidden = found === 0;
      group.open = words.length > 0 && found > 0;
    }
  }
}
