//! A unit enum as a choice: one value per variant, with an optional title.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{DataEnum, Error, Fields, Result, Variant};

use crate::attributes::{CratePath, Entries};
use crate::elicit::serde_names::SerdeAttributes;
use crate::parameters::Errors;

/// A value that the user can select.
struct Choice {
    value: String,
    title: Option<String>,
    span: Span,
}

/// Returns the trait implementations for the enum `ident`.
pub(crate) fn choice(
    ident: &Ident,
    data: DataEnum,
    serde: &SerdeAttributes,
    crate_path: &CratePath,
) -> Result<TokenStream> {
    let mut errors = Errors::default();
    let mut choices: Vec<Choice> = Vec::new();
    for variant in data.variants {
        let Some(choice) = errors.ok_or_add(read(variant, serde)).flatten() else {
            continue;
        };
        if choices.iter().any(|other| other.value == choice.value) {
            let message = format!("two variants are called {:?} on the wire", choice.value);
            errors.add(Error::new(choice.span, message));
        }
        choices.push(choice);
    }
    if choices.is_empty() {
        errors.add(Error::new_spanned(
            ident,
            "a choice needs at least one variant that can be selected",
        ));
    }
    let private = crate_path.private();
    let values = choices.iter().map(|choice| &choice.value);
    let has_titles = choices.iter().any(|choice| choice.title.is_some());
    let titles = choices
        .iter()
        .filter(|_| has_titles)
        .map(|choice| choice.title.as_ref().unwrap_or(&choice.value));
    errors.finish(quote! {
        #[automatically_derived]
        impl #private::ElicitChoice for #ident {
            const WORDS: &'static [&'static str] = &[#(#values),*];
            const TITLES: &'static [&'static str] = &[#(#titles),*];
        }

        #[automatically_derived]
        impl #private::ElicitField for #ident {
            const KIND: #private::FieldKind =
                #private::FieldKind::Choice(<Self as #private::ElicitChoice>::WORDS);

            fn field_schema() -> #private::PrimitiveSchema {
                #private::one_of::<Self>()
            }
        }

        #[automatically_derived]
        impl #private::Elicit for #ident {
            fn elicit_schema() -> #private::ElicitSchema {
                #private::single_value_schema::<Self>()
            }

            fn from_content(
                content: #private::IndexMap<::std::string::String, #private::serde_json::Value>,
            ) -> ::core::result::Result<Self, #private::serde_json::Error> {
                #private::single_value(content)
            }
        }
    })
}

fn read(mut variant: Variant, serde: &SerdeAttributes) -> Result<Option<Choice>> {
    if !matches!(variant.fields, Fields::Unit) {
        let message = "a choice is a string, so its variants cannot have data; request the data in a field of the form";
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
    let value = own.rename.unwrap_or_else(|| match serde.rename_all {
        Some(case) => case.of_variant(&name),
        None => name,
    });
    let title = entries.take_text("title")?.map(|title| title.value());
    let span = variant.span();
    Ok(Some(Choice { value, title, span }))
}
