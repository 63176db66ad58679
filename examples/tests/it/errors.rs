//! `errors`: all kinds of errors.

use serde_json::{Value, json};

use crate::client::{BOTH, Client, text};

#[tokio::test]
async fn tool_errors_are_results() {
    for revision in BOTH {
        let mut client = Client::start("errors", revision).await;
        for (tool, arguments, expected) in [
            ("sentence", json!({}), "the printer is out of paper"),
            (
                "print",
                json!({"tray": "one"}),
                "invalid digit found in string",
            ),
            (
                "print",
                json!({"tray": "1"}),
                "the driver failed: cable unplugged",
            ),
            ("print", json!({"tray": "9"}), "there is no tray 9"),
            ("jam", json!({}), "paper jam"),
        ] {
            let result = client.call(tool, arguments).await;
            assert_eq!(result["isError"], true, "{tool}: {result}");
            assert_eq!(text(&result), expected);
        }
        assert_eq!(
            client.call_text("print", json!({"tray": "2"})).await,
            "printed"
        );
        let jam = client.call("jam", json!({})).await;
        assert_eq!(jam["content"][1]["uri"], "printer://manual/jams");
        client.end().await;
    }
}

#[tokio::test]
async fn protocol_errors_are_json_rpc_errors() {
    for revision in BOTH {
        let mut client = Client::start("errors", revision).await;
        let call = |name: &str| json!({"name": name, "arguments": {}});
        let error = client.expect_error("tools/call", call("forbidden")).await;
        let expected = json!({
            "code": 4001, "message": "this printer is reserved", "data": {"until": "noon"},
        });
        assert_eq!(error, expected);

        let advice = |arguments: Value| json!({"name": "advice", "arguments": arguments});
        for (arguments, code) in [
            (json!({"tray": "1"}), -32603),
            (json!({"tray": "x"}), -32602),
            (json!({}), -32602),
        ] {
            let error = client.expect_error("prompts/get", advice(arguments)).await;
            assert_eq!(error["code"], code, "{error}");
        }
        client.end().await;
    }
}

#[tokio::test]
async fn panic_ends_one_request_and_hides_its_message() {
    for revision in BOTH {
        let mut client = Client::start("errors", revision).await;
        let call = json!({"name": "bug", "arguments": {}});
        let error = client.expect_error("tools/call", call).await;
        assert_eq!(error["code"], -32603);
        assert!(!error.to_string().contains("42"), "{error}");
        assert_eq!(
            client.call_text("print", json!({"tray": "2"})).await,
            "printed"
        );
        client.end().await;
    }
}
