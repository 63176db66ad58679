//! The presentation of a handler: title, description, icons, `_meta` and annotations.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};

use crate::attributes::Entries;
use crate::handler::Handler;
use crate::metadata::{take_last_modified, take_meta};

/// Returns the `.with_…` calls for `title`, `description`, `meta` and every `icon`. The default description is the doc
/// comment.
pub(crate) fn take_presentation(entries: &mut Entries, handler: &Handler) -> Result<TokenStream> {
    let private = handler.crate_path.private();
    let title = entries
        .take_text("title")?
        .map(|title| quote!(.with_title(#title)));
    let description = entries
        .take_text("description")?
        .map(|text| text.value())
        .or_else(|| handler.description.clone())
        .map(|text| quote!(.with_description(#text)));
    let icons = entries.take_texts("icon")?;
    let meta = take_meta(entries, &private)?;
    Ok(quote!(#title #description #(.with_icon(#private::Icon::new(#icons)))* #meta))
}

/// Returns the `.with_annotations(…)` call for `audience`, `priority` and `last_modified`.
pub(crate) fn take_annotations(entries: &mut Entries, handler: &Handler) -> Result<TokenStream> {
    let private = handler.crate_path.private();
    let roles = entries.take_texts("audience")?;
    let priority = entries.take_expression("priority")?;
    let last_modified = take_last_modified(entries)?;
    if roles.is_empty() && priority.is_none() && last_modified.is_none() {
        return Ok(TokenStream::new());
    }
    let roles = roles
        .iter()
        .map(|role| role_of(role, &private))
        .collect::<Result<Vec<_>>>()?;
    let audience = (!roles.is_empty()).then(|| quote!(.with_audience([#(#roles),*])));
    let priority = priority.map(|priority| quote!(.with_priority(#priority)));
    let last_modified = last_modified.map(|time| quote!(.with_last_modified(#time)));
    Ok(quote! {
        .with_annotations(#private::Annotations::new() #audience #priority #last_modified)
    })
}

fn role_of(role: &LitStr, private: &TokenStream) -> Result<TokenStream> {
    match role.value().as_str() {
        "user" => Ok(quote!(#private::Role::User)),
        "assistant" => Ok(quote!(#private::Role::Assistant)),
        _ => Err(Error::new_spanned(
            role,
            "the audience is `\"user\"`, `\"assistant\"` or both",
        )),
    }
}
