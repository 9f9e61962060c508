//! The page of one execution.

use raddle_report::Links;
use raddle_report::html::{Sources, trace_page};
use raddle_trace::{Call, Event, Outcome, Report, Trace};
use serde_json::{Value, json};

use crate::Test;
use crate::chromium::{Browser, Scheme, WIDE};
use crate::samples::{
    FILE, data_race, event, failed, livelock, lock_order, lost_update, many_tasks, notified,
    object, panic, site, threads, three_panics, two_tills,
};

pub(crate) const TESTS: &[Test] = &[
    ("a_page_shows_every_step_and_chooses_the_one_that_failed", shows),
    ("a_page_begins_at_the_step_that_failed", failing),
    ("objects_have_the_values_of_the_chosen_step", values),
    ("a_slider_goes_over_the_steps", slides),
    ("places_open_an_editor_if_the_page_has_links", editor),
    ("keys_walk_through_the_steps", walks),
    ("steps_are_filtered_by_text_task_and_object", filters),
    ("steps_that_cannot_matter_are_behind_a_toggle", toggles),
    ("arrows_show_what_had_to_come_before", arrows),
    ("arrows_of_locks_and_of_notifications_are_told_apart", kinds),
    ("steps_in_no_order_are_faded", fades),
    ("messages_have_a_lane_for_each_actor", messages),
    ("a_deadlock_has_its_graph", deadlock),
    ("every_outcome_has_a_page_without_errors", outcomes),
    ("nothing_of_the_program_becomes_markup", hostile),
    ("100_000_steps_are_a_few_rows", long),
    ("many_tasks_become_marks", marks),
    ("what_is_read_aloud_is_there", aloud),
    ("a_page_fits_every_window_in_light_and_dark", fits),
    ("a_page_loads_nothing", alone),
    ("a_narrow_window_shows_steps_and_details", narrow),
];

/// The lost update, with happens-before as the engine writes it down.
fn update() -> Report {
    let mut report = lost_update();
    let events = &mut report.failure.as_mut().expect("failed").trace.events;
    let after: [&[u32]; 5] = [&[], &[], &[0], &[2], &[3]];
    for (event, after) in events.iter_mut().zip(after) {
        event.after = Some(after.to_vec());
    }
    report
}

fn sources() -> Sources {
    let lines: Vec<String> = (1..=80).map(|line| format!("let line_{line} = {line};")).collect();
    let mut sources = Sources::default();
    sources.insert(FILE, &lines.join("\n"));
    sources
}

fn page(report: &Report) -> String {
    trace_page(report, &sources())
}

fn shows(browser: &Browser) {
    let script = r##"
        const source = [...document.querySelectorAll("#source li")].map((line) => line.textContent);
        return {
          heads: heads(), rows: rows(), here: here(), shown: $("shown").textContent,
          title: document.title, verdict: document.querySelector(".badge").textContent,
          source: source.length, line: document.querySelector("#source .here").textContent,
          ops: [...document.querySelectorAll("#steps .op")].map((op) => op.textContent),
        };
    "##;
    let said = browser.run(&page(&update()), script);
    assert_eq!(said["heads"], json!(["step", "main", "thread 1", "thread 2", "at"]));
    assert_eq!(said["rows"], json!([0, 1, 2, 3, 4, 5]), "five steps and how it ended");
    assert_eq!(said["here"], "4");
    assert_eq!(said["shown"], "5 steps");
    assert_eq!(said["title"], "transfers: failed");
    assert_eq!(said["verdict"], "failed");
    assert_eq!(said["source"], 11);
    assert_eq!(said["line"], "19let line_19 = 19;");
    assert_eq!(said["ops"][3], "store counter (1)");
}

fn failing(browser: &Browser) {
    let race = data_race(raddle_trace::Missing::Everything);
    let mut without = lock_order();
    let failure = without.failure.as_mut().expect("failed");
    failure.outcome = Outcome::Panicked { panics: vec![panic(0, "no step", 19)], then: None };
    let script = "const first = [here(), $('title').textContent]; key('Home'); key('x');
        return [...first, here() === first[0]];";
    for (report, row, title) in [
        // The load after which main panics; the row of the panic follows it.
        (update(), "4", "Step 4"),
        // Of three panics the first is the failure; it came after the second step of its thread.
        (three_panics(), "1", "Step 1"),
        // The lock that closes the cycle.
        (lock_order(), "1", "Step 1"),
        // The second access, which is no step: after three steps and the first access.
        (race, "4", "How it ended"),
        // Main has taken no step at all: after the two of the threads.
        (without, "2", "How it ended"),
    ] {
        assert_eq!(browser.run(&page(&report), script), json!([row, title, true]));
    }
}

