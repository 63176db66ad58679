//! Examples of plain calls: `structured_output`, `constraints`, `raw_gateway`, `logging`, `custom_method`,
//! `guarded_logbook`, `telemetry`.

use serde_json::{Value, json};

use crate::client::{BOTH, Client, Revision, text};

#[tokio::test]
async fn structured_output_comes_with_schema_and_text() {
    for revision in BOTH {
        let mut client = Client::start("structured_output", revision).await;
        let list = client.ask("tools/list", json!({})).await;
        let schema = &list["tools"][0]["outputSchema"]["properties"];
        assert_eq!(schema["city"]["description"], "The city of the forecast.");

        let result = client.call("forecast", json!({"city": "Bern"})).await;
        let expected = json!({
            "city": "Bern",
            "days": [{"highest": 18, "sky": "clear"}, {"highest": 19, "sky": "cloudy"}],
        });
        assert_eq!(result["structuredContent"], expected);
        assert_eq!(
            serde_json::from_str::<Value>(text(&result)).unwrap(),
            expected
        );

        let result = client.call("summary", json!({"city": "Oslo"})).await;
        assert_eq!(text(&result), "Oslo will have 18 degrees.");
        assert_eq!(result["structuredContent"]["city"], "Oslo");

        let call = json!({"name": "heat_wave", "arguments": {}});
        let error = client.expect_error("tools/call", call).await;
        assert_eq!(error["code"], -32603);
        assert!(
            error["message"].as_str().unwrap().contains("highest"),
            "{error}"
        );
        client.end().await;
    }
}

