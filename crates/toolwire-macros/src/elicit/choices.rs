//! A unit enum as a choice: one word per variant, with a title where the variant has one.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::ext::IdentExt as _;
use syn::{DataEnum, Error, Fields, Result, Variant};

use crate::attributes::{CratePath, Entries};
use crate::elicit::serde_names::SerdeAttributes;

/// A word the user can choose.
struct Choice {
    word: String,
    title: Option<String>,
}

/// The implementation for the enum `ident`.
pub(crate) fn choice(
    ident: &Ident,
    data: DataEnum,
    serde: &SerdeAttributes,
    crate_path: &CratePath,
) -> Result<TokenStream> {
    let mut choices = Vec::new();
    for variant in data.variants {
        choices.extend(read(variant, serde)?);
    }
    if choices.is_empty() {
        return Err(Error::new_spanned(
            ident,
            "a choice needs at least one variant",
        ));
    }
    let private = crate_path.private();
    let words = choices.iter().map(|choice| &choice.word);
    let (schema, options) = if choices.iter().any(|choice| choice.title.is_some()) {
        let titles = choices
            .iter()
            .map(|choice| choice.title.as_ref().unwrap_or(&choice.word));
        (
            quote!(TitledSingleSelectEnumSchema),
            quote!([#(#private::EnumOption::new(#words, #titles)),*]),
        )
    } else {
        (
            quote!(UntitledSingleSelectEnumSchema),
            quote!([#(#words),*]),
        )
    };
    Ok(quote! {
        #[automatically_derived]
        impl #private::ElicitField for #ident {
            fn field_schema() -> #private::PrimitiveSchema {
                #private::PrimitiveSchema::from(#private::#schema::new(#options))
            }
        }
    })
}

fn read(mut variant: Variant, serde: &SerdeAttributes) -> Result<Option<Choice>> {
    if !matches!(variant.fields, Fields::Unit) {
        let message = "a choice is one word, so its variants carry no data";
        return Err(Error::new_spanned(&variant, message));
    }
    let mut entries = Entries::extract(
        &mut variant.attrs,
        "elicit",
        "`#[elicit]` of a variant",
        &["title"],
    )?;
    let own = SerdeAttributes::read(&variant.attrs)?;
    if own.skipped {
        return Ok(None);
    }
    let name = variant.ident.unraw().to_string();
    let word = own.rename.unwrap_or_else(|| match serde.rename_all {
        Some(case) => case.of_variant(&name),
        None => name,
    });
    let title = entries.take_text("title")?.map(|title| title.value());
    Ok(Some(Choice { word, title }))
}
