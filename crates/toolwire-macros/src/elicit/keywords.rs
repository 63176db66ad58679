//! The keys of `#[elicit(…)]` on a field, and their checks.
//!
//! The macro rejects errors that the syntax shows. The other checks depend on the type, so the macro generates assertions,
//! which fail the build with the span of the key.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Error, Expr, ExprLit, ExprUnary, Lit, LitFloat, LitInt, LitStr, Result, Type, UnOp};

use crate::attributes::{Entries, quoted};
use crate::elicit::fields::FieldKind;

/// The default value of a field.
enum Default {
    Text(LitStr),
    Number(TokenStream),
    Flag(bool),
    Words(Vec<LitStr>),
}

/// A limit: its key, its span, and the expression of its value.
type Limit = (&'static str, Span, TokenStream);

/// The keys of one field.
pub(super) struct Keys {
    /// The title and the description.
    labels: Vec<(&'static str, String)>,
    format: Option<(Span, TokenStream)>,
    lengths: [Option<Limit>; 2],
    range: [Option<Limit>; 2],
    items: [Option<Limit>; 2],
    default: Option<(Span, Default)>,
}

/// Takes the keys of a field of this kind. `description` is the doc comment.
pub(super) fn take(
    entries: &mut Entries,
    kind: FieldKind,
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
        default: take_default(entries, kind)?,
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

fn take_default(entries: &mut Entries, kind: FieldKind) -> Result<Option<(Span, Default)>> {
    let Some(span) = entries.span("default") else {
        return Ok(None);
    };
    let is_list =
        kind == FieldKind::Several || (kind == FieldKind::Unknown && entries.is_list("default"));
    let default = match kind {
        _ if is_list => Some(Default::Words(entries.take_texts("default")?)),
        FieldKind::Text => entries.take_text("default")?.map(Default::Text),
        FieldKind::Boolean => entries.take_flag("default")?.map(Default::Flag),
        FieldKind::Number => {
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
    /// Returns the calls that set the keys on a field.
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

    /// Returns the assertions about the keys on a field of type `ty`. Empty if there is nothing to check.
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
            let message = format!("`{key}` applies to text, but `{}` is not text", checks.name);
            checks.assert(span, |kind| quote!(is_text(#kind)), &message);
        }
        for (key, span, value) in lengths {
            let message = format!("`{}` cannot store text of this `{key}`", checks.name);
            checks.assert(*span, |kind| quote!(holds_length(#kind, #value)), &message);
        }
        checks.assert_ordered(&self.lengths, "no text can satisfy both");
    }

    fn check_range(&self, checks: &mut Checks) {
        for (key, span, value) in self.range.iter().flatten() {
            let message = format!(
                "`{key}` applies to numbers, but `{}` is not a number",
                checks.name
            );
            checks.assert(*span, |kind| quote!(is_number(#kind)), &message);
            let message = format!("`{key}` is out of range for `{}`", checks.name);
            checks.assert(*span, |kind| quote!(holds_number(#kind, #value)), &message);
        }
        if let [Some((_, _, minimum)), Some((_, span, maximum))] = &self.range {
            checks.assert(
                *span,
                |_| quote!(is_between(#minimum, None, Some(#maximum))),
                "`minimum` is larger than `maximum`: no number can satisfy both",
            );
        }
    }

    fn check_items(&self, checks: &mut Checks) {
        for (key, span, _) in self.items.iter().flatten() {
            let message = format!(
                "`{key}` applies to multi-select fields, but `{}` is not one; use a `Vec` of the enum",
                checks.name
            );
            checks.assert(*span, |kind| quote!(is_several(#kind)), &message);
        }
        if let [Some((_, span, minimum)), _] = &self.items {
            checks.assert(
                *span,
                |kind| quote!(has_words(#kind, #minimum)),
                "`min_items` is larger than the number of values",
            );
        }
        if let [_, Some((_, span, maximum))] = &self.items {
            checks.assert(
                *span,
                |_| quote!(are_ordered(Some(1), Some(#maximum))),
                "`max_items = 0` permits no selection",
            );
        }
        checks.assert_ordered(&self.items, "no selection can satisfy both");
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
                    "the default {:?} is not a value of `{name}`: use one of its names on the wire",
                    text.value()
                );
                checks.assert(*span, |kind| quote!(takes_text(#kind, #text)), &message);
                checks.assert(
                    *span,
                    |kind| quote!(fits_length(#kind, #text, #minimum, #maximum)),
                    "the default is shorter or longer than the field permits",
                );
            }
            Default::Number(number) => {
                let [minimum, maximum] = options(&self.range);
                let message = format!("the default is not a valid number for `{name}`");
                checks.assert(*span, |kind| quote!(holds_number(#kind, #number)), &message);
                checks.assert(
                    *span,
                    |_| quote!(is_between(#number, #minimum, #maximum)),
                    "the default is not between `minimum` and `maximum`",
                );
            }
            Default::Flag(_) => {
                let message = format!("the default is a boolean, but `{name}` is not");
                checks.assert(*span, |kind| quote!(is_boolean(#kind)), &message);
            }
            Default::Words(words) => {
                let [minimum, maximum] = options(&self.items);
                let count = words.len() as u64;
                let message = format!(
                    "a default is not a value of `{name}`: use names of its enum on the wire"
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

/// The collected assertions about one field.
struct Checks {
    /// The name of the type in error messages.
    name: String,
    kind: TokenStream,
    /// The path of the module with the rules.
    rules: TokenStream,
    asserts: Vec<TokenStream>,
}

impl Checks {
    /// Adds an assertion of a rule about the kind of the field. An error points at `span`.
    fn assert(&mut self, span: Span, rule: impl Fn(&TokenStream) -> TokenStream, message: &str) {
        let (rules, call) = (&self.rules, rule(&self.kind));
        self.asserts
            .push(quote_spanned!(span=> ::core::assert!(#rules::#call, #message);));
    }

    fn assert_ordered(&mut self, limits: &[Option<Limit>; 2], reason: &str) {
        if let [Some((least, _, minimum)), Some((most, span, maximum))] = limits {
            let message = format!("`{least}` is larger than `{most}`: {reason}");
            let rule = |_: &TokenStream| quote!(are_ordered(Some(#minimum), Some(#maximum)));
            self.assert(*span, rule, &message);
        }
    }
}

/// Returns the limits as expressions of type `Option`.
fn options(limits: &[Option<Limit>; 2]) -> [TokenStream; 2] {
    limits.each_ref().map(|limit| match limit {
        Some((_, _, value)) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    })
}

/// Returns the variant of a format. Only the formats of the specification are accepted, because clients reject others.
fn string_format(format: &LitStr, private: &TokenStream) -> Result<TokenStream> {
    const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];
    let variant = match format.value().as_str() {
        "email" => quote!(Email),
        "uri" => quote!(Uri),
        "date" => quote!(Date),
        "date-time" => quote!(DateTime),
        _ => {
            let message = format!("a form supports only the formats {}", quoted(&FORMATS));
            return Err(Error::new_spanned(format, message));
        }
    };
    Ok(quote!(#private::StringFormat::#variant))
}

/// Returns a number as the `f64` that the schema stores.
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
            "the numbers of a form are `f64`, which cannot represent {value}; the nearest is {float}"
        );
        return Err(Error::new_spanned(number, message));
    }
    let float = LitFloat::new(&format!("{value}.0"), number.span());
    Ok(quote!(#float))
}
