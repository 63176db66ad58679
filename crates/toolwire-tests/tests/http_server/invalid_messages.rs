//! Responses to invalid messages.

use serde_json::{Value, json};
use toolwire::transport::http::{HttpLimits, HttpOptions, LegacyMode};
use toolwire_tests::http::fixture::{count_call, with_token};
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{call, legacy, modern, modern_with, notification, result_response};

use crate::table::{Expected, Table};

const PARSE: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

fn valid_request() -> Request {
    Request::modern(&count_call(1))
}

fn without_meta(mut message: Value, member: &str) -> Request {
    let request = Request::modern(&message);
    let key = format!("io.modelcontextprotocol/{member}");
    let meta = message["params"]["_meta"].as_object_mut();
    meta.expect("a modern request has `_meta`").remove(&key);
    request.with_body(message.to_string())
}

#[tokio::test]
async fn invalid_messages_are_rejected() {
    let mut table = Table::new().await;
    let whole = count_call(1).to_string();
    for (row, body) in [
        ("empty body", Vec::new()),
        ("malformed JSON", b"not json".to_vec()),
        ("truncated object", whole.as_bytes()[..20].to_vec()),
        ("trailing bytes", format!("{whole} x").into_bytes()),
        ("two objects", format!("{whole}{whole}").into_bytes()),
        ("invalid UTF-8", b"{\"jsonrpc\":\"\xff\xfe\"}".to_vec()),
        (
            "byte order mark",
            [b"\xef\xbb\xbf", whole.as_bytes()].concat(),
        ),
    ] {
        let expected = Expected::error(400, PARSE);
        table
            .check(row, valid_request().with_body(body), expected)
            .await;
    }
    for (row, body) in [
        ("batch", format!("[{whole}]")),
        ("empty batch", "[]".to_owned()),
        ("body is a number", "42".to_owned()),
        ("body is a string", "\"x\"".to_owned()),
        ("body is null", "null".to_owned()),
        ("body is true", "true".to_owned()),
        ("id is null", whole.replace("\"id\":1", "\"id\":null")),
        ("id is 1.5", whole.replace("\"id\":1", "\"id\":1.5")),
    ] {
        let expected = Expected::error(400, INVALID_REQUEST);
        table
            .check(row, valid_request().with_body(body), expected)
            .await;
    }
    let nested = format!("{}1{}", "[".repeat(128), "]".repeat(128));
    for (row, body) in [
        (
            "128 nested arrays",
            whole.replace("\"n\":1", &format!("\"n\":{nested}")),
        ),
        (
            "duplicate argument",
            whole.replace("\"n\":1", "\"n\":1,\"n\":2"),
        ),
        (
            "duplicate method",
            whole.replacen('{', "{\"method\":\"tools/list\",", 1),
        ),
        ("jsonrpc is 1.0", whole.replace("\"2.0\"", "\"1.0\"")),
    ] {
        let expected = Expected::error(400, INVALID_REQUEST).with_id(1);
        table
            .check(row, valid_request().with_body(body), expected)
            .await;
    }
}

#[tokio::test]
async fn content_type_and_accept_are_checked() {
    let mut table = Table::new().await;
    let rejected = |status| Expected::error(status, INVALID_REQUEST);
    table
        .check(
            "no content type",
            valid_request().without("Content-Type"),
            rejected(415),
        )
        .await;
    for media_type in [
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "",
    ] {
        let request = valid_request().replacing("Content-Type", media_type);
        let row = format!("content type {media_type:?}");
        table.check(&row, request, rejected(415)).await;
    }
    let twice = valid_request().with("Content-Type", "text/plain");
    table.check("two content types", twice, rejected(415)).await;
    for media_type in ["application/json; charset=utf-8", "APPLICATION/JSON"] {
        let request = valid_request().replacing("Content-Type", media_type);
        let row = format!("content type {media_type:?}");
        table.check(&row, request, Expected::counted(1)).await;
    }
    for accepted in [
        "application/json",
        "text/event-stream",
        "text/html",
        "application/json, text/event-stream;q=0",
    ] {
        let request = valid_request().replacing("Accept", accepted);
        let row = format!("accept {accepted:?}");
        table.check(&row, request, rejected(406)).await;
    }
    for accepted in [
        "*/*",
        "text/*, application/*",
        "text/event-stream;q=0.5, application/json",
    ] {
        let request = valid_request().replacing("Accept", accepted);
        let row = format!("accept {accepted:?}");
        table.check(&row, request, Expected::counted(1)).await;
    }
    let lines = valid_request()
        .replacing("Accept", "application/json")
        .with("Accept", "text/event-stream");
    table
        .check("two accept headers", lines, Expected::counted(1))
        .await;
    let gzip = valid_request().with("Content-Encoding", "gzip");
    table
        .check("content encoding gzip", gzip, rejected(415))
        .await;
}

