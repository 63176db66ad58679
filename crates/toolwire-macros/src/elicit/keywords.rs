//! The keys of `#[elicit(…)]` on a field, and what must hold of them.
//!
//! What the syntax shows is refused here. The rest depends on the type, so the compiler checks it: generated assertions
//! fail the build at the key.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Error, Expr, ExprLit, ExprUnary, Lit, LitFloat, LitInt, LitStr, Result, Type, UnOp};

use crate::attributes::{Entries, quoted};
use crate::elicit::fields::Asked;

/// What stands in a field at first.
enum Default {
    Text(LitStr),
    Number(TokenStream),
    Flag(bool),
    Words(Vec<LitStr>),
}

/// A limit: its key, where it stands, and the expression of its value.
type Limit = (&'static str, Span, TokenStream);

/// The keys of one field.
pub(super) struct Keys {
    /// Title and description.
    labels: Vec<(&'static str, String)>,
    format: Option<(Span, TokenStream)>,
    lengths: [Option<Limit>; 2],
    range: [Option<Limit>; 2],
    items: [Option<Limit>; 2],
    default: Option<(Span, Default)>,
}

/// Takes what `asked` knows; `description` is the doc comment.
pub(super) fn take(
    entries: &mut Entries,
    asked: Asked,
    description: Option<String>,
    private: &TokenStream,
) -> Result<Keys> {
    let title = entries.take_text("title")?.map(|text| text.value());
    let description = entries
        .take_text("description")?
        .map(|text| text.value())
        .or(description);
    let labels = [("title", title), ("description", description)];
    let span = entries.span("format");
    let format = match (span, entries.take_text("format")?) {
        (Some(span), Some(format)) => Some((span, string_format(&format, private)?)),
        _ => None,
    };
    Ok(Keys {
        labels: labels
            .into_iter()
            .filter_map(|(key, text)| Some((key, text?)))
            .collect(),
        format,
        lengths: [
            take_count(entries, "min_length")?,
            take_count(entries, "max_length")?,
        ],
        range: [
            take_number(entries, "minimum")?,
            take_number(entries, "maximum")?,
        ],
        items: [
            take_count(entries, "min_items")?,
            take_count(entries, "max_items")?,
        ],
        default: take_default(entries, asked)?,
    })
}

fn take_count(entries: &mut Entries, key: &'static str) -> Result<Option<Limit>> {
    let span = entries.span(key).unwrap_or_else(Span::call_site);
    let value = entries.take_expression(key)?;
    Ok(value.map(|value| (key, span, quote!((#value)))))
}

fn take_number(entries: &mut Entries, key: &'static str) -> Result<Option<Limit>> {
    let span = entries.span(key).unwrap_or_else(Span::call_site);
    let value = entries.take_expression(key)?;
    let value = value.map(|value| float(&value)).transpose()?;
    Ok(value.map(|value| (key, span, value)))
}

fn take_default(entries: &mut Entries, asked: Asked) -> Result<Option<(Span, Default)>> {
    let Some(span) = entries.span("default") else {
        return Ok(None);
    };
    let is_list =
        asked == Asked::Several || (asked == Asked::Unknown && entries.is_list("default"));
    let default = match asked {
        _ if is_list => Some(Default::Words(entries.take_texts("default")?)),
        Asked::Text => entries.take_text("default")?.map(Default::Text),
        Asked::Boolean => entries.take_flag("default")?.map(Default::Flag),
        Asked::Number => {
            let value = entries.take_expression("default")?;
            let value = value.map(|value| float(&value)).transpose()?;
            value.map(Default::Number)
        }
        _ => match entries.take_expression("default")? {
            Some(Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            })) => Some(Default::Text(text)),
            Some(Expr::Lit(ExprLit {
                lit: Lit::Bool(flag),
                ..
            })) => Some(Default::Flag(flag.value)),
            Some(value) => Some(Default::Number(float(&value)?)),
            None => None,
        },
    };
    Ok(default.map(|default| (span, default)))
}

impl Keys {
    /// The calls that set the keys on a field.
    pub(super) fn calls(&self) -> Vec<TokenStream> {
        let labels = self.labels.iter().map(|(key, text)| {
            let key = format_ident!("{key}");
            quote!(.#key(#text))
        });
        let format = self
            .format
            .iter()
            .map(|(_, format)| quote!(.format(#format)));
        let limits = [&self.lengths, &self.range, &self.items];
        let limits = limits.into_iter().flatten().flatten();
        let limits = limits.map(|(key, _, value)| {
            let key = format_ident!("{key}");
            quote!(.#key(#value))
        });
        let default = self.default.iter().map(|(_, default)| match default {
            Default::Text(text) => quote!(.default_text(#text)),
            Default::Number(number) => quote!(.default_number(#number)),
            Default::Flag(flag) => quote!(.default_flag(#flag)),
            Default::Words(words) => quote!(.default_words(&[#(#words),*])),
        });
        labels.chain(format).chain(limits).chain(default).collect()
    }

    /// What the compiler must find true of the keys on a field of type `ty`; nothing when there is nothing to check.
    pub(super) fn checks(&self, ty: &Type, private: &TokenStream) -> TokenStream {
        let mut checks = Checks {
            name: quote!(#ty).to_string().replace(' ', ""),
            kind: quote!(<#ty as #private::ElicitField>::KIND),
            rules: quote!(#private::form_checks),
            asserts: Vec::new(),
        };
        self.check_text(&mut checks);
        self.check_range(&mut checks);
        self.check_items(&mut checks);
        self.check_default(&mut checks);
        let asserts = checks.asserts;
        if asserts.is_empty() {
            TokenStream::new()
        } else {
            quote!(const _: () = { #(#asserts)* };)
        }
    }

    fn check_text(&self, checks: &mut Checks) {
        let lengths = self.lengths.iter().flatten();
        let keys = lengths.clone().map(|(key, span, _)| (*key, *span));
        let format = self.format.iter().map(|(span, _)| ("format", *span));
        for (key, span) in keys.chain(format) {
            let message = format!("`{key}` is for text, and `{}` is none", checks.name);
            checks.assert(span, |kind| quote!(is_text(#kind)), &message);
        }
        for (key, span, value) in lengths {
            let message = format!("`{}` does not hold a text of this `{key}`", checks.name);
            checks.assert(*span, |kind| quote!(holds_length(#kind, #value)), &message);
        }
        checks.ordered(&self.lengths, "no text is that long and that short");
    }

    fn check_range(&self, checks: &mut Checks) {
        for (key, span, value) in self.range.iter().flatten() {
            let message = format!("`{key}` is for numbers, and `{}` is none", checks.name);
            checks.assert(*span, |kind| quote!(is_number(#kind)), &message);
            let message = format!("`{key}` is not a number that `{}` holds", checks.name);
            checks.assert(*span, |kind| quote!(holds_number(#kind, #value)), &message);
        }
        if let [Some((_, _, minimum)), Some((_, span, maximum))] = &self.range {
            checks.assert(
                *span,
                |_| quote!(is_between(#minimum, None, Some(#maximum))),
                "`minimum` is larger than `maximum`: no number would do",
            );
        }
    }

    fn check_items(&self, checks: &mut Checks) {
        for (key, span, _) in self.items.iter().flatten() {
            let message = format!(
                "`{key}` is for choices of several, and `{}` is none; use a `Vec` of the enum",
                checks.name
            );
            checks.assert(*span, |kind| quote!(is_several(#kind)), &message);
        }
        if let [Some((_, span, minimum)), _] = &self.items {
            checks.assert(
                *span,
                |kind| quote!(has_words(#kind, #minimum)),
                "`min_items` is more than there is to choose from",
            );
        }
        if let [_, Some((_, span, maximum))] = &self.items {
            checks.assert(
                *span,
                |_| quote!(are_ordered(Some(1), Some(#maximum))),
                "with `max_items = 0` nothing could be chosen",
            );
        }
        checks.ordered(&self.items, "nobody can choose that many and that few");
    }

    fn check_default(&self, checks: &mut Checks) {
        let Some((span, default)) = &self.default else {
            return;
        };
        let name = &checks.name.clone();
        match default {
            Default::Text(text) => {
                let [minimum, maximum] = options(&self.lengths);
                let message = format!(
                    "the default {:?} is not in `{name}`: write one of its words, as they are on the wire",
                    text.value()
                );
                checks.assert(*span, |kind| quote!(takes_text(#kind, #text)), &message);
                checks.assert(
                    *span,
                    |kind| quote!(fits_length(#kind, #text, #minimum, #maximum)),
                    "the default is shorter or longer than the field allows",
                );
            }
            Default::Number(number) => {
                let [minimum, maximum] = options(&self.range);
                let message = format!("the default is not a number that `{name}` holds");
                checks.assert(*span, |kind| quote!(holds_number(#kind, #number)), &message);
                checks.assert(
                    *span,
                    |_| quote!(is_between(#number, #minimum, #maximum)),
                    "the default is not between `minimum` and `maximum`",
                );
            }
            Default::Flag(_) => {
                let message = format!("the default is `true` or `false`, and `{name}` is neither");
                checks.assert(*span, |kind| quote!(is_boolean(#kind)), &message);
            }
            Default::Words(words) => {
                let [minimum, maximum] = options(&self.items);
                let count = words.len() as u64;
                let message = format!(
                    "a default is not in `{name}`: write words of its enum, as they are on the wire"
                );
                let words = quote!(&[#(#words),*]);
                checks.assert(*span, |kind| quote!(takes_words(#kind, #words)), &message);
                checks.assert(
                    *span,
                    |_| quote!(are_distinct(#words)),
                    "a default is given twice",
                );
                checks.assert(
                    *span,
                    |_| quote!(is_count(#count, #minimum, #maximum)),
                    "there are fewer defaults than `min_items` or more than `max_items`",
                );
            }
        }
    }
}

/// Assertions about one field, as they are collected.
struct Checks {
    /// The type as messages call it.
    name: String,
    kind: TokenStream,
    /// The module with the rules.
    rules: TokenStream,
    asserts: Vec<TokenStream>,
}

impl Checks {
    /// Asserts a rule, given what the field holds; an error stands at `span`.
    fn assert(&mut self, span: Span, rule: impl Fn(&TokenStream) -> TokenStream, message: &str) {
        let (rules, call) = (&self.rules, rule(&self.kind));
        self.asserts
            .push(quote_spanned!(span=> ::core::assert!(#rules::#call, #message);));
    }

    fn ordered(&mut self, limits: &[Option<Limit>; 2], why: &str) {
        if let [Some((least, _, minimum)), Some((most, span, maximum))] = limits {
            let message = format!("`{least}` is larger than `{most}`: {why}");
            let rule = |_: &TokenStream| quote!(are_ordered(Some(#minimum), Some(#maximum)));
            self.assert(*span, rule, &message);
        }
    }
}

/// The limits as expressions of options.
fn options(limits: &[Option<Limit>; 2]) -> [TokenStream; 2] {
    limits.each_ref().map(|limit| match limit {
        Some((_, _, value)) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    })
}

/// The formats a form knows; clients refuse others.
fn string_format(format: &LitStr, private: &TokenStream) -> Result<TokenStream> {
    const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];
    let variant = match format.value().as_str() {
        "email" => quote!(Email),
        "uri" => quote!(Uri),
        "date" => quote!(Date),
        "date-time" => quote!(DateTime),
        _ => {
            let message = format!("a form knows the formats {}", quoted(&FORMATS));
            return Err(Error::new_spanned(format, message));
        }
    };
    Ok(quote!(#private::StringFormat::#variant))
}

/// A number as the `f64` the schema keeps.
fn float(value: &Expr) -> Result<TokenStream> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => exact(number),
            Lit::Float(number) => Ok(quote!(#number)),
            other => Err(Error::new_spanned(other, "expected a number")),
        },
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(_),
            expr,
            ..
        }) => {
            let float = float(expr)?;
            Ok(quote!(-#float))
        }
        other => Ok(quote!((#other) as f64)),
    }
}

fn exact(number: &LitInt) -> Result<TokenStream> {
    let value: u64 = number.base10_parse()?;
    let float = value as f64;
    if float as u128 != u128::from(value) {
        let message = format!(
            "the numbers of a form are doubles, which do not hold {value}; the nearest is {float}"
        );
        return Err(Error::new_spanned(number, message));
    }
    let float = LitFloat::new(&format!("{value}.0"), number.span());
    Ok(quote!(#float))
}
