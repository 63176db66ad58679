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

/// Returns the trait implementation for the struct `ident`.
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
        let ident_span = field.ident.clone();
        let Some((name, addition)) = errors.ok_or_add(add(field, serde, &private)).flatten() else {
            continue;
        };
        if names.contains(&name) {
            let message = format!("two fields are called {name:?} on the wire");
            errors.add(Error::new_spanned(ident_span, message));
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

/// Returns the name of `field` and the statements that add it to the form, or `None` if serde skips the field.
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
    let kind = FieldKind::of(&value)?;
    let description = docs::description(&field.attrs);
    reject_patterns(&field.attrs)?;
    let mut entries = Entries::extract(&mut field.attrs, "elicit", kind.attribute(), kind.keys())?;
    let keys = keywords::take(&mut entries, kind, description, private)?;
    let calls = keys.calls();
    let checks = keys.checks(&value, private);

    let addition = quote! {
        #checks
        let __form = #private::FormField::of::<#value>() #optional #(#calls)* .add_to(__form, #name);
    };
    Ok(Some((name, addition)))
}

/// Rejects `pattern` with a specific message, because users expect it from JSON Schema.
fn reject_patterns(attributes: &[Attribute]) -> Result<()> {
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
                "no revision of the protocol has patterns in forms: use `format` or lengths, or check the value in the \
                 handler",
            ));
        }
    }
    Ok(())
}

/// The kind of a form field, as far as the tokens of its type show it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum FieldKind {
    Text,
    Number,
    Boolean,
    /// Several variants of an enum.
    Several,
    /// One variant of an enum, an alias, or another type that implements `ElicitField`.
    Unknown,
}

impl FieldKind {
    fn of(ty: &Type) -> Result<Self> {
        let reject = |message: &str| Err(Error::new_spanned(ty, message));
        if kinds::option_inner(ty).is_some() {
            return reject("a form field cannot be a nested `Option`: use one `Option`");
        }
        if matches!(ty, Type::Reference(_)) {
            return reject("a form is parsed into owned values: use `String` instead of `&str`");
        }
        if let Some(item) = list_item(ty) {
            return match Kind::of(item) {
                Kind::Unknown if kinds::option_inner(item).is_none() => Ok(Self::Several),
                _ => reject(
                    "a list in a form is a multi-select field: its items must be an enum that derives `Elicit`",
                ),
            };
        }
        if ["i128", "u128"]
            .iter()
            .any(|name| kinds::is_called(ty, name))
        {
            return reject("the numbers of a form have at most 64 bits: use `i64` or `u64`");
        }
        match Kind::of(ty) {
            Kind::Text => Ok(Self::Text),
            Kind::Integer | Kind::Number => Ok(Self::Number),
            Kind::Boolean => Ok(Self::Boolean),
            Kind::Unknown => Ok(Self::Unknown),
            Kind::List => reject(
                "a form cannot contain this list; use a `Vec` of an enum that derives `Elicit`",
            ),
            Kind::Map => reject(
                "a form is flat and cannot contain a map; use one field per entry, or several elicitations",
            ),
            Kind::Tuple => {
                reject("a form is flat and cannot contain a tuple; use one field per element")
            }
        }
    }

    /// Returns the name of `#[elicit]` on such a field in error messages.
    fn attribute(self) -> &'static str {
        match self {
            Self::Text => "`#[elicit]` of a text field",
            Self::Number => "`#[elicit]` of a number field",
            Self::Boolean => "`#[elicit]` of a boolean field",
            Self::Several => "`#[elicit]` of a multi-select field",
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
            // The generated assertions check which of these keys apply to the type.
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

/// Returns `T` of `Vec<T>` and of sets of `T`.
fn list_item(ty: &Type) -> Option<&Type> {
    kinds::vec_inner(ty).or_else(|| kinds::set_inner(ty))
}
