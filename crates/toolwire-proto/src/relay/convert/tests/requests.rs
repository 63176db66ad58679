//! Parameters of requests and notifications.

use super::*;

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
