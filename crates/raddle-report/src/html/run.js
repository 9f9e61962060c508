// The page of several searches: a filter over tests. Everything else is there without scripts.
"use strict";
(() => {
  const filter = document.getElementById("filter");
  const parts = [...document.querySelectorAll("[data-test]")];
  const words = new Map();
  for (const part of parts) words.set(part.dataset.test, `${words.get(part.dataset.test) ?? ""} ${part.textContent.toLowerCase()}`);
  function show() {
    const wanted = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const part of parts) {
      part.hidden = !wanted.every((word) => words.get(part.dataset.test).includes(word));
      if (!part.hidden) shown++;
    }
    document.getElementById("nothing").hidden = shown > 0;
  }
  filter.addEventListener("input", show);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && event.target !== filter) { event.preventDefault(); filter.focus(); filter.select(); }
    if (event.key === "Escape" && event.target === filter) { filter.value = ""; show(); filter.blur(); }
    if ((event.key === "j" || event.key === "k" || event.key === "ArrowDown" || event.key === "ArrowUp") && event.target !== filter) {
      const links = [...document.querySelectorAll(".summary tbody:not([hidden]) a")];
      const at = links.indexOf(document.activeElement);
      if (at < 0 && event.key.startsWith("Arrow")) return;
      const next = links[at + (event.key === "j" || event.key === "ArrowDown" ? 1 : -1)] ?? (at < 0 ? links[0] : undefined);
      if (next) { event.preventDefault(); next.focus(); }
    }
  });
})();
