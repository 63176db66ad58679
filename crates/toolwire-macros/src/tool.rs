//! `#[tool]`: a function as a tool, its parameters as the input schema.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Error, Result};

use crate::access::take_access;
use crate::arguments;
use crate::attributes::Entries;
use crate::handler::{Handler, Subject};
use crate::parameters::Parameter;
use crate::presentation::take_presentation;
use crate::task::take_task;
use crate::view::take_view;

/// The keys of `#[tool]`.
pub(crate) const KEYS: &[&str] = &[
    "name",
    "title",
    "description",
    "icon",
    "meta",
    "read_only",
    "destructive",
    "idempotent",
    "open_world",
    "requires",
    "scopes",
    "output_schema",
    "blocking",
    "strict",
    "task",
    "view",
    "visible_to",
    "crate",
];

/// The terms for error messages.
pub(crate) const SUBJECT: Subject = Subject {
    noun: "a tool",
    argument_attribute: "`#[arg]` of a tool",
    argument_keys: arguments::KEYS,
};

/// Returns the expression that creates the tool handler.
pub(crate) fn handler_expression(
    mut entries: Entries,
    mut handler: Handler,
) -> Result<TokenStream> {
    let private = handler.crate_path.private();
    let strict = entries.take_flag("strict")?.unwrap_or(false);
    let declaration = arguments::declare(&mut handler.parameters, &handler.crate_path, strict)?;
    let struct_name = arguments::struct_name();
    let values: Vec<TokenStream> = handler
        .parameters
        .iter()
        .filter_map(|parameter| match parameter {
            Parameter::Argument(argument) => Some(&argument.ident),
            Parameter::Context { .. } => None,
        })
        .map(|ident| quote!(__arguments.#ident))
        .collect();
    let binding = if values.is_empty() {
        quote!(_)
    } else {
        quote!(__arguments)
    };
    let inputs = quote!(#binding: #struct_name);
    let call = handler.call(&values);
    // A `Result` can also be a value with a schema. The wrapper selects the conversion of a fallible handler.
    let call = if handler.is_fallible {
        quote_spanned!(handler.output_span=> #private::Fallible::new(#call))
    } else {
        call
    };

    let blocking = entries.span("blocking");
    let (constructor, closure) = if entries.take_flag("blocking")?.unwrap_or(false) {
        if let Some(span) = blocking.filter(|_| handler.is_async) {
            let message =
                "an async function must not block its thread: remove `blocking` or `async`";
            return Err(Error::new(span, message));
        }
        (quote!(blocking), handler.blocking_closure(&inputs, &call))
    } else {
        (quote!(typed), handler.async_closure(&inputs, &call))
    };

    let name = match entries.take_text("name")? {
        Some(name) => name.value(),
        None => handler.default_name(),
    };
    let presentation = take_presentation(&mut entries, &handler)?;
    let annotations = take_hints(&mut entries, &private)?;
    let access = take_access(&mut entries, &private)?;
    let task = take_task(&mut entries, &private)?;
    let view = take_view(&mut entries)?;
    let no_output_schema = (entries.take_flag("output_schema")? == Some(false))
        .then(|| quote!(.without_output_schema()));
    let clone_handlers = handler.clone_handlers();
    // With this span, an error about a return type without conversion points at the return type.
    let tool = quote_spanned! {handler.output_span=>
        #private::ToolHandler::#constructor::<#struct_name, _, _, _>(#name, #closure)
    };
    Ok(quote! {
        {
            #declaration
            #clone_handlers
            #tool #presentation #annotations #access #task #view #no_output_schema
        }
    })
}

fn take_hints(entries: &mut Entries, private: &TokenStream) -> Result<Option<TokenStream>> {
    let mut calls = Vec::new();
    if let Some(hint) = entries.take_flag("read_only")? {
        calls.push(quote!(.with_read_only(#hint)));
    }
    if let Some(hint) = entries.take_flag("destructive")? {
        calls.push(quote!(.with_destructive(#hint)));
    }
    if let Some(hint) = entries.take_flag("idempotent")? {
        calls.push(quote!(.with_idempotent(#hint)));
    }
    if let Some(hint) = entries.take_flag("open_world")? {
        calls.push(quote!(.with_open_world(#hint)));
    }
    Ok((!calls.is_empty())
        .then(|| quote!(.with_annotations(#private::ToolAnnotations::new() #(#calls)*))))
}
