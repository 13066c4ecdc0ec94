// Long lines of code are wrapped, except those of drawings and of aligned columns, which stay whole.
const ALIGNED = /[\u2500-\u257f]|\S {3,}\S.* {3,}\S/;
for (const line of document.querySelectorAll(".md-typeset pre > code > span")) line.classList.toggle("wraps", !ALIGNED.test(line.textContent));
