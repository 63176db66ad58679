//! `view = …` and `visible_to(…)`: the view of a tool, and its callers.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Result};

use crate::attributes::Entries;

/// Returns the `.with_view(…)` and `.visible_to(…)` calls for `view = expression` and `visible_to("app")`.
pub(crate) fn take_view(entries: &mut Entries) -> Result<TokenStream> {
    calls(entries, cfg!(feature = "apps"))
}

fn calls(entries: &mut Entries, is_enabled: bool) -> Result<TokenStream> {
    if !is_enabled {
        for key in ["view", "visible_to"] {
            if let Some(span) = entries.span(key) {
                let message = format!("`{key}` needs the feature `apps` of the crate `toolwire`");
                return Err(Error::new(span, message));
            }
        }
    }
    let view = entries.take_expression("view")?;
    let view = view.map(|view| quote!(.with_view(#view)));
    let span = entries.span("visible_to");
    let callers = entries.take_texts("visible_to")?;
    for caller in &callers {
        if !matches!(caller.value().as_str(), "model" | "app") {
            let message = "a tool is visible to `\"model\"`, `\"app\"` or both";
            return Err(Error::new_spanned(caller, message));
        }
    }
    let visible_to = match span {
        Some(span) if callers.is_empty() => {
            return Err(Error::new(span, "write `visible_to(\"app\")`"));
        }
        Some(_) => Some(quote!(.visible_to([#(#callers),*]))),
        None => None,
    };
    Ok(quote!(#view #visible_to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated(written: &str, is_enabled: bool) -> String {
        let tokens = written.parse().expect("the test input is valid tokens");
        let entries = Entries::parse(tokens, "`#[tool]`", &["view", "visible_to"]);
        let calls = entries.and_then(|mut entries| calls(&mut entries, is_enabled));
        match calls {
            Ok(calls) => calls.to_string().replace(' ', ""),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn keys_become_calls() {
        let check = |written: &str, expected: &str| {
            assert_eq!(generated(written, true), expected, "{written}");
        };
        check("", "");
        check("view = clock()", ".with_view(clock())");
        check("view = \"ui://clock\"", ".with_view(\"ui://clock\")");
        check("visible_to(\"app\")", ".visible_to([\"app\"])");
        check("visible_to = \"app\"", ".visible_to([\"app\"])");
        check(
            "visible_to(\"model\", \"app\"), view = CLOCK",
            ".with_view(CLOCK).visible_to([\"model\",\"app\"])",
        );
    }

    #[test]
    fn invalid_values_are_rejected() {
        let check = |written: &str, expected: &str| {
            assert_eq!(generated(written, true), expected, "{written}");
        };
        check("view", "write `view = value`");
        check("visible_to()", "write `visible_to(\"app\")`");
        check("visible_to", "write `visible_to = \"text\"`");
        check("visible_to(app)", "expected a string literal");
        check(
            "visible_to(\"user\")",
            "a tool is visible to `\"model\"`, `\"app\"` or both",
        );
    }

    #[test]
    fn disabled_feature_is_named() {
        for key in ["view", "visible_to"] {
            let expected = format!("`{key}` needs the feature `apps` of the crate `toolwire`");
            assert_eq!(generated(&format!("{key} = \"app\""), false), expected);
        }
        assert_eq!(generated("", false), "");
    }
}
