//! The access requirements of a handler: `requires(…)` and `scopes(…)`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};

use crate::attributes::{Entries, quoted};

/// Returns the `.requires…` calls.
pub(crate) fn take_access(entries: &mut Entries, private: &TokenStream) -> Result<TokenStream> {
    let requires = take_requirements(entries, private)?;
    let scopes = entries.take_texts("scopes")?;
    if let Some(malformed) = scopes.iter().find(|scope| !is_scope(&scope.value())) {
        let message = "a scope is printable ASCII without spaces, quotation marks and backslashes; write several as \
                       `scopes(\"a\", \"b\")`";
        return Err(Error::new_spanned(malformed, message));
    }
    let scopes = (!scopes.is_empty()).then(|| quote!(.requires_scopes([#(#scopes),*])));
    Ok(quote!(#requires #scopes))
}

/// Returns `true` if the text is a scope token (RFC 6749, section 3.3).
fn is_scope(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    !text.is_empty() && text.bytes().all(fits)
}

/// The client capabilities that `requires(…)` accepts.
const CAPABILITIES: &[&str] = &[
    "roots",
    "sampling",
    "sampling.context",
    "sampling.tools",
    "elicitation",
    "elicitation.form",
    "elicitation.url",
];

fn take_requirements(entries: &mut Entries, private: &TokenStream) -> Result<Option<TokenStream>> {
    let required = entries.take_texts("requires")?;
    if let Some(unknown) = required
        .iter()
        .find(|name| !CAPABILITIES.contains(&name.value().as_str()))
    {
        let message = format!(
            "unknown client capability; the capabilities are: {}",
            quoted(CAPABILITIES)
        );
        return Err(Error::new_spanned(unknown, message));
    }
    if required.is_empty() {
        return Ok(None);
    }
    let is_required = |name: &str| required.iter().any(|text: &LitStr| text.value() == name);
    let part = |name: &str, call: TokenStream| is_required(name).then_some(call);

    let roots = part(
        "roots",
        quote!(.with_roots(#private::RootsCapability::new())),
    );
    let context = part("sampling.context", quote!(.with_context()));
    let tools = part("sampling.tools", quote!(.with_tools()));
    let sampling = (is_required("sampling") || context.is_some() || tools.is_some())
        .then(|| quote!(.with_sampling(#private::SamplingCapability::new() #context #tools)));
    // Elicitation without a mode means form mode.
    let form = (is_required("elicitation") || is_required("elicitation.form"))
        .then(|| quote!(.with_form()));
    let url = part("elicitation.url", quote!(.with_url()));
    let elicitation = (form.is_some() || url.is_some())
        .then(|| quote!(.with_elicitation(#private::ElicitationCapability::new() #form #url)));
    Ok(Some(quote! {
        .requires(#private::ClientCapabilities::new() #roots #sampling #elicitation)
    }))
}
