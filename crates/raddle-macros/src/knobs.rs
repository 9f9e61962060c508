//! What stands in the brackets of `#[raddle::test(…)]`.

use std::time::Duration;

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Ident, Lit, LitStr, Result, Token};

/// How the value of a knob is written.
#[derive(Clone, Copy)]
enum Value {
    /// Any expression, with its type: `Some` of it is the field.
    Maybe(&'static str),
    /// Any expression, with its type.
    Plain(&'static str),
    Text,
    Time,
    /// Nothing, or a bool.
    Flag,
    /// One of these words, for a variant of this type.
    Word(&'static str, &'static [(&'static str, &'static str)]),
    /// Any expression: not a field.
    Fixture,
}

const KNOBS: &[(&str, Value)] = &[
    ("strategy", Value::Text),
    ("executions", Value::Maybe("u64")),
    ("time", Value::Time),
    ("execution_time", Value::Time),
    ("steps", Value::Maybe("u64")),
    ("tasks", Value::Maybe("u32")),
    ("memory", Value::Maybe("u64")),
    ("jobs", Value::Maybe("u32")),
    ("seed", Value::Maybe("u64")),
    ("preemptions", Value::Maybe("u32")),
    ("timeouts", Value::Word("Timeouts", &[("any", "Any"), ("idle", "Idle")])),
    ("spurious", Value::Flag),
    ("data", Value::Word("Data", &[("decisions", "Decisions"), ("seeded", "Seeded")])),
    ("traces", Value::Flag),
    ("pairs", Value::Word("Pairs", &[("off", "Off"), ("count", "Count"), ("keep", "Keep")])),
    ("teardown", Value::Word("Teardown", &[("unwind", "Unwind"), ("leak", "Leak")])),
    ("isolation", Value::Word("Isolation", &[("none", "None"), ("process", "Process")])),
    ("stack_size", Value::Plain("usize")),
    ("watchdog", Value::Time),
    ("minimise", Value::Time),
    ("checkpoint_every", Value::Time),
    ("explain", Value::Maybe("bool")),
    (
        "expect",
        Value::Word(
            "Expect",
            &[
                ("panic", "Panic"),
                ("deadlock", "Deadlock"),
                ("livelock", "Livelock"),
                ("stack-overflow", "StackOverflow"),
                ("data-race", "DataRace"),
            ],
        ),
    ),
    ("fixture", Value::Fixture),
];

/// The knobs of one test.
#[derive(Default)]
pub(crate) struct Knobs {
    /// Statements that change `config`.
    pub(crate) settings: Vec<TokenStream>,
    pub(crate) fixture: Option<Expr>,
}

impl Parse for Knobs {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut knobs = Self::default();
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            if seen.contains(&name) {
                return Err(Error::new(name.span(), format!("`{name}` is given twice")));
            }
            let Some(&(_, value)) = KNOBS.iter().find(|(known, _)| name == known) else {
                return Err(unknown(&name));
            };
            knobs.parse_value(&name, value, input)?;
            seen.push(name);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(knobs)
    }
}

impl Knobs {
    fn parse_value(&mut self, name: &Ident, value: Value, input: ParseStream<'_>) -> Result<()> {
        if matches!(value, Value::Flag) && !input.peek(Token![=]) {
            self.settings.push(quote!(config.#name = true;));
            return Ok(());
        }
        if !input.peek(Token![=]) {
            return Err(Error::new(name.span(), format!("`{name}` needs a value: {name} = …")));
        }
        input.parse::<Token![=]>()?;
        let given: Expr = input.parse()?;
        let setting = match value {
            Value::Fixture => {
                self.fixture = Some(given);
                return Ok(());
            }
            Value::Maybe(ty) => {
                let ty = Ident::new(ty, Span::call_site());
                quote_spanned! {given.span()=>
                    config.#name = ::core::option::Option::Some({ let n: #ty = #given; n });
                }
            }
            Value::Plain(ty) => {
                let ty = Ident::new(ty, Span::call_site());
                quote_spanned!(given.span()=> config.#name = { let n: #ty = #given; n };)
            }
            Value::Flag => quote_spanned!(given.span()=> config.#name = #given;),
            Value::Text => quote_spanned! {given.span()=>
                config.#name = ::std::string::String::from(#given);
            },
            Value::Time => time(name, &given)?,
            Value::Word(ty, words) => word(name, &given, ty, words)?,
        };
        self.settings.push(setting);
        Ok(())
    }
}

fn unknown(name: &Ident) -> Error {
    let text = name.to_string();
    let near = KNOBS
        .iter()
        .map(|&(known, _)| (distance(&text, known), known))
        .filter(|&(distance, known)| distance <= 1 + known.len() / 4)
        .min_by_key(|&(distance, _)| distance);
    let message = if let Some((_, near)) = near {
        format!("there is no knob `{name}`; did you mean `{near}`?")
    } else {
        let names: Vec<_> = KNOBS.iter().map(|(name, _)| *name).collect();
        format!("there is no knob `{name}`; there are {}", names.join(", "))
    };
    Error::new(name.span(), message)
}

/// Letters to insert, drop or replace to make `b` of `a`.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

fn text(given: &Expr) -> Option<&LitStr> {
    match given {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        _ => None,
    }
}

fn time(name: &Ident, given: &Expr) -> Result<TokenStream> {
    let Some(parsed) = text(given).and_then(|text| duration(&text.value())) else {
        return Err(Error::new_spanned(
            given,
            format!("`{name}` is text such as \"500ms\", \"10s\", \"2m\" or \"1h\""),
        ));
    };
    let micros = u64::try_from(parsed.as_micros()).unwrap_or(u64::MAX);
    Ok(quote! {
        config.#name =
            ::core::option::Option::Some(::core::time::Duration::from_micros(#micros));
    })
}

/// As in the environment.
fn duration(text: &str) -> Option<Duration> {
    let at = text.find(|letter: char| letter.is_ascii_alphabetic())?;
    let (digits, unit) = text.split_at(at);
    let n: u64 = digits.replace('_', "").parse().ok()?;
    Some(match unit {
        "us" => Duration::from_micros(n),
        "ms" => Duration::from_millis(n),
        "s" => Duration::from_secs(n),
        "m" => Duration::from_secs(n.checked_mul(60)?),
        "h" => Duration::from_secs(n.checked_mul(3600)?),
        _ => return None,
    })
}

fn word(name: &Ident, given: &Expr, ty: &str, words: &[(&str, &str)]) -> Result<TokenStream> {
    let value = text(given).map(LitStr::value);
    let found = words.iter().find(|(word, _)| Some(*word) == value.as_deref());
    let Some((_, variant)) = found else {
        let words: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        return Err(Error::new_spanned(given, format!("`{name}` is one of {}", words.join(", "))));
    };
    let (ty, variant) = (Ident::new(ty, Span::call_site()), Ident::new(variant, Span::call_site()));
    Ok(quote!(config.#name = ::raddle::#ty::#variant;))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Some(Duration::from_mins(2)));
        for wrong in ["", "10", "s", "-1s", "1.5s", "10 s", "10sec"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }
}
