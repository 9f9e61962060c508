//! Pages to look at: one file each, which loads nothing and needs no network.
//!
//! [`trace_page`] is the page of one report: what failed, its steps in lanes, and what was searched.
//! [`run_page`] is the page of several. Styles and scripts are files beside this one, written by hand
//! and put into the page; a policy in the page forbids it to load anything else. Text of the program
//! under test reaches the page only through `escape` or, as data, through `embed`.

mod data;
mod edges;
mod plot;
mod run;
mod sources;
mod states;
mod trace;
mod waits;

use std::fmt::Write as _;

use raddle_trace::Verdict;

use crate::columns::escaped;
pub(crate) use plot::short;
pub use run::run_page;
pub use sources::Sources;
pub use trace::trace_page;

/// What every page has: colours, type, the frame.
const STYLE: &str = include_str!("html/style.css");

/// Text as part of HTML, XML or SVG, or of an attribute in quotes. Control characters are written out.
#[must_use]
pub fn escape(text: &str) -> String {
    escaped(text)
}

/// JSON as the content of a script element, which ends at the first `</script` whatever is around it.
fn embed(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out
}

/// A whole document.
fn page(title: &str, kind: &str, body: &str, style: &str, script: &str) -> String {
    format!(
        "<!doctype html>\n\
         <html lang=\"en\">\n\
         <head>\n\
         <meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"raddle {version}\">\n\
         <title>{title}</title>\n\
         <style>\n{STYLE}{style}</style>\n\
         </head>\n\
         <body class=\"{kind}\">\n\
         {body}\
         <script>\n{script}</script>\n\
         </body>\n\
         </html>\n",
        version = env!("CARGO_PKG_VERSION"),
        title = escape(title),
    )
}

/// The verdict as a word in its colour.
fn badge(verdict: Verdict) -> String {
    format!("<span class=\"badge {verdict}\">{verdict}</span>")
}

/// A number with its thousands apart.
fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
