// Own systems and fabrics: TOML files that are dropped on a page, pasted or chosen, and checked by the back end.
import { ask, showProblem } from "./session.js";

const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");

const take = async (file, took) => {
  try {
    took(await ask("drop", { file: file.name, text: await file.text() }));
  } catch (problem) {
    showProblem(problem);
    document.getElementById("problem").scrollIntoView({ block: "nearest" });
  }
};

// The page that shows a file.
export const pageOf = ({ kind, name }) => `${kind === "fabric" ? "/fabrics?name" : "/?system"}=${encodeURIComponent(name)}`;

// Opens files that are dropped on the page or chosen in its header; `took` gets the kind and name of each.
export const listenForFiles = (took = (own) => location.assign(pageOf(own))) => {
  const { classList } = document.documentElement;
  const chosen = document.getElementById("file");
  chosen.addEventListener("change", async () => {
    if (chosen.files.length) await take(chosen.files[0], took);
    chosen.value = "";
  });
  window.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text") ?? "";
    if (/INPUT|TEXTAREA/.test(event.target.tagName) || !/^\s*\w+\s*=/m.test(text)) return;
    event.preventDefault();
    take(new File([text], "pasted.toml"), took);
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
    take(event.dataTransfer.files[0], took);
  });
};
