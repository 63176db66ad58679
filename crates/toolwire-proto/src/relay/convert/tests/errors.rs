//! Errors.

use super::*;

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
