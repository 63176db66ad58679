//! The serde names of fields and variants, so that a form uses the names that deserialization expects.
//!
//! Supports `rename`, `rename_all`, `default`, `skip` and `skip_deserializing`. Attributes that change the JSON structure
//! are rejected.

use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, ExprLit, Lit, LitStr, Meta, Result, Token};

/// The serde attributes of a type, field or variant that affect a form.
#[derive(Default)]
pub(crate) struct SerdeAttributes {
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Option<Case>,
    /// Whether deserialization accepts a missing value.
    pub(crate) default: bool,
    /// Whether deserialization skips it.
    pub(crate) skipped: bool,
}

/// The cases of `rename_all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

const CASES: &[(&str, Case)] = &[
    ("lowercase", Case::Lower),
    ("UPPERCASE", Case::Upper),
    ("PascalCase", Case::Pascal),
    ("camelCase", Case::Camel),
    ("snake_case", Case::Snake),
    ("SCREAMING_SNAKE_CASE", Case::ScreamingSnake),
    ("kebab-case", Case::Kebab),
    ("SCREAMING-KEBAB-CASE", Case::ScreamingKebab),
];

/// The attributes with which the value is no longer a flat object or a string.
const SHAPE_CHANGING: &[&str] = &[
    "flatten",
    "tag",
    "content",
    "untagged",
    "transparent",
    "from",
    "try_from",
];

impl SerdeAttributes {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut read = Self::default();
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("serde"))
        {
            let metas =
                attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
            for meta in metas {
                read.record(&meta)?;
            }
        }
        Ok(read)
    }

    fn record(&mut self, meta: &Meta) -> Result<()> {
        let path = meta.path();
        if path.is_ident("rename") {
            self.rename = deserialize_text(meta)?
                .map(|text| text.value())
                .or(self.rename.take());
        } else if path.is_ident("rename_all") {
            if let Some(text) = deserialize_text(meta)? {
                self.rename_all = CASES
                    .iter()
                    .find(|(name, _)| *name == text.value())
                    .map(|(_, case)| *case);
            }
        } else if path.is_ident("default") {
            self.default = true;
        } else if ["skip", "skip_deserializing", "other"]
            .iter()
            .any(|name| path.is_ident(name))
        {
            self.skipped = true;
        } else if SHAPE_CHANGING.iter().any(|name| path.is_ident(name)) {
            return Err(Error::new_spanned(
                meta,
                "a form is a flat object and a choice is a string: remove this serde attribute, which changes the structure",
            ));
        }
        Ok(())
    }
}

/// Returns the text of `key = "text"` or `key(deserialize = "text")`.
fn deserialize_text(meta: &Meta) -> Result<Option<LitStr>> {
    match meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Ok(Some(text.clone())),
            _ => Ok(None),
        },
        Meta::List(list) => {
            let metas = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
            for meta in &metas {
                if meta.path().is_ident("deserialize") && matches!(meta, Meta::NameValue(_)) {
                    return deserialize_text(meta);
                }
            }
            Ok(None)
        }
        Meta::Path(_) => Ok(None),
    }
}

impl Case {
    /// Converts the name of a field from snake case.
    pub(crate) fn of_field(self, name: &str) -> String {
        match self {
            Self::Lower | Self::Snake => name.to_owned(),
            Self::Upper | Self::ScreamingSnake => name.to_ascii_uppercase(),
            Self::Pascal => name.split('_').map(capitalized).collect(),
            Self::Camel => uncapitalized(&Self::Pascal.of_field(name)),
            Self::Kebab => name.replace('_', "-"),
            Self::ScreamingKebab => name.to_ascii_uppercase().replace('_', "-"),
        }
    }

    /// Converts the name of a variant from Pascal case.
    pub(crate) fn of_variant(self, name: &str) -> String {
        match self {
            Self::Pascal => name.to_owned(),
            Self::Lower => name.to_ascii_lowercase(),
            Self::Upper => name.to_ascii_uppercase(),
            Self::Camel => uncapitalized(name),
            Self::Snake => snake(name),
            Self::ScreamingSnake => snake(name).to_ascii_uppercase(),
            Self::Kebab => snake(name).replace('_', "-"),
            Self::ScreamingKebab => snake(name).to_ascii_uppercase().replace('_', "-"),
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase())
        .into_iter()
        .chain(letters)
        .collect()
}

fn uncapitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_ascii_lowercase())
        .into_iter()
        .chain(letters)
        .collect()
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for (index, letter) in name.char_indices() {
        if index > 0 && letter.is_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(case: &str, field: &str, variant: &str) {
        let attribute = syn::parse_str(&format!("#[serde(rename_all = {case:?})] struct S;"));
        let item: syn::ItemStruct = attribute.expect("the test input is an attribute");
        let read = SerdeAttributes::read(&item.attrs).expect("the attribute is supported");
        let case = read.rename_all.expect("the case is known");
        assert_eq!(
            (
                case.of_field("first_name").as_str(),
                case.of_variant("DarkRed").as_str()
            ),
            (field, variant)
        );
    }

    #[test]
    fn renamed_names_match_serde() {
        check("lowercase", "first_name", "darkred");
        check("UPPERCASE", "FIRST_NAME", "DARKRED");
        check("PascalCase", "FirstName", "DarkRed");
        check("camelCase", "firstName", "darkRed");
        check("snake_case", "first_name", "dark_red");
        check("SCREAMING_SNAKE_CASE", "FIRST_NAME", "DARK_RED");
        check("kebab-case", "first-name", "dark-red");
        check("SCREAMING-KEBAB-CASE", "FIRST-NAME", "DARK-RED");
    }
}
