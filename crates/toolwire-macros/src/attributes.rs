//! Parses the keys of an attribute such as `#[tool(title = "Add", read_only)]`.
//!
//! Each attribute has a list of known keys. Unknown keys, duplicate keys and values of the wrong type are errors with the
//! span of the key or value. The macro that takes a key interprets it.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Error, Expr, ExprField, ExprLit, Ident, Lit, LitBool, LitStr, Member, Meta, Path,
    Result, Token,
};

/// The keys of one attribute that are not taken yet.
#[derive(Default)]
pub(crate) struct Entries {
    entries: Vec<Entry>,
}

struct Entry {
    key: String,
    span: Span,
    value: Value,
}

enum Value {
    Absent,
    Single(Box<Expr>),
    List(Vec<Expr>),
}

impl Entries {
    /// Parses the tokens between the parentheses of an attribute.
    ///
    /// `attribute` is its name in error messages, and `known` are its keys.
    pub(crate) fn parse(tokens: TokenStream, attribute: &str, known: &[&str]) -> Result<Self> {
        let mut entries = Self::default();
        (|input: ParseStream<'_>| entries.read(input, attribute, known)).parse2(tokens)?;
        Ok(entries)
    }

    /// Removes all attributes with this name from `attributes` and parses their keys into one list.
    pub(crate) fn extract(
        attributes: &mut Vec<Attribute>,
        name: &str,
        title: &str,
        known: &[&str],
    ) -> Result<Self> {
        let mut entries = Self::default();
        for attribute in attributes.extract_if(.., |attribute| is_named(attribute, name)) {
            match &attribute.meta {
                Meta::Path(_) => {}
                Meta::List(list) => {
                    let read = |input: ParseStream<'_>| entries.read(input, title, known);
                    list.parse_args_with(read)?;
                }
                Meta::NameValue(value) => {
                    let message = format!("write `#[{name}(key = value)]`");
                    return Err(Error::new_spanned(value, message));
                }
            }
        }
        Ok(entries)
    }

    fn read(&mut self, input: ParseStream<'_>, attribute: &str, known: &[&str]) -> Result<()> {
        while !input.is_empty() {
            let key = Ident::parse_any(input)?;
            let name = key.unraw().to_string();
            if !known.contains(&name.as_str()) {
                let message = format!(
                    "{attribute} has no key `{name}`; its keys are: {}",
                    quoted(known)
                );
                return Err(Error::new_spanned(&key, message));
            }
            let value = if input.peek(Token![=]) {
                input.parse::<Token![=]>()?;
                Value::Single(Box::new(input.parse()?))
            } else if input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in input);
                let list = Punctuated::<Expr, Token![,]>::parse_terminated(&content)?;
                Value::List(list.into_iter().collect())
            } else {
                Value::Absent
            };
            if name != "icon" && self.entries.iter().any(|entry| entry.key == name) {
                let message = format!("`{name}` is given twice");
                return Err(Error::new_spanned(&key, message));
            }
            self.entries.push(Entry {
                key: name,
                span: key.span(),
                value,
            });
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    }

    /// Returns the span of `key`, or `None` if it is absent.
    pub(crate) fn span(&self, key: &str) -> Option<Span> {
        self.entries
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| entry.span)
    }

    /// Returns `true` if `key` is given as `key(…)`.
    pub(crate) fn is_list(&self, key: &str) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.key == key && matches!(entry.value, Value::List(_)))
    }

    /// Takes `key = "text"`.
    pub(crate) fn take_text(&mut self, key: &str) -> Result<Option<LitStr>> {
        self.take(key)
            .map(|entry| text(&entry.single("= \"text\"")?))
            .transpose()
    }

    /// Takes every `key = "text"` and `key("text", "text")`.
    pub(crate) fn take_texts(&mut self, key: &str) -> Result<Vec<LitStr>> {
        let mut texts = Vec::new();
        while let Some(entry) = self.take(key) {
            match entry.value {
                Value::List(list) => {
                    for item in &list {
                        texts.push(text(item)?);
                    }
                }
                _ => texts.push(text(&entry.single("= \"text\"")?)?),
            }
        }
        Ok(texts)
    }

    /// Takes `key(name = value, …)`. `form` is the list in error messages.
    pub(crate) fn take_pairs(&mut self, key: &str, form: &str) -> Result<Option<Pairs>> {
        let Some(entry) = self.take(key) else {
            return Ok(None);
        };
        let expected = |span| Error::new(span, format!("write `{key}({form})`"));
        let Value::List(list) = entry.value else {
            return Err(expected(entry.span));
        };
        let pairs = list.into_iter().map(|item| match item {
            Expr::Assign(pair) => Ok((*pair.left, *pair.right)),
            other => Err(expected(other.span())),
        });
        let pairs = pairs.collect::<Result<Vec<_>>>()?;
        if pairs.is_empty() {
            return Err(expected(entry.span));
        }
        Ok(Some(Pairs {
            span: entry.span,
            pairs,
        }))
    }

    /// Takes `key`, which returns an empty list, or `key(item, …)`. `form` is the list in error messages.
    pub(crate) fn take_list(&mut self, key: &str, form: &str) -> Result<Option<List>> {
        let Some(entry) = self.take(key) else {
            return Ok(None);
        };
        let items = match entry.value {
            Value::Absent => Vec::new(),
            Value::List(items) => items,
            Value::Single(_) => {
                let message = format!("write `{key}` or `{key}({form})`");
                return Err(Error::new(entry.span, message));
            }
        };
        let span = entry.span;
        Ok(Some(List { span, items }))
    }

    /// Takes `key` or `key = true` or `key = false`.
    pub(crate) fn take_flag(&mut self, key: &str) -> Result<Option<bool>> {
        let Some(entry) = self.take(key) else {
            return Ok(None);
        };
        if matches!(entry.value, Value::Absent) {
            return Ok(Some(true));
        }
        match entry.single("= true")? {
            Expr::Lit(ExprLit {
                lit: Lit::Bool(LitBool { value, .. }),
                ..
            }) => Ok(Some(value)),
            other => Err(Error::new_spanned(&other, "expected `true` or `false`")),
        }
    }

    /// Takes `key = expression`.
    pub(crate) fn take_expression(&mut self, key: &str) -> Result<Option<Expr>> {
        self.take(key)
            .map(|entry| entry.single("= value"))
            .transpose()
    }

    /// Takes `key`, which returns `Some(None)`, or `key = expression`.
    pub(crate) fn take_optional_expression(&mut self, key: &str) -> Result<Option<Option<Expr>>> {
        let Some(entry) = self.take(key) else {
            return Ok(None);
        };
        if matches!(entry.value, Value::Absent) {
            return Ok(Some(None));
        }
        entry.single("= value").map(|value| Some(Some(value)))
    }

    /// Takes `key = path`, `key = "path"` or `key = self.method`.
    pub(crate) fn take_function(&mut self, key: &str) -> Result<Option<Function>> {
        let Some(value) = self.take_expression(key)? else {
            return Ok(None);
        };
        match value {
            Expr::Path(path) if path.qself.is_none() => Ok(Some(Function::Path(path.path))),
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => text.parse().map(|path| Some(Function::Path(path))),
            Expr::Field(ExprField {
                base,
                member: Member::Named(method),
                ..
            }) if matches!(&*base, Expr::Path(base) if base.path.is_ident("self")) => {
                Ok(Some(Function::Method(method)))
            }
            other => Err(Error::new_spanned(
                &other,
                "expected a function such as `names` or `Self::names`, or a method such as `self.names`",
            )),
        }
    }

    /// Takes `crate = "path"`, the path of the `toolwire` crate. Default: `::toolwire`.
    pub(crate) fn take_crate(&mut self) -> Result<CratePath> {
        let path = match self.take_text("crate")? {
            Some(text) => text.parse_with(Path::parse_mod_style)?,
            None => syn::parse_quote!(::toolwire),
        };
        Ok(CratePath(path))
    }

    fn take(&mut self, key: &str) -> Option<Entry> {
        let position = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(position))
    }
}

