//! What a server says to bad messages, row by row of the list of bad input (H01 to H64).

use serde_json::{Value, json};
use toolwire::transport::http::{HttpLimits, HttpOptions, LegacyMode};

use crate::http::request::Request;
use crate::http::stage::{count_call, with_token};
use crate::http::table::{Expected, Table};
use crate::peer::{answer, call, legacy, modern, modern_with, notification};

const PARSE: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

fn good() -> Request {
    Request::modern(&count_call(1))
}

fn without_meta(mut message: Value, member: &str) -> Request {
    let request = Request::modern(&message);
    let key = format!("io.modelcontextprotocol/{member}");
    let meta = message["params"]["_meta"].as_object_mut();
    meta.expect("it is modern").remove(&key);
    request.with_body(message.to_string())
}

#[tokio::test]
async fn unreadable_messages_are_refused() {
    let mut table = Table::new().await;
    let whole = count_call(1).to_string();
    for (row, body) in [
        ("H01 empty body", Vec::new()),
        ("H02 malformed", b"not json".to_vec()),
        ("H02 half", whole.as_bytes()[..20].to_vec()),
        ("H02 trailing bytes", format!("{whole} x").into_bytes()),
        ("H02 two objects", format!("{whole}{whole}").into_bytes()),
        ("H02 bad UTF-8", b"{\"jsonrpc\":\"\xff\xfe\"}".to_vec()),
        ("H02 BOM", [b"\xef\xbb\xbf", whole.as_bytes()].concat()),
    ] {
        let expected = Expected::error(400, PARSE);
        table.check(row, good().with_body(body), expected).await;
    }
    for (row, body) in [
        ("H03 batch", format!("[{whole}]")),
        ("H03 empty batch", "[]".to_owned()),
        ("H04 number", "42".to_owned()),
        ("H04 string", "\"x\"".to_owned()),
        ("H04 null", "null".to_owned()),
        ("H04 true", "true".to_owned()),
        ("S21 id null", whole.replace("\"id\":1", "\"id\":null")),
        ("S23 id 1.5", whole.replace("\"id\":1", "\"id\":1.5")),
    ] {
        let expected = Expected::error(400, INVALID_REQUEST);
        table.check(row, good().with_body(body), expected).await;
    }
    let nested = format!("{}1{}", "[".repeat(128), "]".repeat(128));
    for (row, body) in [
        (
            "H30 nesting",
            whole.replace("\"n\":1", &format!("\"n\":{nested}")),
        ),
        (
            "H31 duplicate member",
            whole.replace("\"n\":1", "\"n\":1,\"n\":2"),
        ),
        (
            "H31 duplicate method",
            whole.replacen('{', "{\"method\":\"tools/list\",", 1),
        ),
        ("S28 jsonrpc", whole.replace("\"2.0\"", "\"1.0\"")),
    ] {
        let expected = Expected::error(400, INVALID_REQUEST).with_id(1);
        table.check(row, good().with_body(body), expected).await;
    }
}

#[tokio::test]
async fn only_json_that_may_be_answered_is_read() {
    let mut table = Table::new().await;
    let refused = |status| Expected::error(status, INVALID_REQUEST);
    table
        .check("H05 missing", good().without("Content-Type"), refused(415))
        .await;
    for media_type in [
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "",
    ] {
        let request = good().replacing("Content-Type", media_type);
        table.check("H05", request, refused(415)).await;
    }
    let twice = good().with("Content-Type", "text/plain");
    table.check("H05 twice", twice, refused(415)).await;
    for media_type in ["application/json; charset=utf-8", "APPLICATION/JSON"] {
        let request = good().replacing("Content-Type", media_type);
        table.check("H06", request, Expected::counted(1)).await;
    }
    for accepted in [
        "application/json",
        "text/event-stream",
        "text/html",
        "application/json, text/event-stream;q=0",
    ] {
        let request = good().replacing("Accept", accepted);
        table.check("H08", request, refused(406)).await;
    }
    for accepted in [
        "*/*",
        "text/*, application/*",
        "text/event-stream;q=0.5, application/json",
    ] {
        let request = good().replacing("Accept", accepted);
        table.check("H08", request, Expected::counted(1)).await;
    }
    let lines = good()
        .replacing("Accept", "application/json")
        .with("Accept", "text/event-stream");
    table
        .check("H08 two lines", lines, Expected::counted(1))
        .await;
    let gzip = good().with("Content-Encoding", "gzip");
    table.check("H40", gzip, refused(415)).await;
}

