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
        .check("H10", valid_request().without(VERSION), mismatch())
        .await;
    for other in ["2025-11-25", "1900-01-01", "2026-07-28x", ""] {
        table
            .check("H11", valid_request().replacing(VERSION, other), mismatch())
            .await;
    }
    let twice = valid_request().with(VERSION, "2026-07-28");
    table.check("X11 twice", twice, mismatch()).await;
    let list = valid_request().replacing(VERSION, "2026-07-28, 2026-07-28");
    table.check("X11 list", list, mismatch()).await;

    let mut ancient = count_call(1);
    ancient["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
    table
        .check("H11 body", Request::modern(&ancient), mismatch())
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
    table.check("H12", both, expected).await;
}

#[tokio::test]
async fn method_must_be_equal_in_header_and_body() {
    let mut table = Table::new().await;
    table
        .check("H13", valid_request().without("Mcp-Method"), mismatch())
        .await;
    for other in ["tools/list", "TOOLS/CALL", "Tools/call", "tools/call/", ""] {
        let request = valid_request().replacing("Mcp-Method", other);
        table.check("H13", request, mismatch()).await;
    }
    let twice = valid_request().with("Mcp-Method", "tools/call");
    table.check("X11 twice", twice, mismatch()).await;
    let other_twice = valid_request().with("mcp-method", "tools/list");
    table
        .check("X11 two methods", other_twice, mismatch())
        .await;
    // Header names are case-insensitive.
    let lower = valid_request()
        .without("Mcp-Method")
        .with("mcp-method", "tools/call");
    table.check("lower case", lower, Expected::counted(1)).await;
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
        table
            .check(
                "H15 absent",
                valid_request.clone().without("Mcp-Name"),
                mismatch(),
            )
            .await;
        for other in ["other", "COUNT", "=?base64?!?=", "=?base64?b3RoZXI=?=", ""] {
            let request = valid_request.clone().replacing("Mcp-Name", other);
            table.check("H15 different", request, mismatch()).await;
        }
    }
    // base64 of `count`
    let encoded = valid_request().replacing("Mcp-Name", "=?base64?Y291bnQ=?=");
    table.check("H16", encoded, Expected::counted(1)).await;
    let twice = valid_request().with("Mcp-Name", "count");
    table.check("X11 twice", twice, mismatch()).await;
}

#[tokio::test]
async fn mirrored_arguments_must_be_equal_in_header_and_body() {
    let mut table = Table::new().await;
    let unknown_header = valid_request().with("Mcp-Param-Foo", "bar");
    table
        .check("H20", unknown_header, Expected::counted(1))
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
        let row = format!("X11 {arguments} {headers:?}");
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
        let row = format!("X11 {arguments} {headers:?}");
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
    table.check("X11", request, mismatch()).await;
    // A response has no method that the header could repeat.
    let response = Request::modern(&result_response(1, json!({}))).with("Mcp-Method", "tools/call");
    table
        .check("X11 response", response, Expected::error(400, -32600))
        .await;
}
