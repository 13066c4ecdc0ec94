// The local server as back end: requests with the token, which follows the # of the address and stays in this
// origin's storage, which other ports cannot read.
import { Problem } from "./problem.js";

const KEY = "pcielab-token";
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  localStorage.setItem(KEY, given);
  history.replaceState(null, "", location.pathname + location.search);
}

// The server keeps files of the user's own.
export const carried = () => null;

// What to say of a copied address.
export const shared = () => "copied: open it in the browser that pcielab explore opened";

const request = async (name, options = {}) => {
  const headers = { ...options.headers, "X-Pcielab-Token": localStorage.getItem(KEY) ?? "" };
  const answer = await fetch(`/api/${name}`, { ...options, headers });
  if (answer.ok) return answer;
  const failure = await answer.json().catch(() => ({}));
  throw new Problem(failure.problem ?? `the server failed: ${answer.statusText}`);
};

const post = (name, asked, signal) =>
  request(name, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked), signal });

export const setting = async () => (await request("setting")).json();

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