impl Entry {
    fn single(self, form: &str) -> Result<Expr> {
        match self.value {
            Value::Single(value) => Ok(*value),
            _ => Err(Error::new(
                self.span,
                format!("write `{} {form}`", self.key),
            )),
        }
    }
}

/// The list of `key(name = value, …)`, which has at least one pair.
pub(crate) struct Pairs {
    /// The span of the key.
    pub(crate) span: Span,
    pub(crate) pairs: Vec<(Expr, Expr)>,
}

/// The list of `key(item, …)`, which may be empty.
pub(crate) struct List {
    /// The span of the key.
    pub(crate) span: Span,
    pub(crate) items: Vec<Expr>,
}

/// A function that an attribute names.
pub(crate) enum Function {
    /// `names` or `Self::names`.
    Path(Path),
    /// `self.names`.
    Method(Ident),
}

/// The path of `toolwire` in the user's crate.
#[derive(Clone)]
pub(crate) struct CratePath(Path);

impl CratePath {
    /// Returns the path of the module that contains all items for generated code.
    pub(crate) fn private(&self) -> TokenStream {
        let path = &self.0;
        quote!(#path::__private)
    }

    /// Returns the path of a crate that [`CratePath::private`] re-exports, as text for attributes of serde and schemars.
    pub(crate) fn reexported(&self, name: &str) -> String {
        format!("{}::{name}", self.private())
    }
}

/// Returns `true` if the path of the attribute ends in `name`, so that `#[tool]` equals `#[toolwire::tool]`.
pub(crate) fn is_named(attribute: &Attribute, name: &str) -> bool {
    attribute
        .path()
        .segments
        .last()
        .is_some_and(|segment| segment.ident == name)
}

/// Returns the names in backquotes, separated by commas.
pub(crate) fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Returns the string literal that an expression is.
pub(crate) fn text(value: &Expr) -> Result<LitStr> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Ok(text.clone()),
        other => Err(Error::new_spanned(other, "expected a string literal")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &str, expected: &str) {
        let tokens = written.parse().expect("the test input is valid tokens");
        let outcome = Entries::parse(tokens, "`#[tool]`", &["title", "icon", "read_only"])
            .and_then(|mut entries| {
                let title = entries.take_text("title")?.map(|text| text.value());
                let icons = entries.take_texts("icon")?.len();
                let read_only = entries.take_flag("read_only")?;
                Ok(format!("{title:?} {icons} {read_only:?}"))
            })
            .unwrap_or_else(|error| error.to_string());
        assert_eq!(outcome, expected, "{written}");
    }

    #[test]
    fn keys_are_parsed_in_any_order() {
        check("", "None 0 None");
        check("read_only, title = \"T\",", "Some(\"T\") 0 Some(true)");
        check("read_only = false", "None 0 Some(false)");
        check("icon = \"a\", icon(\"b\", \"c\")", "None 3 None");
    }

    #[test]
    fn invalid_keys_are_rejected_with_the_expected_form() {
        check(
            "titel = 1",
            "`#[tool]` has no key `titel`; its keys are: `title`, `icon`, `read_only`",
        );
        check("title = 1", "expected a string literal");
        check("title", "write `title = \"text\"`");
        check("title = \"a\", title = \"b\"", "`title` is given twice");
        check("read_only = 3", "expected `true` or `false`");
        check("title = \"a\" read_only", "expected `,`");
    }
}
