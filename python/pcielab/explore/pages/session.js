// The back end of pages, and functions that pages share.
import { Problem } from "./problem.js";

// The seam between pages and what answers them: the local server, or this browser.
const { ask, carried, setting: asked, shared, stayConnected, stream } = await import(document.documentElement.dataset.backEnd === "workers" ? "./workers.js" : "./server.js");
export { ask, carried, Problem, shared, stayConnected, stream };

// Shows an error on the page, or with null clears it.
export const showProblem = (problem) => {
  const node = document.getElementById("problem");
  node.hidden = !problem;
  node.textContent = problem?.message ?? "";
  if (problem && !(problem instanceof Problem)) console.error(problem);
};

// The settings, which pages need first; without them, the page shows the error.
export const setting = async () => {
  try {
    return await asked();
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
