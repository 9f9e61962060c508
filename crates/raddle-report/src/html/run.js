// The page of several searches: a filter over tests, and columns to sort by. Everything else is there without scripts.
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

  // ---- Sorting ----
  const table = document.getElementById("summary"), heads = [...table.tHead.rows[0].cells];
  // What a row is sorted by; undefined if it has nothing in this column.
  function keyOf(row, column) {
    if (column === 0) return row.parentNode.querySelector("th").textContent;
    const cell = [...row.cells].filter((one) => one.tagName === "TD")[column - 1], key = cell.dataset.key;
    return key === undefined ? cell.textContent : key === "" ? undefined : Number(key);
  }
  // What is missing is last in either direction.
  function compare(a, b, sign) {
    if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b, "en"));
  }
  function sort(column) {
    const sign = heads[column].getAttribute("aria-sort") === "ascending" ? -1 : 1;
    heads.forEach((head, index) => head.setAttribute("aria-sort", index !== column ? "none" : sign > 0 ? "ascending" : "descending"));
    const tests = [...table.tBodies];
    for (const test of tests) {
      // The name of a test spans its rows, so it goes to whichever is first.
      const name = test.querySelector("th"), rows = [...test.rows];
      if (column > 0) rows.sort((a, b) => compare(keyOf(a, column), keyOf(b, column), sign));
      rows[0].prepend(name);
      test.append(...rows);
    }
    tests.sort((a, b) => compare(keyOf(a.rows[0], column), keyOf(b.rows[0], column), sign));
    table.append(...tests);
  }
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sort(column));
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
  });

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
