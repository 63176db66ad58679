//! One test per row of the down-conversion table. Columns are the revisions, oldest first.

#![expect(
    clippy::needless_pass_by_value,
    reason = "samples are literals in the call"
)]

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolwire_types::{
    Annotations, CallToolResponse, CallToolResult, ClientCapabilities, CompleteResult,
    ContentBlock, CreateMessageRequestParams, DiscoverResult, EmptyResult, GetPromptResult,
    Implementation, InitializeRequestParams, InitializeResult, InputRequiredResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListRootsResult,
    ListToolsResult, ProgressNotificationParams, Prompt, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, ResourceUpdatedNotificationParams, ServerCapabilities,
    SubscriptionsListenResult, Tool, tasks,
};

use super::*;

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

fn stamped<T: Stamp + Serialize + DeserializeOwned + Clone + PartialEq + Debug>(
    sample: &Value,
    version: ProtocolVersion,
) -> Value {
    let server_info = RawJson::from(json!({"name": "s", "version": "1"}));
    let target = Target::new(version).with_server_info(&server_info);
    let mut value: T = serde_json::from_str(&sample.to_string()).unwrap();
    value.stamp(&target);
    let once = value.clone();
    value.stamp(&target);
    assert_eq!(value, once, "stamping twice for {version}");
    serde_json::to_value(value).unwrap()
}

/// Checks the whole value for each revision.
fn check<T: Stamp + Serialize + DeserializeOwned + Clone + PartialEq + Debug>(
    sample: Value,
    expected: [Value; 5],
) {
    for (version, expected) in ProtocolVersion::ALL.into_iter().zip(expected) {
        assert_eq!(stamped::<T>(&sample, version), expected, "{version}");
    }
}

/// Checks which revisions keep one member, while the rest is unchanged.
fn check_member<T: Stamp + Serialize + DeserializeOwned + Clone + PartialEq + Debug>(
    base: Value,
    member: &str,
    value: Value,
    keeps: [bool; 5],
) {
    let mut full = base.clone();
    full[member] = value;
    let expected = keeps.map(|keeps| if keeps { full.clone() } else { base.clone() });
    check::<T>(full, expected);
}

const ALWAYS: [bool; 5] = [true; 5];
const SINCE_2025_03_26: [bool; 5] = [false, true, true, true, true];
const SINCE_2025_06_18: [bool; 5] = [false, false, true, true, true];
const SINCE_2025_11_25: [bool; 5] = [false, false, false, true, true];
const ONLY_2025_11_25: [bool; 5] = [false, false, false, true, false];
const UNTIL_2025_11_25: [bool; 5] = [true, true, true, true, false];

/// Checks a plain result: unchanged in legacy revisions, with kind and server name in the modern one.
fn check_result<T: Stamp + Serialize + DeserializeOwned + Clone + PartialEq + Debug>(
    legacy: Value,
    modern_members: Value,
) {
    let mut modern = legacy.clone();
    for (key, value) in modern_members.as_object().unwrap() {
        modern[key] = value.clone();
    }
    modern["_meta"][SERVER_INFO] = json!({"name": "s", "version": "1"});
    let expected = [&legacy, &legacy, &legacy, &legacy, &modern].map(Clone::clone);
    check::<T>(legacy, expected.clone());
    check::<T>(modern, expected);
}

#[test]
fn only_modern_results_have_kind_and_server() {
    let complete = json!({"resultType": "complete"});
    check_result::<EmptyResult>(json!({}), complete.clone());
    check_result::<CompleteResult>(json!({"completion": {"values": ["a"]}}), complete.clone());
    check_result::<GetPromptResult>(json!({"messages": []}), complete.clone());
    check_result::<CallToolResult>(json!({"content": [], "later": 1}), complete);
}

#[test]
fn only_modern_cacheable_results_have_hints() {
    let hints = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
    check_result::<ListToolsResult>(json!({"tools": [], "nextCursor": "c"}), hints.clone());
    check_result::<ListPromptsResult>(json!({"prompts": []}), hints.clone());
    check_result::<ListResourcesResult>(json!({"resources": []}), hints.clone());
    check_result::<ListResourceTemplatesResult>(json!({"resourceTemplates": []}), hints.clone());
    check_result::<ReadResourceResult>(json!({"contents": []}), hints.clone());
    let discover = json!({"supportedVersions": ["2026-07-28"], "capabilities": {}});
    check_result::<DiscoverResult>(discover, hints);
}