fn values(browser: &Browser) {
    let script = r##"
        const table = () => [...document.querySelectorAll("#values tr")].map((line) => [...line.children].map((cell) => cell.textContent).join(" | ") + (line.className ? " !" : ""));
        const seen = [];
        key("Home");
        for (let step = 0; step < 9; step++) { seen.push(table()); key("j"); }
        seen.push(table());
        key("Home");
        document.querySelector("#values button").click();
        const followed = here();
        return { seen, followed };
    "##;
    let said = browser.run(&page(&notified()), script);
    let expected = json!([
        ["lock | held by thread 1 | 0 !"],
        ["lock | free | 1 !", "filled | thread 1 waits | 1 !"],
        ["lock | held by thread 2 | 2 !", "filled | thread 1 waits | 1"],
        ["lock | held by thread 2 | 2", "filled | thread 1 waits | 1", "items | 1 | 3 !"],
        ["lock | held by thread 2 | 2", "filled | thread 1 waits | 1", "items | 1 | 3"],
        ["lock | free | 5 !", "filled | thread 1 waits | 1", "items | 1 | 3"],
        ["lock | free | 5", "filled | thread 1 waits | 1", "items | 0 | 6 !"],
        ["lock | held by thread 1 | 7 !", "filled | nobody waits | 7 !", "items | 0 | 6"],
        ["lock | held by thread 1 | 7", "filled | nobody waits | 7", "items | 0 | 8 !"],
        // How it ended.
        ["lock | held by thread 1 | 7", "filled | nobody waits | 7", "items | 0 | 8"],
    ]);
    assert_eq!(said["seen"], expected);
    assert_eq!(said["followed"], "0");
}

fn slides(browser: &Browser) {
    let script = r#"
        const slider = $("slider"), seen = {};
        const slide = (to) => { slider.value = to; slider.dispatchEvent(new Event("input", { bubbles: true })); };
        seen.range = [slider.min, slider.max, slider.value, $("where").textContent];
        slide(0); seen.first = [here(), $("where").textContent, slider.getAttribute("aria-valuetext")];
        slide(9); seen.last = [here(), $("where").textContent];
        key("Home"); key("j"); seen.followed = slider.value;
        key("v"); seen.focus = document.activeElement.id;
        // The keys of a slider are left to the browser, which turns them into changes; others act as elsewhere.
        const press = (name) => { const event = new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }); slider.dispatchEvent(event); return event.defaultPrevented; };
        seen.taken = ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"].filter(press);
        seen.still = here();
        press("n"); seen.preempted = [here(), slider.value, document.activeElement.id];
        slider.stepUp(); slider.dispatchEvent(new Event("input", { bubbles: true })); seen.up = here();
        press("Enter"); seen.left = document.activeElement.id;
        type("filter", "notify"); seen.filtered = [slider.max, here(), slider.disabled];
        return seen;
    "#;
    let said = browser.run(&page(&notified()), script);
    assert_eq!(said["range"], json!(["0", "9", "8", "8 of 8"]), "nine steps and how it ended");
    assert_eq!(
        said["first"],
        json!(["0", "0 of 8", "step 0, thread 1, lock lock, at tests/account.rs:9"])
    );
    assert_eq!(said["last"], json!(["9", "end of 8"]));
    assert_eq!((&said["followed"], &said["focus"]), (&json!("1"), &json!("slider")));
    assert_eq!((&said["taken"], &said["still"]), (&json!([]), &json!("1")));
    assert_eq!(said["preempted"], json!(["6", "6", "slider"]));
    assert_eq!((&said["up"], &said["left"]), (&json!("7"), &json!("lanes")));
    assert_eq!(said["filtered"], json!(["0", "4", true]), "one step passes");
}

