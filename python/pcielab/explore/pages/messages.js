// The page that compares messages by stores with descriptor DMA: a question as a form, where descriptors win, a curve and a table.
import { begin, give, listen, offer } from "./form.js";
import { ask, bytes, element, showProblem, theme } from "./session.js";
import { fill } from "./table.js";
import { listenForTaking, shellWord } from "./taking.js";

const byId = (id) => document.getElementById(id);
const columns = (heads, names) => Object.entries(heads).map(([key, head]) => ({ key, head, kind: names.includes(key) ? "name" : "value" }));
const HEADS = { payload_bytes: "payload (B)", way: "way", buffers: "buffers", downstream_bytes: "bytes down", upstream_bytes: "bytes up", latency_ns: "latency (ns)", cpu_ns: "core (ns)", gbps: "Gb/s", bound: "bound" };
const ROWS = columns(HEADS, ["payload_bytes", "way", "buffers", "bound"]);
const CROSSINGS = columns({ by: "by", first_bytes: "first (B)", from_bytes: "always from (B)" }, ["by", "first_bytes", "from_bytes"]);
const BY = { latency: "latency", bandwidth: "bandwidth", cpu: "the core's time" };
const WAYS = { uncached: "uncached", write_combined: "write-combined", descriptors: "descriptors" };
const CURVE = "8:64K:x2", ERRORS = 1, NARROW = 500;
const BYTES = "datum.value >= 1024 ? datum.value / 1024 + 'K' : datum.value";
// Controls that change the profile: its keys.
const KEYS = { buffers: "core.write_combining_buffers", "in-flight": "descriptors.messages_in_flight", inline: "descriptors.inline_bytes" };
// Controls of the link: their options of the command.
const LINK = { generation: "--gen", lanes: "--lanes" };

const form = byId("question");
let found, latest, view, asked = 0;

const value = (name) => form.elements[name].value.trim();
const numbers = (names) => Object.fromEntries(names.filter(value).map((name) => [name, Number(value(name))]));
const changes = () => Object.fromEntries(Object.entries(numbers(Object.keys(KEYS))).map(([name, number]) => [KEYS[name], number]));

const command = () => {
  const parts = ["pcielab", "model", "pio", "--profile", value("profile"), "--messages", value("sizes")];
  for (const [name, option] of Object.entries(LINK)) if (value(name)) parts.push(option, value(name));
  for (const name of [...Object.keys(KEYS), "batch"]) if (value(name)) parts.push(`--${name}`, value(name));
  const words = parts.map(shellWord).join(" ");
  return `${words}\n${words} --show crossings`;
};

const python = () => {
  const sets = changes(), given = Object.entries(sets).length ? `, ${JSON.stringify(sets)}` : "";
  const batch = value("batch") ? `.with_batch(${value("batch")})` : "";
  const { generation, lanes, mps_bytes, mrrs_bytes, rcb_bytes, address_bits } = latest.link;
  const link = Object.entries({ generation, lanes, mps_bytes, mrrs_bytes, rcb_bytes, address_bits }).map(([key, number]) => `${key}=${number}`).join(", ");
  const sizes = latest.messages.map((message) => message.payload_bytes).join(", ");
  return `from pcielab import model\n\nprofile = model.load_message_profile(${JSON.stringify(value("profile"))}${given})${batch}\nlink = model.Link(${link})\nfor message in model.messages(profile, [${sizes}], link=link):\n    print(message.payload_bytes, message.write_combined.latency_ns, message.descriptors.latency_ns)\nprint(model.crossings(profile, link=link))\n`;
};

// The three ways of a message as rows of the command.
const ways = (message) => Object.entries(WAYS).map(([key, way]) => {
  const { downstream_bytes, upstream_bytes, latency_ns, cpu_ns, bandwidth } = message[key];
  const { gbps, bound } = bandwidth;
  return { payload_bytes: message.payload_bytes, way, buffers: way === "write-combined" ? message.buffers : null, downstream_bytes, upstream_bytes, latency_ns, cpu_ns, gbps, bound };
});