#[tokio::test]
async fn modern_server_accepts_only_post() {
    let options = HttpOptions::new().with_legacy(LegacyMode::Reject);
    let mut table = Table::with(options).await;
    let rejected = || Expected::error(405, INVALID_REQUEST).with_header("allow", "POST");
    for method in ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"] {
        let request = Request::new(method).with("Accept", "*/*");
        table.check(method, request, rejected()).await;
    }
    // If sessions are served as well, a request with the modern revision has only POST.
    let mut table = Table::new().await;
    for method in ["GET", "DELETE", "PUT"] {
        let request = Request::new(method)
            .with("Accept", "*/*")
            .with("MCP-Protocol-Version", "2026-07-28");
        let row = format!("{method} with the modern revision");
        table.check(&row, request, rejected()).await;
    }
    let put = Request::new("PUT").with("Content-Length", "0");
    let expected = Expected::error(405, INVALID_REQUEST).with_header("allow", "GET, POST, DELETE");
    table.check("PUT with sessions", put, expected).await;
}

#[tokio::test]
async fn modern_request_requires_version_and_capabilities_in_meta() {
    let mut table = Table::new().await;
    let rejected = || Expected::error(400, INVALID_PARAMS).with_id(1);
    let mut bare = count_call(1);
    bare["params"]
        .as_object_mut()
        .expect("an object")
        .remove("_meta");
    table
        .check("no _meta", Request::modern(&bare), rejected())
        .await;
    for member in ["protocolVersion", "clientCapabilities"] {
        let request = without_meta(count_call(1), member);
        let row = format!("no {member}");
        table.check(&row, request, rejected()).await;
    }
    let anonymous = without_meta(count_call(1), "clientInfo");
    table
        .check("no clientInfo", anonymous, Expected::counted(1))
        .await;
    for (row, token) in [
        ("progress token is an object", json!({})),
        ("progress token is an array", json!([])),
        ("progress token is a boolean", json!(true)),
        ("progress token of 10 KiB", json!("x".repeat(10 * 1024))),
    ] {
        let request = Request::modern(&with_token(1, "count", token));
        table.check(row, request, rejected()).await;
    }
}

#[tokio::test]
async fn unknown_methods_return_404() {
    let mut table = Table::new().await;
    for method in [
        "nothing/here",
        "ping",
        "initialize",
        "logging/setLevel",
        "resources/subscribe",
        "",
    ] {
        let request = Request::modern(&modern("x", method, json!({})));
        let expected = Expected::error(404, METHOD_NOT_FOUND).with_id("x");
        let row = format!("method {method:?}");
        table.check(&row, request, expected).await;
    }
}

#[tokio::test]
async fn capabilities_names_and_arguments_are_checked() {
    let mut table = Table::new().await;
    let sampled = Request::modern(&call(1, "sampled", json!({})));
    let expected = Expected::error(400, -32021)
        .with_id(1)
        .with_data(json!({"requiredCapabilities": {"sampling": {}}}));
    table
        .check("sampling not declared", sampled, expected)
        .await;
    let with_sampling = modern_with(
        1,
        "tools/call",
        json!({"name": "sampled", "arguments": {}}),
        json!({"sampling": {}}),
    );
    table
        .check(
            "sampling declared",
            Request::modern(&with_sampling),
            Expected::counted(1),
        )
        .await;

    let unknown = || Expected::error(200, INVALID_PARAMS).with_id(1);
    let tool = Request::modern(&call(1, "unknown", json!({})));
    table.check("unknown tool", tool, unknown()).await;
    let resource = modern(1, "resources/read", json!({"uri": "notes://unknown"}));
    table
        .check("unknown resource", Request::modern(&resource), unknown())
        .await;

    let runs = table.fixture.runs();
    for endpoint in table.endpoints() {
        let wrong = endpoint.call(call(1, "count", json!({"n": "many"}))).await;
        assert_eq!(wrong["result"]["isError"], true, "{wrong}");
        assert_eq!(wrong.get("error"), None, "{wrong}");
        assert_eq!(table.fixture.runs(), runs, "the handler ran");
    }
    table.expect_alive("invalid argument").await;
}

#[tokio::test]
async fn responses_are_rejected_and_notifications_get_202() {
    let mut table = Table::new().await;
    let response = Request::modern(&result_response(1, json!({})));
    table
        .check(
            "result response",
            response,
            Expected::error(400, INVALID_REQUEST),
        )
        .await;
    let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}});
    table
        .check(
            "error response",
            Request::modern(&error),
            Expected::error(400, INVALID_REQUEST),
        )
        .await;
    for method in ["notifications/cancelled", "notifications/unknown"] {
        let message = notification(method, json!({"requestId": 1}));
        table
            .check(method, Request::modern(&message), Expected::empty(202))
            .await;
    }
}

#[tokio::test]
async fn session_headers_have_no_effect_on_modern_requests() {
    let mut table = Table::new().await;
    let request = valid_request()
        .with("Mcp-Session-Id", "another-session")
        .with("Last-Event-ID", "kXw3-0nq_Yb81LzA.42");
    table
        .check("session headers", request, Expected::counted(1))
        .await;
}

