use std::time::Duration;

use ProtocolVersion::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolwire_types::{
    CallToolResult, ClientCapabilities, GetPromptResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    ProgressNotificationParams, RawJson, ReadResourceResult, ServerCapabilities,
};

use super::*;
use crate::cache::CacheHint;
use crate::features::SupportedVersions;
use crate::stamp::{Stamp, Target};

fn raw(text: &str) -> RawJson {
    RawJson::from_string(text.to_owned()).expect("the text is JSON")
}

fn edited(json: &Value, edit: impl FnOnce(&mut RawObject<'_>)) -> Value {
    let json = RawJson::from_value(json);
    let mut object = RawObject::parse(json.as_raw_value()).expect("an object");
    edit(&mut object);
    serde_json::from_str(object.finish().get()).expect("the result is JSON")
}

fn stamped<T: Stamp + Serialize + DeserializeOwned>(json: &Value, to: ProtocolVersion) -> Value {
    let mut value: T = serde_json::from_value(json.clone()).expect("the type of the message");
    value.stamp(&Target::new(to));
    serde_json::to_value(&value).expect("JSON")
}

/// Checks that a modern result of every member gets the form that `stamp` gives it, in each revision.
fn check_result<T: Stamp + Serialize + DeserializeOwned>(method: &str, result: &Value) {
    for to in ProtocolVersion::ALL {
        let converted = edited(result, |object| {
            Conversion::new(V2026_07_28, to)
                .result(method, object, &ResultMembers::default())
                .expect("the result is complete");
        });
        assert_eq!(converted, stamped::<T>(result, to), "{method} {to}");
    }
}

const SCHEMA: &str = r#"{"type":"object"}"#;

#[test]
fn modern_results_convert_as_stamp_does() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let meta = json!({"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}, "com.example/k": 1});
    let icons = json!([{"src": "https://example.com/i.png"}]);
    let annotations =
        json!({"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"});
    let shared = json!({"resultType": "complete", "ttlMs": 5, "cacheScope": "public", "_meta": meta, "x": 1});
    let with = |members: Value| {
        let mut result = shared.clone();
        for (name, value) in members.as_object().unwrap() {
            result[name] = value.clone();
        }
        result
    };
    check_result::<ListToolsResult>(
        "tools/list",
        &with(json!({"tools": [
            {"name": "a", "title": "A", "description": "d", "inputSchema": schema, "outputSchema": schema,
             "annotations": {"title": "t", "readOnlyHint": true}, "icons": icons, "_meta": {"k": 1}, "x": 2},
            {"name": "b", "inputSchema": schema, "outputSchema": {"type": "array"}},
        ], "nextCursor": "n"})),
    );
    check_result::<ListPromptsResult>(
        "prompts/list",
        &with(
            json!({"prompts": [{"name": "a", "title": "A", "icons": icons, "_meta": {"k": 1},
            "arguments": [{"name": "b", "title": "B", "required": true}]}]}),
        ),
    );
    let resource = json!({"uri": "a:b", "name": "a", "title": "A", "icons": icons, "annotations": annotations,
        "_meta": {"k": 1}, "size": 3});
    check_result::<ListResourcesResult>("resources/list", &with(json!({"resources": [resource]})));
    check_result::<ListResourceTemplatesResult>(
        "resources/templates/list",
        &with(
            json!({"resourceTemplates": [{"uriTemplate": "a:{b}", "name": "a", "title": "A", "icons": icons,
            "annotations": annotations, "_meta": {"k": 1}}]}),
        ),
    );
    check_result::<ReadResourceResult>(
        "resources/read",
        &with(json!({"contents": [
            {"uri": "a:b", "mimeType": "text/plain", "text": "t", "_meta": {"k": 1}},
            {"uri": "a:c", "blob": "AA==", "_meta": {"k": 1}},
        ]})),
    );
    let blocks = json!([
        {"type": "text", "text": "t", "annotations": annotations, "_meta": {"k": 1}},
        {"type": "image", "data": "AA==", "mimeType": "image/png", "annotations": annotations, "_meta": {"k": 1}},
        {"type": "audio", "data": "AA==", "mimeType": "audio/wav", "annotations": annotations, "_meta": {"k": 1}},
        {"type": "resource_link", "uri": "a:b", "name": "n", "title": "T", "icons": icons,
         "annotations": annotations, "_meta": {"k": 1}},
        {"type": "resource", "resource": {"uri": "a:b", "text": "t", "_meta": {"k": 1}},
         "annotations": annotations, "_meta": {"k": 1}},
    ]);
    let meta = json!({"com.example/k": 1});
    let call = |structured: Value, content: Value| json!({"resultType": "complete", "content": content, "structuredContent": structured, "_meta": meta, "x": 1});
    check_result::<CallToolResult>("tools/call", &call(json!({"a": 1}), blocks.clone()));
    check_result::<CallToolResult>("tools/call", &call(json!([1]), blocks.clone()));
    check_result::<CallToolResult>("tools/call", &call(json!([1]), json!([])));
    let messages: Vec<Value> = blocks
        .as_array()
        .unwrap()
        .iter()
        .map(|block| json!({"role": "user", "content": block}))
        .collect();
    check_result::<GetPromptResult>(
        "prompts/get",
        &json!({"resultType": "complete", "messages": messages, "_meta": meta}),
    );
}

#[test]
fn capabilities_and_names_convert_as_stamp_does() {
    let client = json!({"roots": {"listChanged": true}, "sampling": {"tools": {}, "context": {}},
        "elicitation": {"form": {}, "url": {}}, "tasks": {"list": {}}, "experimental": {"x": {}},
        "extensions": {"io.modelcontextprotocol/tasks": {}, "com.example/x": {}}});
    let server = json!({"completions": {}, "tasks": {"list": {}}, "tools": {"listChanged": true}, "logging": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}}});
    let info = json!({"name": "n", "version": "1", "title": "t", "description": "d", "icons": [],
        "websiteUrl": "https://example.com"});
    let only_url = json!({"elicitation": {"url": {}}});
    for to in ProtocolVersion::ALL {
        let conversion = Conversion::new(V2026_07_28, to);
        let removed = |json: &Value, edit: fn(Conversion, &mut RawObject<'_>)| {
            edited(json, |object| edit(conversion, object))
        };
        // Members of 2025-11-25 only are unknown members of the sender, which stay.
        let mut expected = stamped::<ClientCapabilities>(&client, to);
        expected["tasks"] = client["tasks"].clone();
        if to.is_modern() {
            expected["roots"] = client["roots"].clone();
        }
        assert_eq!(
            removed(&client, Conversion::client_capabilities),
            expected,
            "{to}"
        );
        assert_eq!(
            removed(&only_url, Conversion::client_capabilities),
            stamped::<ClientCapabilities>(&only_url, to),
            "{to}"
        );
        let mut expected = stamped::<ServerCapabilities>(&server, to);
        expected["tasks"] = server["tasks"].clone();
        assert_eq!(
            removed(&server, Conversion::server_capabilities),
            expected,
            "{to}"
        );
        assert_eq!(
            removed(&info, Conversion::implementation),
            stamped::<Implementation>(&info, to),
            "{to}"
        );
        let conversion = Conversion::new(V2025_11_25, to);
        let progress = json!({"progressToken": 1, "progress": 1, "message": "m"});
        assert_eq!(
            edited(&progress, |object| conversion
                .notification("notifications/progress", object)),
            stamped::<ProgressNotificationParams>(&progress, to),
            "{to}"
        );
    }
}

