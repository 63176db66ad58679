//! Expands `#[tool]` and the other handler attributes on a free function.
//!
//! The function is replaced by a function that creates the handler, so that `server.tool(add)` registers it. The original
//! function becomes `add::call`, on a type of the same name. Types and functions have different namespaces. Unlike a unit
//! struct, a function does not conflict with `let add = …`.

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
            "`#[{}]` requires a function or, in a `#[server]` block, a method",
            definition.attribute
        );
        let error = Error::new(proc_macro2::Span::call_site(), message).into_compile_error();
        return quote!(#error #item);
    };
    generate(definition, attribute, &mut function).unwrap_or_else(|error| {
        let error = error.into_compile_error();
        // A function without a receiver still compiles. Emitting it avoids follow-up errors at its uses.
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
    let new_handler = (definition.handler_expression)(entries, handler)?;
    let handler_type = format_ident!("{}", definition.handler_type);

    let ident = &function.sig.ident;
    let visibility = &function.vis;
    let (doc_attributes, other_attributes): (Vec<_>, Vec<_>) = function
        .attrs
        .iter()
        .partition(|attribute| docs::is_doc(attribute));
    let call_docs = (!doc_attributes.is_empty()).then(|| {
        let noun = definition.subject.noun;
        let text =
            format!("\n\nReturns {noun} to register. The function itself is [`{ident}::call`].");
        quote!(#[doc = #text])
    });
    let type_docs = format!("The type with the function behind [`{ident}()`] as `call`.");
    let call = associated_function(function, &other_attributes);
    Ok(quote! {
        #(#doc_attributes)*
        #call_docs
        #[must_use]
        #visibility fn #ident() -> #private::#handler_type {
            #new_handler
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

/// Returns the associated function `call`, which contains the original function under its own name.
///
/// Inside `call`, the name refers to the original function, so that the function can call itself.
fn associated_function(function: &ItemFn, attributes: &[&syn::Attribute]) -> TokenStream {
    let mut inner = function.clone();
    inner.vis = Visibility::Inherited;
    inner.attrs = attributes
        .iter()
        .map(|&attribute| attribute.clone())
        .collect();

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
