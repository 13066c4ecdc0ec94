// The browser as back end: the compiled half in workers, one for curves and others for points.
import { Problem } from "./problem.js";

const CORES_MOST = 16, KEPT = 4096;
const NO_SERVER = new URL("..", import.meta.url);
const WITHOUT_REASONS = "possible causes and a fix: run the command under Export, then pcielab explain with the store that it writes";

export const SHARED = "copied";

const fetched = async (path) => {
  const answer = await fetch(new URL(path, NO_SERVER));
  if (!answer.ok) throw new Problem(`${path}: ${answer.statusText}`);
  return answer;
};
const json = async (path) => (await fetched(path)).json();

const compiled = (async () => WebAssembly.compile(await (await fetched("pages/pcie_page_bg.wasm")).arrayBuffer()))();

// A worker that has one request at a time; a broken one is replaced.
class Worked {
  constructor() { this.start(); }

  start() {
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.ready = compiled.then((module) => this.worker.postMessage({ module }));
  }

  async ask(name, asked) {
    await this.ready;
    const found = await new Promise((resolve) => {
      this.worker.onmessage = ({ data }) => resolve(data);
      this.worker.onerror = (event) => resolve({ broken: event.message });
      this.worker.postMessage({ name, asked: JSON.stringify(asked) });
    });
    if (found.broken) {
      this.worker.terminate();
      this.start();
      throw new Problem(`internal error: ${found.broken}`);
    }
    if (found.problem) throw new Problem(found.problem);
    return found.answer;
  }
}

// Workers that share a queue: a request waits for the first idle one.
class Pool {
  constructor(count) {
    this.idle = Array.from({ length: count }, () => new Worked());
    this.waiting = [];
  }

  async ask(name, asked, signal) {
    const worked = this.idle.pop() ?? (await new Promise((resolve) => this.waiting.push(resolve)));
    try {
      signal?.throwIfAborted();
      return await worked.ask(name, asked);
    } finally {
      const next = this.waiting.shift();
      if (next) next(worked);
      else this.idle.push(worked);
    }
  }
}

const cores = Math.min(navigator.hardwareConcurrency || 2, CORES_MOST);
const curves = new Pool(1);
const simulations = new Pool(Math.max(1, cores - 1));

let found;
export const setting = () => (found ??= json("data/setting.json"));

const systems = new Map();
const described = async (name) => {
  const { systems: names } = await setting();
  if (!names.includes(name)) throw new Problem(`system ${name}: unknown: choose one of the list`);
  if (!systems.has(name)) systems.set(name, json(`data/${name}.json`));
  return systems.get(name);
};

// A question's system with its changes; the last one is kept, because sliders of tests ask for it again.
let last = { key: null };
const changed = async ({ system: name, sets }) => {
  const key = JSON.stringify([name, sets]);
  if (last.key !== key) {
    const { system } = await described(name);
    last = { key, answer: curves.ask("change", { system, sets }) };
  }
  return last.answer;
};

const ofTests = ({ system: _system, sets: _sets, ...question }) => question;

const ASKS = {
  system: ({ system }) => described(system),
  answer: async (question) => curves.ask("answer", { ...(await changed(question)), question: ofTests(question) }),
  why: async () => ({ sentences: [WITHOUT_REASONS] }),
  "take-out": async (question) => {
    const { system, title } = await changed(question);
    const asked = { reference: question.system, name: question.system, title, link: system.link, sets: question.sets, question: ofTests(question) };
    return curves.ask("take-out", asked);
  },
  stores: async () => [],
  // The rules of the doctor, and those of files, are Python's.
  drop: async ({ file }) => {
    const command = file.endsWith(".toml") ? "pcielab explore" : "pcielab doctor --lspci";
    throw new Problem(`${file}: files of your own need the command on your machine: ${command} ${file}`);
  },
};

export const ask = (name, asked) => ASKS[name](asked);

// Points by system, test and seed; the oldest are dropped.
const known = new Map();
const point = async (system, { suite }, seed, signal) => {
  const asked = { system, suite, seed }, key = JSON.stringify(asked);
  if (known.has(key)) return known.get(key);
  const drawn = await simulations.ask("point", asked, signal);
  known.set(key, drawn);
  if (known.size > KEPT) known.delete(known.keys().next().value);
  return drawn;
};

// The points of a question as they are done, begun in the order of the plan.
export const stream = async function* (_name, { question }, signal) {
  const { system } = await changed(question);
  const running = new Map();
  for (const planned of await curves.ask("plan", ofTests(question))) {
    const { panel, bytes } = planned, swept = panel === "latency" ? "size" : panel;
    const done = point(system, planned, question.seed, signal).then((drawn) => ({ planned, row: { panel, [swept]: bytes, ...drawn } }));
    running.set(planned, done);
    // Rejections are taken below.
    done.catch(() => {});
  }
  while (running.size) {
    const { planned, row } = await Promise.race(running.values());
    running.delete(planned);
    signal?.throwIfAborted();
    yield row;
  }
  yield { done: true };
};

// There is no server that could end.
export const stayConnected = () => {};
