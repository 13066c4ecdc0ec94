// A worker with the compiled half: it answers one request after another.
import { ask, initSync } from "./pcie_page.js";

self.onmessage = ({ data }) => {
  if (data.module) {
    initSync({ module: data.module });
    return;
  }
  try {
    self.postMessage({ answer: JSON.parse(ask(data.name, data.asked)) });
  } catch (problem) {
    // A refusal is a text; anything else leaves the module in an unknown state.
    if (typeof problem === "string") self.postMessage({ problem });
    else self.postMessage({ broken: String(problem) });
  }
};
