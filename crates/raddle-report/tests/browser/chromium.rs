//! Chromium without a window, started for one page at a time.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

/// Long enough for a machine with much else to do.
const DEADLINE: Duration = Duration::from_secs(240);
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// Nothing of a user, no network, no graphics card.
const FLAGS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--virtual-time-budget=20000",
];
/// Begins the script of a test: a key as if it were pressed, and what is looked at often.
const HELPERS: &str = r##"
const $ = (id) => document.getElementById(id);
const key = (name, options = {}) => (document.activeElement ?? document.body)
  .dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...options }));
const type = (id, text) => { $(id).value = text; $(id).dispatchEvent(new Event("input", { bubbles: true })); };
const here = () => document.querySelector(".row.here")?.dataset.row ?? "none";
const rows = () => [...document.querySelectorAll("#steps .row")].map((row) => Number(row.dataset.row));
const heads = () => [...document.querySelectorAll("#head > *")].map((cell) => cell.textContent);
const count = (selector) => document.querySelectorAll(selector).length;
const paint = () => new Promise((done) => setTimeout(done, 100));
"##;

/// The window of most people.
pub(crate) const WIDE: (u32, u32) = (1400, 820);

/// Whether there is one.
pub(crate) enum Found {
    Browser(Browser),
    Nothing { required: bool },
}

pub(crate) struct Browser {
    program: PathBuf,
}

/// The colours that a person prefers.
#[derive(Clone, Copy)]
pub(crate) enum Scheme {
    Light,
    Dark,
}

pub(crate) fn find() -> Found {
    let asked = std::env::var("BROWSER_TESTS").unwrap_or_default();
    let required = asked == "required";
    if !asked.is_empty() && !required {
        return Found::Browser(Browser { program: asked.into() });
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let candidates = NAMES.iter().flat_map(|name| directories.iter().map(move |d| d.join(name)));
    match candidates.into_iter().find(|program| program.is_file()) {
        Some(program) => Found::Browser(Browser { program }),
        None => Found::Nothing { required },
    }
}

impl Browser {
    /// Loads a page, runs a script in it and returns what the script gives back.
    pub(crate) fn run(&self, page: &str, script: &str) -> Value {
        self.run_in(page, script, Scheme::Light, WIDE)
    }

    /// The same with these colours and a window of this size.
    pub(crate) fn run_in(
        &self,
        page: &str,
        script: &str,
        scheme: Scheme,
        window: (u32, u32),
    ) -> Value {
        // What is said goes out as digits, which no document can change.
        let script = format!(
            "<script>\nwindow.errors = [];\nwindow.addEventListener(\"error\", (event) => \
             window.errors.push(event.message));\n</script>\n{{page}}<script>\n{HELPERS}\n\
             (async () => {{\n  let said;\n  try {{ said = await (async () => {{ {script} }})(); }}\n  \
             catch (error) {{ said = {{ thrown: String(error.stack) }}; }}\n  \
             if (window.errors.length) said = {{ errors: window.errors }};\n  \
             const bytes = new TextEncoder().encode(JSON.stringify(said));\n  \
             document.body.dataset.said = Array.from(bytes, (byte) => \
             byte.toString(16).padStart(2, \"0\")).join(\"\");\n}})();\n</script>\n"
        );
        let (before, after) = script.split_once("{page}").expect("it is there");
        let (head, body) = page.split_once("<head>").expect("a page has a head");
        let (body, end) = body.rsplit_once("</body>").expect("a page has a body");
        let text = format!("{head}<head>{before}{body}{after}</body>{end}");
        let dom = self.dom(&text, scheme, window);
        let said = dom.split_once("data-said=\"").and_then(|(_, rest)| rest.split_once('"'));
        let (digits, _) =
            said.unwrap_or_else(|| panic!("the script did not end; the page:\n{dom}"));
        let byte = |pair: &[u8]| {
            let pair = std::str::from_utf8(pair).expect("digits");
            u8::from_str_radix(pair, 16).expect("digits")
        };
        let bytes: Vec<u8> = digits.as_bytes().chunks(2).map(byte).collect();
        let said: Value = serde_json::from_slice(&bytes).expect("JSON");
        assert!(said.get("thrown").is_none() && said.get("errors").is_none(), "{said:#}");
        said
    }

    /// The document of a page after its scripts have run.
    fn dom(&self, page: &str, scheme: Scheme, (width, height): (u32, u32)) -> String {
        static PAGES: AtomicU32 = AtomicU32::new(0);
        let number = PAGES.fetch_add(1, Ordering::Relaxed);
        let name = format!("raddle-browser-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).expect("a place for the page");
        let file = directory.join("page.html");
        fs::write(&file, page).expect("the page is written");
        let scheme = match scheme {
            Scheme::Light => "preferredColorScheme=1",
            Scheme::Dark => "preferredColorScheme=0",
        };
        let mut child = Command::new(&self.program)
            .args(FLAGS)
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--blink-settings={scheme}"))
            .arg(format!("--user-data-dir={}", directory.join("profile").display()))
            .arg("--dump-dom")
            .arg(format!("file://{}", file.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let stdout = child.stdout.take().expect("it was piped");
        let (sender, receiver) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            let _ = sender.send(io_read(stdout));
        });
        let dom = receiver.recv_timeout(DEADLINE);
        if dom.is_err() {
            let _ = child.kill();
        }
        let _ = child.wait();
        let _ = reader.join();
        let _ = fs::remove_dir_all(&directory);
        dom.expect("the browser did not end in time")
    }
}

fn io_read(mut from: impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    let _ = from.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