const sentence = ([by, { first_bytes, from_bytes }]) => {
  if (first_bytes === null) return `By ${BY[by]}, write-combined stores win at every payload up to 64 KiB.`;
  if (first_bytes === from_bytes) return `By ${BY[by]}, descriptors win at every payload from ${from_bytes} B.`;
  const always = from_bytes === null ? "but not at every larger payload up to 64 KiB" : `and at every payload from ${from_bytes} B`;
  return `By ${BY[by]}, descriptors first win at ${first_bytes} B, ${always}.`;
};

const draw = async () => {
  const node = byId("curve"), rows = latest.curve.flatMap(ways);
  const x = { field: "payload_bytes", type: "quantitative", title: "payload of a message (B)", scale: { type: "log", base: 2, nice: false }, axis: { values: [8, 64, 512, 4096, 32768], labelExpr: BYTES } };
  const y = { field: "latency_ns", type: "quantitative", title: "latency (ns)", scale: { type: "log" } };
  const color = { field: "way", type: "nominal", title: null, scale: { domain: Object.values(WAYS) }, legend: { orient: "top", columns: node.clientWidth < NARROW ? 2 : 3 } };
  const tooltip = ["payload_bytes", "way", "latency_ns", "cpu_ns", "gbps", "bound"].map((field) => (field === "way" || field === "bound" ? { field } : { field, format: ".4~r" }));
  const spec = { data: { values: rows }, description: byId("sentences").textContent, mark: { type: "line", point: { size: 18 } }, encoding: { x, y, color, tooltip }, width: Math.max(150, node.clientWidth - 10), height: 280, autosize: { type: "fit-x", contains: "padding" }, config: found.themes[theme()] };
  view = (await window.vegaEmbed(node, spec, { actions: false, renderer: "canvas", ast: true, logLevel: ERRORS, tooltip: { theme: theme() } })).view;
};

const show = async () => {
  const mine = ++asked;
  history.replaceState(null, "", `?${new URLSearchParams([...new FormData(form)].filter(([, text]) => text.trim()))}`);
  try {
    if (!form.checkValidity()) return form.reportValidity();
    const question = { profile: { name: value("profile"), changes: changes() }, payloads: value("sizes"), curve: CURVE, link: numbers(Object.keys(LINK)), ...numbers(["batch"]) };
    const got = await ask("messages", question);
    if (mine !== asked) return;
    latest = got;
    showProblem(null);
    const { link, title, crossings } = got, by = Object.entries(crossings);
    const { first_bytes } = crossings.latency;
    byId("verdict").textContent = first_bytes === null ? "Stores win by latency at every payload" : `Stores win by latency below ${bytes(first_bytes)} B`;
    byId("sentences").replaceChildren(...by.map((one) => element("li", { textContent: sentence(one) })));
    byId("sides").textContent = `${title}; Gen${link.generation} x${link.lanes}, MPS ${link.mps_bytes}, ${link.address_bits}-bit addresses`;
    byId("notes").textContent = got.notes.join(" ");
    fill(byId("crossings"), CROSSINGS, by.map(([key, crossing]) => ({ by: BY[key], ...crossing })));
    fill(byId("messages"), ROWS, got.messages.flatMap(ways));
    byId("command").textContent = command();
    byId("python").textContent = python();
    await draw();
  } catch (problem) {
    if (mine === asked) showProblem(problem);
  }
  document.documentElement.dataset.settled = "yes";
};

const start = async () => {
  found = await begin();
  const { titles, first } = found.messages;
  offer(form.elements.profile, titles);
  for (const [name, text] of [...Object.entries(first), ...new URLSearchParams(location.search)]) give(form.elements.namedItem(name), text);
  listen(form, show, () => latest && draw());
  listenForTaking({ name: "messages", view: () => view, rows: () => latest?.messages.flatMap(ways) ?? [] });
  await show();
};

start().catch(showProblem);
