//! Raw entries of a source: descriptors, parameters and results are passed on as they are.

use serde_json::json;
use toolwire::{Catalog, ErrorObject, Mount, RawJson, RequestContext, Server, Source};
use toolwire_tests::peer::{Peer, call, legacy, modern, server};

const TOOL: &str = r#"{"zeta":1.0,"name":"fetch","title":"Fetch","inputSchema":{"type":"object","minimum":1e2},"x-own":[1.50]}"#;

fn json(text: &str) -> RawJson {
    RawJson::from_string(text.to_owned()).expect("valid JSON")
}

/// A source that returns the parameters that it gets.
struct Raw;

async fn echo(_: RequestContext, params: RawJson) -> Result<RawJson, ErrorObject> {
    let mut params: serde_json::Map<_, _> = params.parse().expect("an object");
    params.remove("_meta");
    if params.get("name") == Some(&json!("broken")) {
        return Err(ErrorObject::new(-1, "broken").with_data(json!({"n": 1.0})));
    }
    let asks = params.get("requestState").is_none();
    let text = serde_json::to_string(&params).expect("JSON");
    let result = if asks && params.get("name") == Some(&json!("ask")) {
        format!(r#"{{"resultType":"input_required","requestState":"theirs","echo":{text}}}"#)
    } else {
        format!(r#"{{"content":[],"number":2.0,"echo":{text}}}"#)
    };
    Ok(json(&result))
}

impl Source for Raw {
    fn catalog(&self) -> Catalog {
        let mut catalog = Catalog::new();
        let added = [
            catalog.add_raw_tool(json(TOOL), echo),
            catalog.add_raw_tool(json(r#"{"name":"ask","inputSchema":{}}"#), echo),
            catalog.add_raw_tool(json(r#"{"name":"broken","inputSchema":true}"#), echo),
            catalog.add_raw_prompt(
                json(r#"{"name":"p","q":1.0,"arguments":[{"name":"a","title":"A"}]}"#),
                echo,
            ),
            catalog.add_raw_resource(json(r#"{"uri":"x://a","name":"a","size":1,"q":1.0}"#), echo),
            catalog
                .add_raw_resource_template(json(r#"{"uriTemplate":"x://{b}/t","name":"b"}"#), echo),
        ];
        assert!(added.iter().all(Result::is_ok), "{added:?}");
        catalog.with_raw_completion(echo)
    }
}

fn mounted() -> Server {
    server().mount("raw", Raw)
}

#[tokio::test]
async fn descriptors_keep_their_text() {
    let list = async |server: &Server, version: &str, method: &str| {
        let mut peer = Peer::connect(server);
        if version == "2026-07-28" {
            peer.send(modern(1, method, json!({}))).await;
        } else {
            peer.initialize(version).await;
            peer.send(legacy(1, method, json!({}))).await;
        }
        peer.receive_text().await
    };
    let renamed = TOOL.replace("\"fetch\"", "\"raw_fetch\"");
    let listed = list(&mounted(), "2026-07-28", "tools/list").await;
    assert!(listed.contains(&renamed), "{listed}");
    let listed = list(&mounted(), "2024-11-05", "tools/list").await;
    let older = renamed.replace(r#""title":"Fetch","#, "");
    assert!(listed.contains(&older), "{listed}");
    let listed = list(&mounted(), "2025-03-26", "prompts/list").await;
    let prompt = r#"{"name":"raw_p","q":1.0,"arguments":[{"name":"a"}]}"#;
    assert!(listed.contains(prompt), "{listed}");
    let listed = list(&mounted(), "2025-11-25", "resources/list").await;
    assert!(
        listed.contains(r#"{"uri":"x://a","name":"a","size":1,"q":1.0}"#),
        "{listed}"
    );

    let nested = server().mount_with(
        Mount::new("m", mounted())
            .retitle_tool("raw_fetch", "Get")
            .fix_argument("raw_fetch", "key", 1.5),
    );
    let listed = list(&nested, "2026-07-28", "tools/list").await;
    let retitled = TOOL
        .replace("\"fetch\"", "\"m_raw_fetch\"")
        .replace("\"Fetch\"", "\"Get\"");
    let start = &retitled[..retitled.find("\"inputSchema\"").unwrap()];
    assert!(listed.contains(start), "{listed}");
}

#[tokio::test]
async fn parameters_and_results_keep_their_text() {
    let nested =
        server().mount_with(Mount::new("m", mounted()).fix_argument("raw_fetch", "key", 1.5));
    let mut peer = Peer::connect(&nested);
    let mut request = call(1, "m_raw_fetch", json!({"a": 1.0}));
    request["params"]["own"] = json!({"n": 2.50});
    peer.send(request).await;
    let response = peer.receive_text().await;
    let echoed = r#""echo":{"name":"fetch","arguments":{"a":1.0,"key":1.5},"own":{"n":2.5}}"#;
    assert!(response.contains(echoed), "{response}");
    assert!(
        response.contains(r#""content":[],"number":2.0"#),
        "{response}"
    );
    assert!(
        response.contains(r#""resultType":"complete""#),
        "{response}"
    );
    let error = peer.error_of(call(2, "m_raw_broken", json!({})), -1).await;
    assert_eq!(error["data"], json!({"n": 1.0}));
    let got = modern(
        3,
        "prompts/get",
        json!({"name": "m_raw_p", "arguments": {"a": 7}}),
    );
    let got = peer.result_of(got).await;
    assert_eq!(got["echo"], json!({"name": "p", "arguments": {"a": 7}}));
    for uri in ["x://a", "x://anything/t"] {
        let read = peer
            .result_of(modern(4, "resources/read", json!({"uri": uri})))
            .await;
        assert_eq!(read["echo"], json!({"uri": uri}));
    }
    for (reference, own) in [
        (
            json!({"type": "ref/prompt", "name": "m_raw_p"}),
            json!({"type": "ref/prompt", "name": "p"}),
        ),
        (
            json!({"type": "ref/resource", "uri": "x://{b}/t"}),
            json!({"type": "ref/resource", "uri": "x://{b}/t"}),
        ),
    ] {
        let params = json!({"ref": reference, "argument": {"name": "a", "value": "v"}});
        let completed = peer
            .result_of(modern(5, "completion/complete", params))
            .await;
        assert_eq!(completed["echo"]["ref"], own, "{completed}");
    }
}

#[tokio::test]
async fn input_of_a_raw_call_belongs_to_its_source() {
    let mut peer = Peer::connect(&mounted());
    let first = peer.result_of(call(1, "raw_ask", json!({}))).await;
    assert_eq!(first["resultType"], "input_required", "{first}");
    assert_eq!(first["requestState"], "theirs", "it is not sealed");
    let params = json!({
        "name": "raw_ask",
        "requestState": "theirs",
        "inputResponses": {"q": {"action": "accept", "x": 1}},
    });
    let second = peer.result_of(modern(2, "tools/call", params)).await;
    assert_eq!(second["echo"]["requestState"], "theirs");
    assert_eq!(second["echo"]["inputResponses"]["q"]["x"], 1);
}
