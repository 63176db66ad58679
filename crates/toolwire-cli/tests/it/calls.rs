//! Calls every tool, resource and prompt of the demo in each era.

use serde_json::{Value, json};

use crate::process::{Demo, Era};

#[tokio::test]
async fn tools_return_their_results() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        let mut check = async |tool: &str, arguments: Value, expected: &str| {
            assert_eq!(demo.call_text(tool, arguments).await, expected, "{tool}");
        };
        check("active", json!({}), "0").await;
        check("echo", json!({"text": "hello"}), "hello").await;
        check("echo", json!({"text": ""}), "").await;
        check(
            "echo",
            json!({"text": "ü\u{2028}\n\"\\\u{0}🦀"}),
            "ü\u{2028}\n\"\\\u{0}🦀",
        )
        .await;
        check("add", json!({"a": 19, "b": 23}), r#"{"sum":42}"#).await;
        check(
            "countdown",
            json!({"from": 2, "delay_ms": 1}),
            "counted down from 2",
        )
        .await;
        check("long_poll", json!({"delay_ms": 1}), "stream not released").await;
        check("blob", json!({"bytes": 5}), "xxxxx").await;
        check("print", json!({"text": "on standard error"}), "printed").await;
        check("route", json!({}), "to nowhere").await;
        check(
            "route",
            json!({"region": "north", "count": 3}),
            "3 to north",
        )
        .await;
        demo.end_successfully().await;
    }
}

#[tokio::test]
async fn sum_is_structured_content() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        let result = demo.call("add", json!({"a": 19, "b": 23})).await;
        assert_eq!(result["structuredContent"], json!({"sum": 42}));
        demo.end_successfully().await;
    }
}

#[tokio::test]
async fn modern_result_names_the_server() {
    let mut demo = Demo::start(Era::Modern).await;
    let response = demo.ask("server/discover", json!({})).await;
    assert_eq!(response["result"]["supportedVersions"][0], "2026-07-28");
    let info = &response["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "toolwire-demo");
    demo.end_successfully().await;
}

#[tokio::test]
async fn both_eras_share_a_process() {
    let mut demo = Demo::start(Era::Legacy).await;
    let newest = Era::Modern.call(1_000, "echo", json!({"text": "new"}));
    demo.send(&newest).await;
    assert_eq!(
        demo.response(1_000).await["result"]["resultType"],
        "complete"
    );
    let old = demo.call("echo", json!({"text": "old"})).await;
    assert_eq!(old, json!({"content": [{"type": "text", "text": "old"}]}));
    demo.end_successfully().await;
}

#[tokio::test]
async fn every_tool_is_listed_and_active_comes_first() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        let response = demo.ask("tools/list", json!({})).await;
        let tools = response["result"]["tools"].as_array().unwrap();
        let names: Vec<_> = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        let expected = [
            "active",
            "echo",
            "add",
            "countdown",
            "long_poll",
            "fail",
            "crash",
            "blob",
            "log",
            "print",
            "route",
            "confirm",
            "approve",
            "trip",
            "sign_in",
            "summarise",
            "remind",
            "bump",
            "change_list",
            "bake",
        ];
        assert_eq!(names, expected);
        assert_eq!(tools[0]["inputSchema"]["properties"], json!({}));
        demo.end_successfully().await;
    }
}

#[tokio::test]
async fn failing_tool_does_not_end_the_server() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        let failed = demo.call("fail", json!({"message": "out of paper"})).await;
        assert_eq!(failed["isError"], true);
        assert_eq!(failed["content"][0]["text"], "out of paper");
        let crash = demo.start_call("crash", json!({})).await;
        assert_eq!(demo.response(crash).await["error"]["code"], -32603);
        let unknown = demo.start_call("teleport", json!({})).await;
        assert_eq!(demo.response(unknown).await["error"]["code"], -32602);
        let overflow = demo.call("add", json!({"a": i64::MAX, "b": 1})).await;
        assert_eq!(overflow["isError"], true);
        assert_eq!(demo.call_text("echo", json!({"text": "up"})).await, "up");
        demo.end_successfully().await;
    }
}

#[tokio::test]
async fn log_messages_come_before_the_response() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        let response = demo
            .call_text("log", json!({"level": "warning", "message": "smoke"}))
            .await;
        assert_eq!(response, "logged");
        let params = json!({"level": "warning", "logger": "demo", "data": "smoke"});
        let logged = demo.unsolicited.pop().unwrap();
        assert_eq!(logged["method"], "notifications/message");
        assert_eq!(logged["params"], params);
        demo.end_successfully().await;
    }
}

