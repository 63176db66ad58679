//! Input requests and their responses.

use super::*;

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
