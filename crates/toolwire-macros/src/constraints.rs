//! The constraints of `#[arg(…)]`: the JSON Schema keyword and the applicable types of each.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprUnary, Lit, Result, UnOp};

use crate::kinds::Kind;
use crate::parameters::Argument;

struct Constraint {
    key: &'static str,
    keyword: &'static str,
    value: LiteralKind,
    /// The constrained values, for error messages.
    subject: &'static str,
    applies_to: &'static [Kind],
}

/// The literal that a constraint accepts. The compiler checks other expressions.
#[derive(Clone, Copy)]
enum LiteralKind {
    Number,
    Count,
    Text,
}

const NUMBERS: &[Kind] = &[Kind::Integer, Kind::Number];

const fn number(key: &'static str, keyword: &'static str) -> Constraint {
    Constraint {
        key,
        keyword,
        value: LiteralKind::Number,
        subject: "numbers",
        applies_to: NUMBERS,
    }
}

const fn string(key: &'static str, keyword: &'static str, value: LiteralKind) -> Constraint {
    Constraint {
        key,
        keyword,
        value,
        subject: "strings",
        applies_to: &[Kind::Text],
    }
}

const fn list(key: &'static str, keyword: &'static str) -> Constraint {
    Constraint {
        key,
        keyword,
        value: LiteralKind::Count,
        subject: "lists",
        applies_to: &[Kind::List],
    }
}

const CONSTRAINTS: &[Constraint] = &[
    number("minimum", "minimum"),
    number("maximum", "maximum"),
    number("exclusive_minimum", "exclusiveMinimum"),
    number("exclusive_maximum", "exclusiveMaximum"),
    number("multiple_of", "multipleOf"),
    string("min_length", "minLength", LiteralKind::Count),
    string("max_length", "maxLength", LiteralKind::Count),
    string("pattern", "pattern", LiteralKind::Text),
    string("format", "format", LiteralKind::Text),
    list("min_items", "minItems"),
    list("max_items", "maxItems"),
];

/// Takes the constraints from `argument` and returns them as schema extensions of the form `"keyword" = value`.
pub(crate) fn take_extensions(argument: &mut Argument) -> Result<Vec<TokenStream>> {
    let kind = Kind::of(&argument.owned);
    let mut extensions = Vec::new();
    for constraint in CONSTRAINTS {
        let span = argument.entries.span(constraint.key);
        let Some(value) = argument.entries.take_expression(constraint.key)? else {
            continue;
        };
        if kind != Kind::Unknown && !constraint.applies_to.contains(&kind) {
            let message = format!(
                "`{}` constrains {}, but `{}` is {}",
                constraint.key,
                constraint.subject,
                argument.ident,
                kind.noun()
            );
            return Err(Error::new(span.unwrap_or_else(|| value.span()), message));
        }
        check_literal(&value, constraint.value)?;
        let keyword = constraint.keyword;
        extensions.push(quote!(#keyword = #value));
    }
    Ok(extensions)
}

fn check_literal(value: &Expr, literal_kind: LiteralKind) -> Result<()> {
    let (literal, negative) = match value {
        Expr::Lit(literal) => (&literal.lit, false),
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(_),
            expr,
            ..
        }) => match &**expr {
            Expr::Lit(literal) => (&literal.lit, true),
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    let (fits, expected) = match literal_kind {
        LiteralKind::Number => (matches!(literal, Lit::Int(_) | Lit::Float(_)), "a number"),
        LiteralKind::Count => (matches!(literal, Lit::Int(_)) && !negative, "a count"),
        LiteralKind::Text => (matches!(literal, Lit::Str(_)), "a string literal"),
    };
    if fits {
        Ok(())
    } else {
        Err(Error::new_spanned(value, format!("expected {expected}")))
    }
}