/// Checks the text of a converted result.
fn check_text(
    conversion: Conversion,
    method: &str,
    members: &ResultMembers,
    result: &str,
    expected: &str,
) {
    let json = raw(result);
    let mut object = RawObject::parse(json.as_raw_value()).unwrap();
    conversion.result(method, &mut object, members).unwrap();
    assert_eq!(object.finish().get(), expected);
}

#[test]
fn legacy_results_get_the_members_of_modern_ones() {
    let to_modern = Conversion::new(V2025_11_25, V2026_07_28);
    let none = ResultMembers::default();
    let all = ResultMembers::default()
        .with_cache(CacheHint::public(Duration::from_secs(5)))
        .with_server_info(raw(r#"{"name":"s"}"#));
    check_text(
        to_modern,
        "tools/list",
        &none,
        r#"{ "tools" : [ {"name":"a","execution":{},"x":1.0} ] }"#,
        r#"{"resultType":"complete","tools":[{"name":"a","x":1.0}],"ttlMs":0,"cacheScope":"private"}"#,
    );
    check_text(
        to_modern,
        "tools/list",
        &all,
        r#"{"tools":[],"_meta":{"k":1},"resultType":"input_required","ttlMs":9}"#,
        r#"{"resultType":"complete","tools":[],"_meta":{"k":1,"io.modelcontextprotocol/serverInfo":{"name":"s"}},"ttlMs":5000,"cacheScope":"public"}"#,
    );
    check_text(
        to_modern,
        "tools/call",
        &none,
        r#"{"content":[],"structuredContent":{ "a":1 }}"#,
        r#"{"resultType":"complete","content":[],"structuredContent":{ "a":1 }}"#,
    );
    check_text(
        to_modern,
        "com.example/x",
        &none,
        r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"}}}"#,
        r#"{"resultType":"complete"}"#,
    );
}

#[test]
fn same_revision_changes_no_result() {
    let odd = r#"{ "resultType":"input_required","tools":[{"title":1}],"ttlMs":-1 }"#;
    for version in ProtocolVersion::ALL {
        let conversion = Conversion::new(version, version);
        check_text(
            conversion,
            "tools/list",
            &ResultMembers::default(),
            odd,
            odd,
        );
    }
    // A later revision does not remove members that the sender's revision does not define.
    check_text(
        Conversion::new(V2024_11_05, V2025_03_26),
        "tools/list",
        &ResultMembers::default(),
        r#"{"tools":[{"name":"a","title":"t","execution":1}]}"#,
        r#"{"tools":[{"name":"a","title":"t","execution":1}]}"#,
    );
}

#[test]
fn incomplete_results_have_no_legacy_form() {
    for kind in ["input_required", "task", "other"] {
        let json = json!({"resultType": kind, "requestState": "s"}).into();
        let json: RawJson = json;
        let mut object = RawObject::parse(json.as_raw_value()).unwrap();
        let conversion = Conversion::new(V2026_07_28, V2025_11_25);
        let error = conversion
            .result("tools/call", &mut object, &ResultMembers::default())
            .unwrap_err();
        assert!(error.to_string().contains(kind));
        assert!(!object.is_edited());
    }
}

#[test]
fn per_hop_members_of_requests_are_replaced() {
    let check = |hop: HopMeta, params: &str, expected: &str| {
        let json = raw(params);
        let mut object = RawObject::parse(json.as_raw_value()).unwrap();
        hop.write(&mut object);
        assert_eq!(object.finish().get(), expected);
    };
    let modern = r#"{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/logLevel":"debug","progressToken":7,"io.modelcontextprotocol/subscriptionId":1},"arguments":{"n":1.0}}"#;
    check(
        HopMeta::new(V2025_11_25),
        modern,
        r#"{"name":"a","arguments":{"n":1.0}}"#,
    );
    check(
        HopMeta::new(V2026_07_28)
            .with_capabilities(raw(r#"{"sampling":{}}"#))
            .with_client_info(raw(r#"{"name":"r"}"#))
            .with_log_level(LoggingLevel::Warning)
            .with_progress_token("t1".into()),
        r#"{"_meta":{"traceparent":"00","tracestate":"a=b","baggage":"c=d","progressToken":"x","com.example/k":1.0}}"#,
        r#"{"_meta":{"traceparent":"00","tracestate":"a=b","baggage":"c=d","com.example/k":1.0,"progressToken":"t1","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/clientInfo":{"name":"r"},"io.modelcontextprotocol/logLevel":"warning"}}"#,
    );
    // Legacy revisions have no members of the modern ones.
    check(
        HopMeta::new(V2025_06_18)
            .with_log_level(LoggingLevel::Warning)
            .with_progress_token(3.into()),
        "{}",
        r#"{"_meta":{"progressToken":3}}"#,
    );
    check(
        HopMeta::new(V2025_06_18),
        r#"{"_meta":{}}"#,
        r#"{"_meta":{}}"#,
    );
}

#[test]
fn metadata_that_cannot_be_edited_is_not_forwarded() {
    let members: Vec<String> = (0..=crate::raw_object::MAX_MEMBERS)
        .map(|index| format!("\"{index}\":0"))
        .collect();
    let large = format!(r#"{{"a":1,"_meta":{{{}}}}}"#, members.join(","));
    for params in [
        r#"{"a":1,"_meta":[]}"#,
        r#"{"_meta":1,"a":1}"#,
        large.as_str(),
    ] {
        let json = raw(params);
        let mut object = RawObject::parse(json.as_raw_value()).unwrap();
        HopMeta::new(V2025_11_25).write(&mut object);
        assert_eq!(object.finish().get(), r#"{"a":1}"#);
    }
}

#[test]
fn members_of_requests_follow_the_revision() {
    let check = |to, method: &str, params: Value, expected: Value| {
        let conversion = Conversion::new(V2025_11_25, to);
        let converted = edited(&params, |object| conversion.request(method, object));
        assert_eq!(converted, expected);
    };
    let complete = json!({"ref": {}, "argument": {}, "context": {"arguments": {}}});
    check(
        V2025_06_18,
        "completion/complete",
        complete.clone(),
        complete.clone(),
    );
    check(
        V2025_03_26,
        "completion/complete",
        complete,
        json!({"ref": {}, "argument": {}}),
    );
    let call = json!({"name": "a", "task": {"ttl": 1}});
    check(V2026_07_28, "tools/call", call, json!({"name": "a"}));
}

#[test]
fn subscription_id_of_a_notification_is_never_forwarded() {
    let params =
        json!({"uri": "a:b", "_meta": {"io.modelcontextprotocol/subscriptionId": 1, "k": 1}});
    for version in ProtocolVersion::ALL {
        let conversion = Conversion::new(version, version);
        let converted = edited(&params, |object| {
            conversion.notification("notifications/resources/updated", object);
        });
        assert_eq!(converted, json!({"uri": "a:b", "_meta": {"k": 1}}));
    }
}

#[test]
fn errors_follow_the_revision() {
    let check = |from, to, uri: Option<&str>, error: Value, expected: Value| {
        let conversion = Conversion::new(from, to);
        let converted = edited(&error, |object| conversion.error(object, uri));
        assert_eq!(converted, expected, "{from} {to}");
    };
    let missing = |code: i64| json!({"code": code, "message": "m", "data": {"uri": "a:b"}, "x": 1});
    check(
        V2026_07_28,
        V2025_11_25,
        None,
        missing(-32602),
        missing(-32002),
    );
    check(
        V2025_11_25,
        V2026_07_28,
        None,
        missing(-32002),
        missing(-32602),
    );
    check(
        V2025_11_25,
        V2025_06_18,
        None,
        missing(-32002),
        missing(-32002),
    );
    let plain = |code: i64| json!({"code": code, "message": "m"});
    check(
        V2025_11_25,
        V2026_07_28,
        Some("a:b"),
        plain(-32002),
        json!({"code": -32602, "message": "m", "data": {"uri": "a:b"}}),
    );
    check(
        V2026_07_28,
        V2025_11_25,
        Some("a:b"),
        plain(-32602),
        plain(-32602),
    );
    check(
        V2026_07_28,
        V2025_11_25,
        None,
        json!({"code": -32021, "message": "missing", "data": {"requiredCapabilities": {"sampling": {}, "roots": {}}}}),
        json!({"code": -32602, "message": "missing: sampling, roots",
            "data": {"requiredCapabilities": {"sampling": {}, "roots": {}}}}),
    );
    check(V2025_11_25, V2025_06_18, None, plain(-32042), plain(-32600));
    for code in [-32601, -32603, -1, 7] {
        for from in ProtocolVersion::ALL {
            for to in ProtocolVersion::ALL {
                check(from, to, None, plain(code), plain(code));
            }
        }
    }
    // Nothing is judged between peers of one revision.
    check(V2026_07_28, V2026_07_28, None, plain(-32050), plain(-32050));
}

#[test]
fn url_elicitation_error_becomes_input_requests() {
    let check = |error: Value, expected: Option<Value>| {
        let error = RawJson::from(error);
        let object = RawObject::parse(error.as_raw_value()).unwrap();
        let result = url_input_required(&object, Some("state"));
        assert_eq!(result.map(|result| result.to_value().unwrap()), expected);
    };
    let elicitation = json!({"mode": "url", "elicitationId": "e", "url": "https://example.com", "message": "Go", "x": 1});
    let error = |elicitations: Value| json!({"code": -32042, "message": "m", "data": {"elicitations": elicitations}});
    let params = json!({"mode": "url", "url": "https://example.com", "message": "Go", "x": 1});
    let request = json!({"method": "elicitation/create", "params": params});
    check(
        error(json!([elicitation, elicitation])),
        Some(json!({
            "resultType": "input_required",
            "inputRequests": {"q1": request, "q2": request},
            "requestState": "state",
        })),
    );
    check(error(json!([])), None);
    check(error(json!(vec![elicitation.clone(); 17])), None);
    let most: serde_json::Map<String, Value> = (1..=16)
        .map(|index| (format!("q{index}"), request.clone()))
        .collect();
    check(
        error(json!(vec![elicitation.clone(); 16])),
        Some(
            json!({"resultType": "input_required", "inputRequests": most, "requestState": "state"}),
        ),
    );
    check(error(json!([elicitation, 1])), None);
    check(error(json!([{"message": "no URL"}])), None);
    check(json!({"code": -32042, "message": "m"}), None);
    check(
        json!({"code": -32602, "message": "m", "data": {"elicitations": [elicitation]}}),
        None,
    );
}

#[test]
fn input_requests_and_responses_follow_the_revision() {
    let check = |from, to, method: &str, params: Value, expected: Result<Value, i64>| {
        let conversion = Conversion::new(from, to);
        let params = RawJson::from(params);
        let converted = conversion.input_request(method, params.as_raw_value(), "id-1");
        let converted = converted
            .map(|params| params.to_value().unwrap())
            .map_err(|error| error.code);
        assert_eq!(converted, expected, "{method} {from} {to}");
    };
    let url = json!({"mode": "url", "url": "https://example.com", "message": "m", "x": 1});
    let mut url_with_id = url.clone();
    url_with_id["elicitationId"] = json!("id-1");
    check(
        V2026_07_28,
        V2025_11_25,
        "elicitation/create",
        url.clone(),
        Ok(url_with_id.clone()),
    );
    check(
        V2025_11_25,
        V2026_07_28,
        "elicitation/create",
        url_with_id,
        Ok(url.clone()),
    );
    check(
        V2026_07_28,
        V2025_06_18,
        "elicitation/create",
        url,
        Err(-32600),
    );
    let form = json!({"mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {
        "a": {"type": "array", "items": {"type": "string", "enum": ["x"]}}}}, "task": {"ttl": 1}});
    let mut without_task = form.clone();
    without_task.as_object_mut().unwrap().remove("task");
    check(
        V2025_11_25,
        V2026_07_28,
        "elicitation/create",
        form.clone(),
        Ok(without_task),
    );
    check(
        V2025_11_25,
        V2024_11_05,
        "elicitation/create",
        form.clone(),
        Err(-32600),
    );
    let sampling = json!({"messages": [], "maxTokens": 1, "tools": []});
    check(
        V2025_11_25,
        V2025_06_18,
        "sampling/createMessage",
        sampling.clone(),
        Err(-32600),
    );
    check(
        V2025_11_25,
        V2026_07_28,
        "sampling/createMessage",
        sampling.clone(),
        Ok(sampling),
    );

    // The response to a simplified form gets the form of the original one.
    let response = |from, to, method: &str, request: &Value, response: Value| {
        let (request, response) = (RawJson::from_value(request), RawJson::from(response));
        let conversion = Conversion::new(from, to);
        conversion
            .input_response(method, request.as_raw_value(), response.as_raw_value())
            .map(|response| response.to_value().unwrap())
            .map_err(|error| error.code)
    };
    assert_eq!(
        response(
            V2025_06_18,
            V2025_11_25,
            "elicitation/create",
            &form,
            json!({"action": "accept", "content": {"a": "x"}})
        ),
        Ok(json!({"action": "accept", "content": {"a": ["x"]}}))
    );
    assert_eq!(
        response(
            V2026_07_28,
            V2024_11_05,
            "roots/list",
            &json!({}),
            json!({"roots": [{"uri": "file:///a", "_meta": {}}]})
        ),
        Ok(json!({"roots": [{"uri": "file:///a"}]}))
    );
    assert_eq!(
        response(
            V2026_07_28,
            V2025_06_18,
            "sampling/createMessage",
            &json!({}),
            json!({"role": "assistant", "model": "m", "content": [
                {"type": "text", "text": "a"}, {"type": "image", "data": "AA==", "mimeType": "image/png"}]})
        ),
        Err(-32600)
    );
}

#[test]
fn initialize_result_of_a_server_without_a_name_has_the_required_members() {
    let stored =
        raw(r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#);
    let result = initialize_result(stored.as_raw_value(), V2026_07_28, V2025_06_18);
    let expected = r#"{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"unknown","version":"unknown"}}"#;
    assert_eq!(result.unwrap().get(), expected);
}

#[test]
fn elicitations_name_their_upstream() {
    let check = |method: &str, params: Value, expected: Value| {
        let named = edited(&params, |object| name_upstream(method, object, "github"));
        assert_eq!(named, expected);
    };
    check(
        "elicitation/create",
        json!({"message": "Sure?", "requestedSchema": {}}),
        json!({"message": "[github] Sure?", "requestedSchema": {}}),
    );
    check("elicitation/create", json!({"x": 1}), json!({"x": 1}));
    check(
        "roots/list",
        json!({"message": "a"}),
        json!({"message": "a"}),
    );
}

#[test]
fn handshake_results_follow_the_era() {
    let discover = raw(
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"extensions":{"io.modelcontextprotocol/tasks":{}},"x":{}},"instructions":"i","ttlMs":5,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1.0","icons":[]}},"y":1.0}"#,
    );
    assert_eq!(
        initialize_result(discover.as_raw_value(), V2026_07_28, V2025_06_18)
            .unwrap()
            .get(),
        r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"x":{}},"instructions":"i","y":1.0,"serverInfo":{"name":"s","version":"1.0"}}"#
    );
    let versions: SupportedVersions = [V2026_07_28, V2025_11_25].into_iter().collect();
    let initialize = raw(
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tasks":{},"logging":{}},"serverInfo":{"name":"s"},"instructions":"i","y":1.0}"#,
    );
    assert_eq!(
        discover_result(
            initialize.as_raw_value(),
            V2025_11_25,
            &versions,
            CacheHint::default()
        )
        .unwrap()
        .get(),
        r#"{"resultType":"complete","capabilities":{"logging":{}},"instructions":"i","y":1.0,"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}},"supportedVersions":["2026-07-28","2025-11-25"]}"#
    );
    assert_eq!(
        initialize_result(initialize.as_raw_value(), V2025_11_25, V2025_11_25)
            .unwrap()
            .get(),
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tasks":{},"logging":{}},"serverInfo":{"name":"s"},"instructions":"i","y":1.0}"#
    );
    let same = discover_result(
        discover.as_raw_value(),
        V2026_07_28,
        &versions,
        CacheHint::default(),
    );
    let expected = discover
        .get()
        .replace(r#"["2026-07-28"]"#, r#"["2026-07-28","2025-11-25"]"#);
    assert_eq!(same.unwrap().get(), expected);
    assert!(initialize_result(raw("1").as_raw_value(), V2026_07_28, V2025_06_18).is_none());
}

#[test]
fn blocks_are_replaced_at_their_own_place_after_edits() {
    let audio = r#"{"type":"audio","data":"aGk=","mimeType":"audio/wav"}"#;
    let link = r#"{"type":"resource_link","uri":"x://a","name":"a"}"#;
    let result = raw(&format!(
        r#"{{"content":[{{"type":"text","text":"first"}},{audio},{link}]}}"#
    ));
    let conversion = Conversion::new(V2025_06_18, V2024_11_05);
    let convert = |edit: &dyn Fn(&mut RawObject<'_>)| {
        let mut result = RawObject::parse(result.as_raw_value()).unwrap();
        edit(&mut result);
        let members = ResultMembers::default();
        conversion
            .result("tools/call", &mut result, &members)
            .unwrap();
        result.finish().to_value().unwrap()
    };
    let unedited = convert(&|_| {});
    assert_eq!(unedited["content"][1]["type"], "text", "{unedited}");
    let edited = convert(&|result| {
        let content = result.array_mut("content").unwrap();
        for block in content.objects_mut() {
            block.set_text("x-seen", "yes");
        }
    });
    assert_eq!(edited["content"][0]["text"], "first", "{edited}");
    for index in 0..3 {
        assert_eq!(edited["content"][index]["type"], "text", "{edited}");
    }
    let expected = unedited["content"][2]["text"].as_str().unwrap();
    let renamed = convert(&|result| {
        let content = result.array_mut("content").unwrap();
        let link = content.objects_mut().nth(2).unwrap();
        link.set_text("uri", "x://b");
    });
    assert_eq!(
        renamed["content"][2]["text"],
        expected.replace("x://a", "x://b")
    );

    let message = raw(&format!(
        r#"{{"messages":[{{"role":"user","content":{audio}}}]}}"#
    ));
    let mut message = RawObject::parse(message.as_raw_value()).unwrap();
    let messages = message.array_mut("messages").unwrap();
    for message in messages.objects_mut() {
        message.object_mut("content").unwrap().set_text("x", "y");
    }
    conversion
        .result("prompts/get", &mut message, &ResultMembers::default())
        .unwrap();
    let message = message.finish().to_value().unwrap();
    assert_eq!(message["messages"][0]["content"]["type"], "text");
}
