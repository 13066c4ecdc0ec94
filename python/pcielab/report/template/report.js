// Draws every figure in the theme that the reader's system asks for, when it comes near the screen, and again when
// the theme changes.
"use strict";
(() => {
  const parse = (id) => JSON.parse(document.getElementById(id).textContent);
  const specifications = parse("specifications");
  const configurations = parse("configurations");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const shown = new Set();

  const draw = async (figure) => {
    const name = figure.dataset.figure;
    const config = configurations[dark.matches ? "dark" : "light"];
    const specification = { ...specifications[name], config };
    const actions = { export: true, source: false, compiled: false, editor: false };
    try {
      await window.vegaEmbed(figure, specification, {
        actions,
        downloadFileName: name,
        renderer: "svg",
        tooltip: { theme: dark.matches ? "dark" : "light" },
      });
      figure.dataset.drawn = "yes";
    } catch (error) {
      figure.textContent = `This figure could not be drawn: ${error.message}`;
      console.error(name, error);
    }
  };

  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting && !shown.has(target)) {
          shown.add(target);
          draw(target);
        }
      }
    },
    { rootMargin: "800px" },
  );
  document.querySelectorAll("[data-figure]").forEach((figure) => observer.observe(figure));
  dark.addEventListener("change", () => shown.forEach(draw));
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("[data-figure]").forEach((figure) => {
      if (!shown.has(figure)) {
        shown.add(figure);
        draw(figure);
      }
    });
  });
})();
