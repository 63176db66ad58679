//! Capabilities, and the results of `initialize` and `server/discover`.

use super::*;

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

#[test]
fn initialize_result_of_a_server_without_a_name_has_the_required_members() {
    let stored =
        raw(r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#);
    let result = initialize_result(stored.as_raw_value(), V2026_07_28, V2025_06_18);
    let expected = r#"{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"unknown","version":"unknown"}}"#;
    assert_eq!(result.unwrap().get(), expected);
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