#[test]
fn given_hints_kinds_and_names_stay_in_modern_results() {
    let given = json!({
        "resultType": "complete", "tools": [], "ttlMs": 5000, "cacheScope": "public",
        "_meta": {SERVER_INFO: {"name": "other"}, "k": 1},
    });
    let legacy = json!({"tools": [], "_meta": {"k": 1}});
    let old = || legacy.clone();
    check::<ListToolsResult>(given.clone(), [old(), old(), old(), old(), given]);
}

#[test]
fn input_required_results_never_have_hints() {
    let version = ProtocolVersion::V2026_07_28;
    let given = json!({"requestState": "s", "ttlMs": 5, "cacheScope": "public"});
    assert_eq!(
        stamped::<InputRequiredResult>(&given, version),
        json!({
            "resultType": "input_required", "requestState": "s",
            "_meta": {SERVER_INFO: {"name": "s", "version": "1"}},
        })
    );
}

#[test]
fn input_requests_are_stamped_inside_their_result() {
    let version = ProtocolVersion::V2026_07_28;
    let given = json!({"resultType": "input_required", "inputRequests": {
        "visit": {"method": "elicitation/create", "params": {
            "mode": "url", "message": "m", "url": "https://a.b", "elicitationId": "e"}},
        "roots": {"method": "roots/list"},
    }});
    let requests = stamped::<InputRequiredResult>(&given, version)["inputRequests"].clone();
    assert_eq!(
        requests["visit"]["params"],
        json!({"mode": "url", "message": "m", "url": "https://a.b"})
    );
    assert_eq!(requests["roots"]["method"], json!("roots/list"));
}

#[test]
fn listen_result_keeps_its_subscription() {
    let id = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(
        stamped::<SubscriptionsListenResult>(
            &json!({"_meta": {id: 7}}),
            ProtocolVersion::V2026_07_28
        ),
        json!({"resultType": "complete", "_meta": {id: 7, SERVER_INFO: {"name": "s", "version": "1"}}})
    );
}

#[test]
fn task_results_have_their_kind() {
    let version = ProtocolVersion::V2026_07_28;
    let task = json!({
        "taskId": "t", "status": "working", "createdAt": "2026-07-28T10:00:00Z",
        "lastUpdatedAt": "2026-07-28T10:00:00Z", "ttlMs": null,
    });
    let created = stamped::<tasks::extension::CreateTaskResult>(&task, version);
    assert_eq!(created["resultType"], json!("task"));
    assert_eq!(created["ttlMs"], json!(null));
    let current = stamped::<tasks::extension::GetTaskResult>(&task, version);
    assert_eq!(current["resultType"], json!("complete"));
    let legacy = json!({"task": {
        "taskId": "t", "status": "working", "createdAt": "2025-11-25T10:00:00Z",
        "lastUpdatedAt": "2025-11-25T10:00:00Z", "ttl": 1,
    }});
    assert_eq!(
        stamped::<CallToolResponse>(&legacy, ProtocolVersion::V2025_11_25),
        legacy
    );
}

/// Checks a tool result without the members of every modern result.
fn check_call(given: Value, expected: [Value; 5]) {
    for (version, expected) in ProtocolVersion::ALL.into_iter().zip(expected) {
        let mut result = stamped::<CallToolResult>(&given, version);
        result.as_object_mut().unwrap().remove("resultType");
        result.as_object_mut().unwrap().remove("_meta");
        assert_eq!(result, expected, "{version}");
    }
}

