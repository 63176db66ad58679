//! The fields of a struct as the fields of a form.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Error, Field, FieldsNamed, Result, Type};

use crate::attributes::{CratePath, Entries};
use crate::docs;
use crate::elicit::keywords::{self, Keyword};
use crate::elicit::serde_names::SerdeAttributes;
use crate::kinds::{self, Kind};
use crate::parameters::Errors;

/// The implementation for the struct `ident`.
pub(crate) fn form(
    ident: &Ident,
    fields: FieldsNamed,
    serde: &SerdeAttributes,
    crate_path: &CratePath,
) -> Result<TokenStream> {
    let private = crate_path.private();
    let mut errors = Errors::default();
    let mut additions = Vec::new();
    for field in fields.named {
        additions.extend(errors.keep(add(field, serde, &private)).flatten());
    }
    errors.finish(quote! {
        #[automatically_derived]
        impl #private::Elicit for #ident {
            fn elicit_schema() -> #private::ElicitSchema {
                #[allow(unused_mut)]
                let mut __form = #private::ElicitSchema::new();
                #(#additions)*
                __form
            }
        }
    })
}

/// The statement that adds `field` to the form, unless decoding never reads it.
fn add(
    mut field: Field,
    serde: &SerdeAttributes,
    private: &TokenStream,
) -> Result<Option<TokenStream>> {
    let own = SerdeAttributes::read(&field.attrs)?;
    if own.skipped {
        return Ok(None);
    }
    let name = field
        .ident
        .as_ref()
        .map(|ident| ident.unraw().to_string())
        .unwrap_or_default();
    let name = own.rename.unwrap_or_else(|| match serde.rename_all {
        Some(case) => case.of_field(&name),
        None => name,
    });
    let inner = kinds::option_inner(&field.ty);
    let optional = inner.is_some() || own.default || serde.default;
    let value = inner.unwrap_or(&field.ty).clone();
    let asked = Asked::of(&value)?;
    let description = docs::description(&field.attrs);
    let mut entries =
        Entries::extract(&mut field.attrs, "elicit", asked.attribute(), asked.keys())?;
    let keywords = keywords::take(&mut entries, asked, description, private)?;
    let schema = asked.schema(&value, &keywords, private);

    Ok(Some(match asked {
        _ if optional => quote!(__form = __form.with_optional(#name, #schema);),
        // Only the type itself knows: it may be an alias of an `Option`.
        Asked::Choice => quote! {
            __form = if <#value as #private::ElicitField>::OPTIONAL {
                __form.with_optional(#name, #schema)
            } else {
                __form.with_required(#name, #schema)
            };
        },
        _ => quote!(__form = __form.with_required(#name, #schema);),
    }))
}

/// What a field asks for.
#[derive(Clone, Copy)]
pub(super) enum Asked {
    Text,
    Integer {
        unsigned: bool,
    },
    Number,
    Boolean,
    /// One variant of an enum, or whatever else implements `ElicitField`.
    Choice,
    /// Several variants of an enum.
    Several,
}

impl Asked {
    fn of(ty: &Type) -> Result<Self> {
        let refuse = |message: &str| Err(Error::new_spanned(ty, message));
        if kinds::option_inner(ty).is_some() {
            return refuse("a field of a form is there or not: one `Option` says it");
        }
        if let Some(item) = kinds::vec_inner(ty) {
            return match Kind::of(item) {
                Kind::Unknown if kinds::option_inner(item).is_none() => Ok(Self::Several),
                _ => refuse(
                    "a list in a form is a choice of several: it holds variants of an enum that derives `Elicit`",
                ),
            };
        }
        match Kind::of(ty) {
            Kind::Text => Ok(Self::Text),
            Kind::Integer => {
                let names = ["u8", "u16", "u32", "u64", "u128", "usize"];
                Ok(Self::Integer {
                    unsigned: names.iter().any(|name| kinds::is_called(ty, name)),
                })
            }
            Kind::Number => Ok(Self::Number),
            Kind::Boolean => Ok(Self::Boolean),
            Kind::Unknown => Ok(Self::Choice),
            Kind::List => refuse(
                "a form cannot carry this list; `Vec` of an enum that derives `Elicit` is a choice of several",
            ),
            Kind::Map => refuse("a form is flat and cannot carry a map"),
            Kind::Tuple => {
                refuse("a form is flat and cannot carry a tuple; use one field per part")
            }
        }
    }

    /// How messages call `#[elicit]` on such a field.
    fn attribute(self) -> &'static str {
        match self {
            Self::Text => "`#[elicit]` of a text field",
            Self::Integer { .. } | Self::Number => "`#[elicit]` of a number field",
            Self::Boolean => "`#[elicit]` of a boolean field",
            Self::Choice => "`#[elicit]` of a choice",
            Self::Several => "`#[elicit]` of a choice of several",
        }
    }

    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Text => &[
                "title",
                "description",
                "default",
                "format",
                "min_length",
                "max_length",
            ],
            Self::Integer { .. } | Self::Number => {
                &["title", "description", "default", "minimum", "maximum"]
            }
            Self::Boolean | Self::Choice => &["title", "description", "default"],
            Self::Several => &["title", "description", "default", "min_items", "max_items"],
        }
    }

    /// The expression of the field's schema.
    fn schema(self, ty: &Type, keywords: &[Keyword], private: &TokenStream) -> TokenStream {
        let simple = |constructor: TokenStream| {
            let assignments = keywords.iter().map(Keyword::assignment);
            quote! {{
                #[allow(unused_mut)]
                let mut __schema = #private::#constructor();
                #(#assignments)*
                __schema
            }}
        };
        match self {
            Self::Text => simple(quote!(StringSchema::new)),
            Self::Integer { .. } => simple(quote!(NumberSchema::integer)),
            Self::Number => simple(quote!(NumberSchema::number)),
            Self::Boolean => simple(quote!(BooleanSchema::new)),
            Self::Choice => {
                // The span makes a type that does not fit into a form an error at the field's type.
                let schema =
                    quote_spanned!(ty.span()=> <#ty as #private::ElicitField>::field_schema());
                let choices = [
                    "UntitledSingleSelect",
                    "TitledSingleSelect",
                    "LegacyTitledEnum",
                ];
                decorated(&schema, keywords, &choices, private)
            }
            Self::Several => {
                let schema = several(ty, private);
                let choices = ["UntitledMultiSelect", "TitledMultiSelect"];
                decorated(&schema, keywords, &choices, private)
            }
        }
    }
}

/// The choice of several for `Vec<T>`, from the choice of one that `T` has.
fn several(list: &Type, private: &TokenStream) -> TokenStream {
    let item = kinds::vec_inner(list);
    let one = quote_spanned!(item.span()=> <#item as #private::ElicitField>::field_schema());
    quote! {
        match #one {
            #private::PrimitiveSchema::UntitledSingleSelect(__one) => {
                #private::PrimitiveSchema::from(#private::UntitledMultiSelectEnumSchema::new(__one.values))
            }
            #private::PrimitiveSchema::TitledSingleSelect(__one) => {
                #private::PrimitiveSchema::from(#private::TitledMultiSelectEnumSchema::new(__one.one_of))
            }
            // Reached by aliases such as `Vec<Name>` with `type Name = String`, whatever the client sends.
            _ => ::core::panic!("a list in a form holds variants of an enum that derives `Elicit`"),
        }
    }
}

/// A schema that comes from elsewhere, with `keywords` set when it is one of `kinds`.
///
/// On any other kind only the labels make sense.
fn decorated(
    schema: &TokenStream,
    keywords: &[Keyword],
    kinds: &[&str],
    private: &TokenStream,
) -> TokenStream {
    if keywords.is_empty() {
        return schema.clone();
    }
    const OTHERS: [&str; 3] = ["String", "Number", "Boolean"];
    let full = kinds.iter().map(|kind| (kind, true));
    let arms = full
        .chain(OTHERS.iter().map(|kind| (kind, false)))
        .map(|(kind, full)| {
            let kind = format_ident!("{kind}");
            let fitting = keywords.iter().filter(|keyword| full || keyword.is_label());
            let assignments = fitting.map(Keyword::assignment);
            quote!(#private::PrimitiveSchema::#kind(__schema) => { #(#assignments)* })
        });
    quote! {{
        let mut __decorated = #schema;
        #[allow(unused_variables)]
        match &mut __decorated {
            #(#arms)*
            _ => {}
        }
        __decorated
    }}
}