fn editor(browser: &Browser) {
    let script = r#"
        const hrefs = () => [...document.querySelectorAll(".side a")].map((link) => link.getAttribute("href"));
        return { places: hrefs(), text: $("facts").querySelector("a")?.textContent ?? null };
    "#;
    let said = browser.run(&page(&update()), script);
    assert_eq!(said, json!({"places": [], "text": null}), "no links were asked for");
    let mut sources = sources();
    sources.link(Links { root: "/work dir".into(), format: Links::EDITOR.to_owned() });
    let said = browser.run(&trace_page(&update(), &sources), script);
    let link = |line| format!("vscode://file/work%20dir/tests/account.rs:{line}:9");
    // Where the counter is from, where the step is, and its line in the source.
    assert_eq!(said["places"], json!([link(8), link(19), link(19)]));
    assert_eq!(said["text"], "tests/account.rs:8");
}

fn kinds(browser: &Browser) {
    let script = r##"
        const drawn = () => [...document.querySelectorAll(".arrows g")].map((arrow) => arrow.getAttribute("class"));
        const ink = () => [...document.querySelectorAll(".arrows g")].map((arrow) => getComputedStyle(arrow.firstChild).stroke);
        const legend = () => [...document.querySelectorAll("#kinds li:not([hidden])")].map((item) => item.dataset.kind);
        const seen = { legend: legend() };
        $("full").click();
        location.hash = "#step=7"; await paint(); await paint();
        seen.wake = drawn(); seen.inks = new Set(ink()).size; seen.list = $("after").textContent;
        location.hash = "#step=8"; await paint(); await paint();
        seen.load = drawn();
        return seen;
    "##;
    let said = browser.run(&page(&notified()), script);
    assert_eq!(said["legend"], json!(["1", "2", "0", "out"]));
    assert_eq!(said["wake"], json!(["in k1", "in k2"]), "the unlock, and over it the notification");
    assert_eq!(said["inks"], 2);
    let list = "4 thread 2: notify_one fillednotify → wake5 thread 2: unlock lockrelease → acquire";
    assert_eq!(said["list"], list);
    assert_eq!(said["load"], json!(["in k0"]));
    let said = browser.run(&page(&update()), "return [...document.querySelectorAll('#kinds li:not([hidden])')].map((item) => item.dataset.kind);");
    assert_eq!(said, json!(["0", "out"]), "what there is not is not explained");
}

fn walks(browser: &Browser) {
    let script = r##"
        const seen = [];
        const press = (name) => { key(name); seen.push(`${name} ${here()}`); };
        for (const name of ["Home", "ArrowDown", "j", "k", "ArrowUp", "ArrowUp", "n", "t", "N", "o", "O",
          "s", "S", "End", "k", "ArrowLeft", "ArrowLeft", "ArrowRight", "PageUp", "PageDown"]) press(name);
        key("Home");
        const facts = $("facts").textContent;
        key("?");
        const open = $("help").open;
        key("ArrowDown");
        const kept = here();
        document.querySelector("#help button").click();
        return { seen, facts, open, kept, closed: !$("help").open, hash: location.hash };
    "##;
    let said = browser.run(&page(&update()), script);
    // 0: thread 1; 1 and 2: thread 2, the first a preemption; 3: thread 1; 4: main; 5: the end.
    let expected = [
        "Home 0",
        "ArrowDown 1",
        "j 2",
        "k 1",
        "ArrowUp 0",
        "ArrowUp 0",
        "n 1",
        "t 2",
        "N 1",
        "o 2",
        "O 1",
        "s 3",
        "S 1",
        "End 5",
        "k 4",
        "ArrowLeft 3",
        "ArrowLeft 2",
        "ArrowRight 3",
        "PageUp 0",
        "PageDown 5",
    ];
    assert_eq!(said["seen"], json!(expected));
    assert!(said["facts"].as_str().is_some_and(|facts| facts.contains("load counter -> 0")));
    assert_eq!((&said["open"], &said["closed"]), (&json!(true), &json!(true)));
    assert_eq!(said["kept"], "0", "keys do nothing behind the list of keys");
    assert_eq!(said["hash"], "#step=0");
}

