//! The fields of a struct as the fields of a form.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;
use syn::ext::IdentExt as _;
use syn::{Attribute, Error, Field, FieldsNamed, Meta, Result, Type};

use crate::attributes::{CratePath, Entries, is_named};
use crate::docs;
use crate::elicit::keywords;
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
    let mut names = Vec::new();
    for field in fields.named {
        let place = field.ident.clone();
        let Some((name, addition)) = errors.keep(add(field, serde, &private)).flatten() else {
            continue;
        };
        if names.contains(&name) {
            let message = format!("two fields are called {name:?} on the wire");
            errors.add(Error::new_spanned(place, message));
        }
        names.push(name);
        additions.push(addition);
    }
    errors.finish(quote! {
        #[automatically_derived]
        impl #private::Elicit for #ident {
            fn elicit_schema() -> #private::ElicitSchema {
                let __form = #private::ElicitSchema::new();
                #(#additions)*
                __form
            }
        }
    })
}

/// The name of `field` and the statements that add it to the form, unless decoding never reads it.
fn add(
    mut field: Field,
    serde: &SerdeAttributes,
    private: &TokenStream,
) -> Result<Option<(String, TokenStream)>> {
    let own = SerdeAttributes::read(&field.attrs)?;
    if own.skipped {
        return Ok(None);
    }
    let written = field
        .ident
        .as_ref()
        .map(|ident| ident.unraw().to_string())
        .unwrap_or_default();
    let name = own.rename.unwrap_or_else(|| match serde.rename_all {
        Some(case) => case.of_field(&written),
        None => written,
    });
    let inner = kinds::option_inner(&field.ty);
    let optional = (inner.is_some() || own.default || serde.default).then(|| quote!(.optional()));
    let value = inner.unwrap_or(&field.ty).clone();
    let asked = Asked::of(&value)?;
    let description = docs::description(&field.attrs);
    refuse_patterns(&field.attrs)?;
    let mut entries =
        Entries::extract(&mut field.attrs, "elicit", asked.attribute(), asked.keys())?;
    let keys = keywords::take(&mut entries, asked, description, private)?;
    let calls = keys.calls();
    let checks = keys.checks(&value, private);

    let addition = quote! {
        #checks
        let __form = #private::FormField::of::<#value>() #optional #(#calls)* .add_to(__form, #name);
    };
    Ok(Some((name, addition)))
}

/// `pattern` deserves a message of its own: JSON Schema has it and people expect it.
fn refuse_patterns(attributes: &[Attribute]) -> Result<()> {
    let lists = attributes
        .iter()
        .filter(|attribute| is_named(attribute, "elicit"))
        .filter_map(|attribute| match &attribute.meta {
            Meta::List(list) => Some(list.tokens.clone()),
            _ => None,
        });
    for token in lists.flatten() {
        if let TokenTree::Ident(key) = token
            && key == "pattern"
        {
            return Err(Error::new_spanned(
                key,
                "no revision of the protocol has patterns in forms: use `format` or lengths, or check the answer in the \
                 handler",
            ));
        }
    }
    Ok(())
}

/// What a field asks for, as far as the way its type is written shows it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Asked {
    Text,
    Number,
    Boolean,
    /// Several variants of an enum.
    Several,
    /// One variant of an enum, an alias, or whatever else implements `ElicitField`.
    Unknown,
}

impl Asked {
    fn of(ty: &Type) -> Result<Self> {
        let refuse = |message: &str| Err(Error::new_spanned(ty, message));
        if kinds::option_inner(ty).is_some() {
            return refuse("a field of a form is there or not: one `Option` says it");
        }
        if matches!(ty, Type::Reference(_)) {
            return refuse(
                "an answer is decoded into a value of its own: use `String` instead of `&str`",
            );
        }
        if let Some(item) = list_item(ty) {
            return match Kind::of(item) {
                Kind::Unknown if kinds::option_inner(item).is_none() => Ok(Self::Several),
                _ => refuse(
                    "a list in a form is a choice of several: it holds variants of an enum that derives `Elicit`",
                ),
            };
        }
        if ["i128", "u128"]
            .iter()
            .any(|name| kinds::is_called(ty, name))
        {
            return refuse("the numbers of a form have at most 64 bits: use `i64` or `u64`");
        }
        match Kind::of(ty) {
            Kind::Text => Ok(Self::Text),
            Kind::Integer | Kind::Number => Ok(Self::Number),
            Kind::Boolean => Ok(Self::Boolean),
            Kind::Unknown => Ok(Self::Unknown),
            Kind::List => refuse(
                "a form cannot carry this list; `Vec` of an enum that derives `Elicit` is a choice of several",
            ),
            Kind::Map => refuse(
                "a form is flat and cannot carry a map; use one field per entry, or ask in several rounds",
            ),
            Kind::Tuple => {
                refuse("a form is flat and cannot carry a tuple; use one field per part")
            }
        }
    }

    /// How messages call `#[elicit]` on such a field.
    fn attribute(self) -> &'static str {
        match self {
            Self::Text => "`#[elicit]` of a text field",
            Self::Number => "`#[elicit]` of a number field",
            Self::Boolean => "`#[elicit]` of a boolean field",
            Self::Several => "`#[elicit]` of a choice of several",
            Self::Unknown => "`#[elicit]` of a field",
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
            Self::Number => &["title", "description", "default", "minimum", "maximum"],
            Self::Boolean => &["title", "description", "default"],
            Self::Several => &["title", "description", "default", "min_items", "max_items"],
            // The compiler knows what the type is, and which of these fit it.
            Self::Unknown => &[
                "title",
                "description",
                "default",
                "format",
                "min_length",
                "max_length",
                "minimum",
                "maximum",
                "min_items",
                "max_items",
            ],
        }
    }
}

/// `T` of `Vec<T>` and of sets of `T`.
fn list_item(ty: &Type) -> Option<&Type> {
    kinds::vec_inner(ty).or_else(|| kinds::set_inner(ty))
}