#[tokio::test]
async fn a_modern_server_takes_nothing_but_post() {
    let options = HttpOptions::new().with_legacy(LegacyMode::Reject);
    let mut table = Table::with(options).await;
    let refused = || Expected::error(405, INVALID_REQUEST).with_header("allow", "POST");
    for method in ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"] {
        let request = Request::new(method).with("Accept", "*/*");
        table.check("H09", request, refused()).await;
    }
    // Where sessions are served too, a request that names the modern revision has none of their methods.
    let mut table = Table::new().await;
    for method in ["GET", "DELETE", "PUT"] {
        let request = Request::new(method)
            .with("Accept", "*/*")
            .with("MCP-Protocol-Version", "2026-07-28");
        table.check("H09", request, refused()).await;
    }
    let put = Request::new("PUT").with("Content-Length", "0");
    let expected = Expected::error(405, INVALID_REQUEST).with_header("allow", "GET, POST, DELETE");
    table.check("H09 with sessions", put, expected).await;
}

#[tokio::test]
async fn requests_describe_themselves_completely() {
    let mut table = Table::new().await;
    let refused = || Expected::error(400, INVALID_PARAMS).with_id(1);
    let mut bare = count_call(1);
    bare["params"]
        .as_object_mut()
        .expect("an object")
        .remove("_meta");
    table
        .check("H21 no _meta", Request::modern(&bare), refused())
        .await;
    for member in ["protocolVersion", "clientCapabilities"] {
        let request = without_meta(count_call(1), member);
        table.check("H21", request, refused()).await;
    }
    let anonymous = without_meta(count_call(1), "clientInfo");
    table.check("H22", anonymous, Expected::counted(1)).await;
    for token in [
        json!({}),
        json!([]),
        json!(true),
        json!("x".repeat(10 * 1024)),
    ] {
        let request = Request::modern(&with_token(1, "count", token));
        table.check("H64", request, refused()).await;
    }
}

#[tokio::test]
async fn methods_that_are_not_there_are_not_found() {
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
        table.check("H23", request, expected).await;
    }
}

#[tokio::test]
async fn what_is_asked_of_tools_and_resources_is_judged() {
    let mut table = Table::new().await;
    let sampled = Request::modern(&call(1, "sampled", json!({})));
    let expected = Expected::error(400, -32021)
        .with_id(1)
        .with_data(json!({"requiredCapabilities": {"sampling": {}}}));
    table.check("H24", sampled, expected).await;
    let able = modern_with(
        1,
        "tools/call",
        json!({"name": "sampled", "arguments": {}}),
        json!({"sampling": {}}),
    );
    table
        .check("H24 declared", Request::modern(&able), Expected::counted(1))
        .await;

    let unknown = || Expected::error(200, INVALID_PARAMS).with_id(1);
    let tool = Request::modern(&call(1, "nobody", json!({})));
    table.check("H25 tool", tool, unknown()).await;
    let resource = modern(1, "resources/read", json!({"uri": "notes://nowhere"}));
    table
        .check("H25 resource", Request::modern(&resource), unknown())
        .await;

    let runs = table.stage.runs();
    let wrong = table
        .endpoint
        .call(call(1, "count", json!({"n": "many"})))
        .await;
    assert_eq!(wrong["result"]["isError"], true, "H26: {wrong}");
    assert_eq!(wrong.get("error"), None, "H26: {wrong}");
    assert_eq!(table.stage.runs(), runs, "H26");
    table.expect_alive("H26").await;
}

#[tokio::test]
async fn messages_that_need_no_answer_get_none() {
    let mut table = Table::new().await;
    let response = Request::modern(&answer(1, json!({})));
    table
        .check("H27", response, Expected::error(400, INVALID_REQUEST))
        .await;
    let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}});
    table
        .check(
            "H27",
            Request::modern(&error),
            Expected::error(400, INVALID_REQUEST),
        )
        .await;
    for method in ["notifications/cancelled", "notifications/unheard-of"] {
        let message = notification(method, json!({"requestId": 1}));
        table
            .check("H28", Request::modern(&message), Expected::empty(202))
            .await;
    }
}

