// Tables of rows: values are rounded, and a click on a heading sorts.
import { bytes, element, rounded } from "./session.js";

const BYTES = 1 << 12;

const text = (column, value) => {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (column.kind === "value") return rounded(value);
  return column.key.endsWith("_bytes") && value >= BYTES ? bytes(value) : String(value);
};

// Rows in the order of a column; without a value they come last.
const sorted = (rows, { key, down }) => {
  const missing = (row) => row[key] === null || row[key] === undefined;
  const order = (one, other) => (typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true }));
  return [...rows].sort((one, other) => missing(one) - missing(other) || (missing(one) ? 0 : (down ? -1 : 1) * order(one[key], other[key])));
};

const cell = (column, value, className) => {
  const made = element("td", { textContent: text(column, value), className });
  if (typeof value === "number" && made.textContent !== String(value)) made.title = String(value);
  return made;
};

// Fills a table; `choose` gets the row that is opened, `order` is the column that it is sorted by.
export const fill = (table, columns, rows, { choose, order, sort } = {}) => {
  const numbers = new Set(columns.filter(({ key }) => rows.some((row) => typeof row[key] === "number")).map(({ key }) => key));
  const heads = columns.map((column) => {
    const down = order?.key === column.key ? order.down : null;
    const made = element("th", { scope: "col", className: [column.kind, ...(numbers.has(column.key) ? ["number"] : [])].join(" ") });
    if (!sort) made.textContent = column.head;
    else {
      made.append(element("button", { type: "button", textContent: column.head + (down === null ? "" : down ? " ▼" : " ▲") }));
      if (down !== null) made.ariaSort = down ? "descending" : "ascending";
      // Large values are asked for first, and a third click restores the order of the suite.
      const first = numbers.has(column.key);
      const next = down === null ? { key: column.key, down: first } : down === first ? { key: column.key, down: !first } : null;
      made.firstChild.addEventListener("click", () => sort(next));
    }
    return made;
  });
  const body = (order ? sorted(rows, order) : rows).map((row) => {
    const made = element("tr", {}, ...columns.map((column) => cell(column, row[column.key], numbers.has(column.key) ? "number" : "")));
    if (choose) {
      made.tabIndex = 0;
      made.addEventListener("click", () => choose(row, made));
      made.addEventListener("keydown", (event) => event.key === "Enter" && choose(row, made));
    }
    return made;
  });
  table.replaceChildren(element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...body));
};