#[tokio::test]
async fn only_the_exact_path_is_served() {
    let mut table = Table::new().await;
    for target in ["/mcp/../x", "//mcp", "/mcp%00", "/MCP", "/", "/mcp/", "/mc"] {
        let expected = Expected::error(404, INVALID_REQUEST);
        table
            .check(target, valid_request().with_target(target), expected)
            .await;
    }
    let query = valid_request().with_target("/mcp?a=b");
    table
        .check("a query does not matter", query, Expected::counted(1))
        .await;
}

#[tokio::test]
async fn filter_has_at_most_1024_uris() {
    let mut table = Table::new().await;
    let listen = |uris: usize| {
        let uris: Vec<String> = (0..uris).map(|n| format!("notes://{n}")).collect();
        let filter = json!({"resourceSubscriptions": uris});
        let message = modern(1, "subscriptions/listen", json!({"notifications": filter}));
        Request::modern(&message)
    };
    let expected = Expected::error(400, INVALID_PARAMS).with_id(1);
    table.check("1025 URIs", listen(1025), expected).await;
    for allowed in [1023, 1024] {
        for endpoint in table.endpoints() {
            let mut events = endpoint.open(&listen(allowed)).await;
            let acknowledged = events.message().await;
            let accepted = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
            assert_eq!(accepted.as_array().map(Vec::len), Some(allowed));
        }
    }
}

#[tokio::test]
async fn error_for_a_batch_has_the_id_of_the_revision() {
    let mut table = Table::new().await;
    // Before 2025-11-25 an error without an id was not permitted.
    let request = Request::post(&json!([legacy(1, "ping", json!({}))]));
    let newest = request.clone().with("MCP-Protocol-Version", "2025-11-25");
    table
        .check(
            "batch of 2025-11-25",
            newest,
            Expected::error(400, INVALID_REQUEST),
        )
        .await;
    let older = request.with("MCP-Protocol-Version", "2025-06-18");
    let expected = Expected::error(400, INVALID_REQUEST).with_id(Value::Null);
    table.check("batch of 2025-06-18", older, expected).await;
}

#[tokio::test]
async fn body_beyond_the_limit_is_rejected_with_413() {
    // The valid requests after each row have this id.
    let body = count_call("up").to_string();
    let mut limits = HttpLimits::default();
    limits.body_bytes = body.len() + 1;
    let options = HttpOptions::new().with_limits(limits);
    let mut table = Table::with(options).await;
    let padded = |spaces: usize| {
        Request::modern(&count_call("up")).with_body(format!("{body}{}", " ".repeat(spaces)))
    };
    table
        .check("limit - 1", padded(0), Expected::counted("up"))
        .await;
    table
        .check("limit", padded(1), Expected::counted("up"))
        .await;
    let rejected = || Expected::error(413, INVALID_REQUEST).closing();
    table.check("limit + 1", padded(2), rejected()).await;
    // A body that is too long is rejected before it arrives.
    let announced = padded(1_000_000);
    table
        .check_bytes(
            "only the headers of a long body",
            announced.header_text(),
            rejected(),
        )
        .await;

    let chunked = |request: Request| {
        let chunked = request
            .without_length()
            .with("Transfer-Encoding", "chunked");
        let mut bytes = chunked.header_text().into_bytes();
        for piece in chunked.body().chunks(50) {
            bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
            bytes.extend(piece);
            bytes.extend(b"\r\n");
        }
        bytes
    };
    for spaces in [0, 1] {
        let bytes = [chunked(padded(spaces)), b"0\r\n\r\n".to_vec()].concat();
        let row = format!("chunked with {spaces} spaces");
        table
            .check_bytes(&row, bytes, Expected::counted("up"))
            .await;
    }
    // The body is rejected at the limit, before its end arrives.
    table
        .check_bytes("chunked, limit + 1", chunked(padded(2)), rejected())
        .await;
    // No `100 Continue` is sent for a body that is rejected.
    let expecting = padded(2).with("Expect", "100-continue");
    table
        .check_bytes(
            "limit + 1 with 100-continue",
            expecting.header_text(),
            rejected(),
        )
        .await;
}

#[tokio::test]
async fn incomplete_body_does_not_run_the_handler() {
    let mut table = Table::new().await;
    let request = valid_request();
    let half = request.body().len() / 2;
    for bytes in [
        request.header_text().into_bytes(),
        [request.header_text().as_bytes(), &request.body()[..half]].concat(),
    ] {
        for endpoint in table.endpoints() {
            let mut connection = endpoint.connect().await;
            connection.send(&bytes).await;
            connection.reset();
        }
        table.expect_alive("half a body").await;
    }
    for endpoint in table.endpoints() {
        endpoint.wait_until_idle().await;
    }
    assert_eq!(table.fixture.runs(), 4, "only the valid requests");
}