#[tokio::test]
async fn modern_requests_know_no_sessions() {
    let mut table = Table::new().await;
    let request = good()
        .with("Mcp-Session-Id", "somebody-else")
        .with("Last-Event-ID", "kXw3-0nq_Yb81LzA.42");
    table.check("H56", request, Expected::counted(1)).await;
}

#[tokio::test]
async fn only_the_exact_path_is_served() {
    let mut table = Table::new().await;
    for target in ["/mcp/../x", "//mcp", "/mcp%00", "/MCP", "/", "/mcp/", "/mc"] {
        let expected = Expected::error(404, INVALID_REQUEST);
        table
            .check(target, good().with_target(target), expected)
            .await;
    }
    let query = good().with_target("/mcp?a=b");
    table
        .check("a query does not matter", query, Expected::counted(1))
        .await;
}

#[tokio::test]
async fn a_filter_has_a_bound() {
    let mut table = Table::new().await;
    let listen = |uris: usize| {
        let uris: Vec<String> = (0..uris).map(|n| format!("notes://{n}")).collect();
        let filter = json!({"resourceSubscriptions": uris});
        let message = modern(1, "subscriptions/listen", json!({"notifications": filter}));
        Request::modern(&message)
    };
    let expected = Expected::error(400, INVALID_PARAMS).with_id(1);
    table.check("H61", listen(1025), expected).await;
    for allowed in [1023, 1024] {
        let mut events = table.endpoint.open(&listen(allowed)).await;
        let acknowledged = events.message().await;
        let honoured = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
        assert_eq!(honoured.as_array().map(Vec::len), Some(allowed));
    }
}

#[tokio::test]
async fn a_batch_is_refused_with_the_id_its_revision_wants() {
    let mut table = Table::new().await;
    // Before 2025-11-25 an error without an id was not allowed.
    let request = Request::post(&json!([legacy(1, "ping", json!({}))]));
    let newest = request.clone().with("MCP-Protocol-Version", "2025-11-25");
    table
        .check(
            "H03 2025-11-25",
            newest,
            Expected::error(400, INVALID_REQUEST),
        )
        .await;
    let older = request.with("MCP-Protocol-Version", "2025-06-18");
    let expected = Expected::error(400, INVALID_REQUEST).with_id(Value::Null);
    table.check("H03 2025-06-18", older, expected).await;
}

#[tokio::test]
async fn bodies_have_a_bound() {
    // The good requests that follow each row have this id.
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
    let refused = || Expected::error(413, INVALID_REQUEST).closing();
    table.check("H32 limit + 1", padded(2), refused()).await;
    // Of a body that is too long not a byte is waited for.
    let announced = padded(1_000_000);
    table
        .check_bytes("H32 only announced", announced.head(), refused())
        .await;

    let chunked = |request: Request| {
        let head = request
            .without_length()
            .with("Transfer-Encoding", "chunked");
        let mut bytes = head.head().into_bytes();
        for piece in head.body().chunks(50) {
            bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
            bytes.extend(piece);
            bytes.extend(b"\r\n");
        }
        bytes
    };
    for spaces in [0, 1] {
        let bytes = [chunked(padded(spaces)), b"0\r\n\r\n".to_vec()].concat();
        table
            .check_bytes("chunked", bytes, Expected::counted("up"))
            .await;
    }
    // It is refused at the limit; its end never comes.
    table
        .check_bytes("H33", chunked(padded(2)), refused())
        .await;
    // Nobody is told to go on with a body that nobody reads.
    let asking = padded(2).with("Expect", "100-continue");
    table
        .check_bytes("H32 expecting", asking.head(), refused())
        .await;
}

#[tokio::test]
async fn a_body_that_breaks_off_runs_nothing() {
    let mut table = Table::new().await;
    let request = good();
    let half = request.body().len() / 2;
    for bytes in [
        request.head().into_bytes(),
        [request.head().as_bytes(), &request.body()[..half]].concat(),
    ] {
        let mut wire = table.endpoint.connect().await;
        wire.send(bytes).await;
        wire.reset();
        table.expect_alive("half a body").await;
    }
    table.endpoint.idle().await;
    assert_eq!(table.stage.runs(), 2, "only the good ones");
}