fn filters(browser: &Browser) {
    let script = r#"
        const seen = {};
        key("/");
        seen.focus = document.activeElement.id;
        type("filter", "store");
        seen.text = rows();
        type("filter", "thread STORE 2");
        seen.words = rows();
        key("j");
        seen.typing = $("filter").value;
        type("filter", "no such step");
        seen.nothing = [rows(), $("nothing").hidden];
        key("Escape");
        seen.all = [rows().length, document.activeElement.id, $("shown").textContent];
        key("Home"); key("f");
        seen.task = [rows(), $("shown").textContent];
        key("f");
        key("g");
        seen.object = rows();
        key("Escape"); key("b");
        seen.brief = rows();
        key("Escape");
        type("task", "2");
        seen.select = rows();
        return seen;
    "#;
    let said = browser.run(&page(&update()), script);
    assert_eq!(said["focus"], "filter");
    assert_eq!(said["text"], json!([2, 3]));
    assert_eq!(said["words"], json!([2]), "all words, in any case, in task, op or site");
    assert_eq!(said["typing"], "thread STORE 2", "a letter in the filter is no key");
    assert_eq!(said["nothing"], json!([[], false]));
    assert_eq!(said["all"], json!([6, "lanes", "5 steps"]));
    assert_eq!(said["task"], json!([[0, 3], "2 of 5 steps"]));
    assert_eq!(said["object"], json!([0, 1, 2, 3, 4]));
    assert_eq!(said["brief"], json!([0, 1, 2, 3, 4, 5]));
    assert_eq!(said["select"], json!([1, 2]));
}

/// Four critical sections of main, the last unlock of which thread 1 has waited for.
fn sections() -> Report {
    let step = |index: u32| {
        let op = if index.is_multiple_of(2) { "lock" } else { "unlock" };
        let call = Call { function: "app::Cache::get".to_owned(), site: site(40 + index) };
        Event { after: Some(Vec::new()), calls: vec![call], ..event((0, op, Some(0), 20 + index)) }
    };
    let mut events: Vec<Event> = (0..8).map(step).collect();
    events.push(Event { after: Some(vec![7]), ..event((1, "lock", Some(0), 30)) });
    let objects = vec![object("Mutex", Some("queue"), 5)];
    let trace = Trace { tasks: threads(1), objects, events, ..Trace::default() };
    failed(
        trace,
        Outcome::Panicked { panics: vec![panic(1, "the queue is empty", 31)], then: None },
    )
}

