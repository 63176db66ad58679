//! The metadata of a handler: `meta(…)`, `cache(…)` and `last_modified`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Expr, ExprLit, ExprUnary, Lit, LitStr, Result};

use crate::attributes::{Entries, text};

const META_FORM: &str = "\"com.example/name\" = value";
const CACHE_FORM: &str = "ttl_ms = 60_000, scope = \"public\"";

/// Returns the `.with_meta(…)` call for `meta("com.example/name" = value, …)`.
pub(crate) fn take_meta(
    entries: &mut Entries,
    private: &TokenStream,
) -> Result<Option<TokenStream>> {
    let Some(given) = entries.take_pairs("meta", META_FORM)? else {
        return Ok(None);
    };
    let mut keys: Vec<String> = Vec::new();
    let mut calls = Vec::new();
    for (key, value) in &given.pairs {
        let key = text(key)?;
        if keys.contains(&key.value()) {
            let message = format!("the `_meta` key {:?} is given twice", key.value());
            return Err(Error::new_spanned(key, message));
        }
        keys.push(key.value());
        calls.push(quote!(.with(#key, #private::json_value(#value))));
    }
    Ok(Some(quote!(.with_meta(#private::Meta::new() #(#calls)*))))
}

/// Returns the `.with_cache(…)` call for `cache(ttl_ms = 60_000, scope = "public")`. Default scope: private.
pub(crate) fn take_cache(
    entries: &mut Entries,
    private: &TokenStream,
) -> Result<Option<TokenStream>> {
    let Some(given) = entries.take_pairs("cache", CACHE_FORM)? else {
        return Ok(None);
    };
    let (mut ttl, mut scope) = (None, None);
    for (key, value) in given.pairs {
        match name_of(&key).as_deref() {
            Some("ttl_ms") if ttl.is_none() => ttl = Some(milliseconds(value)?),
            Some("scope") if scope.is_none() => scope = Some(scope_of(&text(&value)?)?),
            Some("ttl_ms" | "scope") => {
                return Err(Error::new_spanned(key, "this key is given twice"));
            }
            _ => {
                let message = "`cache` has the keys `ttl_ms` and `scope`";
                return Err(Error::new_spanned(key, message));
            }
        }
    }
    let Some(ttl) = ttl else {
        let message = format!("`ttl_ms` is missing: write `cache({CACHE_FORM})`");
        return Err(Error::new(given.span, message));
    };
    let scope = scope.unwrap_or_else(|| quote!(private));
    Ok(Some(quote! {
        .with_cache(#private::CacheHint::#scope(::core::time::Duration::from_millis(#ttl)))
    }))
}

/// Takes `last_modified = "2026-07-28T12:00:00Z"`.
pub(crate) fn take_last_modified(entries: &mut Entries) -> Result<Option<LitStr>> {
    let Some(time) = entries.take_text("last_modified")? else {
        return Ok(None);
    };
    if is_date_time(&time.value()) {
        return Ok(Some(time));
    }
    let message =
        "expected a date and time of ISO 8601 with a time zone, such as `YYYY-MM-DDThh:mm:ssZ`";
    Err(Error::new_spanned(time, message))
}

/// Returns the name that an expression consists of.
fn name_of(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}

/// Checks a number of milliseconds, if it is a literal. Other expressions are checked by their type.
fn milliseconds(value: Expr) -> Result<Expr> {
    let is_valid = match &value {
        Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) => number.base10_parse::<u64>().is_ok(),
        Expr::Lit(_) | Expr::Unary(ExprUnary { .. }) => false,
        _ => true,
    };
    if is_valid {
        return Ok(value);
    }
    let message = "expected a number of milliseconds, such as `60_000`";
    Err(Error::new_spanned(value, message))
}

/// Returns the name of the constructor of the hint.
fn scope_of(scope: &LitStr) -> Result<TokenStream> {
    match scope.value().as_str() {
        "public" => Ok(quote!(public)),
        "private" => Ok(quote!(private)),
        _ => Err(Error::new_spanned(
            scope,
            "the scope is `\"public\"` (clients share the contents) or `\"private\"`",
        )),
    }
}

/// Returns `true` if the text is a date and time with a time zone, in the format of RFC 3339.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once('T') else {
        return false;
    };
    let zone = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (time, zone) = time.split_at(zone);
    let (time, fraction) = match time.split_once('.') {
        Some((time, fraction)) => (time, Some(fraction)),
        None => (time, None),
    };
    let is_fraction =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_date(date)
        && numbers(time, ':', &[2, 2, 2]).is_some_and(|time| is_time(&time, 60))
        && fraction.is_none_or(is_fraction)
        && match zone.strip_prefix(['+', '-']) {
            Some(offset) => numbers(offset, ':', &[2, 2]).is_some_and(|time| is_time(&time, 0)),
            None => zone == "Z",
        }
}

fn is_date(text: &str) -> bool {
    let Some(date) = numbers(text, '-', &[4, 2, 2]) else {
        return false;
    };
    let [year, month, day] = date[..] else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Checks hours, minutes and optional seconds.
fn is_time(time: &[u32], max_seconds: u32) -> bool {
    let [hours, minutes, rest @ ..] = time else {
        return false;
    };
    *hours < 24 && *minutes < 60 && rest.iter().all(|seconds| *seconds <= max_seconds)
}

/// Splits a text into numbers with these numbers of digits.
fn numbers(text: &str, separator: char, digits: &[usize]) -> Option<Vec<u32>> {
    let parts: Vec<&str> = text.split(separator).collect();
    let lengths = parts.iter().map(|part| part.len());
    if !lengths.eq(digits.iter().copied()) {
        return None;
    }
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = parts.iter().filter(|part| is_number(part));
    let numbers: Vec<u32> = numbers.filter_map(|part| part.parse().ok()).collect();
    (numbers.len() == digits.len()).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_date_and_a_zone() {
        #[track_caller]
        fn check(text: &str, expected: bool) {
            assert_eq!(is_date_time(text), expected, "{text}");
        }
        check("2026-07-28T12:00:00Z", true);
        check("2026-07-28T12:00:00.25Z", true);
        check("2026-07-28T12:00:00+02:00", true);
        check("2026-07-28T12:00:60-11:30", true);
        check("2024-02-29T00:00:00Z", true);
        check("2025-02-29T00:00:00Z", false);
        check("2026-13-01T00:00:00Z", false);
        check("2026-04-31T00:00:00Z", false);
        check("2026-07-28T24:00:00Z", false);
        check("2026-07-28T12:60:00Z", false);
        check("2026-07-28T12:00:00", false);
        check("2026-07-28T12:00:00.Z", false);
        check("2026-07-28T12:00:00+02", false);
        check("2026-07-28T12:00:00Zulu", false);
        check("2026-07-28 12:00:00Z", false);
        check("2026-07-28", false);
        check("26-07-28T12:00:00Z", false);
        check("2026-07-28T+1:00:00Z", false);
        check("yesterday", false);
        check("", false);
    }
}
