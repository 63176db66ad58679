//! Errors about JSON that does not decode: they name the value and what is expected, without Rust types.

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::{JsonSchema, RequestContext, Server, ToolError, ToolHandler};
use toolwire_tests::peer::{Peer, call, modern, server};

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only decoded")]
struct Drawing {
    size: Size,
    shapes: Vec<Shape>,
    title: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only decoded")]
struct Size {
    width: f64,
    pages: Vec<i64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[expect(dead_code, reason = "only decoded")]
enum Shape {
    Circle { radius: f64, center: Size },
    Square { side: f64 },
}

/// Has a schema that is looser than the type.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only decoded")]
struct Loose {
    #[schemars(with = "Value")]
    size: Size,
}

fn drawing_server() -> Server {
    let draw = ToolHandler::typed("draw", |_: RequestContext, _: Drawing| async { "drawn" });
    let loose = ToolHandler::typed("loose", |_: RequestContext, _: Loose| async { "drawn" });
    server()
        .tool(draw)
        .tool(loose)
        .method("com.example/draw", |_: RequestContext, _: Drawing| async {
            Ok::<_, ToolError>(json!({}))
        })
}

/// Checks the message of a tool error.
async fn check(tool: &str, arguments: Value, expected: &str) {
    let mut peer = Peer::connect(&drawing_server());
    let result = peer.result_of(call(1, tool, arguments)).await;
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert_eq!(
        text,
        format!("invalid arguments for tool `{tool}`: {expected}")
    );
}

fn drawing(shape: Value) -> Value {
    json!({"size": {"width": 1, "pages": []}, "shapes": [{"kind": "square", "side": 1}, shape]})
}

#[tokio::test]
async fn problem_inside_a_tagged_variant_is_reported_with_its_path() {
    let center = json!({"width": 1, "pages": [1, "two"]});
    check(
        "draw",
        drawing(json!({"kind": "circle", "radius": 1, "center": center})),
        "arguments.shapes[1].center.pages[1]: \"two\" is not of type \"integer\"",
    )
    .await;
    check(
        "draw",
        drawing(json!({"kind": "square"})),
        "arguments.shapes[1]: \"side\" is a required property",
    )
    .await;
    check(
        "draw",
        drawing(json!({"kind": "star"})),
        "arguments.shapes[1].kind: \"star\" is not one of \"circle\", \"square\"",
    )
    .await;
}

#[tokio::test]
async fn messages_use_the_words_of_json() {
    check(
        "loose",
        json!({"size": 3}),
        "arguments.size: invalid type: integer `3`, expected an object",
    )
    .await;
    check(
        "loose",
        json!({"size": {"width": 1, "pages": {}}}),
        "arguments.size.pages: invalid type: object, expected an array",
    )
    .await;
    check(
        "loose",
        json!({"size": {"width": 1, "pages": [true]}}),
        "arguments.size.pages[0]: invalid type: boolean `true`, expected a 64-bit integer",
    )
    .await;
}

#[tokio::test]
async fn messages_about_parameters_name_no_rust_types() {
    let mut peer = Peer::connect(&drawing_server());
    for (method, params, expected) in [
        (
            "com.example/draw",
            json!({"size": "large"}),
            "params: invalid type: string \"large\", expected an object",
        ),
        (
            "subscriptions/listen",
            json!({"notifications": 7}),
            "params: invalid type: integer `7`, expected an object",
        ),
    ] {
        let error = peer.error_of(modern(1, method, params), -32602).await;
        assert_eq!(error["message"], expected);
    }
}
