// Requests to the server, and helpers that pages share.

export class Problem extends Error {}

// The token follows the # of the address, and stays in this origin's storage, which other ports cannot read.
const KEY = "pcielab-token";
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  localStorage.setItem(KEY, given);
  history.replaceState(null, "", location.pathname + location.search);
}

const request = async (name, options = {}) => {
  const headers = { ...options.headers, "X-Pcielab-Token": localStorage.getItem(KEY) ?? "" };
  const answer = await fetch(`/api/${name}`, { ...options, headers });
  if (answer.ok) return answer;
  const failure = await answer.json().catch(() => ({}));
  throw new Problem(failure.problem ?? `the server failed: ${answer.statusText}`);
};

const post = (name, asked, signal) =>
  request(name, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked), signal });

export const ask = async (name, asked, signal) => (await post(name, asked ?? {}, signal)).json();

// Lines of JSON as they arrive.
export const stream = async function* (name, asked, signal) {
  const answer = await post(name, asked, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
};

// Shows an error on the page, or with null clears it.
export const showProblem = (problem) => {
  const node = document.getElementById("problem");
  node.hidden = !problem;
  node.textContent = problem?.message ?? "";
  if (problem && !(problem instanceof Problem)) console.error(problem);
};

// The server's settings, which pages need first; without them, the page shows the error.
export const setting = async () => {
  try {
    return await (await request("setting")).json();
  } catch (problem) {
    showProblem(problem);
    throw problem;
  }
};

// Calls back when the width of the window has changed and settled.
export const onResize = (callback) => {
  let later, width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(later);
    later = setTimeout(callback, 200);
  });
};

// Holds a connection open: the server ends when no page holds one.
export const stayConnected = async () => {
  for (;;) {
    try {
      const held = await request("presence");
      const reader = held.body.getReader();
      while (!(await reader.read()).done);
    } catch {
      // The server has ended or restarted.
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
};

export const dark = window.matchMedia("(prefers-color-scheme: dark)");
export const theme = () => (dark.matches ? "dark" : "light");

export const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

export const bytes = (size) => {
  for (const [factor, letter] of [[1 << 30, "G"], [1 << 20, "M"], [1 << 10, "K"]]) {
    if (size >= factor && size % (factor / 4) === 0) return `${size / factor}${letter}`;
  }
  return String(size);
};

export const download = (name, content, type) => {
  const url = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
};

// A value with four digits, and whole from 1000 on.
export const rounded = (value) => {
  if (Math.abs(value) >= 999.95) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
};
