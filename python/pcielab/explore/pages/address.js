// The state of the page as an address, and back, for sharing, reloading and history.
import { carried } from "./session.js";

export const START = JSON.parse(document.getElementById("controls").dataset.start);
const isNumber = (word) => word === "seed" || ["number", "range"].includes(document.getElementById(word)?.type);
export const PINS_MOST = 6;
// Parameters left out of names: shown first, last, or on the axes of the pictures.
const NOT_IN_NAMES = ["system", "sets", "size", "window", "seed", "measured"];

const value = (text) => {
  try {
    const read = JSON.parse(text);
    return typeof read === "object" && read !== null ? text : read;
  } catch {
    return text;
  }
};

const written = (question) => {
  const words = new URLSearchParams();
  for (const [word, start] of Object.entries(START)) {
    if (word !== "sets" && question[word] !== start && question[word] !== null) words.set(word, question[word]);
  }
  for (const [key, one] of Object.entries(question.sets)) words.append("set", `${key}=${JSON.stringify(one)}`);
  return words.toString();
};

const read = (text) => {
  const words = new URLSearchParams(text);
  const question = { ...START, sets: {} };
  for (const word of Object.keys(START)) {
    if (word === "sets" || !words.has(word)) continue;
    const given = words.get(word);
    question[word] = isNumber(word) ? Number(given) || START[word] : given;
  }
  for (const change of words.getAll("set")) {
    const at = change.indexOf("=");
    if (at > 0) question.sets[change.slice(0, at)] = value(change.slice(at + 1));
  }
  return question;
};

let opening = { ...START, sets: {} };

// Sets the question of an empty address, which is the server's.
export const openOn = (question) => { opening = question; };

export const toAddress = (state) => {
  if (state.pins.length === 0 && state.overlay === "" && written(state.question) === written(opening)) return location.pathname;
  const words = new URLSearchParams(written(state.question));
  for (const pin of state.pins) words.append("pin", written(pin));
  if (state.overlay !== "") words.set("overlay", state.overlay);
  const own = carried(state.question.system);
  if (own !== null) words.set("own", own);
  // An empty address opens on another question than the one that leaves everything out.
  if (words.size === 0) words.set("system", state.question.system);
  return `?${words}`;
};

// The whole address of a state, wherever the page is served.
export const toLink = (state) => new URL(toAddress(state), location.href).href;

export const fromAddress = (search) => {
  const words = new URLSearchParams(search);
  return {
    question: words.size ? read(search) : { ...opening, sets: {} },
    pins: words.getAll("pin").slice(0, PINS_MOST).map(read),
    overlay: words.get("overlay") ?? "",
  };
};

// A question's differences from the unchanged system and the first test of the page, in a few words.
export const named = (question) => {
  const changes = Object.entries(question.sets).map(([key, one]) => `${key.split(".").pop()}=${one}`);
  const other = Object.keys(START).filter((word) => !NOT_IN_NAMES.includes(word) && question[word] !== START[word])
    .map((word) => question[word]);
  return [question.system, ...other, ...changes].join(" ");
};
