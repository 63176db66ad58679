//! `#[resource]`: a function as one resource at a fixed URI.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Error, LitStr, Result};

use crate::access::take_access;
use crate::attributes::Entries;
use crate::handler::{Handler, Subject};
use crate::kinds;
use crate::metadata::take_cache;
use crate::parameters::{Argument, Parameter};
use crate::presentation::{take_annotations, take_presentation};
use crate::text_values;

/// The keys of `#[resource]`.
pub(crate) const KEYS: &[&str] = &[
    "uri",
    "name",
    "title",
    "description",
    "mime_type",
    "size",
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
    noun: "a resource",
    argument_attribute: "`#[arg]` of a resource",
    argument_keys: &["uri"],
};

/// Returns the expression that creates the resource handler.
pub(crate) fn handler_expression(
    mut entries: Entries,
    mut handler: Handler,
) -> Result<TokenStream> {
    let private = handler.crate_path.private();
    let uri = take_uri(
        &mut entries,
        handler.ident.span(),
        "resource",
        "notes://all",
    )?;
    let mut reads = Vec::new();
    let mut values = Vec::new();
    for parameter in &mut handler.parameters {
        let Parameter::Argument(argument) = parameter else {
            continue;
        };
        let Some((value, read)) = take_uri_parameter(argument)? else {
            let message = "a resource has a fixed URI without variables: use `#[resource_template]`, or mark the \
                           parameter for the URI with `#[arg(uri)]`";
            return Err(Error::new_spanned(&argument.ident, message));
        };
        values.push(value);
        reads.push(read);
    }
    let binding = uri_binding(&reads);
    let body = text_values::respond(
        &handler,
        &reads,
        &values,
        "IntoResourceResponse",
        "into_resource_response",
    );
    let closure = handler.async_closure(&quote!(#binding: ::std::string::String), &body);

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
    let size = entries
        .take_expression("size")?
        .map(|size| quote!(.with_size(#size)));
    let clone_handlers = handler.clone_handlers();
    let resource = quote_spanned! {handler.output_span=>
        #private::ResourceHandler::new(#uri, #name, #closure)
    };
    Ok(quote! {
        {
            #clone_handlers
            #resource #presentation #mime_type #size #annotations #cache #access
        }
    })
}

/// Takes the required key `uri`.
pub(crate) fn take_uri(
    entries: &mut Entries,
    function: Span,
    attribute: &str,
    example: &str,
) -> Result<LitStr> {
    entries.take_text("uri")?.ok_or_else(|| {
        let message = format!("the URI is missing: write `#[{attribute}(uri = \"{example}\")]`");
        Error::new(function, message)
    })
}

/// Returns the value and the statement for a parameter marked `#[arg(uri)]`, which receives the requested URI.
pub(crate) fn take_uri_parameter(
    argument: &mut Argument,
) -> Result<Option<(TokenStream, TokenStream)>> {
    if !argument.entries.take_flag("uri")?.unwrap_or(false) {
        return Ok(None);
    }
    let owned = &argument.owned;
    let source = if kinds::is_called(owned, "String") {
        quote!(__uri)
    } else {
        quote!(<#owned as ::core::convert::From<::std::string::String>>::from(__uri))
    };
    Ok(Some((quote!(__uri), quote!(let __uri: #owned = #source;))))
}

/// Returns the pattern for the URI. It is `_` if the handler does not use the URI.
pub(crate) fn uri_binding(reads: &[TokenStream]) -> TokenStream {
    if reads.is_empty() {
        quote!(_)
    } else {
        quote!(__uri)
    }
}