#[tokio::test]
async fn list_is_structured_if_the_revision_permits_it() {
    for (revision, structured) in [
        (Revision::Newest, json!(["Bern", "Oslo"])),
        (Revision::Legacy, Value::Null),
    ] {
        let mut client = Client::start("structured_output", revision).await;
        let result = client.call("cities", json!({})).await;
        assert_eq!(text(&result), r#"["Bern","Oslo"]"#);
        assert_eq!(result["structuredContent"], structured);
        client.end().await;
    }
}

#[tokio::test]
async fn constraints_are_enforced_and_name_the_argument() {
    for revision in BOTH {
        let mut client = Client::start("constraints", revision).await;
        let booked = client
            .call_text("book", json!({"name": "Ada", "day": "2026-12-24"}))
            .await;
        assert_eq!(
            booked,
            "Ada: 2 seats on 2026-12-24, guests: [], request: none"
        );
        let all = json!({
            "name": "Ada", "day": "2026-12-24", "seats": 3, "specialRequest": "window",
            "guests": [{"name": "Grace", "age": 85}, {"name": "Alan"}],
        });
        assert_eq!(
            client.call_text("book", all).await,
            "Ada: 3 seats on 2026-12-24, guests: [Grace (85), Alan], request: window"
        );
        for (change, path) in [
            (json!({"name": "A"}), "arguments.name"),
            (json!({"name": "4da"}), "arguments.name"),
            (json!({"seats": 9}), "arguments.seats"),
            (json!({"seats": "two"}), "arguments.seats"),
            (
                json!({"guests": [{"name": "Grace"}, {"name": ""}]}),
                "arguments.guests[1].name",
            ),
            (
                json!({"guests": [{"name": "Grace", "age": 131}]}),
                "arguments.guests[0].age",
            ),
            (json!({"day": null}), "arguments.day"),
            (json!({"colour": "red"}), "colour"),
        ] {
            let mut arguments = json!({"name": "Ada", "day": "2026-12-24"});
            for (name, value) in change.as_object().unwrap() {
                arguments[name] = value.clone();
            }
            let result = client.call("book", arguments).await;
            assert_eq!(result["isError"], true, "{change}: {result}");
            assert!(text(&result).contains(path), "{change}: {result}");
        }
        client.end().await;
    }
}

#[tokio::test]
async fn gateway_passes_json_unchanged() {
    for revision in BOTH {
        let mut client = Client::start("raw_gateway", revision).await;
        let list = client.ask("tools/list", json!({})).await;
        assert_eq!(
            list["tools"][0]["inputSchema"]["$defs"]["account"]["type"],
            "string"
        );

        // A number with more digits than an `f64` has, and members that are not sorted.
        let arguments = r#"{"z":1.10,"amount":12345678901234567890.123456789,"account":"CH1"}"#;
        let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
        let params = match revision {
            Revision::Newest => {
                format!(r#"{{"name":"payments.add","arguments":{arguments},"_meta":{meta}}}"#)
            }
            Revision::Legacy => format!(r#"{{"name":"payments.add","arguments":{arguments}}}"#),
        };
        let call =
            format!(r#"{{"jsonrpc":"2.0","id":"raw","method":"tools/call","params":{params}}}"#);
        client.send_line(&format!("{call}\n")).await;
        let response = client.receive().await;
        assert_eq!(text(&response["result"]), "payments.add responded");
        let unchanged = format!(r#""structuredContent":{{"got":{arguments}}}"#);
        assert!(
            client.last_line.contains(&unchanged),
            "{}",
            client.last_line
        );
        client.end().await;
    }
}

#[tokio::test]
async fn gateway_checks_arguments_only_without_a_service_check() {
    for revision in BOTH {
        let mut client = Client::start("raw_gateway", revision).await;
        let wrong = json!({"amount": -1, "account": "CH1"});
        let result = client.call("payments.add", wrong).await;
        assert_eq!(result["isError"], true);
        assert!(text(&result).contains("arguments.amount"), "{result}");

        let unchecked = client.call("payments.search", json!({"query": 7})).await;
        assert_eq!(unchecked["structuredContent"], json!({"got": {"query": 7}}));
        client.end().await;
    }
}

/// Calls `deploy` and returns its log messages as (level, logger, data).
async fn logged(client: &mut Client, meta: Value) -> Vec<(String, Value, Value)> {
    let call = json!({"name": "deploy", "arguments": {"service": "mail"}, "_meta": meta});
    let result = client.ask("tools/call", call).await;
    assert_eq!(text(&result), "mail is deployed");
    let messages = client.take_notifications("notifications/message");
    let summary = |message: Value| {
        let level = message["level"].as_str().unwrap().to_owned();
        (level, message["logger"].clone(), message["data"].clone())
    };
    messages.into_iter().map(summary).collect()
}

#[tokio::test]
async fn log_messages_follow_the_level_of_the_client() {
    let all = [
        (
            "debug".to_owned(),
            Value::Null,
            json!("looking for the service"),
        ),
        ("info".to_owned(), Value::Null, json!("deploying mail")),
        (
            "warning".to_owned(),
            json!("quota"),
            json!({"service": "mail", "used": 0.93}),
        ),
    ];

    let mut newest = Client::start("logging", Revision::Newest).await;
    let meta = |level: &str| json!({"io.modelcontextprotocol/logLevel": level});
    assert!(logged(&mut newest, json!({})).await.is_empty());
    assert_eq!(logged(&mut newest, meta("debug")).await, all);
    assert_eq!(logged(&mut newest, meta("notice")).await, all[2..]);
    newest.end().await;

    let mut legacy = Client::start("logging", Revision::Legacy).await;
    assert_eq!(logged(&mut legacy, json!({})).await, all[1..]);
    legacy
        .ask("logging/setLevel", json!({"level": "debug"}))
        .await;
    assert_eq!(logged(&mut legacy, json!({})).await, all);
    legacy
        .ask("logging/setLevel", json!({"level": "error"}))
        .await;
    assert!(logged(&mut legacy, json!({})).await.is_empty());
    legacy.end().await;
}

#[tokio::test]
async fn extension_is_declared_and_served() {
    for revision in BOTH {
        let mut client = Client::start("custom_method", revision).await;
        if revision == Revision::Newest {
            let discovered = client.ask("server/discover", json!({})).await;
            let settings = &discovered["capabilities"]["extensions"]["com.example/spelling"];
            assert_eq!(*settings, json!({"languages": ["en", "de"]}));
        }
        let method = "com.example/spelling/check";
        let verdict = client.ask(method, json!({"word": "the"})).await;
        assert_eq!(verdict["correct"], true);
        let verdict = client
            .ask(method, json!({"word": "teh", "language": "de"}))
            .await;
        assert_eq!(verdict["correct"], false);
        for wrong in [json!({}), json!({"word": "le", "language": "fr"})] {
            let error = client.expect_error(method, wrong).await;
            assert_eq!(error["code"], -32602, "{error}");
        }
        let error = client.expect_error("com.example/other", json!({})).await;
        assert_eq!(error["code"], -32601, "{error}");
        client.end().await;
    }
}

#[tokio::test]
async fn middleware_limits_calls_and_adds_to_results() {
    for revision in BOTH {
        let mut client = Client::start("guarded_logbook", revision).await;
        for number in ["1", "2"] {
            let written = client.call("write_line", json!({"line": "a"})).await;
            assert_eq!(written["content"][0]["text"], number);
            assert_eq!(written["content"][1]["text"], "took 0 s");
        }
        let params = json!({"name": "write_line", "arguments": {"line": "b"}});
        let limited = client.expect_error("tools/call", params).await;
        assert_eq!(limited["data"]["reason"], "rate_limited", "{limited}");
        let read = client.call("read_line", json!({"number": 2})).await;
        assert_eq!(read["content"][0]["text"], "a");
        let params = json!({"name": "delete_lines"});
        let denied = client.expect_error("tools/call", params).await;
        assert_eq!(denied["message"], "unknown tool `delete_lines`");
    }
}

#[tokio::test]
async fn telemetry_continues_the_trace_of_the_client() {
    let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    for revision in BOTH {
        let mut client = Client::start("telemetry", revision).await;
        let sent = format!("00-{trace}-{parent}-01");
        let params = json!({"name": "trace", "arguments": {}, "_meta": {"traceparent": sent}});
        let result = client.ask("tools/call", params).await;
        let seen = text(&result);
        assert!(seen.contains(trace) && !seen.contains(parent), "{seen}");
        client.end().await;
    }
}