#[test]
fn unsupported_structured_content_becomes_text() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let object = json!({"content": [], "structuredContent": {"a": 1}});
    let object_text = json!({"content": [text(r#"{"a":1}"#)]});
    check_call(
        object.clone(),
        [
            object_text.clone(),
            object_text,
            object.clone(),
            object.clone(),
            object,
        ],
    );
    for (value, mirror) in [
        (json!([1]), "[1]"),
        (json!(null), "null"),
        (json!("x"), "\"x\""),
    ] {
        let any = json!({"content": [], "structuredContent": value});
        let mirrored = json!({"content": [text(mirror)]});
        let old = || mirrored.clone();
        check_call(any.clone(), [old(), old(), old(), old(), any]);
    }
    let with_text = json!({"content": [text("three")], "structuredContent": 3});
    let text_only = json!({"content": [text("three")]});
    let old = || text_only.clone();
    check_call(with_text.clone(), [old(), old(), old(), old(), with_text]);
}

#[test]
fn output_schemas_of_non_objects_are_modern() {
    let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
    let object = json!({"$schema": "x", "type": "object", "properties": {}});
    check_member::<Tool>(tool.clone(), "outputSchema", object, SINCE_2025_06_18);
    let modern_only = [false, false, false, false, true];
    for schema in [
        json!({"type": "array"}),
        json!({"type": ["object", "null"]}),
        json!({"$ref": "#/$defs/a"}),
        json!(true),
    ] {
        check_member::<Tool>(tool.clone(), "outputSchema", schema, modern_only);
    }
}

#[test]
fn tools_lose_undefined_members() {
    let tool =
        json!({"name": "t", "inputSchema": {"type": "object", "oneOf": [{"$ref": "#/$defs/a"}]}});
    let member = |name, value, keeps| check_member::<Tool>(tool.clone(), name, value, keeps);
    member("title", json!("T"), SINCE_2025_06_18);
    member("_meta", json!({"k": 1}), SINCE_2025_06_18);
    member("icons", json!([{"src": "data:,"}]), SINCE_2025_11_25);
    member(
        "annotations",
        json!({"readOnlyHint": true, "later": 1}),
        SINCE_2025_03_26,
    );
    member(
        "execution",
        json!({"taskSupport": "optional"}),
        ONLY_2025_11_25,
    );
    member("description", json!("d"), ALWAYS);
    member("later", json!({"a": [1]}), ALWAYS);
}

#[test]
fn resources_and_templates_lose_undefined_members() {
    let resource = json!({"uri": "a:b", "name": "b"});
    let member =
        |name, value, keeps| check_member::<Resource>(resource.clone(), name, value, keeps);
    member("title", json!("T"), SINCE_2025_06_18);
    member("_meta", json!({"k": 1}), SINCE_2025_06_18);
    member("icons", json!([{"src": "data:,"}]), SINCE_2025_11_25);
    member("size", json!(3), ALWAYS);
    let template = json!({"uriTemplate": "a:{b}", "name": "b"});
    let member = |name, value, keeps| {
        check_member::<ResourceTemplate>(template.clone(), name, value, keeps);
    };
    member("title", json!("T"), SINCE_2025_06_18);
    member("_meta", json!({"k": 1}), SINCE_2025_06_18);
    member("icons", json!([{"src": "data:,"}]), SINCE_2025_11_25);
    let contents = json!({"uri": "a:b", "text": "x"});
    check_member::<ResourceContents>(contents, "_meta", json!({"k": 1}), SINCE_2025_06_18);
    let blob = json!({"uri": "a:b", "blob": "AA=="});
    check_member::<ResourceContents>(blob, "_meta", json!({"k": 1}), SINCE_2025_06_18);
}

#[test]
fn prompts_lose_undefined_members() {
    let member =
        |name, value, keeps| check_member::<Prompt>(json!({"name": "p"}), name, value, keeps);
    member("title", json!("T"), SINCE_2025_06_18);
    member("_meta", json!({"k": 1}), SINCE_2025_06_18);
    member("icons", json!([{"src": "data:,"}]), SINCE_2025_11_25);
    let titled = json!({"name": "p", "arguments": [{"name": "a", "title": "A", "required": true}]});
    let plain = json!({"name": "p", "arguments": [{"name": "a", "required": true}]});
    check::<Prompt>(
        titled.clone(),
        [plain.clone(), plain, titled.clone(), titled.clone(), titled],
    );
}

#[test]
fn lists_stamp_their_items() {
    let version = ProtocolVersion::V2024_11_05;
    let given = json!({"tools": [{"name": "t", "title": "T", "inputSchema": {}}]});
    assert_eq!(
        stamped::<ListToolsResult>(&given, version),
        json!({"tools": [{"name": "t", "inputSchema": {}}]})
    );
    let given = json!({"messages": [{"role": "user", "content": {"type": "audio", "data": "", "mimeType": "a/b"}}]});
    assert_eq!(
        stamped::<GetPromptResult>(&given, version)["messages"][0]["content"]["type"],
        json!("text")
    );
}

#[test]
fn implementations_lose_undefined_members() {
    let base = json!({"name": "n", "version": "1"});
    let member =
        |name, value, keeps| check_member::<Implementation>(base.clone(), name, value, keeps);
    member("title", json!("T"), SINCE_2025_06_18);
    member("description", json!("d"), SINCE_2025_11_25);
    member("icons", json!([{"src": "data:,"}]), SINCE_2025_11_25);
    member("websiteUrl", json!("https://a.b"), SINCE_2025_11_25);
}

#[test]
fn annotations_lose_their_date_before_2025_06_18() {
    let base = json!({"audience": ["user"], "priority": 1});
    let date = json!("2025-01-12T15:00:58Z");
    check_member::<Annotations>(base, "lastModified", date, SINCE_2025_06_18);
}

#[test]
fn new_kinds_of_content_become_text() {
    let notes = json!({"priority": 0.5});
    let audio =
        json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav", "annotations": notes});
    let text = json!({"type": "text", "text": "[audio omitted: audio/wav]", "annotations": notes});
    check::<ContentBlock>(
        audio.clone(),
        [text, audio.clone(), audio.clone(), audio.clone(), audio],
    );
    let link = json!({"type": "resource_link", "uri": "a:b", "name": "b"});
    let text = json!({"type": "text", "text": "[resource: b, a:b]"});
    check::<ContentBlock>(
        link.clone(),
        [text.clone(), text, link.clone(), link.clone(), link],
    );
    let link = json!({"type": "resource_link", "uri": "a:b", "name": "b", "title": "B", "description": "d"});
    let text = json!({"type": "text", "text": "[resource: B, a:b] d"});
    check::<ContentBlock>(
        link.clone(),
        [text.clone(), text, link.clone(), link.clone(), link],
    );
}

#[test]
fn known_content_loses_its_metadata_before_2025_06_18() {
    for block in [
        json!({"type": "text", "text": "t"}),
        json!({"type": "image", "data": "", "mimeType": "a/b"}),
        json!({"type": "resource", "resource": {"uri": "a:b", "text": "x"}}),
    ] {
        check_member::<ContentBlock>(block, "_meta", json!({"k": 1}), SINCE_2025_06_18);
    }
    let link = json!({"type": "resource_link", "uri": "a:b", "name": "b"});
    let mut with_icons = link.clone();
    with_icons["icons"] = json!([{"src": "data:,"}]);
    assert_eq!(
        stamped::<ContentBlock>(&with_icons, ProtocolVersion::V2025_06_18),
        link
    );
    let unknown = json!({"type": "later", "_meta": {}, "x": 1});
    check::<ContentBlock>(unknown.clone(), [(); 5].map(|()| unknown.clone()));
}

#[test]
fn server_capabilities_follow_the_revision() {
    let base = json!({"tools": {"listChanged": true}, "logging": {}, "experimental": {"a": {}}});
    let member =
        |name, value, keeps| check_member::<ServerCapabilities>(base.clone(), name, value, keeps);
    member("completions", json!({}), SINCE_2025_03_26);
    member("tasks", json!({"list": {}}), ONLY_2025_11_25);
    member("extensions", json!({"a/b": {}}), SINCE_2025_11_25);
    member("resources", json!({"subscribe": true}), ALWAYS);
}

#[test]
fn each_extension_is_declared_only_in_its_revisions() {
    let settings = json!({"mimeTypes": ["text/html"], "nested": {"n": [1.5, null]}});
    let all = json!({"extensions": {
        "io.modelcontextprotocol/tasks": {},
        "io.modelcontextprotocol/ui": settings,
        "io.modelcontextprotocol/events": {"listChanged": true},
        "io.modelcontextprotocol/skills": {},
        "com.example/own": {"a": 1},
    }});
    let legacy = json!({"extensions": {
        "io.modelcontextprotocol/ui": settings,
        "io.modelcontextprotocol/skills": {},
        "com.example/own": {"a": 1},
    }});
    let none = || json!({});
    let expected = || [none(), none(), none(), legacy.clone(), all.clone()];
    check::<ServerCapabilities>(all.clone(), expected());
    check::<ClientCapabilities>(all.clone(), expected());

    let modern_only = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let expected = || [none(), none(), none(), none(), modern_only.clone()];
    check::<ServerCapabilities>(modern_only.clone(), expected());
    check::<ClientCapabilities>(modern_only.clone(), expected());
}

#[test]
fn client_capabilities_follow_the_revision() {
    let base = json!({"experimental": {"a": {}}});
    let member =
        |name, value, keeps| check_member::<ClientCapabilities>(base.clone(), name, value, keeps);
    member("tasks", json!({"list": {}}), ONLY_2025_11_25);
    member("extensions", json!({"a/b": {}}), SINCE_2025_11_25);
    member("elicitation", json!({}), SINCE_2025_06_18);
    member("elicitation", json!({"url": {}}), SINCE_2025_11_25);
    member("sampling", json!({}), ALWAYS);

    let both = json!({"elicitation": {"form": {}, "url": {}}});
    let form = json!({"elicitation": {}});
    let none = json!({});
    check::<ClientCapabilities>(both.clone(), [none.clone(), none, form, both.clone(), both]);

    let rich = json!({"sampling": {"tools": {}, "context": {}}});
    let plain = json!({"sampling": {}});
    let old = || plain.clone();
    check::<ClientCapabilities>(rich.clone(), [old(), old(), old(), rich.clone(), rich]);

    check_member::<toolwire_types::RootsCapability>(
        json!({}),
        "listChanged",
        json!(true),
        UNTIL_2025_11_25,
    );
}

#[test]
fn parts_of_the_handshake_are_stamped() {
    let version = ProtocolVersion::V2024_11_05;
    let params = json!({
        "protocolVersion": "2024-11-05", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "c", "title": "C", "version": "1"},
    });
    assert_eq!(
        stamped::<InitializeRequestParams>(&params, version),
        json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}})
    );
    let result = json!({
        "protocolVersion": "2024-11-05", "capabilities": {"completions": {}}, "instructions": "i",
        "serverInfo": {"name": "s", "websiteUrl": "https://a.b", "version": "1"},
    });
    assert_eq!(
        stamped::<InitializeResult>(&result, version),
        json!({
            "protocolVersion": "2024-11-05", "capabilities": {}, "instructions": "i",
            "serverInfo": {"name": "s", "version": "1"},
        })
    );
}

