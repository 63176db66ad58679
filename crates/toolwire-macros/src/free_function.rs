//! A free function with `#[tool]` or one of its siblings.
//!
//! It becomes a function that makes the tool, so that `server.tool(add)` registers it; the author's function remains as
//! `add::call`, on a type of the same name. Types and functions have different namespaces, and unlike a unit struct a
//! function does not get in the way of `let add = …`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Error, FnArg, ItemFn, Pat, Result, Visibility};

use crate::attributes::Entries;
use crate::definition::Definition;
use crate::docs;
use crate::handler::{Callee, Handler};

/// Expands `attribute` on the function in `item`.
pub(crate) fn expand(
    definition: &Definition,
    attribute: TokenStream,
    item: &TokenStream,
) -> TokenStream {
    let Ok(mut function) = syn::parse2::<ItemFn>(item.clone()) else {
        let message = format!(
            "`#[{}]` belongs on a function or, in a `#[server]` block, on a method",
            definition.attribute
        );
        let error = Error::new(proc_macro2::Span::call_site(), message).into_compile_error();
        return quote!(#error #item);
    };
    generate(definition, attribute, &mut function).unwrap_or_else(|error| {
        let error = error.into_compile_error();
        // Without a receiver the function itself still compiles, and what uses it shows fewer follow-up errors.
        let function = function.sig.receiver().is_none().then_some(function);
        quote!(#error #function)
    })
}

fn generate(
    definition: &Definition,
    attribute: TokenStream,
    function: &mut ItemFn,
) -> Result<TokenStream> {
    let title = format!("`#[{}]`", definition.attribute);
    let entries = Entries::parse(attribute, &title, definition.keys);
    let (mut entries, failed) = match entries {
        Ok(entries) => (entries, None),
        Err(error) => (Entries::default(), Some(error)),
    };
    let handler = Handler::take(
        definition.subject,
        entries.take_crate()?,
        &function.attrs,
        &mut function.sig,
        Callee::Free,
    );
    if let Some(error) = failed {
        return Err(error);
    }
    let handler = handler?;
    let private = handler.crate_path.private();
    let served = (definition.serve)(entries, handler)?;
    let served_type = format_ident!("{}", definition.served);

    let ident = &function.sig.ident;
    let visibility = &function.vis;
    let (shown, kept): (Vec<_>, Vec<_>) = function
        .attrs
        .iter()
        .partition(|attribute| docs::is_doc(attribute));
    let call_docs = (!shown.is_empty()).then(|| {
        let noun = definition.subject.noun;
        let text =
            format!("\n\nThis makes {noun} to register; the function itself is [`{ident}::call`].");
        quote!(#[doc = #text])
    });
    let type_docs = format!("Where the function behind [`{ident}()`] lives.");
    let call = associated_function(function, &kept);
    Ok(quote! {
        #(#shown)*
        #call_docs
        #[must_use]
        #visibility fn #ident() -> #private::#served_type {
            #served
        }

        #[doc = #type_docs]
        #[allow(non_camel_case_types, clippy::exhaustive_structs)]
        #[derive(::core::fmt::Debug)]
        #visibility struct #ident {}

        impl #ident {
            #call
        }
    })
}

/// `call`, with the function inside it under its own name.
///
/// There the name means the author's function again, so that its body may call itself.
fn associated_function(function: &ItemFn, kept: &[&syn::Attribute]) -> TokenStream {
    let mut inner = function.clone();
    inner.vis = Visibility::Inherited;
    inner.attrs = kept.iter().map(|&attribute| attribute.clone()).collect();

    let ItemFn { vis, sig, .. } = function;
    let mut outer = sig.clone();
    outer.ident = format_ident!("call", span = sig.ident.span());
    outer.constness = None;
    let mut passed = Vec::new();
    for (index, input) in outer.inputs.iter_mut().enumerate() {
        let FnArg::Typed(input) = input else { continue };
        input.attrs.clear();
        let ident = match &*input.pat {
            Pat::Ident(pattern) if pattern.ident != sig.ident => pattern.ident.clone(),
            _ => format_ident!("__parameter_{index}"),
        };
        *input.pat = syn::parse_quote!(#ident);
        passed.push(ident);
    }
    let ident = &sig.ident;
    let wait = sig.asyncness.is_some().then(|| quote!(.await));
    quote! {
        /// Runs the function.
        #[allow(clippy::too_many_arguments, clippy::unused_async)]
        #vis #outer {
            #[allow(clippy::needless_pass_by_value)]
            #inner
            #ident(#(#passed),*) #wait
        }
    }
}
