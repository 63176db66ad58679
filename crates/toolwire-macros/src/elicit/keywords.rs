//! The keys of `#[elicit(…)]` on a field, as members of the field's schema.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, Expr, ExprUnary, Lit, LitFloat, LitStr, Result, UnOp};

use crate::attributes::{Entries, quoted};
use crate::elicit::fields::Asked;

/// A member of a schema and its value.
pub(super) struct Keyword {
    member: Ident,
    value: TokenStream,
}

impl Keyword {
    fn new(member: &str, value: TokenStream) -> Self {
        Self {
            member: format_ident!("{member}"),
            value,
        }
    }

    /// Whether every kind of schema has it.
    pub(super) fn is_label(&self) -> bool {
        self.member == "title" || self.member == "description"
    }

    /// The statement that sets the member of `__schema`.
    pub(super) fn assignment(&self) -> TokenStream {
        let Self { member, value } = self;
        quote!(__schema.#member = ::core::option::Option::Some(#value);)
    }
}

/// Takes what `asked` knows; `description` is the doc comment.
pub(super) fn take(
    entries: &mut Entries,
    asked: Asked,
    description: Option<String>,
    private: &TokenStream,
) -> Result<Vec<Keyword>> {
    let mut keywords = Vec::new();
    if let Some(title) = entries.take_text("title")? {
        keywords.push(Keyword::new("title", owned(&title)));
    }
    let description = entries
        .take_text("description")?
        .map(|text| text.value())
        .or(description);
    if let Some(text) = description {
        keywords.push(Keyword::new(
            "description",
            quote!(::std::string::String::from(#text)),
        ));
    }
    match asked {
        Asked::Text => {
            if let Some(format) = entries.take_text("format")? {
                keywords.push(Keyword::new("format", string_format(&format, private)?));
            }
            take_counts(entries, ["min_length", "max_length"], &mut keywords)?;
            take_word(entries, &mut keywords)?;
        }
        Asked::Integer { .. } | Asked::Number => {
            if matches!(asked, Asked::Integer { unsigned: true })
                && entries.span("minimum").is_none()
            {
                keywords.push(Keyword::new("minimum", quote!(0.0)));
            }
            for key in ["minimum", "maximum", "default"] {
                if let Some(value) = entries.take_expression(key)? {
                    keywords.push(Keyword::new(key, float(&value)?));
                }
            }
        }
        Asked::Boolean => {
            if let Some(value) = entries.take_flag("default")? {
                keywords.push(Keyword::new("default", quote!(#value)));
            }
        }
        Asked::Choice => take_word(entries, &mut keywords)?,
        Asked::Several => {
            take_counts(entries, ["min_items", "max_items"], &mut keywords)?;
            if entries.span("default").is_some() {
                let words = entries.take_texts("default")?;
                let words = words.iter().map(owned);
                keywords.push(Keyword::new("default", quote!(::std::vec![#(#words),*])));
            }
        }
    }
    Ok(keywords)
}

fn take_counts(entries: &mut Entries, keys: [&str; 2], keywords: &mut Vec<Keyword>) -> Result<()> {
    for key in keys {
        if let Some(value) = entries.take_expression(key)? {
            keywords.push(Keyword::new(key, quote!(#value)));
        }
    }
    Ok(())
}

fn take_word(entries: &mut Entries, keywords: &mut Vec<Keyword>) -> Result<()> {
    if let Some(text) = entries.take_text("default")? {
        keywords.push(Keyword::new("default", owned(&text)));
    }
    Ok(())
}

fn owned(text: &LitStr) -> TokenStream {
    quote!(::std::string::String::from(#text))
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
            Lit::Int(number) => {
                let float = LitFloat::new(&format!("{}.0", number.base10_digits()), number.span());
                Ok(quote!(#float))
            }
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
