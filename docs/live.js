// A still picture of the laboratory becomes the laboratory itself, where the site has it (make site).
for (const link of document.querySelectorAll("a.live")) {
  const found = await fetch(link.href, { method: "HEAD" }).catch(() => null);
  if (!found?.ok) continue;
  const frame = document.createElement("iframe");
  Object.assign(frame, { src: link.href, title: link.firstElementChild.alt, loading: "lazy" });
  Object.assign(frame.style, { width: "100%", height: `${link.dataset.height}px`, border: "0" });
  // As high as its content, whatever the width.
  frame.addEventListener("load", () => {
    const main = frame.contentDocument.querySelector("main");
    new ResizeObserver(() => { frame.style.height = `${main.scrollHeight + 4}px`; }).observe(main);
  });
  link.replaceWith(frame);
}
