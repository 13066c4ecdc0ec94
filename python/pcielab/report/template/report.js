// Draws every figure in the theme that the reader's system asks for, and again when that changes.
"use strict";
(() => {
  const parse = (id) => JSON.parse(document.getElementById(id).textContent);
  const specifications = parse("specifications");
  const configurations = parse("configurations");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  const draw = async (figure) => {
    const name = figure.dataset.figure;
    const theme = dark.matches ? "dark" : "light";
    try {
      await window.vegaEmbed(figure, { ...specifications[name], config: configurations[theme] }, {
        actions: { export: true, source: false, compiled: false, editor: false },
        downloadFileName: name,
        renderer: "svg",
        ast: true,
        tooltip: { theme },
      });
    } catch (error) {
      figure.textContent = `This figure could not be drawn: ${error.message}`;
      console.error(name, error);
    }
  };

  // One after the other, from the top, so that a reader sees the first ones soon.
  const drawAll = async () => {
    for (const figure of document.querySelectorAll("[data-figure]")) {
      await draw(figure);
    }
  };

  // The figures push what stands below them down, and with it what the address asks for.
  drawAll().then(() => document.getElementById(location.hash.slice(1))?.scrollIntoView());
  dark.addEventListener("change", drawAll);
})();
