// The page of one execution. Rows are made only of what can be seen, so that an execution may have
// 100,000 steps. Text goes into the page as text, never as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const ROW = 22, MARGIN = 12, MARKS_FROM = 11, MARK = 14, HUES = 8, ROOM = 4;
  const nSteps = data.task.length, nRows = nSteps + data.ends.length;
  const lanes = $("lanes"), steps = $("steps"), arrows = $("arrows");
  const taskLanes = used(data.task.concat(data.ends.map((end) => end.task)));
  const succ = successors(data.after);
  const minor = new Set(data.minor);   // steps that cannot have led to the failure
  const atLocks = new Set(data.at_locks);
  const states = statesByObject();     // for each object the steps at which its state changed
  const KINDS = ["", "release → acquire", "notify → wake"];
  const sends = successors(data.messages ? data.messages.from.map((from) => from && from[1] >= 0 ? [from[1]] : 0) : []);

  let view = "tasks";        // or "actors"
  let lane;                  // how lanes are laid out in this view
  let shown = [];            // which rows pass the filter
  let place = new Map();     // where a row is among these
  let here = nRows - 1;      // the chosen row
  let hover = -1;
  let order = null;          // past and future of the chosen step, if asked for
  let queued = false;

  // ---- What a row is ----
  const isEnd = (row) => row >= nSteps;
  const end = (row) => data.ends[row - nSteps];
  // A panic after which there were more steps stands between them.
  const isPanic = (row) => isEnd(row) && end(row).step >= 0;
  const timeOf = (row) => isPanic(row) ? end(row).step - .5 : row;
  const taskOf = (row) => isEnd(row) ? end(row).task : data.task[row];
  const textOf = (row) => isEnd(row) ? end(row).text : data.ops[data.op[row]];
  const siteOf = (row) => isEnd(row) ? end(row).site : data.site[row];
  const objectOf = (row) => isEnd(row) ? -1 : data.object[row];
  const afterOf = (row) => isEnd(row) ? [] : data.after[row] || [];
  // By what a step had to come before a row: a number of KINDS.
  const kindOf = (before, row) => (data.kinds[row] || [])[data.after[row].indexOf(before)] || 0;
  const preempts = (row) => !isEnd(row) && data.preempts[row] === 1;
  const switches = (row) => row > 0 && !isEnd(row) && data.task[row] !== data.task[row - 1];
  const spot = (site) => site < 0 ? "" : `${data.files[data.sites[site][0]]}:${data.sites[site][1]}`;
  const shortSpot = (site) => spot(site).replace(/^.*[/\\]/, "");
  const hue = (n) => `var(--l${n % HUES})`;
  const laneOf = (row) => view === "actors"
    ? (isEnd(row) ? -1 : data.messages.lanes[row])
    : taskLanes.indexOf.get(taskOf(row));

  function used(tasks) {
    const list = [...new Set(tasks)].sort((a, b) => a - b);
    return { list, indexOf: new Map(list.map((task, index) => [task, index])) };
  }

  function statesByObject() {
    const lists = data.objects.map(() => []), { step, object, text, texts } = data.states;
    step.forEach((at, index) => lists[object[index]].push([at, texts[text[index]]]));
    return lists;
  }

  // Which rows name a step.
  function successors(column) {
    const lists = new Map();
    column.forEach((before, row) => {
      for (const step of before || []) {
        if (!lists.has(step)) lists.set(step, []);
        lists.get(step).push(row);
      }
    });
    return lists;
  }

  // A place in the source: a link to it if the page has links.
  function placeLink(site, text) {
    const address = data.addresses[site];
    if (!address) return document.createTextNode(text);
    const made = element("a", "", text);
    made.href = address;
    made.title = "Open it in the editor";
    return made;
  }

  function element(name, classes, text) {
    const made = document.createElement(name);
    if (classes) made.className = classes;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // ---- Lanes ----
  function layOut() {
    const names = view === "actors" ? data.messages.names : taskLanes.list.map((task) => data.tasks[task]);
    const widest = names.map((name) => name.length + 1);
    for (let row = 0; row < nRows; row++) {
      const at = laneOf(row);
      if (at >= 0) widest[at] = Math.max(widest[at], Math.min(textOf(row).length + ROOM, isEnd(row) ? 28 : 40));
    }
    const marks = names.length >= MARKS_FROM;
    const longest = (name) => Math.min(34, data.sites.reduce((most, _, site) => Math.max(most, name(site).length), 4) + 2);
    let sites = longest(spot);
    const number = Math.max(7, String(nRows).length + 4);
    const ch = measure();
    // Lanes give way until all of them can be seen, as far as they stay legible.
    const wanted = widest.map((chars) => Math.max(11, chars));
    let most = 40, name = spot;
    const fits = () => (number + sites + wanted.reduce((sum, chars) => sum + Math.min(chars, most), 0)) * ch + 16 <= lanes.clientWidth;
    while (most > 15 && !fits()) {
      most--;
      // Files without their directories take less room than ops without their ends.
      if (most === 30) [sites, name] = [longest(shortSpot), shortSpot];
    }
    let left = number * ch, columns = `${left}px`;
    lane = { names, marks, left: [], ch, name, chars: wanted.map((chars) => Math.min(chars, most) - ROOM) };
    if (marks) {
      names.forEach((_, index) => lane.left.push(left + index * MARK));
      const all = names.length * MARK + 10, who = Math.min(22, Math.max(...names.map((name) => name.length)) + 2) * ch;
      columns += ` ${all}px ${who}px minmax(${34 * ch}px, 1fr)`;
      left += all + who + 34 * ch;
    } else {
      for (const chars of widest) {
        lane.left.push(left);
        const width = Math.min(Math.max(11, chars), most) * ch;
        columns += ` ${width}px`;
        left += width;
      }
    }
    columns += marks ? ` ${sites * ch}px` : ` minmax(${sites * ch}px, 1fr)`;
    lanes.style.setProperty("--columns", columns);
    lanes.style.setProperty("--width", `${left + sites * ch + 14}px`);
    const head = $("head");
    head.replaceChildren(header("n", "step"));
    if (marks) {
      head.append(header("", `${names.length} lanes`), header("lane", view === "actors" ? "actor" : "task"), header("lane", "op"));
    } else {
      names.forEach((name, index) => {
        const cell = header("lane", name);
        cell.style.setProperty("--hue", hue(index));
        cell.title = name;
        head.append(cell);
      });
    }
    head.append(header("at", "at"));
    lanes.setAttribute("aria-colcount", head.children.length);
    steps.querySelectorAll(".line").forEach((line) => line.remove());
    lane.left.forEach((x, index) => {
      const line = element("div", "line");
      line.style.left = `${anchor(index) - .5}px`;
      steps.prepend(line);
    });
  }
  function header(classes, text) {
    const cell = element("div", classes, text);
    cell.setAttribute("role", "columnheader");
    return cell;
  }
  function measure() {
    const probe = element("span", "", "0".repeat(100));
    probe.style.cssText = "position:absolute;visibility:hidden";
    lanes.append(probe);
    const width = probe.getBoundingClientRect().width / 100;
    probe.remove();
    return width || 7.2;
  }
  // Where the dot of a lane is.
  const anchor = (index) => lane.left[index] + (lane.marks ? MARK / 2 : 12);

  // ---- Rows ----
  function draw() {
    queued = false;
    const top = Math.max(0, lanes.scrollTop - 27), height = lanes.clientHeight;
    const first = Math.max(0, Math.floor(top / ROW) - MARGIN);
    const last = Math.min(shown.length, Math.ceil((top + height) / ROW) + MARGIN);
    const rows = document.createDocumentFragment();
    for (let at = first; at < last; at++) rows.append(rowAt(at));
    steps.querySelectorAll(".row").forEach((row) => row.remove());
    steps.append(rows);
    drawArrows(first, last);
  }
  function later() {
    if (!queued) { queued = true; requestAnimationFrame(draw); }
  }
  function rowAt(at) {
    const row = shown[at], made = element("div", "row");
    made.id = `r${row}`;
    made.dataset.row = row;
    made.style.top = `${at * ROW}px`;
    made.setAttribute("role", "row");
    made.setAttribute("aria-rowindex", at + 2);
    made.setAttribute("aria-selected", row === here);
    made.setAttribute("aria-label", spoken(row));
    if (row === here) made.classList.add("here");
    if (isEnd(row)) made.classList.add("end");
    if (preempts(row)) made.classList.add("preempts"); else if (switches(row)) made.classList.add("switch");
    if (order && row !== here && !isEnd(row) && !order.past.has(row) && !order.future.has(row)) made.classList.add("apart");
    const index = laneOf(row), cell = (classes, text) => {
      const one = element("div", classes, text);
      one.setAttribute("role", "gridcell");
      made.append(one);
      return one;
    };
    made.style.setProperty("--hue", hue(Math.max(0, index)));
    cell("n", isPanic(row) ? "!" : isEnd(row) ? "end" : `${row}${preempts(row) ? "*" : " "}`);
    if (lane.marks) {
      const dot = cell("op", "");
      dot.style.gridColumn = "2";
      dot.style.overflow = "visible";
      dot.style.transform = `translateX(${Math.max(0, index) * MARK - 5}px)`;
      cell("who", index < 0 ? "" : lane.names[index]).style.gridColumn = "3";
      const op = cell("who", textOf(row));
      op.style.gridColumn = "4";
      op.style.color = isEnd(row) ? "" : "var(--text)";
      op.title = textOf(row);
    } else {
      const op = cell("op", undefined);
      op.append(element("span", "", index < 0 || isEnd(row) ? textOf(row) : fitOp(row, lane.chars[index])));
      op.style.gridColumn = index < 0 ? `2 / ${lane.names.length + 2}` : index + 2;
      // How a task ended may take the room of the lanes beside it.
      if (isEnd(row) && index >= 0) op.style.gridColumnEnd = lane.names.length + 2;
      op.title = textOf(row);
    }
    cell("at", `\u200e${lane.name(siteOf(row))}`).title = spot(siteOf(row));
    return made;
  }
  // At most so many characters, the result of an op among them if there is room for it.
  function fit(text, most) {
    if (text.length <= most) return text;
    const at = text.lastIndexOf(" -> "), result = at < 0 || text.length - at + 6 > most ? "" : text.slice(at);
    return `${text.slice(0, Math.max(1, most - result.length - 1)).trimEnd()}…${result}`;
  }
  // The same, with the object longer than the verb, and its number longer than its name: they tell steps apart.
  function fitOp(row, most) {
    const text = textOf(row), object = objectOf(row) < 0 ? "" : data.objects[objectOf(row)].label;
    const at = object ? text.indexOf(` ${object}`) : -1;
    if (text.length <= most || at < 0 || object === data.objects[objectOf(row)].kind) return fit(text, most);
    const verb = text.slice(0, at), arrow = text.lastIndexOf(" -> ");
    const result = arrow < 0 || text.length - arrow + 6 > most ? "" : text.slice(arrow), room = most - result.length;
    for (const name of [object, (/#\d+$/.exec(object) || [""])[0]]) {
      const left = room - name.length - 1;
      if (name && left >= 4) return `${fit(verb, left)} ${name}${result}`;
    }
    return room >= 9 ? `${fit(verb, 4)} ${fit(object, room - Math.min(4, verb.length) - 1)}${result}` : fit(text, most);
  }
  function spoken(row) {
    const parts = [isPanic(row) ? "panic" : isEnd(row) ? "end" : `step ${row}`, data.tasks[taskOf(row)], textOf(row)];
    const at = spot(siteOf(row));
    if (at) parts.push(`at ${at}`);
    if (preempts(row)) parts.push("a preemption");
    return parts.join(", ");
  }

  // ---- Arrows ----
  function drawArrows(first, last) {
    const top = first * ROW, svg = [];
    arrows.style.top = `${top}px`;
    arrows.setAttribute("width", steps.clientWidth);
    arrows.setAttribute("height", Math.max(0, (last - first) * ROW));
    const y = (row) => position(row) * ROW + ROW / 2 - top;
    const arrow = (from, to, classes, fromLane, kind) => {
      const a = fromLane ?? laneOf(from), b = laneOf(to);
      if (a < 0 || b < 0) return;
      const x1 = anchor(a), x2 = anchor(b), y2 = y(to), made = document.createElementNS("http://www.w3.org/2000/svg", "g");
      const part = (d, tip) => {
        const one = document.createElementNS("http://www.w3.org/2000/svg", "path");
        one.setAttribute("d", d);
        if (tip) one.setAttribute("class", "tip");
        made.append(one);
      };
      if (from < 0) {
        // It came from where no step is: straight across.
        const side = x1 < x2 ? -1 : 1, x = x2 + side * 5;
        part(`M${x1} ${y2}H${x}`);
        part(`M${x} ${y2}l${side * 6} -3.5v7z`, true);
      } else {
        const y1 = y(from), end = y2 - 9, bend = Math.min(60, Math.max(8, (end - y1) / 2));
        part(`M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${end - bend} ${x2} ${end}`);
        // Kinds differ in shape as well as in colour.
        if (kind === 2) {
          part(`M${x2} ${y2 - 4}l-4 -4.5l4 -4.5l4 4.5z`, true);
          part(`M${x1 - 7} ${y1}a7 7 0 1 0 14 0a7 7 0 1 0 -14 0`);
        } else part(`M${x2} ${y2 - 5}l-3.5 -6h7z`, true);
      }
      made.setAttribute("class", kind === undefined ? classes : `${classes} k${kind}`);
      svg.push(made);
      return made;
    };
    if (view === "actors") {
      const seen = new Set();
      const message = (row) => {
        const from = data.messages.from[row];
        if (!from || seen.has(row) || !place.has(row)) return;
        seen.add(row);
        if (from[1] >= 0 && !place.has(from[1])) return;
        const made = arrow(from[1], row, "message", from[0]);
        if (made) made.style.setProperty("--hue", hue(from[0]));
      };
      for (let at = first; at < last; at++) {
        message(shown[at]);
        (sends.get(shown[at]) || []).forEach(message);
      }
    }
    const row = hover >= 0 ? hover : here;
    if (row >= 0 && place.has(row)) {
      // A notification and an unlock often lead to one dot: the rarer kind is drawn over the other.
      [...afterOf(row)].sort((a, b) => kindOf(a, row) - kindOf(b, row)).forEach((step) => arrow(step, row, "in", undefined, kindOf(step, row)));
      (succ.get(row) || []).forEach((step) => arrow(row, step, "out", undefined, kindOf(row, step)));
    }
    arrows.replaceChildren(...svg);
  }
  // Where a row is, or would be if it were shown.
  function position(row) {
    if (place.has(row)) return place.get(row);
    let low = 0, high = shown.length;
    while (low < high) { const mid = (low + high) >> 1; if (timeOf(shown[mid]) < timeOf(row)) low = mid + 1; else high = mid; }
    return low - .5;
  }

  // ---- Filter ----
  function filter() {
    const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const task = Number($("task").value), object = Number($("object").value), brief = $("brief").checked;
    const full = $("full").checked;
    const matches = words.length ? matcher(words) : () => true;
    shown = [];
    for (let row = 0; row < nRows; row++) {
      if (task >= 0 && taskOf(row) !== task) continue;
      if (object >= 0 && objectOf(row) !== object) continue;
      if (!full && minor.has(row)) continue;
      if (brief && !isEnd(row) && row !== 0 && !switches(row) && !switches(row + 1) && row !== nSteps - 1) continue;
      if (matches(row)) shown.push(row);
    }
    if (data.ends.some((end) => end.step >= 0)) shown.sort((a, b) => timeOf(a) - timeOf(b));
    place = new Map(shown.map((row, at) => [row, at]));
    steps.style.height = `${shown.length * ROW}px`;
    lanes.setAttribute("aria-rowcount", shown.length + 1);
    $("shown").textContent = shown.length === nRows
      ? `${nSteps.toLocaleString("en")} steps` : `${shown.filter((row) => !isEnd(row)).length.toLocaleString("en")} of ${nSteps.toLocaleString("en")} steps`;
    if (data.hidden && !full) $("shown").textContent += `, without ${data.hidden}`;
    $("shown").title = $("shown").textContent;
    $("nothing").hidden = shown.length > 0;
    $("slider").max = Math.max(0, shown.length - 1);
    slide();
    if (!place.has(here) && shown.length) choose(shown[Math.max(0, Math.min(shown.length - 1, Math.round(position(here))))]);
    else reveal();
  }
  function matcher(words) {
    // Tasks, ops and sites repeat, so their words are looked for once each.
    const cache = new Map();
    const has = (kind, number, text, word) => {
      const key = `${kind}${number} ${word}`;
      let found = cache.get(key);
      if (found === undefined) cache.set(key, found = text().toLowerCase().includes(word));
      return found;
    };
    return (row) => words.every((word) =>
      isEnd(row) ? spoken(row).toLowerCase().includes(word)
        : has("t", data.task[row], () => data.tasks[data.task[row]], word)
          || has("o", data.op[row], () => data.ops[data.op[row]], word)
          || has("s", data.site[row], () => spot(data.site[row]), word)
          || String(row) === word);
  }

  // ---- Moving ----
  function choose(row, quietly) {
    if (row === undefined || row < 0 || row >= nRows) return;
    here = row;
    hover = -1;
    if (order) order = cone(here);
    reveal();
    describe();
    slide();
    lanes.setAttribute("aria-activedescendant", `r${row}`);
    if (!quietly) {
      $("live").textContent = spoken(row);
      try { history.replaceState(null, "", `#step=${row}`); } catch { /* a page may have no history */ }
    }
  }
  // The slider goes over what is shown.
  function slide() {
    const slider = $("slider"), name = isPanic(here) ? "panic" : isEnd(here) ? "end" : here;
    slider.value = Math.max(0, Math.min(shown.length - 1, Math.round(position(here))));
    slider.disabled = shown.length < 2;
    slider.setAttribute("aria-valuetext", spoken(here));
    $("where").textContent = `${name} of ${(nSteps - 1).toLocaleString("en")}`;
  }
  function reveal() {
    const at = place.get(here);
    if (at !== undefined) {
      const top = at * ROW, room = lanes.clientHeight - 27, edge = Math.min(3 * ROW, room / 4);
      if (top < lanes.scrollTop + edge) lanes.scrollTop = Math.max(0, top - edge);
      else if (top + ROW > lanes.scrollTop + room - edge) lanes.scrollTop = top + ROW - room + edge;
    }
    draw();
  }
  // The next row from here on, in a direction, of which something is true.
  function seek(step, is) {
    const at = place.has(here) ? place.get(here) : Math.round(position(here));
    for (let next = at + step; next >= 0 && next < shown.length; next += step) if (is(shown[next])) return shown[next];
  }
  function move(by) {
    const at = place.has(here) ? place.get(here) : 0;
    choose(shown[Math.max(0, Math.min(shown.length - 1, at + by))]);
  }

  // ---- Past and future ----
  function cone(row) {
    const past = new Set(), future = new Set();
    if (isEnd(row)) return { past, future };
    // A step is in the past if a step in the past follows it: in its own lane, or by an arrow.
    const wanted = new Set([row]), known = new Set();
    for (let step = row; step >= 0; step--) {
      if (!known.has(data.task[step]) && !wanted.has(step)) continue;
      if (step !== row) past.add(step);
      known.add(data.task[step]);
      for (const before of data.after[step] || []) wanted.add(before);
    }
    const begun = new Set([data.task[row]]);
    for (let step = row + 1; step < nSteps; step++) {
      if (!begun.has(data.task[step]) && !(data.after[step] || []).some((before) => before === row || future.has(before))) continue;
      begun.add(data.task[step]);
      future.add(step);
    }
    return { past, future };
  }

  // ---- What is known of a step ----
  function describe() {
    const row = here, facts = $("facts");
    $("title").textContent = isPanic(row) ? "A panic" : isEnd(row) ? "How it ended" : `Step ${row}`;
    facts.replaceChildren();
    fact(facts, "task", data.tasks[taskOf(row)], true);
    fact(facts, isEnd(row) ? "end" : "op", textOf(row), true);
    if (objectOf(row) >= 0) {
      const object = data.objects[objectOf(row)], from = spot(object.site);
      fact(facts, "object", from ? [`${object.label} from `, placeLink(object.site, from)] : object.label, true);
    }
    const at = spot(siteOf(row));
    if (at) fact(facts, "at", [placeLink(siteOf(row), at), atLocks.has(row) ? ", where it was locked" : ""], true);
    const calls = isEnd(row) ? undefined : data.calls[row];
    if (calls) fact(facts, "in", calls.flatMap(([name, site], nth) => [nth ? ", called by " : "", name, ...(site >= 0 ? [" at ", placeLink(site, spot(site))] : [])]), true);
    if (!isEnd(row) && data.decision[row] >= 0) fact(facts, "decision", String(data.decision[row]));
    if (preempts(row)) fact(facts, "preempts", `${data.tasks[data.task[row - 1]] ?? "a task"}, which could have gone on`);
    source(siteOf(row));
    values(row);
    links("after", afterOf(row), (step) => kindOf(step, row));
    links("before", succ.get(row) || [], (step) => kindOf(row, step));
    now(row);
  }
  function fact(list, name, text, mono) {
    const told = element("dd", mono ? "mono" : "");
    told.append(...[text].flat());
    list.append(element("dt", "", name), told);
  }
  // The step up to which things have happened at a row.
  const limitOf = (row) => Math.min(Math.floor(timeOf(row)), nSteps - 1);
  // What each object holds after a row, as far as steps up to there tell.
  function values(row) {
    const limit = limitOf(row), known = [];
    states.forEach((changes, object) => {
      let low = 0, high = changes.length;
      while (low < high) { const mid = (low + high) >> 1; if (changes[mid][0] <= limit) low = mid + 1; else high = mid; }
      if (low && changes[low - 1][1]) known.push([object, ...changes[low - 1]]);
    });
    const lines = known.slice(0, 60).map(([object, since, state]) => {
      const line = element("tr", since === row ? "new" : ""), link = element("button", "steplink");
      link.append(element("b", "", String(since)));
      link.title = `Since step ${since}: ${textOf(since)}`;
      link.setAttribute("aria-label", link.title);
      link.addEventListener("click", () => show(since));
      const step = element("td");
      step.append(link);
      line.append(element("th", "", data.objects[object].label), element("td", "", state), step);
      line.firstChild.scope = "row";
      return line;
    });
    if (known.length > 60) { const more = element("tr"); more.append(element("td", "quiet", `and ${known.length - 60} more`)); lines.push(more); }
    $("values").replaceChildren(...lines);
    $("values-part").hidden = known.length === 0;
  }
  function links(id, rows, kind) {
    const list = $(id);
    list.replaceChildren(...rows.slice(0, 12).map((row) => {
      const item = element("li"), link = element("button", "steplink");
      link.append(element("b", "", `${row} `), `${data.tasks[taskOf(row)]}: ${textOf(row)}`);
      link.addEventListener("click", () => { show(row); });
      item.append(link);
      if (kind(row)) item.append(element("span", `kind k${kind(row)}`, KINDS[kind(row)]));
      return item;
    }));
    if (rows.length > 12) list.append(element("li", "quiet", `and ${rows.length - 12} more`));
    $(`${id}-part`).hidden = rows.length === 0;
  }
  // Chooses a row, and gives up the filter if that hides it.
  function show(row) {
    if (!place.has(row)) {
      if (minor.has(row)) $("full").checked = true;
      clear();
    }
    choose(row);
  }
  function source(site) {
    const box = $("source"), lines = site < 0 ? {} : data.lines[data.sites[site][0]];
    box.replaceChildren();
    box.hidden = true;
    if (site < 0) return;
    const at = data.sites[site][1], list = element("ol");
    for (let line = at - 5; line <= at + 5; line++) {
      if (lines[line] === undefined) continue;
      const item = element("li", line === at ? "here" : "");
      const number = element("i");
      number.append(line === at ? placeLink(site, String(line)) : String(line));
      item.append(number, lines[line] || " ");
      if (line === at) item.setAttribute("aria-current", "true");
      list.append(item);
    }
    if (!list.children.length) return;
    box.hidden = false;
    box.append(list);
  }
  // Where every task is at this step: the last thing it did.
  function now(row) {
    const at = new Map(), limit = limitOf(row);
    for (let step = limit; step >= 0 && at.size < taskLanes.list.length; step--) if (!at.has(data.task[step])) at.set(data.task[step], step);
    $("now").replaceChildren(...taskLanes.list.slice(0, 40).map((task, index) => {
      const line = element("tr"), name = element("td", "", data.tasks[task]);
      name.style.setProperty("--hue", hue(index));
      const ended = isEnd(row) ? data.ends.find((one) => one.task === task && !(one.step > limit + 1)) : undefined;
      const step = at.get(task), said = element("td", ended ? "said" : "", ended ? ended.text : step === undefined ? "has done nothing yet" : textOf(step));
      said.title = said.textContent;
      const where = element("td", "quiet", spot(ended ? ended.site : step === undefined ? -1 : data.site[step]).replace(/^.*[/\\]/, ""));
      line.append(name, said, where);
      return line;
    }));
  }

  // ---- Keys ----
  const keys = {
    ArrowDown: () => move(1), j: () => move(1), ArrowUp: () => move(-1), k: () => move(-1),
    PageDown: () => move(page()), PageUp: () => move(-page()),
    Home: () => choose(shown[0]), End: () => choose(shown[shown.length - 1]),
    n: () => choose(seek(1, preempts)), N: () => choose(seek(-1, preempts)),
    s: () => choose(seek(1, switches)), S: () => choose(seek(-1, switches)),
    t: () => choose(seek(1, (row) => taskOf(row) === taskOf(here))), T: () => choose(seek(-1, (row) => taskOf(row) === taskOf(here))),
    o: () => choose(seek(1, sameObject)), O: () => choose(seek(-1, sameObject)),
    ArrowLeft: () => { const before = afterOf(here); if (before.length) show(before[before.length - 1]); },
    ArrowRight: () => { const next = succ.get(here); if (next) show(next[0]); },
    h: () => $("order").click(), b: () => $("brief").click(), e: () => $("full").click(), m: () => $("messages").click(),
    f: () => { $("task").value = $("task").value >= 0 ? -1 : taskOf(here); filter(); },
    g: () => { $("object").value = $("object").value >= 0 ? -1 : objectOf(here); filter(); },
    "/": () => { $("filter").focus(); $("filter").select(); },
    x: () => show(data.fails), v: () => $("slider").focus(),
    Escape: () => clear(), "?": () => $("help").showModal(),
  };
  const sameObject = (row) => objectOf(here) >= 0 && objectOf(row) === objectOf(here);
  const page = () => Math.max(1, Math.floor((lanes.clientHeight - 27) / ROW) - 2);
  function clear() {
    $("filter").value = "";
    $("task").value = -1;
    $("object").value = -1;
    $("brief").checked = false;
    filter();
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
    const field = event.target.closest("input:not([type=checkbox]), select, textarea");
    // The slider moves by the keys that move any slider; all others are as on the rest of the page.
    const slides = field?.id === "slider" && !/^(Arrow|Page|Home|End|Enter|Escape)/.test(event.key);
    if (field && !slides) {
      if (event.key === "Escape" || (event.key === "Enter" && (field.id === "filter" || field.id === "slider"))) { if (event.key === "Escape" && field.id === "filter") clear(); lanes.focus(); event.preventDefault(); }
      return;
    }
    const act = keys[event.key];
    if (!act || ((event.key === " " || event.key === "Enter") && event.target.closest("button, a"))) return;
    event.preventDefault();
    act();
  });
  lanes.addEventListener("scroll", later, { passive: true });
  window.addEventListener("resize", () => { layOut(); later(); });
  lanes.addEventListener("mousemove", (event) => {
    const row = event.target.closest(".row:not(.head)"), next = row ? Number(row.dataset.row) : -1;
    if (next !== hover) { hover = next; drawAgain(); }
  });
  lanes.addEventListener("mouseleave", () => { hover = -1; drawAgain(); });
  lanes.addEventListener("click", (event) => {
    const row = event.target.closest(".row:not(.head)");
    if (row) choose(Number(row.dataset.row));
  });
  function drawAgain() {
    const rows = steps.querySelectorAll(".row");
    if (rows.length) drawArrows(place.get(Number(rows[0].dataset.row)), place.get(Number(rows[rows.length - 1].dataset.row)) + 1);
  }
  for (const id of ["filter", "task", "object", "brief", "full"]) $(id).addEventListener("input", filter);
  $("slider").addEventListener("input", () => choose(shown[Number($("slider").value)]));
  $("order").addEventListener("click", () => {
    order = order ? null : cone(here);
    $("order").setAttribute("aria-pressed", order !== null);
    lanes.classList.toggle("order", order !== null);
    draw();
  });
  $("full-part").hidden = !data.hidden;
  $("full-part").title = data.hidden ? `Also ${data.hidden} (e)` : "";
  $("messages").hidden = !data.messages;
  $("messages").addEventListener("click", () => {
    if (!data.messages) return;
    view = view === "actors" ? "tasks" : "actors";
    $("messages").setAttribute("aria-pressed", view === "actors");
    lanes.setAttribute("aria-label", view === "actors" ? "Messages, a lane for each actor" : "Steps, a lane for each task");
    layOut();
    draw();
  });
  $("keys").addEventListener("click", () => $("help").showModal());
  $("copy")?.addEventListener("click", () => {
    const text = $("replay").textContent;
    navigator.clipboard?.writeText(text).then(() => { $("live").textContent = "copied"; $("copy").textContent = "Copied"; });
  });
  window.addEventListener("hashchange", fromHash);
  function fromHash() {
    const step = /#step=(\d+)/.exec(location.hash);
    if (step && Number(step[1]) < nRows) { show(Number(step[1])); return true; }
    return false;
  }

  // ---- Beginning ----
  for (const task of taskLanes.list) $("task").append(new Option(data.tasks[task], task));
  data.objects.forEach((object, index) => $("object").append(new Option(object.label, index)));
  if (data.messages) $("messages").setAttribute("aria-pressed", "false");
  // Only what there is to see is explained.
  const drawn = new Set(data.after.flatMap((before, row) => (before || []).map((_, nth) => (data.kinds[row] || [])[nth] || 0)));
  for (const item of $("kinds").children) item.hidden = item.dataset.kind === "out" ? drawn.size === 0 : !drawn.has(Number(item.dataset.kind));
  $("kinds").hidden = drawn.size === 0;
  layOut();
  filter();
  if (data.messages && location.hash === "#view=messages") $("messages").click();
  if (!fromHash()) {
    if (minor.has(data.fails)) { $("full").checked = true; filter(); }
    choose(data.fails, true);
  }
  lanes.focus({ preventScroll: true });
})();
