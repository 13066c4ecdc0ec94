// The browser as back end: the compiled half in workers, one for curves, one for the doctor and others for points.
import { Problem } from "./problem.js";

const CORES_MOST = 16, KEPT = 4096;
const NO_SERVER = new URL("..", import.meta.url);

// Longest file of the user's own, in letters, that an address carries.
const OWN_MOST = 4000;
const OWN_KEY = "pcielab-own";

const fetched = async (path) => {
  const answer = await fetch(new URL(path, NO_SERVER));
  if (!answer.ok) throw new Problem(`${path}: ${answer.statusText}`);
  return answer;
};
const json = async (path) => (await fetched(path)).json();

const compile = async (name) => WebAssembly.compile(await (await fetched(`pages/${name}_bg.wasm`)).arrayBuffer());
const compiled = compile("pcie_page");

// A worker that has one request at a time; a broken one is replaced.
class Worked {
  constructor(script, module) {
    Object.assign(this, { script, module });
    this.start();
  }

  start() {
    this.worker = new Worker(new URL(this.script, import.meta.url), { type: "module" });
    this.ready = this.module.then((module) => this.worker.postMessage({ module }));
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
  constructor(count, script = "worker.js", module = compiled) {
    this.idle = Array.from({ length: count }, () => new Worked(script, module));
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
// Its module is fetched for the first machine.
let examining;
const doctor = () => (examining ??= new Pool(1, "doctor-worker.js", compile("pcie_doctor")));

let shipped;
const shippedSetting = () => (shipped ??= json("data/setting.json"));

const systems = new Map();
const described = async (name) => {
  const { systems: names } = await setting();
  if (!names.includes(name)) throw refused ?? new Problem(`system ${name}: unknown: choose one of the list, or open its file`);
  if (!systems.has(name)) systems.set(name, json(`data/${name}.json`));
  return systems.get(name);
};

// Tables of shipped files by kind and name, fetched for the first question about them.
const fetchedTables = new Map();
const tables = (name) => {
  if (!fetchedTables.has(name)) fetchedTables.set(name, json(`data/${name}.json`));
  return fetchedTables.get(name);
};

// Files of the user's own, by the name of their system. They stay in this tab, or in an address that carries them.
const owns = new Map();
let refused = null;

const valueOf = (system, key) => key.split(".").reduce((table, step) => table?.[step], system);

// The system in a file: its values, with the controls of the system that it starts from.
const takeOwn = async ({ file, text }) => {
  const answer = await curves.ask("own", { file, text, shipped: await tables("profiles") });
  const { systems: names, opening } = await shippedSetting();
  if (names.includes(answer.name)) throw new Problem(`${file}: name is ${answer.name}: a shipped system has this name: give another`);
  const { keys } = await json(`data/${answer.base ?? opening.system}.json`);
  const own = keys.map((key) => {
    const value = valueOf(answer.system, key.key);
    return { ...key, value, source: value === key.value ? key.source : file };
  });
  owns.set(answer.name, { file, text });
  const { title, system, unmeasured, borrowed } = answer;
  systems.set(answer.name, Promise.resolve({ title, keys: own.filter((key) => key.value !== undefined), system, unmeasured, borrowed }));
  sessionStorage.setItem(OWN_KEY, JSON.stringify([...owns.values()]));
  return { kind: answer.kind, name: answer.name };
};

// The file that an address carries, then those of this tab.
const takeOwns = async () => {
  const carried = new URLSearchParams(location.search).get("own");
  const [file, ...lines] = (carried ?? "").split("\n");
  const kept = JSON.parse(sessionStorage.getItem(OWN_KEY) ?? "[]");
  for (const own of [...kept, ...(carried ? [{ file, text: lines.join("\n") }] : [])]) {
    try {
      await takeOwn(own);
    } catch (problem) {
      refused = problem;
    }
  }
};

let taken;
export const setting = async () => {
  await (taken ??= takeOwns());
  const found = await shippedSetting();
  return { ...found, systems: [...owns.keys(), ...found.systems] };
};

// What an address says of a system besides its name: a short file of the user's own.
export const carried = (name) => {
  const own = owns.get(name);
  return own && own.text.length <= OWN_MOST ? `${own.file}\n${own.text}` : null;
};

// What to say of a copied address.
export const shared = (name) =>
  owns.has(name) && carried(name) === null ? `copied without ${owns.get(name).file}, which is too long for an address: send the file, too` : "copied";

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
  why: async ({ question, operation }) => {
    const { unmeasured, borrowed } = await described(question.system);
    const ofSystem = (keys) => Object.entries(keys ?? {}).filter(([key]) => !(key in question.sets));
    return simulations.ask("why", { ...(await changed(question)), question: ofTests(question), operation, unmeasured: ofSystem(unmeasured), borrowed: ofSystem(borrowed) });
  },
  "take-out": async (question) => {
    const { system, title } = await changed(question);
    const asked = { reference: owns.get(question.system)?.file ?? question.system, name: question.system, title, link: system.link, sets: question.sets, question: ofTests(question) };
    return curves.ask("take-out", asked);
  },
  expander: async ({ name, changes, ...question }) => {
    const { expanders } = await shippedSetting();
    return curves.ask("expander", { ...question, expander: { name, changes, shipped: { expander: expanders.shipped } } });
  },
  accesses: async ({ core, bar, ...question }) => {
    const { cores } = await shippedSetting();
    const shipped = (kind, name) => ({ name, shipped: { [kind]: cores[kind] } });
    return curves.ask("accesses", { ...question, core: shipped("core", core), bar: shipped("bar", bar) });
  },
  nic: async ({ nic, ...question }) => {
    const { nics } = await shippedSetting();
    return curves.ask("why-nic", { ...question, nic: { ...nic, shipped: await tables("nics") }, stated: nics.stated });
  },
  // The times of messages are of a system.
  messages: async ({ profile, ...question }) => {
    const shipped = { ...(await tables("messages")), ...(await tables("profiles")) };
    return curves.ask("pio", { ...question, profile: { ...profile, shipped } });
  },
  stores: async () => [],
  // Everything but a system of the user's own shows a machine.
  drop: async (own) => {
    if (own.file.endsWith(".toml")) return takeOwn(own);
    return { kind: "machine", name: own.file, report: await doctor().ask("report", own) };
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
