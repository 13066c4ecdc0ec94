// What pages with one form share: its values come from the address, and a change of one asks again.
import { listenForFiles, pageOf } from "./dropped.js";
import { dark, element, onResize, setting, stayConnected } from "./session.js";

const LATER_MS = 250;

// Connects the page and opens files on the pages that show them, but for those that `keep` takes; the settings.
export const begin = async (keep) => {
  stayConnected();
  // Without a server, pages lie in a folder of any address.
  const root = document.documentElement.dataset.backEnd === "workers" ? "." : "";
  listenForFiles((own) => location.assign(root + pageOf(own)), keep);
  return setting();
};

// Adds names to a choice, each with its title or with a description that has one.
export const offer = (choice, named) => {
  for (const [name, one] of Object.entries(named)) choice.append(element("option", { value: name, textContent: name, title: one.title ?? one }));
};

// Gives a control its value from an address; what it cannot have leaves it as it is.
export const give = (control, text) => {
  if (!control) return;
  const before = control.value;
  control.value = text;
  if (!control.value) control.value = before;
};

// Asks when the form has changed and rests, and draws again in another width or theme.
export const listen = (form, ask, draw) => {
  let waiting;
  form.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(ask, LATER_MS); });
  dark.addEventListener("change", draw);
  onResize(draw);
};
