// Answers requests by the page's WebAssembly: `node webassembly.mjs FOLDER < REQUESTS > ANSWERS`, both JSON.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [folder] = process.argv.slice(2);
const source = await readFile(`${folder}/pcie_page.js`, "utf8");
const { ask, initSync } = await import(`data:text/javascript,${encodeURIComponent(source.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(folder).href)))}`);
initSync({ module: await readFile(`${folder}/pcie_page_bg.wasm`) });

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const answered = ([name, asked]) => {
  try {
    return ask(name, asked);
  } catch (problem) {
    return `refused: ${problem}`;
  }
};
process.stdout.write(JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()).map(answered)));
