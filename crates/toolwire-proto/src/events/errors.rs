//! The errors of the extension, section "Errors".

use serde::Serialize;
use toolwire_types::events::{
    CallbackEndpointErrorData, CallbackFailure, DeliveryMode, NotFoundData, NotFoundKind,
    ResourceExhaustedData, UnsupportedData, code,
};
use toolwire_types::{ErrorObject, RawJson};

/// Returns the error for an event type that the server does not have (−32023).
#[must_use]
pub fn unknown_event(name: &str) -> ErrorObject {
    let error = ErrorObject::new(code::NOT_FOUND, format!("there is no event type `{name}`"));
    with_data(error, &NotFoundData::new(NotFoundKind::Event))
}

/// Returns the error for a subscription that does not exist or belongs to another caller (−32023).
#[must_use]
pub fn unknown_subscription() -> ErrorObject {
    let error = ErrorObject::new(code::NOT_FOUND, "there is no such subscription");
    with_data(error, &NotFoundData::new(NotFoundKind::Subscription))
}

/// Returns the error for a caller that may not receive these events (−32024).
#[must_use]
pub fn forbidden(message: impl Into<String>) -> ErrorObject {
    ErrorObject::new(code::FORBIDDEN, message.into())
}

/// Returns the error for a limit that is reached (−32025). `limit` is the name of the limit.
#[must_use]
pub fn exhausted(message: impl Into<String>, limit: &str, max: u64) -> ErrorObject {
    let error = ErrorObject::new(code::RESOURCE_EXHAUSTED, message.into());
    with_data(error, &ResourceExhaustedData::new(limit, max))
}

/// Returns the error for a delivery mode that an event type does not offer (−32026).
#[must_use]
pub fn unsupported_mode(name: &str, mode: &DeliveryMode) -> ErrorObject {
    let message = format!("event type `{name}` does not offer the delivery mode `{mode}`");
    let error = ErrorObject::new(code::UNSUPPORTED, message);
    with_data(error, &UnsupportedData::new("delivery", mode.as_str()))
}

/// Returns the error for a callback URL that did not accept the check of the server (−32027).
#[must_use]
pub fn callback_failed(reason: CallbackFailure) -> ErrorObject {
    let error = ErrorObject::new(
        code::CALLBACK_ENDPOINT_ERROR,
        "the callback URL did not accept the check of the server",
    );
    with_data(error, &CallbackEndpointErrorData::new(reason))
}

/// Returns `true` if an error of `events/subscribe` is final: the same request would fail again later. After another
/// error, a client repeats the request.
#[must_use]
pub fn is_final_rejection(code: i64) -> bool {
    matches!(
        code,
        code::NOT_FOUND
            | code::FORBIDDEN
            | code::UNSUPPORTED
            | toolwire_types::code::INVALID_PARAMS
            | toolwire_types::code::METHOD_NOT_FOUND
    )
}

fn with_data(error: ErrorObject, data: &impl Serialize) -> ErrorObject {
    let data = RawJson::from_serialize(data).expect("the data has only text and numbers");
    error.with_data(data)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn rejection_is_final_if_the_same_request_fails_again() {
        let reason = CallbackFailure::Timeout;
        for (error, expected) in [
            (unknown_event("a"), true),
            (forbidden("no"), true),
            (unsupported_mode("a", &DeliveryMode::Webhook), true),
            (ErrorObject::invalid_params("no"), true),
            (ErrorObject::method_not_found("no"), true),
            (exhausted("later", "streams", 1), false),
            (callback_failed(reason), false),
            (ErrorObject::internal("later"), false),
        ] {
            assert_eq!(is_final_rejection(error.code), expected, "{error:?}");
        }
    }

    #[test]
    fn each_error_has_its_code_and_data() {
        #[track_caller]
        fn check(error: ErrorObject, code: i64, data: Option<Value>) {
            assert_eq!(error.code, code);
            assert_eq!(error.data, data.map(RawJson::from));
        }
        check(unknown_event("a"), -32023, Some(json!({"kind": "event"})));
        check(
            unknown_subscription(),
            -32023,
            Some(json!({"kind": "subscription"})),
        );
        check(forbidden("no"), -32024, None);
        check(
            exhausted("full", "streams", 5),
            -32025,
            Some(json!({"limit": "streams", "max": 5})),
        );
        check(
            unsupported_mode("a", &DeliveryMode::Webhook),
            -32026,
            Some(json!({"feature": "delivery", "value": "webhook"})),
        );
        check(
            callback_failed(CallbackFailure::Timeout),
            -32027,
            Some(json!({"reason": "timeout"})),
        );
    }
}
