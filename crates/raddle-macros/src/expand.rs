//! The function, as a test.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, FnArg, ItemFn, PatType, Result, ReturnType, Type};

use crate::knobs::Knobs;

pub(crate) fn test(knobs: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let function: ItemFn = syn::parse2(item).map_err(|error| {
        Error::new(error.span(), format!("#[raddle::test] goes on a function: {error}"))
    })?;
    let knobs: Knobs = syn::parse2(knobs)?;
    refuse(&function)?;
    let argument = argument(&function)?;
    let fixture = match (&argument, &knobs.fixture) {
        (Some(PatType { ty, .. }), None) => {
            // At the type, so that a missing `Default` is reported there.
            Some(quote_spanned!(ty.span()=> <#ty as ::core::default::Default>::default()))
        }
        (Some(_), Some(fixture)) => Some(quote!(#fixture)),
        (None, None) => None,
        (None, Some(fixture)) => {
            return Err(Error::new(
                fixture.span(),
                "the test has no argument that the fixture could go to; add one, as in \
                 `fn test(store: Store)`",
            ));
        }
    };

    let ItemFn { attrs, sig, block, .. } = &function;
    let name = &sig.ident;
    // The engine leaves this name out where it says which functions led to a step.
    let body = format_ident!("raddle_test_body");
    let returns = &sig.output;
    let checked = match returns {
        ReturnType::Default => quote!(),
        ReturnType::Type(_, ty) => {
            // At the type, so that one that cannot be returned is reported there.
            quote_spanned! {ty.span()=>
                const _: fn() = || {
                    fn returned<R: ::raddle::__private::Returned>() {}
                    returned::<#ty>();
                };
            }
        }
    };
    let settings = &knobs.settings;
    Ok(quote! {
        #[::core::prelude::v1::test]
        #(#attrs)*
        fn #name() {
            #checked
            fn #body(#argument) #returns #block
            #[allow(unused_mut, reason = "a test without knobs changes nothing")]
            let mut config = <::raddle::Config as ::core::default::Default>::default();
            #(#settings)*
            let place = ::raddle::__private::TestPlace {
                package: ::core::option_env!("CARGO_PKG_NAME"),
                module: ::core::module_path!(),
                name: ::core::stringify!(#name),
                // As `raddle_trace::host::Mark` reads it.
                mark: {
                    static MARK: &::core::primitive::str = ::core::concat!(
                        "\u{1}raddle::test\u{1}1\u{1}",
                        ::core::module_path!(),
                        "::",
                        ::core::stringify!(#name),
                        "\u{1}",
                        ::core::file!(),
                        ":",
                        ::core::line!(),
                        "\u{1}",
                    );
                    MARK
                },
            };
            ::raddle::__private::test(config, place, || #body(#fixture));
        }
    })
}

/// Refuses functions that cannot be tests.
fn refuse(function: &ItemFn) -> Result<()> {
    let sig = &function.sig;
    if let Some(token) = &sig.asyncness {
        return Err(Error::new(
            token.span(),
            "a raddle test is not async yet; drive the future inside a plain function",
        ));
    }
    if let Some(token) = &sig.constness {
        return Err(Error::new(token.span(), "a test cannot be const; leave it out"));
    }
    if let Some(abi) = &sig.abi {
        return Err(Error::new_spanned(abi, "a test has no ABI; leave it out"));
    }
    if !sig.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &sig.generics,
            "a test cannot be generic: nothing says for which types to run it; write one test for \
             each",
        ));
    }
    let is_test = |attribute: &&syn::Attribute| attribute.path().is_ident("test");
    if let Some(attribute) = function.attrs.iter().find(is_test) {
        return Err(Error::new_spanned(
            attribute,
            "#[raddle::test] makes the function a test already; leave #[test] out",
        ));
    }
    if let ReturnType::Type(_, ty) = &sig.output
        && let Type::Never(never) = &**ty
    {
        return Err(Error::new_spanned(
            never,
            "a test that never returns cannot pass; to expect a panic write \
             `#[raddle::test(expect = \"panic\")]`",
        ));
    }
    Ok(())
}

/// The fixture's argument, if there is one.
fn argument(function: &ItemFn) -> Result<Option<&PatType>> {
    let mut arguments = function.sig.inputs.iter();
    let first = match arguments.next() {
        None => return Ok(None),
        Some(FnArg::Receiver(receiver)) => {
            return Err(Error::new_spanned(receiver, "a test is not a method; leave `self` out"));
        }
        Some(FnArg::Typed(first)) => first,
    };
    if let Some(second) = arguments.next() {
        return Err(Error::new_spanned(
            second,
            "a test has at most one argument, its fixture; put several things into a tuple, as in \
             `fn test((a, b): (A, B))`",
        ));
    }
    if let Type::Reference(reference) = &*first.ty {
        return Err(Error::new_spanned(
            reference,
            "a fixture is passed by value, anew in each execution; leave the `&` out",
        ));
    }
    Ok(Some(first))
}
