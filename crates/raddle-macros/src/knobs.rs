//! What stands in the brackets of `#[raddle::test(…)]`: the keys and values of `raddle_knobs`, and the
//! fixture.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use raddle_knobs::{KNOBS, Knob, Scope, Value, Word, nearest, units};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Ident, Lit, LitStr, Result, Token};

/// The key that is no field of the configuration.
const FIXTURE: &str = "fixture";

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
            if name == FIXTURE {
                knobs.fixture = Some(value(&name, input)?);
            } else {
                let knob = known().find(|knob| name == knob.name).ok_or_else(|| unknown(&name))?;
                knobs.settings.push(setting(knob, &name, input)?);
            }
            seen.push(name);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(knobs)
    }
}

/// The keys that are fields.
fn known() -> impl Iterator<Item = &'static Knob> {
    KNOBS.iter().filter(|knob| knob.is_attribute())
}

fn unknown(name: &Ident) -> Error {
    let names = || known().map(|knob| knob.name).chain([FIXTURE]);
    let text = name.to_string();
    let is_drivers = KNOBS.iter().any(|knob| name == knob.name && knob.scope == Scope::Driver);
    let message = if is_drivers {
        format!("`{name}` is a knob of cargo raddle, not of one test; leave it out")
    } else if let Some(near) = nearest(&text, names()) {
        format!("there is no knob `{name}`; did you mean `{near}`?")
    } else {
        format!("there is no knob `{name}`; there are {}", names().collect::<Vec<_>>().join(", "))
    };
    Error::new(name.span(), message)
}

/// What comes after the name and `=`.
fn value(name: &Ident, input: ParseStream<'_>) -> Result<Expr> {
    if !input.peek(Token![=]) {
        return Err(Error::new(name.span(), format!("`{name}` needs a value: {name} = …")));
    }
    input.parse::<Token![=]>()?;
    input.parse()
}

/// The statement that sets a field. A field that may be `None` is `Some` of what is given.
fn setting(knob: &Knob, name: &Ident, input: ParseStream<'_>) -> Result<TokenStream> {
    let is_flag = matches!(knob.value, Value::Flag | Value::MaybeFlag);
    if is_flag && !input.peek(Token![=]) {
        return Ok(quote!(config.#name = ::core::convert::Into::into(true);));
    }
    let given = value(name, input)?;
    Ok(match knob.value {
        Value::Number(width) => of_type(name, &given, width.name()),
        Value::Memory => of_type(name, &given, "u64"),
        Value::Size => of_type(name, &given, "usize"),
        Value::Flag | Value::MaybeFlag => of_type(name, &given, "bool"),
        Value::Time => time(name, &given)?,
        Value::Word(words) => word(name, &given, knob.ty, words)?,
        _ => quote_spanned! {given.span()=>
            config.#name = ::core::convert::Into::into(::std::string::String::from(#given));
        },
    })
}

/// Any expression of this type.
fn of_type(name: &Ident, given: &Expr, ty: &str) -> TokenStream {
    let ty = Ident::new(ty, Span::call_site());
    quote_spanned! {given.span()=>
        config.#name = ::core::convert::Into::into({ let n: #ty = #given; n });
    }
}

fn text(given: &Expr) -> Option<&LitStr> {
    match given {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        _ => None,
    }
}

fn time(name: &Ident, given: &Expr) -> Result<TokenStream> {
    let Some(parsed) = text(given).and_then(|text| units::time(&text.value())) else {
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

fn word(name: &Ident, given: &Expr, ty: &str, words: &[Word]) -> Result<TokenStream> {
    let value = text(given).map(LitStr::value);
    let Some(found) = words.iter().find(|word| Some(word.text) == value.as_deref()) else {
        let words: Vec<_> = words.iter().map(|word| format!("\"{}\"", word.text)).collect();
        return Err(Error::new_spanned(given, format!("`{name}` is one of {}", words.join(", "))));
    };
    let variant = Ident::new(found.variant, Span::call_site());
    let ty = Ident::new(ty, Span::call_site());
    Ok(quote!(config.#name = ::raddle::#ty::#variant;))
}
