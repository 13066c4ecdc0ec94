// Draws every figure in the theme of the reader's system and in the width of its box, and again when one of these changes.
"use strict";
(async () => {
  // The text of an element that holds it packed.
  const unpacked = async (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  };

  // Runs the drawing library, which sets `window.vegaEmbed`.
  const loadLibrary = async () => {
    const address = URL.createObjectURL(new Blob([await unpacked("library")], { type: "text/javascript" }));
    const script = Object.assign(document.createElement("script"), { type: "module", src: address });
    const loaded = new Promise((resolve, reject) => Object.assign(script, { onload: resolve, onerror: reject }));
    document.head.append(script);
    await loaded;
    script.remove();
    URL.revokeObjectURL(address);
  };

  if (!document.querySelector("[data-figure]")) return;
  if (!window.DecompressionStream) {
    for (const figure of document.querySelectorAll("[data-figure]")) {
      figure.textContent = "This browser is too old to draw the figure: one of 2023 or later does.";
    }
    return;
  }
  const [specifications] = await Promise.all([unpacked("specifications").then(JSON.parse), loadLibrary()]);
  const configurations = JSON.parse(document.getElementById("configurations").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  // Widths beside the panels: an axis with its labels and title, and half a label at the other end.
  const AXIS = 64, END = 18, GAP = 22, LEAST_PANEL = 235, NARROW = 640, MENU = 70;

  // A text wrapped into lines, by the average width of a letter.
  const wrapped = (text, width, letter) => [text].flat().flatMap((line) => {
    const lines = [""];
    for (const word of String(line).split(" ")) {
      const last = lines.length - 1;
      const longer = lines[last] ? `${lines[last]} ${word}` : word;
      if (longer.length * letter > width && lines[last]) lines.push(word);
      else lines[last] = longer;
    }
    return lines;
  });

  // Panels of the available width, and as many side by side as stay legible.
  const fit = (node, width) => {
    for (const part of node.vconcat ?? []) fit(part, width);
    if (node.facet && node.spec) {
      const apart = node.resolve?.scale?.y === "independent" ? AXIS : GAP;
      const room = width - AXIS - END;
      const fitting = Math.floor((room + apart) / (LEAST_PANEL + apart));
      const panels = node.facet.sort?.length ?? fitting;
      const most = Math.max(1, Math.min(node.columns ?? 1, fitting));
      // Rows of four and one would leave most of the second one empty.
      node.columns = Math.ceil(panels / Math.ceil(panels / most));
      node.spec.width = Math.max(120, Math.floor((room - apart * (node.columns - 1)) / node.columns));
    } else if (node.layer || node.mark) {
      const labels = node.usermeta?.labels ?? 0;
      const beside = Math.min(AXIS + labels, width * 0.55);
      if (!node.usermeta?.fixed) node.width = Math.max(120, Math.floor(width - beside - END));
    }
  };

  const encodings = (node) => [
    ...Object.values(node.encoding ?? {}),
    ...[...(node.layer ?? []), ...(node.vconcat ?? []), ...(node.spec ? [node.spec] : [])].flatMap(encodings),
  ];

  const valuesOf = (specification) =>
    specification.data?.values ?? specification.datasets?.[specification.data?.name] ?? [];

  // In a narrow box, legends are stacked and long entries wrapped, so that none is cut.
  const narrow = (specification, configuration, width) => {
    const lines = (letters) =>
      `split(replace(datum.label, regexp('(.{1,${letters}})(?: |$)', 'g'), '$1\\n'), '\\n')`;
    for (const part of [specification, ...(specification.vconcat ?? [])]) {
      if (part.facet) part.facet.header = { ...part.facet.header, labelExpr: "split(datum.label, ' · ')" };
    }
    // Legends begin at the plot, beside its labels.
    const long = (channel) => channel.axis?.labelLimit > width / 2;
    const room = width - 40 - (encodings(specification).some(long) ? width * 0.45 : 0);
    for (const channel of encodings(specification)) {
      if (channel.legend !== null && (channel.scale || channel.legend)) {
        if (channel.type === "nominal") {
          channel.legend = { ...channel.legend, labelExpr: lines(Math.floor(room / 6.4)) };
        }
        if (channel.title && channel.type !== "quantitative") channel.title = wrapped(channel.title, width - 20, 6);
      }
      if (long(channel)) {
        // Three lines of small letters fit beside a bar.
        Object.assign(channel.axis, { labelExpr: lines(28), labelFontSize: 8, labelLineHeight: 9, labelOverlap: false });
        const rows = new Set(valuesOf(specification).map((value) => value[channel.field])).size;
        const longest = Math.max(0, ...valuesOf(specification).map((value) => String(value[channel.field]).length));
        specification.height = Math.max(specification.height ?? 0, rows * 9 * Math.ceil(longest / 26) + rows * 3);
      }
    }
    configuration.legend = { ...configuration.legend, layout: { bottom: { direction: "vertical", anchor: "start" } } };
  };

  const fitted = (name, width, theme) => {
    const specification = structuredClone(specifications[name]);
    const configuration = structuredClone(configurations[theme]);
    fit(specification, width);
    if (specification.title) {
      specification.title.text = wrapped(specification.title.text, width - MENU, 8.4);
      // The menu reaches down to the second line.
      const beside = specification.title.text.length > 1 ? 10 : MENU;
      specification.title.subtitle = wrapped(specification.title.subtitle ?? "", width - beside, 6.4);
    }
    if (width < NARROW) narrow(specification, configuration, width);
    return { ...specification, config: configuration };
  };

  const draw = async (figure) => {
    const name = figure.dataset.figure;
    const theme = dark.matches ? "dark" : "light";
    try {
      const embed = (width) => window.vegaEmbed(figure, fitted(name, width, theme), {
        actions: { export: true, source: false, compiled: false, editor: false },
        downloadFileName: name,
        renderer: "svg",
        ast: true,
        tooltip: { theme },
      });
      let width = figure.clientWidth;
      await embed(width);
      // The width of labels is known only after drawing.
      for (let tries = 0; tries < 3; tries += 1) {
        const over = Math.ceil(figure.querySelector("svg").getBoundingClientRect().width - figure.clientWidth);
        if (over <= 0) break;
        width -= over;
        await embed(width);
      }
    } catch (error) {
      figure.textContent = `This figure could not be drawn: ${error.message}`;
      console.error(name, error);
    }
  };

  // A folded figure has no width: it is drawn when it is opened.
  const isFolded = (figure) => figure.closest("details:not([open])") !== null;

  // One after the other, from the top, so that the first ones appear soon.
  const drawAll = async () => {
    for (const figure of document.querySelectorAll("[data-figure]")) {
      if (isFolded(figure)) figure.replaceChildren();
      else await draw(figure);
    }
  };

  for (const folded of document.querySelectorAll("details.folded")) {
    folded.addEventListener("toggle", () => {
      for (const figure of folded.querySelectorAll("[data-figure]")) {
        if (folded.open && !figure.hasChildNodes()) draw(figure);
      }
    });
  }

  // Opens the target of the address, and scrolls to it: figures push down the content below them.
  const showTarget = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target?.matches("details.folded")) target.open = true;
    target?.scrollIntoView();
  };
  window.addEventListener("hashchange", showTarget);
  drawAll().then(showTarget);
  dark.addEventListener("change", drawAll);
  let width = window.innerWidth, later;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(later);
    later = setTimeout(drawAll, 200);
  });
})();
