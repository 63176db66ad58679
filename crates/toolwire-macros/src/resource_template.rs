//! `#[resource_template]`: a function as the handler of a URI template, its parameters as the variables.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{Error, LitStr, Result};

use crate::access::take_access;
use crate::attributes::{Entries, quoted};
use crate::handler::{Handler, Subject};
use crate::kinds;
use crate::metadata::take_cache;
use crate::parameters::{Argument, Errors, Parameter};
use crate::presentation::{take_annotations, take_presentation};
use crate::resource::{take_uri, take_uri_parameter, uri_binding};
use crate::template_variables::variables;
use crate::text_values;

/// The keys of `#[resource_template]`.
pub(crate) const KEYS: &[&str] = &[
    "uri",
    "name",
    "title",
    "description",
    "mime_type",
    "icon",
    "meta",
    "audience",
    "priority",
    "last_modified",
    "cache",
    "requires",
    "scopes",
    "crate",
];

/// The terms for error messages.
pub(crate) const SUBJECT: Subject = Subject {
    noun: "a resource template",
    argument_attribute: "`#[arg]` of a resource template",
    argument_keys: &["name", "default", "complete", "uri"],
};

/// Returns the expression that creates the template handler.
pub(crate) fn handler_expression(
    mut entries: Entries,
    mut handler: Handler,
) -> Result<TokenStream> {
    let private = handler.crate_path.private();
    let clone_handlers = handler.clone_handlers();
    let template = take_uri(
        &mut entries,
        handler.ident.span(),
        "resource_template",
        "notes://{name}",
    )?;
    let mut reads = Vec::new();
    let mut uri_reads = Vec::new();
    let mut values = Vec::new();
    let mut completions = Vec::new();
    let mut bound: Vec<BoundVariable> = Vec::new();
    for parameter in &mut handler.parameters {
        let Parameter::Argument(argument) = parameter else {
            continue;
        };
        if let Some((value, read)) = take_uri_parameter(argument)? {
            values.push(value);
            uri_reads.push(read);
            continue;
        }
        bound.push(BoundVariable {
            name: argument.name.clone(),
            span: argument.ident.span(),
        });
        let (value, read) = read(argument, values.len())?;
        values.push(value);
        reads.push(read);
        completions.extend(text_values::take_completion(
            argument,
            &private,
            &clone_handlers,
        )?);
    }
    check_variables(&template, &bound)?;

    let arguments = text_values::arguments_binding(&reads);
    let uri = uri_binding(&uri_reads);
    let inputs = quote!(#uri: ::std::string::String, #arguments: #private::TemplateArguments);
    reads.extend(uri_reads);
    let body = text_values::respond(
        &handler,
        &reads,
        &values,
        "IntoResourceResponse",
        "into_resource_response",
    );
    let closure = handler.async_closure(&inputs, &body);

    let name = match entries.take_text("name")? {
        Some(name) => name.value(),
        None => handler.default_name(),
    };
    let presentation = take_presentation(&mut entries, &handler)?;
    let access = take_access(&mut entries, &private)?;
    let annotations = take_annotations(&mut entries, &handler)?;
    let cache = take_cache(&mut entries, &private)?;
    let mime_type = entries
        .take_text("mime_type")?
        .map(|mime_type| quote!(.with_mime_type(#mime_type)));
    let new_handler = quote_spanned! {handler.output_span=>
        #private::ResourceTemplateHandler::new(#template, #name, { #clone_handlers #closure })
    };
    Ok(quote! {
        #new_handler #presentation #mime_type #annotations #cache #access #(#completions)*
    })
}

/// A template variable that a parameter receives.
struct BoundVariable {
    name: String,
    span: proc_macro2::Span,
}

fn read(argument: &Argument, index: usize) -> Result<(TokenStream, TokenStream)> {
    if let Some(item) = kinds::vec_inner(&argument.owned) {
        if !kinds::is_called(item, "String") {
            let message =
                "a variable with several values is a list of strings: write `Vec<String>`";
            return Err(Error::new_spanned(&argument.owned, message));
        }
        let value = format_ident!("__value_{index}");
        let name = &argument.name;
        return Ok((
            quote!(#value),
            quote!(let #value = __arguments.list(#name);),
        ));
    }
    text_values::reject_list(argument, "a variable of a template")?;
    Ok(text_values::read(argument, index))
}

/// Checks that each parameter is a variable of the template, and that each variable has a parameter.
fn check_variables(template: &LitStr, bound: &[BoundVariable]) -> Result<()> {
    let variables = variables(template)?;
    let mut errors = Errors::default();
    for parameter in bound {
        if !variables.contains(&parameter.name) {
            let known: Vec<&str> = variables.iter().map(String::as_str).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                quoted(&known)
            };
            let message = format!(
                "the template has no variable `{}`; its variables are: {known}",
                parameter.name
            );
            errors.add(Error::new(parameter.span, message));
        }
    }
    for variable in &variables {
        if !bound.iter().any(|parameter| parameter.name == *variable) {
            let message =
                format!("the variable `{variable}` of the template has no parameter of that name");
            errors.add(Error::new_spanned(template, message));
        }
    }
    errors.finish(())
}
