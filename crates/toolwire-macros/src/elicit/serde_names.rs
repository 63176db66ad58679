//! What serde calls a field or a variant, so that a form asks under the name that decoding expects.
//!
//! Covers `rename`, `rename_all`, `default`, `skip` and `skip_deserializing`; attributes that change the shape are refused.

use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, ExprLit, Lit, LitStr, Meta, Result, Token};

/// The serde attributes of a type, field or variant, as far as a form depends on them.
#[derive(Default)]
pub(crate) struct SerdeAttributes {
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Option<Case>,
    /// Decoding does without it.
    pub(crate) default: bool,
    /// Decoding never reads it.
    pub(crate) skipped: bool,
}

/// The spellings `rename_all` knows.
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

/// Attributes after which the value is no longer a flat object or a word.
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
                read.note(&meta)?;
            }
        }
        Ok(read)
    }

    fn note(&mut self, meta: &Meta) -> Result<()> {
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
                "a form is a flat object, and a choice a word: this serde attribute changes the shape, so remove it",
            ));
        }
        Ok(())
    }
}

/// The text of `key = "text"` or `key(deserialize = "text")`.
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
    /// Spells the name of a field, written in snake case.
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

    /// Spells the name of a variant, written in Pascal case.
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
        let item: syn::ItemStruct = attribute.expect("the test writes an attribute");
        let read = SerdeAttributes::read(&item.attrs).expect("the attribute is one we read");
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
    fn names_are_spelled_as_serde_spells_them() {
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
