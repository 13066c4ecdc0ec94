// A worker with the doctor: it examines one machine after another.
import { initSync, report } from "./pcie_doctor.js";

self.onmessage = ({ data }) => {
  if (data.module) {
    initSync({ module: data.module });
    return;
  }
  try {
    const { file, text } = JSON.parse(data.asked);
    const { findings, unseen, tree } = report(text, file);
    self.postMessage({ answer: { findings, unseen, tree } });
  } catch (problem) {
    // A refusal is a text; anything else leaves the module in an unknown state.
    if (typeof problem === "string") self.postMessage({ problem });
    else self.postMessage({ broken: String(problem) });
  }
};
