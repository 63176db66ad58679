//! Results of requests.

use super::*;

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
fn blocks_are_replaced_at_their_own_position_after_edits() {
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
