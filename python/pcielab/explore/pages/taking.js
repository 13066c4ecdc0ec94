// What people take from a page: its address, the command and the Python of its numbers, its picture and its rows.
import { download, shared } from "./session.js";

const byId = (id) => document.getElementById(id);

// Copies a text, or shows it where the browser does not allow that.
export const copy = async (text, said) => {
  try {
    await navigator.clipboard.writeText(text);
    byId("state").textContent = said;
  } catch {
    byId("state").textContent = text;
  }
};

// A cell of a CSV file; what a spreadsheet would take for a formula stays text.
export const quoted = (text) => `"${String(text).replace(/^([=+\-@])/, "'$1").replaceAll('"', '""')}"`;

const cellOf = (value) => (value === null || value === undefined ? "" : typeof value === "number" ? value : quoted(value));

// Rows as CSV.
export const csvOf = (rows) => {
  const heads = [...new Set(rows.flatMap(Object.keys))];
  return [heads.join(","), ...rows.map((row) => heads.map((head) => cellOf(row[head])).join(","))].join("\n") + "\n";
};

// A word for a POSIX shell.
export const shellWord = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

// A picture as the content of a file.
const pictureOf = async (view, kind) => {
  if (kind === "svg") return view.toSVG();
  const canvas = await view.toCanvas(2);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
};

const TYPES = { svg: "image/svg+xml", png: "image/png", csv: "text/csv" };

// Makes the buttons work; `page` has a `name` for files, and gives its `view` of the picture and its `rows`.
export const listenForTaking = (page) => {
  byId("share").addEventListener("click", () => copy(location.href, shared()));
  for (const name of ["command", "python"]) byId(`copy-${name}`).addEventListener("click", () => copy(byId(name).textContent, "copied"));
  for (const kind of ["svg", "png"]) byId(kind).addEventListener("click", async () => page.view() && download(`${page.name}.${kind}`, await pictureOf(page.view(), kind), TYPES[kind]));
  byId("csv").addEventListener("click", () => download(`${page.name}.csv`, csvOf(page.rows()), TYPES.csv));
};
