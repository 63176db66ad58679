//! `#[prompt]`: a function as a prompt, its parameters as the prompt's arguments.
//!
//! Prompt arguments are strings on the wire. A parameter may have any type that parses from a string.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Result;

use crate::access::take_access;
use crate::attributes::Entries;
use crate::handler::{Handler, Subject};
use crate::parameters::{Argument, Parameter};
use crate::presentation::take_presentation;
use crate::text_values;

/// The keys of `#[prompt]`.
pub(crate) const KEYS: &[&str] = &[
    "name",
    "title",
    "description",
    "icon",
    "meta",
    "requires",
    "scopes",
    "crate",
];

/// The terms for error messages.
pub(crate) const SUBJECT: Subject = Subject {
    noun: "a prompt",
    argument_attribute: "`#[arg]` of a prompt",
    argument_keys: &["name", "title", "description", "default", "complete"],
};

/// Returns the expression that creates the prompt handler.
pub(crate) fn handler_expression(
    mut entries: Entries,
    mut handler: Handler,
) -> Result<TokenStream> {
    let private = handler.crate_path.private();
    let clone_handlers = handler.clone_handlers();
    let mut reads = Vec::new();
    let mut values = Vec::new();
    let mut declarations = Vec::new();
    let mut completions = Vec::new();
    for parameter in &mut handler.parameters {
        let Parameter::Argument(argument) = parameter else {
            continue;
        };
        text_values::reject_list(argument, "a prompt argument")?;
        let (value, read) = text_values::read(argument, values.len());
        values.push(value);
        reads.push(read);
        declarations.push(declare(argument, &private)?);
        completions.extend(text_values::take_completion(
            argument,
            &private,
            &clone_handlers,
        )?);
    }
    let binding = text_values::arguments_binding(&values);
    let body = text_values::respond(
        &handler,
        &reads,
        &values,
        "IntoPromptResponse",
        "into_prompt_response",
    );
    let closure = handler.async_closure(&quote!(#binding: #private::PromptArguments), &body);

    let name = match entries.take_text("name")? {
        Some(name) => name.value(),
        None => handler.default_name(),
    };
    let presentation = take_presentation(&mut entries, &handler)?;
    let access = take_access(&mut entries, &private)?;
    let prompt = quote_spanned! {handler.output_span=>
        #private::PromptHandler::new(#name, { #clone_handlers #closure })
    };
    Ok(quote!(#prompt #presentation #access #(.with_argument(#declarations))* #(#completions)*))
}

fn declare(argument: &mut Argument, private: &TokenStream) -> Result<TokenStream> {
    let name = &argument.name;
    let constructor = if argument.is_optional() {
        quote!(new)
    } else {
        quote!(required)
    };
    let title = argument
        .entries
        .take_text("title")?
        .map(|title| quote!(.with_title(#title)));
    let description = argument
        .description
        .as_ref()
        .map(|text| quote!(.with_description(#text)));
    Ok(quote!(#private::PromptArgument::#constructor(#name) #title #description))
}