#[test]
fn notifications_lose_undefined_members() {
    let progress = json!({"progressToken": 1, "progress": 50});
    check_member::<ProgressNotificationParams>(progress, "message", json!("m"), SINCE_2025_03_26);
    let updated = json!({"uri": "a:b"});
    let listening = json!({"io.modelcontextprotocol/subscriptionId": 1});
    check_member::<ResourceUpdatedNotificationParams>(
        updated.clone(),
        "_meta",
        listening,
        [false, false, false, false, true],
    );
    let task = json!({"io.modelcontextprotocol/related-task": {"taskId": "t"}});
    check_member::<ResourceUpdatedNotificationParams>(updated, "_meta", task, ONLY_2025_11_25);
}

#[test]
fn roots_lose_their_metadata_before_2025_06_18() {
    let plain = json!({"roots": [{"uri": "file:///a", "name": "a"}]});
    let with_meta = json!({"roots": [{"uri": "file:///a", "name": "a", "_meta": {"k": 1}}]});
    check::<ListRootsResult>(
        with_meta.clone(),
        [
            plain.clone(),
            plain,
            with_meta.clone(),
            with_meta.clone(),
            with_meta,
        ],
    );
}

fn sampling(messages: &Value) -> Value {
    json!({"messages": messages, "maxTokens": 1})
}

#[test]
fn sampling_requests_lose_tools_before_2025_11_25() {
    let base = sampling(&json!([{"role": "user", "content": {"type": "text", "text": "t"}}]));
    let member = |name, value, keeps| {
        check_member::<CreateMessageRequestParams>(base.clone(), name, value, keeps);
    };
    member(
        "tools",
        json!([{"name": "t", "inputSchema": {}}]),
        SINCE_2025_11_25,
    );
    member("toolChoice", json!({"mode": "auto"}), SINCE_2025_11_25);
    member("task", json!({"ttl": 1}), ONLY_2025_11_25);
    member("includeContext", json!("none"), ALWAYS);
}
