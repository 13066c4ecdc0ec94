// Own systems, fabrics and machines: files that are dropped on a page, pasted or chosen, and checked by the back end.
import { ask, showProblem } from "./session.js";

// A line of lspci.
const MACHINE = /^[ \t>]*(?:[\da-f]{4,8}:)?[\da-f]{2}:[\da-f]{2}\.[0-7] \S/m;

const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");

// What the doctor says of a machine: registers that are hidden, the findings, and the tree.
const showMachine = ({ report }) => {
  showProblem(null);
  document.getElementById("unseen").textContent = report.unseen.map((line) => `not seen: ${line}`).join("\n");
  document.getElementById("findings").textContent = report.findings;
  document.getElementById("tree").textContent = report.tree;
  const section = document.getElementById("machine");
  section.hidden = false;
  section.scrollIntoView({ block: "nearest" });
};

const take = async (file, took, keep) => {
  try {
    if (await keep(file)) return;
    const own = await ask("drop", { file: file.name, text: await file.text() });
    if (own.kind === "machine") showMachine(own);
    else took(own);
  } catch (problem) {
    showProblem(problem);
    document.getElementById("problem").scrollIntoView({ block: "nearest" });
  }
};

// The page that shows a file.
export const pageOf = ({ kind, name }) => `${kind === "fabric" ? "/fabrics?name" : "/?system"}=${encodeURIComponent(name)}`;

// Opens files that are dropped on the page or chosen in its header; `took` gets the kind and name of each. What `keep`
// says of a file is whether the page itself has taken it.
export const listenForFiles = (took = (own) => location.assign(pageOf(own)), keep = () => false) => {
  const { classList } = document.documentElement;
  const chosen = document.getElementById("file");
  chosen.addEventListener("change", async () => {
    if (chosen.files.length) await take(chosen.files[0], took, keep);
    chosen.value = "";
  });
  window.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text") ?? "";
    const kind = MACHINE.test(text) ? "txt" : /^\s*\w+\s*=/m.test(text) ? "toml" : null;
    if (/INPUT|TEXTAREA/.test(event.target.tagName) || !kind) return;
    event.preventDefault();
    take(new File([text], `pasted.${kind}`), took, keep);
  });
  window.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    classList.add("dropping");
  });
  window.addEventListener("dragleave", (event) => event.relatedTarget === null && classList.remove("dropping"));
  window.addEventListener("drop", (event) => {
    classList.remove("dropping");
    if (!hasFiles(event)) return;
    event.preventDefault();
    take(event.dataTransfer.files[0], took, keep);
  });
};