fn toggles(browser: &Browser) {
    let script = r##"
        const seen = { first: rows(), shown: $("shown").textContent, offered: !$("full-part").hidden };
        $("full").click(); await paint();
        seen.every = rows(); seen.all = $("shown").textContent;
        key("e"); await paint();
        seen.again = rows();
        // A step that is hidden is shown if something leads to it.
        location.hash = "#step=3"; await paint(); await paint();
        seen.linked = [here(), $("full").checked];
        seen.facts = $("facts").textContent;
        return seen;
    "##;
    let said = browser.run(&page(&sections()), script);
    // The ninth row is how it ended.
    assert_eq!(said["first"], json!([0, 2, 4, 6, 7, 8, 9]));
    assert_eq!(said["offered"], true);
    assert_eq!(said["shown"], "6 of 9 steps, without 3 unlocks that let no other task go on");
    assert_eq!(said["every"], json!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    assert_eq!(said["all"], "9 steps");
    assert_eq!(said["again"], said["first"]);
    assert_eq!(said["linked"], json!(["3", true]));
    // The guard is dropped where the function was, not where it was locked.
    let facts = said["facts"].as_str().unwrap_or_default();
    assert!(facts.contains("attests/account.rs:43"), "{facts}");
    assert!(facts.contains("Cache::get at tests/account.rs:43"), "{facts}");
    let said = browser.run(&page(&update()), "return $('full-part').hidden;");
    assert_eq!(said, true, "nothing is hidden");
}

fn arrows(browser: &Browser) {
    let script = r##"
        const drawn = () => [count(".arrows g.in"), count(".arrows g.out")];
        const seen = {};
        key("Home"); seen.first = drawn();
        key("ArrowDown"); key("ArrowDown"); seen.third = drawn();
        seen.after = $("after").textContent; seen.before = $("before").textContent;
        document.querySelector('[data-row="3"]').dispatchEvent(new MouseEvent("mousemove", { bubbles: true }));
        seen.hovered = [...drawn(), here()];
        $("lanes").dispatchEvent(new MouseEvent("mouseleave"));
        seen.left = drawn();
        document.querySelector("#after button").click();
        seen.followed = here();
        document.querySelector('[data-row="4"]').dispatchEvent(new MouseEvent("click", { bubbles: true }));
        seen.clicked = here();
        // An arrow begins and ends at the dots of its steps.
        const dot = (row) => { const box = document.querySelector(`[data-row="${row}"] .op`).getBoundingClientRect(); return [box.left + 12, box.top + 11]; };
        const path = document.querySelector(".arrows g.in path"), box = path.getBoundingClientRect();
        const [from, to] = [dot(3), dot(4)];
        seen.ends = [Math.abs(box.right - from[0]) < 3, Math.abs(box.top - from[1]) < 3, Math.abs(box.left - to[0]) < 3, box.bottom <= to[1]];
        return seen;
    "##;
    let said = browser.run(&page(&update()), script);
    assert_eq!(said["first"], json!([0, 1]), "the load is before the other thread's store");
    assert_eq!(said["third"], json!([1, 1]));
    assert_eq!(said["after"], "0 thread 1: load counter -> 0");
    assert_eq!(said["before"], "3 thread 1: store counter (1)");
    assert_eq!(said["hovered"], json!([1, 1, "2"]), "hovering draws and does not choose");
    assert_eq!(said["left"], json!([1, 1]));
    assert_eq!(said["followed"], "0");
    assert_eq!(said["clicked"], "4");
    assert_eq!(said["ends"], json!([true, true, true, true]));
}

fn fades(browser: &Browser) {
    let script = r#"
        const faded = () => [...document.querySelectorAll(".row.apart")].map((row) => Number(row.dataset.row));
        const seen = [];
        key("End"); key("h");
        for (const _ of [0, 1, 2, 3, 4]) { key("k"); seen.unshift(faded()); }
        key("h");
        seen.push(faded());
        return seen;
    "#;
    // Arrows: 0 to 2, 2 to 3, 3 to 4. Lanes: 0 and 3, 1 and 2, 4.
    let said = browser.run(&page(&update()), script);
    assert_eq!(said, json!([[1], [0], [], [], [], []]), "only the two loads are in no order");
}

fn messages(browser: &Browser) {
    let script = r#"
        const seen = { tasks: heads().length };
        key("m");
        seen.heads = heads();
        seen.messages = count(".arrows g.message");
        seen.pressed = $("messages").getAttribute("aria-pressed");
        key("m");
        seen.back = [heads().length, count(".arrows g.message")];
        return seen;
    "#;
    let said = browser.run(&page(&two_tills()), script);
    assert_eq!(said["tasks"], 2 + 7);
    let heads = ["step", "test", "left", "right", "stock", "main", "at"];
    assert_eq!(said["heads"], json!(heads));
    assert_eq!(said["messages"], 6, "two of the test, two questions, two answers");
    assert_eq!(said["pressed"], "true");
    assert_eq!(said["back"], json!([9, 0]));
    let hidden =
        browser.run(&page(&update()), "key('m'); return $('messages').hidden && heads().length;");
    assert_eq!(hidden, 5, "threads send none");
}

fn deadlock(browser: &Browser) {
    let script = r#"
        const inside = [...document.querySelectorAll("svg.waits text")].map((text) => text.textContent);
        const box = document.querySelector("svg.waits").getBoundingClientRect();
        return {
          inside, cycle: count("svg.waits path.cycle"), edges: count("svg.waits > path"),
          label: document.querySelector("svg.waits").getAttribute("aria-label"),
          visible: box.width > 200 && box.height > 80 && box.bottom < innerHeight,
          ends: [...document.querySelectorAll(".row.end .op")].map((op) => op.textContent),
        };
    "#;
    let said = browser.run(&page(&lock_order()), script);
    assert_eq!(said["inside"], json!(["main", "thread 1", "thread 2", "Mutex#1", "Mutex#2"]));
    assert_eq!(said["cycle"], 4, "two waits and two holds");
    assert_eq!(said["edges"], 5, "and a join");
    assert!(
        said["label"].as_str().is_some_and(|label| label.contains("cycle: thread 1 -> thread 2"))
    );
    assert_eq!(said["visible"], true);
    assert_eq!(said["ends"][1], "waits for lock Mutex#2 held by thread 2");
}

fn outcomes(browser: &Browser) {
    let mut without_steps = lost_update();
    without_steps.failure.as_mut().expect("failed").trace.events.clear();
    let race = data_race(raddle_trace::Missing::Everything);
    let mut unknown = update();
    for event in &mut unknown.failure.as_mut().expect("failed").trace.events {
        event.site = raddle_trace::Site::default();
    }
    for report in [livelock(), race, without_steps, unknown] {
        let said = browser.run(&page(&report), "return document.querySelector('h1').textContent;");
        assert_eq!(said, "transfers");
    }
}

fn hostile(browser: &Browser) {
    let evil =
        "</script><script>window.owned=1</script><img src=x onerror=owned=1>\"'><b>&lt;--${1}";
    let mut report = update();
    report.test = Some(evil.to_owned());
    evil.clone_into(&mut report.strategy);
    report.notes.push(raddle_trace::Note::Text { text: evil.to_owned() });
    let failure = report.failure.as_mut().expect("failed");
    failure.outcome = Outcome::Panicked { panics: vec![panic(0, evil, 19)], then: None };
    let trace: &mut Trace = &mut failure.trace;
    evil.clone_into(&mut trace.events[2].op);
    evil.clone_into(&mut trace.events[3].site.file);
    trace.objects[0].name = Some(evil.to_owned());
    trace.tasks[1].label = Some(evil.to_owned());
    let mut sources = Sources::default();
    sources.insert(FILE, &format!("{evil}\n").repeat(80));
    sources.insert(evil, &format!("{evil}\n").repeat(80));
    let script = r#"
        for (const name of ["Home", "j", "j", "j", "j", "j", "h", "f", "g", "?"]) key(name);
        return { owned: window.owned ?? null, images: count("img"), bold: count("b:not(.steplink b)"),
          scripts: count("script"), name: document.querySelector("h1").textContent };
    "#;
    let said = browser.run(&trace_page(&report, &sources), script);
    assert_eq!(said["owned"], Value::Null);
    assert_eq!((&said["images"], &said["bold"]), (&json!(0), &json!(0)));
    // The data, the page's own, and the two of this test.
    assert_eq!(said["scripts"], 4);
    assert_eq!(said["name"], evil);
    let mut deadlock = lock_order();
    let trace = &mut deadlock.failure.as_mut().expect("failed").trace;
    trace.objects[0].name = Some(evil.to_owned());
    trace.tasks[1].label = Some(evil.to_owned());
    let said = browser.run(&page(&deadlock), "return [window.owned ?? null, count('img')];");
    assert_eq!(said, json!([null, 0]));
}

/// As many steps as an execution may well have, of eight threads.
pub(crate) fn endless(steps: u32) -> Report {
    let step = |index: u32| {
        let (task, turn) = (1 + index / 3 % 8, index % 3);
        let (op, preempts) =
            [("lock", index.is_multiple_of(999)), ("load -> 7", false), ("unlock", false)]
                [turn as usize];
        let object = u32::from(turn == 1);
        let first = event((task, op, Some(object), 20 + turn));
        let after = if turn == 0 && index > 2 { vec![index - 1] } else { Vec::new() };
        Event { preempts, after: Some(after), ..first }
    };
    let trace = Trace {
        tasks: threads(8),
        objects: vec![object("Mutex", Some("queue"), 5), object("AtomicUsize", Some("length"), 6)],
        events: (0..steps).map(step).collect(),
        ..Trace::default()
    };
    // The task that moves last panics, so that nothing comes after it.
    let last = 1 + (steps - 1) / 3 % 8;
    let panics = vec![panic(last, "the queue is empty", 23)];
    failed(trace, Outcome::Panicked { panics, then: None })
}

fn long(browser: &Browser) {
    let page = page(&endless(100_000));
    assert!(page.len() < 8 << 20, "{} bytes", page.len());
    let script = r#"
        const seen = { elements: [], heres: [] };
        const look = () => { seen.elements.push(count("*")); seen.heres.push(here()); };
        look();
        key("Home"); look();
        key("n"); look();
        key("End"); look();
        $("lanes").scrollTop = 50000 * 22; await paint();
        seen.middle = rows().includes(50000) && rows().length < 120;
        key("Home"); key("h"); look();
        type("filter", "unlock thread\u00a08"); type("filter", "unlock");
        seen.shown = $("shown").textContent;
        key("End"); look();
        seen.visible = document.querySelector(".row.here").getBoundingClientRect().bottom <= innerHeight;
        return seen;
    "#;
    let said = browser.run(&page, script);
    assert_eq!(said["heres"], json!(["99999", "0", "999", "100000", "0", "99998"]));
    let most = said["elements"].as_array().into_iter().flatten().filter_map(Value::as_u64).max();
    assert!(most.is_some_and(|most| most < 900), "{said}");
    assert_eq!(said["middle"], true);
    // Every third step from step 2 on: 33,333.
    assert_eq!(said["shown"], "33,333 of 100,000 steps");
    assert_eq!(said["visible"], true);
}

fn marks(browser: &Browser) {
    let said =
        browser.run(&page(&many_tasks()), "return { heads: heads(), lines: count('.line') };");
    assert_eq!(said["heads"], json!(["step", "13 lanes", "task", "op", "at"]));
    assert_eq!(said["lines"], 13);
}

fn aloud(browser: &Browser) {
    let script = r#"
        key("Home"); key("j");
        const lanes = $("lanes"), active = $(lanes.getAttribute("aria-activedescendant"));
        const named = (one) => one.labels?.length || one.getAttribute("aria-label") || one.textContent.trim();
        return {
          role: lanes.getAttribute("role"), rows: lanes.getAttribute("aria-rowcount"),
          active: active?.getAttribute("aria-label"), selected: active?.getAttribute("aria-selected"),
          live: $("live").textContent, language: document.documentElement.lang,
          nameless: [...document.querySelectorAll("input, select, button")].filter((one) => !named(one)).length,
          focus: document.activeElement.id,
          pictures: [...document.querySelectorAll("svg:not([aria-hidden])")].filter((one) => !one.getAttribute("aria-label")).length,
          headings: count("h1"),
        };
    "#;
    let said = browser.run(&page(&lock_order()), script);
    assert_eq!((&said["role"], &said["rows"]), (&json!("grid"), &json!("6")));
    assert_eq!(
        said["active"],
        "step 1, thread 2, lock Mutex#2, at tests/account.rs:14, a preemption"
    );
    assert_eq!(said["live"], said["active"]);
    assert_eq!((&said["selected"], &said["language"]), (&json!("true"), &json!("en")));
    assert_eq!((&said["nameless"], &said["pictures"]), (&json!(0), &json!(0)));
    assert_eq!((&said["focus"], &said["headings"]), (&json!("lanes"), &json!(1)));
}

/// Contrast of text on its ground as WCAG computes it, in the colours that are drawn.
pub(crate) const CONTRAST: &str = r#"
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgb = (colour) => { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
    const light = (colour) => { const [r, g, b] = rgb(colour).map((part) => { part /= 255; return part <= .03928 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
    const contrast = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + .05) / (Math.min(x, y) + .05); };
    const probe = document.body.appendChild(document.createElement("i"));
    const colour = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
    const weak = [];
    for (const ink of ["text", "quiet", "link", "bad", "good", "warn", "l0", "l1", "l2", "l3", "l4", "l5", "l6", "l7"])
      for (const ground of ["ground", "panel", "raised", "mark"]) {
        const found = contrast(colour(ink), colour(ground));
        if (found < 4.5) weak.push(`${ink} on ${ground}: ${found.toFixed(2)}`);
      }
    for (const kind of ["bad", "good", "warn"]) if (contrast(colour(kind), colour(`${kind}-ground`)) < 4.5) weak.push(kind);
    return { weak, ground: light(colour("ground")) };
"#;

/// What of a page is out of reach: wider than the window, cut off without an ellipsis or a way to scroll, or
/// one control over another.
pub(crate) const OVERFLOWS: &str = r#"
    const bad = [];
    {
    if (document.documentElement.scrollWidth > innerWidth) bad.push(`the page: ${document.documentElement.scrollWidth}`);
    const scrolls = (one) => { for (let at = one; at; at = at.parentElement) { const { overflowX } = getComputedStyle(at); if (overflowX === "auto" || overflowX === "scroll") return true; } return false; };
    const seen = (one) => { const box = one.getBoundingClientRect(); return box.width > 0 && box.height > 0 && !one.closest(".hidden, [hidden], noscript, dialog"); };
    const name = (one) => `${one.tagName}.${one.className.baseVal ?? one.className}#${one.id} ${one.textContent.slice(0, 30)}`;
    for (const one of document.querySelectorAll("body *")) {
      if (!seen(one) || scrolls(one)) continue;
      const box = one.getBoundingClientRect();
      if (box.right > innerWidth + 1 || box.left < -1) bad.push(name(one));
    }
    const controls = [...document.querySelectorAll("button, input, select, summary, .badge, h1, th")].filter((one) => seen(one) && !scrolls(one.parentElement));
    const boxes = controls.map((one) => one.getBoundingClientRect());
    boxes.forEach((a, i) => boxes.forEach((b, j) => {
      if (i < j && !controls[i].contains(controls[j]) && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
        bad.push(`${name(controls[i])} over ${name(controls[j])}`);
    }));
    }
"#;

/// Narrow, half a screen, wide: in the colours of day and night.
pub(crate) const WINDOWS: [(Scheme, (u32, u32)); 6] = [
    (Scheme::Light, (600, 800)),
    (Scheme::Light, (800, 800)),
    (Scheme::Light, WIDE),
    (Scheme::Dark, (600, 800)),
    (Scheme::Dark, (800, 800)),
    (Scheme::Dark, WIDE),
];

fn fits(browser: &Browser) {
    let script = format!(
        r#"{OVERFLOWS}
        const lanes = $("lanes").getBoundingClientRect(), side = document.querySelector(".side").getBoundingClientRect();
        const row = document.querySelector(".row.here").getBoundingClientRect();
        const places = {{ lanes: lanes.height > 150, side: side.height > 150, here: row.top >= lanes.top && row.bottom <= lanes.bottom,
          apart: side.left >= lanes.right - 1 || side.top >= lanes.bottom - 1, slider: $("slider").getBoundingClientRect().width > 150 }};
        const {{ weak, ground }} = await (async () => {{ {CONTRAST} }})();
        return {{ bad, places, weak, ground }};"#
    );
    let all = [notified(), lock_order(), many_tasks()];
    for (scheme, window) in WINDOWS {
        for report in &all {
            let said = browser.run_in(&page(report), &script, scheme, window);
            assert_eq!(said["bad"], json!([]), "{window:?}");
            let places =
                json!({"lanes": true, "side": true, "here": true, "apart": true, "slider": true});
            assert_eq!(said["places"], places, "{window:?}");
            assert_eq!(said["weak"], json!([]), "{window:?}");
            let ground = said["ground"].as_f64().unwrap_or(0.5);
            let as_asked = match scheme {
                Scheme::Light => ground > 0.8,
                Scheme::Dark => ground < 0.05,
            };
            assert!(as_asked, "{window:?}: {ground}");
        }
    }
}

fn alone(browser: &Browser) {
    let script = r#"
        let refused = false;
        document.addEventListener("securitypolicyviolation", () => { refused = true; });
        const image = new Image();
        image.src = "https://example.invalid/pixel.png";
        await paint(); await paint();
        return { refused, loaded: performance.getEntriesByType("resource").filter((one) => one.transferSize > 0).length };
    "#;
    let said = browser.run(&page(&update()), script);
    assert_eq!(said, json!({"refused": true, "loaded": 0}));
}

fn narrow(browser: &Browser) {
    let script = r#"
        const [a, b] = [$("lanes").getBoundingClientRect(), document.querySelector(".side").getBoundingClientRect()];
        return { below: b.top >= a.bottom - 1, seen: a.height > 150 && b.height > 150, rows: rows().length,
          wide: document.documentElement.scrollWidth <= innerWidth, heads: heads() };
    "#;
    let said = browser.run_in(&page(&update()), script, Scheme::Light, (600, 800));
    let heads = ["step", "main", "thread 1", "thread 2", "at"];
    let expected = json!({"below": true, "seen": true, "rows": 6, "wide": true, "heads": heads});
    assert_eq!(said, expected);
}