/// The server sends a notification before its first response.
#[tokio::test]
async fn first_request_can_report_progress() {
    let mut demo = Demo::start(Era::Modern).await;
    let params = json!({
        "name": "countdown",
        "arguments": {"from": 3, "delay_ms": 1},
        "_meta": {"progressToken": 7},
    });
    let response = demo.ask("tools/call", params).await;
    assert_eq!(
        response["result"]["content"][0]["text"],
        "counted down from 3"
    );
    // Progress may be merged for a slow reader. The last one is sent, and the values only increase.
    let steps: Vec<_> = demo
        .unsolicited
        .iter()
        .map(|message| &message["params"])
        .collect();
    assert!(
        steps
            .iter()
            .all(|step| step["progressToken"] == 7 && step["total"] == 3)
    );
    assert!(steps.is_sorted_by_key(|step| step["progress"].as_i64()));
    assert_eq!(steps.last().unwrap()["progress"], 3);
    demo.end_successfully().await;
}

#[tokio::test]
async fn elicitation_uses_the_mechanism_of_the_era() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        let yes = || json!({"action": "accept", "content": {"confirmed": true}});
        let no = || json!({"action": "accept", "content": {"confirmed": false}});
        let summary = json!({
            "role": "assistant",
            "content": {"type": "text", "text": "In short."},
            "model": "a-model",
        });
        let question = || json!({"question": "Really?"});
        let mut check = async |tool: &str, arguments: Value, reply: Value, expected: &str| {
            let response = demo.call_with_input(tool, arguments, reply).await;
            assert_eq!(
                response["result"]["content"][0]["text"], expected,
                "{response}"
            );
        };
        check("confirm", question(), yes(), "confirmed").await;
        check("confirm", question(), no(), "not confirmed").await;
        check(
            "confirm",
            question(),
            json!({"action": "decline"}),
            "not confirmed",
        )
        .await;
        check(
            "confirm",
            question(),
            json!({"action": "cancel"}),
            "cancelled",
        )
        .await;
        check("approve", question(), yes(), "approved").await;
        check("approve", question(), no(), "not approved").await;
        check("summarise", json!({"text": "Long."}), summary, "In short.").await;
        demo.end_successfully().await;
    }
}

#[tokio::test]
async fn resources_are_read() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        let listed = demo.ask("resources/list", json!({})).await;
        assert_eq!(listed["result"]["resources"][0]["uri"], "demo://clock");
        let templates = demo.ask("resources/templates/list", json!({})).await;
        let template = &templates["result"]["resourceTemplates"][0];
        assert_eq!(template["uriTemplate"], "demo://notes/{name}");
        let clock = read(&mut demo, "demo://clock").await;
        let seconds = clock["result"]["contents"][0]["text"].as_str().unwrap();
        assert!(seconds.parse::<u64>().is_ok(), "{clock}");
        let note = read(&mut demo, "demo://notes/first").await;
        assert_eq!(
            note["result"]["contents"][0]["text"],
            "This is the first note."
        );
        // The modern revision has no error code for this case.
        let code = match era {
            Era::Modern => -32602,
            Era::Legacy => -32002,
        };
        let response = read(&mut demo, "demo://notes/nothing").await;
        assert_eq!(response["error"]["code"], code);
        demo.end_successfully().await;
    }
}

async fn read(demo: &mut Demo, uri: &str) -> Value {
    demo.ask("resources/read", json!({ "uri": uri })).await
}

#[tokio::test]
async fn prompt_and_its_completion_work() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        let listed = demo.ask("prompts/list", json!({})).await;
        assert_eq!(listed["result"]["prompts"][0]["name"], "greet");
        let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
        let prompt = demo.ask("prompts/get", params).await;
        assert_eq!(
            prompt["result"]["messages"][0]["content"]["text"],
            "Greet Ada warmly, in one sentence."
        );
        let mut check = async |reference: Value, typed: &str, expected: &[&str]| {
            let params = json!({"ref": reference, "argument": {"name": "name", "value": typed}});
            let response = demo.ask("completion/complete", params).await;
            assert_eq!(response["result"]["completion"]["values"], json!(expected));
        };
        let greet = || json!({"type": "ref/prompt", "name": "greet"});
        let note = || json!({"type": "ref/resource", "uri": "demo://notes/{name}"});
        check(greet(), "A", &["Ada", "Alan"]).await;
        check(greet(), "Zoe", &[]).await;
        check(note(), "s", &["second"]).await;
        demo.end_successfully().await;
    }
}
