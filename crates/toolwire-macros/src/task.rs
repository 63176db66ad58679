//! `task` and `task(…)`: how the calls of a tool become tasks.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Expr, ExprLit, Lit, Result};

use crate::attributes::{Entries, List, quoted};

const FORM: &str = "required, after = 2, ttl = 7200";
const KEYS: &[&str] = &["required", "after", "on_demand", "ttl", "poll", "resume"];

/// Returns the `.with_task(…)` call for `task` or `task(required, after = 2, ttl = 7200, poll = 5, resume)`.
pub(crate) fn take_task(
    entries: &mut Entries,
    private: &TokenStream,
) -> Result<Option<TokenStream>> {
    let given = entries.take_list("task", FORM)?;
    given
        .map(|given| with_task(&given, private, cfg!(feature = "tasks")))
        .transpose()
}

fn with_task(given: &List, private: &TokenStream, is_enabled: bool) -> Result<TokenStream> {
    if !is_enabled {
        let message = "`task` needs the feature `tasks` of the crate `toolwire`";
        return Err(Error::new(given.span, message));
    }
    let mut seen: Vec<String> = Vec::new();
    let mut calls = Vec::new();
    for item in &given.items {
        let (key, value) = match item {
            Expr::Assign(pair) => (&*pair.left, Some(&*pair.right)),
            other => (other, None),
        };
        let name = name_of(key)?;
        if seen.contains(&name) {
            return Err(Error::new_spanned(key, "this key is given twice"));
        }
        if let Some(other) = excluded_by(&name, &seen) {
            let message = format!("`{name}` and `{other}` exclude each other: remove one");
            return Err(Error::new_spanned(key, message));
        }
        let method = match name.as_str() {
            "ttl" => quote!(with_ttl),
            "poll" => quote!(with_poll_interval),
            _ => quote!(#key),
        };
        let argument = match name.as_str() {
            "after" | "ttl" | "poll" => {
                let value = value.ok_or_else(|| {
                    Error::new_spanned(key, format!("write `{name} = 2`, a number of seconds"))
                })?;
                Some(duration(value)?)
            }
            _ => {
                if value.is_some() {
                    let message = format!("write `{name}` without a value");
                    return Err(Error::new_spanned(item, message));
                }
                None
            }
        };
        calls.push(quote!(.#method(#argument)));
        seen.push(name);
    }
    Ok(quote!(.with_task(#private::TaskOptions::new() #(#calls)*)))
}

/// Returns the name of a key, which is one of [`KEYS`].
fn name_of(key: &Expr) -> Result<String> {
    let name = match key {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        _ => None,
    };
    let Some(name) = name else {
        return Err(Error::new_spanned(key, format!("write `task({FORM})`")));
    };
    if KEYS.contains(&name.as_str()) {
        return Ok(name);
    }
    let message = format!("`task` has no key `{name}`; its keys are: {}", quoted(KEYS));
    Err(Error::new_spanned(key, message))
}

/// Returns the earlier key that excludes a key: a call becomes a task either after a time or on demand.
fn excluded_by(name: &str, earlier: &[String]) -> Option<&'static str> {
    let other = match name {
        "after" => "on_demand",
        "on_demand" => "after",
        _ => return None,
    };
    earlier.iter().any(|name| name == other).then_some(other)
}

/// Returns the expression of a duration, for a literal number of seconds.
fn duration(value: &Expr) -> Result<TokenStream> {
    let duration = match value {
        Expr::Lit(ExprLit {
            lit: Lit::Int(seconds),
            ..
        }) => seconds.base10_parse().ok().map(Duration::from_secs),
        Expr::Lit(ExprLit {
            lit: Lit::Float(seconds),
            ..
        }) => {
            let seconds = seconds.base10_parse().ok();
            seconds.and_then(|seconds: f64| Duration::try_from_secs_f64(seconds).ok())
        }
        _ => None,
    };
    let Some(duration) = duration.filter(|duration| !duration.is_zero()) else {
        let message = "expected a positive number of seconds, such as `2` or `0.5`";
        return Err(Error::new_spanned(value, message));
    };
    let (seconds, nanoseconds) = (duration.as_secs(), duration.subsec_nanos());
    Ok(quote!(::core::time::Duration::new(#seconds, #nanoseconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated(written: &str, is_enabled: bool) -> String {
        let tokens = written.parse().expect("the test input is valid tokens");
        let entries = Entries::parse(tokens, "`#[tool]`", &["task"]);
        let call = entries
            .and_then(|mut entries| entries.take_list("task", FORM))
            .and_then(|given| {
                let given = given.expect("every test input has the key");
                with_task(&given, &quote!(p), is_enabled)
            });
        match call {
            Ok(call) => call.to_string().replace(' ', ""),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn keys_become_options_in_their_order() {
        let check = |written: &str, calls: &str| {
            let expected = format!(".with_task(p::TaskOptions::new(){calls})");
            assert_eq!(generated(written, true), expected, "{written}");
        };
        let duration = "::core::time::Duration::new";
        check("task", "");
        check("task()", "");
        check("task(required, resume)", ".required().resume()");
        check("task(on_demand)", ".on_demand()");
        check("task(after = 2)", &format!(".after({duration}(2u64,0u32))"));
        check(
            "task(after = 0.25)",
            &format!(".after({duration}(0u64,250000000u32))"),
        );
        check(
            "task(ttl = 7_200, poll = 1.5)",
            &format!(
                ".with_ttl({duration}(7200u64,0u32)).with_poll_interval({duration}(1u64,500000000u32))"
            ),
        );
    }

    #[test]
    fn invalid_keys_and_values_are_rejected() {
        let check = |written: &str, expected: &str| {
            assert_eq!(generated(written, true), expected, "{written}");
        };
        check(
            "task = true",
            "write `task` or `task(required, after = 2, ttl = 7200)`",
        );
        check("task(2)", "write `task(required, after = 2, ttl = 7200)`");
        check(
            "task(retry)",
            "`task` has no key `retry`; its keys are: `required`, `after`, `on_demand`, `ttl`, `poll`, `resume`",
        );
        check("task(resume, resume)", "this key is given twice");
        check("task(required = true)", "write `required` without a value");
        check("task(ttl)", "write `ttl = 2`, a number of seconds");
        for value in [
            "0", "0.0", "-1", "-0.5", "\"2 s\"", "1e-12", "1e300", "LIMIT",
        ] {
            check(
                &format!("task(after = {value})"),
                "expected a positive number of seconds, such as `2` or `0.5`",
            );
        }
        check(
            "task(after = 2, on_demand)",
            "`on_demand` and `after` exclude each other: remove one",
        );
        check(
            "task(on_demand, after = 2)",
            "`after` and `on_demand` exclude each other: remove one",
        );
    }

    #[test]
    fn disabled_feature_is_named() {
        assert_eq!(
            generated("task(required)", false),
            "`task` needs the feature `tasks` of the crate `toolwire`"
        );
    }
}
