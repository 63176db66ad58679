//! The constraints of `#[arg(…)]`: which JSON Schema keyword each one writes and which types it makes sense for.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprUnary, Lit, Result, UnOp};

use crate::kinds::Kind;
use crate::parameters::Argument;

struct Constraint {
    key: &'static str,
    keyword: &'static str,
    value: Written,
    /// What it constrains, for the message.
    subject: &'static str,
    applies_to: &'static [Kind],
}

/// The literals a constraint accepts; any other expression is left to the compiler.
#[derive(Clone, Copy)]
enum Written {
    Number,
    Count,
    Text,
}

const NUMBERS: &[Kind] = &[Kind::Integer, Kind::Number];

const fn number(key: &'static str, keyword: &'static str) -> Constraint {
    Constraint {
        key,
        keyword,
        value: Written::Number,
        subject: "numbers",
        applies_to: NUMBERS,
    }
}

const fn string(key: &'static str, keyword: &'static str, value: Written) -> Constraint {
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
        value: Written::Count,
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
    string("min_length", "minLength", Written::Count),
    string("max_length", "maxLength", Written::Count),
    string("pattern", "pattern", Written::Text),
    string("format", "format", Written::Text),
    list("min_items", "minItems"),
    list("max_items", "maxItems"),
];

/// Takes the constraints from `argument` and returns its schema extensions, `"keyword" = value` each.
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

fn check_literal(value: &Expr, written: Written) -> Result<()> {
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
    let (fits, expected) = match written {
        Written::Number => (matches!(literal, Lit::Int(_) | Lit::Float(_)), "a number"),
        Written::Count => (matches!(literal, Lit::Int(_)) && !negative, "a count"),
        Written::Text => (matches!(literal, Lit::Str(_)), "a string literal"),
    };
    if fits {
        Ok(())
    } else {
        Err(Error::new_spanned(value, format!("expected {expected}")))
    }
}
