//! The hidden struct into which the arguments of a tool call are parsed. Its JSON Schema is the input schema.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, LitStr, Result};

use crate::attributes::CratePath;
use crate::constraints;
use crate::kinds::Kind;
use crate::parameters::{Argument, Parameter};

/// The keys of `#[arg]` on a tool's parameter.
pub(crate) const KEYS: &[&str] = &[
    "name",
    "title",
    "description",
    "default",
    "minimum",
    "maximum",
    "exclusive_minimum",
    "exclusive_maximum",
    "multiple_of",
    "min_length",
    "max_length",
    "pattern",
    "format",
    "min_items",
    "max_items",
    "header",
];

/// Returns the name of the hidden struct. The underscores avoid shadowing a type of the user.
pub(crate) fn struct_name() -> Ident {
    Ident::new("__Arguments", Span::call_site())
}

/// Declares the struct for the arguments among `parameters`. With `strict`, it rejects unknown arguments.
pub(crate) fn declare(
    parameters: &mut [Parameter],
    crate_path: &CratePath,
    strict: bool,
) -> Result<TokenStream> {
    let mut fields = Vec::new();
    let mut default_functions = Vec::new();
    let mut names = Vec::new();
    let mut headers = Vec::new();
    for parameter in parameters {
        let Parameter::Argument(argument) = parameter else {
            continue;
        };
        if names.contains(&argument.name) {
            let message = format!("another parameter is already called `{}`", argument.name);
            return Err(Error::new_spanned(&argument.ident, message));
        }
        names.push(argument.name.clone());

        let mut extensions = constraints::take_extensions(argument)?;
        if let Some(header) = argument.entries.take_text("header")? {
            check_header(&header, argument, &mut headers)?;
            extensions.push(quote!("x-mcp-header" = #header));
        }
        let (field, default_function) = declare_field(argument, &extensions, names.len())?;
        fields.push(field);
        default_functions.extend(default_function);
    }

    let private = crate_path.private();
    let serde = crate_path.reexported("serde");
    let schemars = crate_path.reexported("schemars");
    let struct_name = struct_name();
    let strictness = strict.then(|| quote!(#[serde(deny_unknown_fields)]));
    Ok(quote! {
        #[derive(#private::serde::Deserialize, #private::schemars::JsonSchema)]
        #[serde(crate = #serde, rename = "arguments", expecting = "an object with the arguments")]
        #[schemars(crate = #schemars)]
        #strictness
        struct #struct_name {
            #(#fields)*
        }
        #(#default_functions)*
    })
}

fn declare_field(
    argument: &mut Argument,
    extensions: &[TokenStream],
    index: usize,
) -> Result<(TokenStream, Option<TokenStream>)> {
    let title = argument
        .entries
        .take_text("title")?
        .map(|text| quote!(#[schemars(title = #text)]));
    let Argument {
        ident,
        owned,
        name,
        description,
        default,
        ..
    } = &*argument;
    let description = description
        .as_ref()
        .map(|text| quote!(#[schemars(description = #text)]));
    let extend = (!extensions.is_empty()).then(|| quote!(#[schemars(extend(#(#extensions),*))]));
    let mut default_function = None;
    let default = default.as_ref().map(|value| {
        let function = format_ident!("__default_{index}");
        let path = function.to_string();
        default_function = Some(quote! {
            fn #function() -> #owned {
                #value
            }
        });
        quote!(#[serde(default = #path)])
    });
    let field = quote! {
        #[serde(rename = #name)]
        #default
        #title
        #description
        #extend
        #ident: #owned,
    };
    Ok((field, default_function))
}

/// Checks a header name. Spec 2026-07-28, server/tools, "x-mcp-header": a token, unique without regard to case, on
/// strings, integers and booleans.
fn check_header(header: &LitStr, argument: &Argument, seen: &mut Vec<String>) -> Result<()> {
    let name = header.value();
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        let message = "a header name consists of letters, digits and !#$%&'*+-.^_`|~";
        return Err(Error::new_spanned(header, message));
    }
    let kind = Kind::of(&argument.owned);
    if !matches!(
        kind,
        Kind::Text | Kind::Integer | Kind::Boolean | Kind::Unknown
    ) {
        let message = format!(
            "`header` supports strings, integers and booleans, but `{}` is {}",
            argument.ident,
            kind.noun()
        );
        return Err(Error::new_spanned(header, message));
    }
    let folded = name.to_ascii_lowercase();
    if seen.contains(&folded) {
        let message =
            format!("another parameter already uses the header `{name}` (case does not matter)");
        return Err(Error::new_spanned(header, message));
    }
    seen.push(folded);
    Ok(())
}
