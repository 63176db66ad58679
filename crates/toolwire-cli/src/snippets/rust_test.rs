//! The request as a test in Rust.

use indexmap::IndexMap;
use serde_json::Value;
use toolwire::RawJson;

use crate::snippets::hidden_characters::has_hidden;
use crate::snippets::json_text::{compact, pretty, quoted};
use crate::snippets::{Address, Exchange, ExchangeKind, SnippetServer, literals};

/// Returns a test that sends the request and checks that it succeeds.
pub(super) fn test(exchange: &Exchange, server: &SnippetServer) -> String {
    let (import, connect) = match &server.address {
        Address::Url(url) => (
            "Client",
            format!("Client::connect({}).await?", literals::rust(url)),
        ),
        Address::Command { program, arguments } => {
            let arguments: Vec<_> = arguments.iter().map(|word| literals::rust(word)).collect();
            let (program, arguments) = (literals::rust(program), arguments.join(", "));
            let command = format!("ServerCommand::new({program}).args([{arguments}])");
            (
                "{Client, ServerCommand}",
                format!("Client::spawn({command}).await?"),
            )
        }
    };
    let name = literals::rust(&exchange.name);
    let (values, uses_json) = arguments(&exchange.arguments);
    let (call, check) = match exchange.kind {
        ExchangeKind::Tools => (
            format!("call_tool({name}, {values})"),
            r#"assert_ne!(result.is_error, Some(true), "{result:?}");"#,
        ),
        ExchangeKind::Prompts => (
            format!("get_prompt({name}, {values})"),
            "assert!(!result.messages.is_empty());",
        ),
        ExchangeKind::Resources => (
            format!("read_resource({name})"),
            "assert!(!result.contents.is_empty());",
        ),
    };
    let json_import = if uses_json && exchange.kind != ExchangeKind::Resources {
        "use serde_json::json;\n"
    } else {
        ""
    };
    let test = test_name(exchange);
    format!(
        "{json_import}use toolwire::{import};

#[tokio::test]
async fn {test}() -> Result<(), toolwire::Error> {{
    let client = {connect};
    let result = client.{call}.await?;
    {check}
    client.close().await;
    Ok(())
}}"
    )
}

/// Returns an expression with the arguments, and `true` if it uses the macro `json!`.
fn arguments(values: &RawJson) -> (String, bool) {
    if is_plain(values) {
        let text = pretty(values).replace('\n', "\n        ");
        return (format!("json!({text})"), true);
    }
    let text = literals::rust(&compact(values));
    let parse = "serde_json::from_str::<serde_json::Value>";
    (format!("{parse}({text}).expect(\"valid JSON\")"), false)
}

/// Returns `true` if `json!` reads the JSON. It has other escape sequences, and its integers have 32 bits.
fn is_plain(json: &RawJson) -> bool {
    fn is_plain_text(text: &str) -> bool {
        let quoted = quoted(text);
        let shared = ["\\\\", "\\\"", "\\n", "\\r", "\\t"];
        let others = shared
            .iter()
            .fold(quoted, |text, one| text.replace(one, ""));
        !others.contains('\\') && !has_hidden(text)
    }

    fn is_plain_number(text: &str) -> bool {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        [whole, fraction].iter().all(|part| {
            (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        })
    }

    match json.to_value() {
        Ok(Value::String(text)) => is_plain_text(&text),
        Ok(Value::Number(_)) => is_plain_number(json.get().trim()),
        Ok(Value::Array(_)) => {
            let items = json.parse::<Vec<RawJson>>();
            items.is_ok_and(|items| items.iter().all(is_plain))
        }
        Ok(Value::Object(_)) => {
            let members = json.parse::<IndexMap<String, RawJson>>();
            members.is_ok_and(|members| {
                members
                    .iter()
                    .all(|(name, member)| is_plain_text(name) && is_plain(member))
            })
        }
        Ok(Value::Bool(_) | Value::Null) => true,
        Err(_) => false,
    }
}

/// Returns the name of the test, which is an identifier of Rust.
fn test_name(exchange: &Exchange) -> String {
    let name = exchange.name.to_lowercase();
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let words: Vec<_> = name
        .split(|c| !is_part(c))
        .filter(|word| !word.is_empty())
        .collect();
    let words = words.join("_");
    if words.starts_with(|c: char| c.is_ascii_lowercase()) {
        return format!("{words}_succeeds");
    }
    let action = match exchange.kind {
        ExchangeKind::Tools => "call",
        ExchangeKind::Prompts => "prompt",
        ExchangeKind::Resources => "read",
    };
    let parts = [action, &words, "succeeds"];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::snippets::samples::{
        HOSTILE, assert_visible, call, escaped, of_command, plain, resource,
    };

    #[test]
    fn tests_are_those_that_are_compiled() {
        let copied = include_str!("../../tests/it/inspect/copied_tests.rs");
        let start = copied.find("mod plain {").expect("the first test");
        let server = of_command(&["../../page/tests/hostile_server.mjs", HOSTILE]);
        let modules = [("plain", plain()), ("escaped", escaped())];
        let modules =
            modules.map(|(name, one)| format!("mod {name} {{\n{}\n}}\n", test(&one, &server)));
        let expected = modules.join("\n");
        assert_visible(&expected);
        assert_eq!(
            &copied[start..],
            expected,
            "the file differs from\n{expected}"
        );
    }

    #[test]
    fn name_of_a_test_is_an_identifier() {
        for (name, expected) in [
            ("add", "add_succeeds"),
            ("2fa-login", "call_2fa_login_succeeds"),
            ("日本", "call_succeeds"),
            ("-x", "x_succeeds"),
            ("__a__", "a_succeeds"),
            ("fn", "fn_succeeds"),
        ] {
            assert_eq!(test_name(&call(name, json!({}))), expected, "{name}");
        }
        assert_eq!(test_name(&resource("1:/")), "read_1_succeeds");
    }
}
