//! `#[derive(Elicit)]`: a struct as a form, a unit enum as a choice in a form and as a form of its own.
//!
//! Forms are flat: text, numbers, booleans and choices. The macro rejects other types if the syntax shows them. The trait
//! `ElicitField` rejects the rest.

mod choices;
mod fields;
mod keywords;
mod serde_names;

use proc_macro2::TokenStream;
use syn::{Data, DeriveInput, Error, Fields, Result};

use crate::attributes::Entries;
use crate::elicit::serde_names::SerdeAttributes;

/// Expands the derive on the type in `item`.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    syn::parse2(item)
        .and_then(generate)
        .unwrap_or_else(Error::into_compile_error)
}

fn generate(mut item: DeriveInput) -> Result<TokenStream> {
    let mut entries = Entries::extract(
        &mut item.attrs,
        "elicit",
        "`#[elicit]` of a type",
        &["crate"],
    )?;
    let crate_path = entries.take_crate()?;
    let serde = SerdeAttributes::read(&item.attrs)?;
    if !item.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &item.generics,
            "a form cannot be generic: its fields are fixed; write a struct for each form",
        ));
    }
    match item.data {
        Data::Struct(data) => match data.fields {
            Fields::Named(fields) => fields::form(&item.ident, fields, &serde, &crate_path),
            _ => {
                let message = "a form needs named fields, because the names are the names of the form fields: write `struct Name { field: String }`";
                Err(Error::new_spanned(&item.ident, message))
            }
        },
        Data::Enum(data) => choices::choice(&item.ident, data, &serde, &crate_path),
        Data::Union(data) => Err(Error::new_spanned(
            data.union_token,
            "a form is a struct and a choice is an enum",
        )),
    }
}
