//! How a request ended, as its span and metrics record it.

use std::borrow::Cow;

use serde::Deserialize;
use toolwire::{Error, ErrorObject};

use crate::conventions::value;

/// The end of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The code of a JSON-RPC error.
    pub(crate) code: Option<i64>,
    /// `error.type` of a failure.
    pub(crate) error_type: Option<Cow<'static, str>>,
    /// The message of a JSON-RPC error.
    pub(crate) message: Option<String>,
    /// The limit that rejected the request.
    pub(crate) limit: Option<&'static str>,
    /// Whether the client of a server cancelled the request.
    pub(crate) is_cancelled: bool,
    /// Whether the result asks for input.
    pub(crate) is_input_required: bool,
    /// The request state of a result that asks for input.
    pub(crate) request_state: Option<String>,
}

/// The members of a result that determine how the request ended.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ResultMembers<'a> {
    is_error: Option<bool>,
    #[serde(borrow)]
    result_type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    request_state: Option<Cow<'a, str>>,
}

impl Ending {
    /// Returns the end of a request with a result.
    pub(crate) fn of_result(method: &str, result: &str) -> Self {
        let members: ResultMembers<'_> = serde_json::from_str(result).unwrap_or_default();
        let is_failed = method == "tools/call" && members.is_error == Some(true);
        let is_input_required = members.result_type.as_deref() == Some("input_required");
        Self {
            error_type: is_failed.then_some(value::TOOL_ERROR.into()),
            is_input_required,
            request_state: members
                .request_state
                .filter(|_| is_input_required)
                .map(Cow::into_owned),
            ..Self::default()
        }
    }

    /// Returns the end of a request with an error object.
    pub(crate) fn of_error(error: &ErrorObject) -> Self {
        Self {
            code: Some(error.code),
            error_type: Some(error.code.to_string().into()),
            message: Some(message(error)),
            limit: limit(error),
            ..Self::default()
        }
    }

    /// Returns the end of a request that got no response.
    pub(crate) fn of_failure(error: &Error) -> Self {
        if let Some(rpc) = error.rpc() {
            return Self::of_error(rpc);
        }
        Self::failed(if error.is_timeout() {
            value::TIMEOUT
        } else if error.is_closed() || error.is_io() {
            value::CONNECTION
        } else {
            value::OTHER_ERROR
        })
    }

    /// Returns the end of a request with this `error.type`.
    pub(crate) fn failed(error_type: &'static str) -> Self {
        Self {
            error_type: Some(error_type.into()),
            ..Self::default()
        }
    }
}

/// Returns the message of an error, without the address of a login that its data names. Every reader of the address could
/// use it.
fn message(error: &ErrorObject) -> String {
    /// The data of such an error.
    #[derive(Deserialize)]
    struct LoginData<'a> {
        #[serde(borrow)]
        url: Cow<'a, str>,
    }

    let data = error.data.as_ref();
    let data = data.and_then(|data| serde_json::from_str::<LoginData<'_>>(data.get()).ok());
    match data {
        Some(LoginData { url }) if !url.is_empty() => error.message.replace(&*url, "…"),
        _ => error.message.to_string(),
    }
}

/// Returns the limit that rejected a request: the reason in the data of its error, if it is one of a limit.
fn limit(error: &ErrorObject) -> Option<&'static str> {
    /// The data of such an error.
    #[derive(Deserialize)]
    struct Data<'a> {
        #[serde(borrow)]
        reason: Cow<'a, str>,
    }

    let data: Data<'_> = serde_json::from_str(error.data.as_ref()?.get()).ok()?;
    ["rate_limited", "overloaded", "result_too_large", "deadline"]
        .into_iter()
        .find(|limit| *limit == data.reason)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn result_has_its_ending() {
        let check = |method: &str, result: &str, expected: &Ending| {
            assert_eq!(&Ending::of_result(method, result), expected, "{result}");
        };
        check("tools/call", r#"{"content":[]}"#, &Ending::default());
        let failed = Ending::failed("tool_error");
        check("tools/call", r#"{"isError":true}"#, &failed);
        check("prompts/get", r#"{"isError":true}"#, &Ending::default());
        let asks = Ending {
            is_input_required: true,
            request_state: Some("s".to_owned()),
            ..Ending::default()
        };
        let result = r#"{"resultType":"input_required","requestState":"s"}"#;
        check("tools/call", result, &asks);
    }

    #[test]
    fn address_of_a_login_is_not_recorded() {
        let check = |data: serde_json::Value, expected: &str| {
            let error = ErrorObject::internal("Log in at https://a/b?link=c").with_data(data);
            let ending = Ending::of_error(&error);
            assert_eq!(ending.message.as_deref(), Some(expected));
        };
        let login = json!({ "reason": "login_required", "url": "https://a/b?link=c" });
        check(login, "Log in at …");
        check(json!({ "url": "" }), "Log in at https://a/b?link=c");
        check(json!({}), "Log in at https://a/b?link=c");
    }

    #[test]
    fn error_of_a_limit_names_it() {
        let check = |reason: &str, expected: Option<&str>| {
            let error = ErrorObject::internal("no").with_data(json!({ "reason": reason }));
            assert_eq!(Ending::of_error(&error).limit, expected, "{reason}");
        };
        check("rate_limited", Some("rate_limited"));
        check("overloaded", Some("overloaded"));
        check("upstream_unreachable", None);
    }
}
