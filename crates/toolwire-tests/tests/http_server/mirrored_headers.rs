//! Headers that repeat parts of the message must equal them.

use serde_json::{Value, json};
use toolwire_tests::http::fixture::count_call;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{call, modern, result_response};

use crate::table::{Expected, Table};

fn valid_request() -> Request {
    Request::modern(&count_call(1))
}

fn mismatch() -> Expected {
    Expected::error(400, -32020).with_id(1)
}

#[tokio::test]
async fn version_must_be_equal_in_header_and_body() {
    let mut table = Table::new().await;
    const VERSION: &str = "MCP-Protocol-Version";
    table
        .check(
            "no version header",
            valid_request().without(VERSION),
            mismatch(),
        )
        .await;
    for other in ["2025-11-25", "1900-01-01", "2026-07-28x", ""] {
        let row = format!("version header {other:?}");
        let request = valid_request().replacing(VERSION, other);
        table.check(&row, request, mismatch()).await;
    }
    let twice = valid_request().with(VERSION, "2026-07-28");
    table.check("two version headers", twice, mismatch()).await;
    let list = valid_request().replacing(VERSION, "2026-07-28, 2026-07-28");
    table
        .check("version header with a list", list, mismatch())
        .await;

    let mut ancient = count_call(1);
    ancient["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
    table
        .check(
            "other version in the body",
            Request::modern(&ancient),
            mismatch(),
        )
        .await;
    let both = Request::modern(&ancient).replacing(VERSION, "1900-01-01");
    let supported = json!([
        "2026-07-28",
        "2025-11-25",
        "2025-06-18",
        "2025-03-26",
        "2024-11-05"
    ]);
    let response = table.endpoint.request(&both).await;
    let listed = &response.message()["error"]["data"]["supported"];
    let mut listed: Vec<Value> = listed.as_array().expect("a list").clone();
    listed.sort_by_key(|version| std::cmp::Reverse(version.to_string()));
    assert!(
        supported.as_array().expect("a list").starts_with(&listed) && !listed.is_empty(),
        "{listed:?}"
    );
    let expected = Expected::error(400, -32022).with_id(1).with_data(json!({
        "supported": response.message()["error"]["data"]["supported"],
        "requested": "1900-01-01",
    }));
    table.check("unsupported version", both, expected).await;
}

#[tokio::test]
async fn method_must_be_equal_in_header_and_body() {
    let mut table = Table::new().await;
    table
        .check(
            "no method header",
            valid_request().without("Mcp-Method"),
            mismatch(),
        )
        .await;
    for other in ["tools/list", "TOOLS/CALL", "Tools/call", "tools/call/", ""] {
        let request = valid_request().replacing("Mcp-Method", other);
        let row = format!("method header {other:?}");
        table.check(&row, request, mismatch()).await;
    }
    let twice = valid_request().with("Mcp-Method", "tools/call");
    table
        .check("two equal method headers", twice, mismatch())
        .await;
    let other_twice = valid_request().with("mcp-method", "tools/list");
    table
        .check("two different method headers", other_twice, mismatch())
        .await;
    // Header names are case-insensitive.
    let lower = valid_request()
        .without("Mcp-Method")
        .with("mcp-method", "tools/call");
    table
        .check("lower case header name", lower, Expected::counted(1))
        .await;
}

#[tokio::test]
async fn name_must_be_equal_in_header_and_body() {
    let mut table = Table::new().await;
    for message in [
        count_call(1),
        modern(1, "resources/read", json!({"uri": "notes://a"})),
        modern(1, "prompts/get", json!({"name": "greet"})),
    ] {
        let valid_request = Request::modern(&message);
        let method = &message["method"];
        let row = format!("{method} without a name header");
        let unnamed = valid_request.clone().without("Mcp-Name");
        table.check(&row, unnamed, mismatch()).await;
        for other in ["other", "COUNT", "=?base64?!?=", "=?base64?b3RoZXI=?=", ""] {
            let request = valid_request.clone().replacing("Mcp-Name", other);
            let row = format!("{method} with the name header {other:?}");
            table.check(&row, request, mismatch()).await;
        }
    }
    // base64 of `count`
    let encoded = valid_request().replacing("Mcp-Name", "=?base64?Y291bnQ=?=");
    table
        .check("base64 name header", encoded, Expected::counted(1))
        .await;
    let twice = valid_request().with("Mcp-Name", "count");
    table.check("two name headers", twice, mismatch()).await;
}

#[tokio::test]
async fn mirrored_arguments_must_be_equal_in_header_and_body() {
    let mut table = Table::new().await;
    let unknown_header = valid_request().with("Mcp-Param-Foo", "bar");
    table
        .check(
            "header without an argument",
            unknown_header,
            Expected::counted(1),
        )
        .await;

    let with = |arguments: Value, headers: &[(&str, &str)]| {
        let mut request = Request::modern(&call(1, "routed", arguments));
        for (name, value) in headers {
            request = request.with(&format!("Mcp-Param-{name}"), *value);
        }
        request
    };
    for (arguments, headers) in [
        (json!({}), &[][..]),
        (json!({"region": null}), &[]),
        (json!({"region": "eu"}), &[("Region", "eu")]),
        (json!({"region": "eu"}), &[("REGION", "eu")]),
        (json!({"region": "eu"}), &[("Region", "=?base64?ZXU=?=")]),
        (
            json!({"region": "Zürich"}),
            &[("Region", "=?base64?WsO8cmljaA==?=")],
        ),
        (json!({"region": "eu"}), &[("Region", "eu"), ("Other", "x")]),
        (json!({"shard": 42}), &[("Shard", "42")]),
        (json!({"shard": 42}), &[("Shard", "42.0")]),
        (json!({"shard": -0}), &[("Shard", "0")]),
        (json!({"fast": true}), &[("Fast", "true")]),
        (
            json!({"region": "eu", "shard": 7, "fast": false}),
            &[("Region", "eu"), ("Shard", "7"), ("Fast", "false")],
        ),
    ] {
        let row = format!("{arguments} {headers:?}");
        table
            .check(&row, with(arguments, headers), Expected::counted(1))
            .await;
    }
    for (arguments, headers) in [
        (json!({"region": "eu"}), &[][..]),
        (json!({}), &[("Region", "eu")]),
        (json!({"region": null}), &[("Region", "null")]),
        (json!({"region": "eu"}), &[("Region", "us")]),
        (json!({"region": "eu"}), &[("Region", "EU")]),
        (
            json!({"region": "eu"}),
            &[("Region", "eu"), ("Region", "eu")],
        ),
        (json!({"region": "eu"}), &[("Region", "=?base64?dXM=?=")]),
        (json!({"region": "eu"}), &[("Region", "=?base64?%%%?=")]),
        (json!({"region": "eu"}), &[("Region", "")]),
        (json!({"shard": 42}), &[("Shard", "43")]),
        (json!({"shard": 42}), &[("Shard", "42.5")]),
        (json!({"shard": 42}), &[("Shard", "forty-two")]),
        (json!({"shard": 42}), &[("Shard", "")]),
        (json!({"fast": true}), &[("Fast", "false")]),
        (json!({"fast": true}), &[("Fast", "True")]),
    ] {
        let row = format!("{arguments} {headers:?}");
        table
            .check(&row, with(arguments, headers), mismatch())
            .await;
    }
}

#[tokio::test]
async fn headers_are_checked_before_the_method_is_looked_up() {
    let mut table = Table::new().await;
    let unknown = Request::modern(&modern(1, "nothing/here", json!({})));
    let request = unknown.replacing("Mcp-Method", "tools/call");
    table
        .check(
            "unknown method with another method header",
            request,
            mismatch(),
        )
        .await;
    // A response has no method that the header could repeat.
    let response = Request::modern(&result_response(1, json!({}))).with("Mcp-Method", "tools/call");
    table
        .check(
            "response with a method header",
            response,
            Expected::error(400, -32600),
        )
        .await;
}
