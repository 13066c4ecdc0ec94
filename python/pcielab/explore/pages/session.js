// Asking the server, and telling it that the page is open.

export class Problem extends Error {}

export const ask = async (name, asked, signal) => {
  const answer = await fetch(`/api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(asked ?? {}),
    signal,
  });
  if (answer.ok) return answer.json();
  const told = await answer.json().catch(() => ({}));
  throw new Problem(told.problem ?? `the server failed: ${answer.statusText}`);
};

// Lines of JSON as they come.
export const stream = async function* (name, asked, signal) {
  const answer = await fetch(`/api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(asked),
    signal,
  });
  if (!answer.ok) throw new Problem((await answer.json()).problem);
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

export const setting = async () => (await fetch("/api/setting")).json();

// The server ends when nobody holds this any more.
export const stayConnected = async () => {
  for (;;) {
    try {
      const held = await fetch("/api/presence");
      const reader = held.body.getReader();
      while (!(await reader.read()).done);
    } catch {
      // The server has gone, or was started again.
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

// A table of rows; numbers to the right, texts as they are.
export const fill = (table, columns, rows, choose) => {
  const head = element("tr", {}, ...columns.map((column) => element("th", { textContent: column.replaceAll("_", " ") })));
  const body = rows.map((row) => {
    const cells = columns.map((column) => {
      const value = row[column];
      const number = typeof value === "number";
      const text = value === null || value === undefined ? "–" : number && !Number.isInteger(value) ? value.toPrecision(6) : String(value);
      return element("td", { textContent: text, className: number ? "number" : "" });
    });
    const made = element("tr", {}, ...cells);
    if (choose) {
      made.tabIndex = 0;
      made.addEventListener("click", () => choose(row, made));
      made.addEventListener("keydown", (event) => event.key === "Enter" && choose(row, made));
    }
    return made;
  });
  table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
};
