//! The errors that a relay itself sends, instead of an upstream.

use serde_json::json;
use toolwire_types::{CallToolResult, ErrorObject};

use crate::methods;

/// The maximum number of upstreams that an error names.
const MAX_NAMED: usize = 16;

/// Returns the error for a request to an upstream that cannot be reached.
///
/// ```
/// use toolwire_proto::relay::errors::upstream_unreachable;
///
/// let error = upstream_unreachable("github");
/// assert_eq!(error.code, -32603);
/// assert_eq!(error.data.unwrap().get(), r#"{"reason":"upstream_unreachable","upstream":"github"}"#);
/// ```
#[must_use]
pub fn upstream_unreachable(upstream: &str) -> ErrorObject {
    ErrorObject::internal(format!("the upstream `{upstream}` cannot be reached"))
        .with_data(json!({ "reason": "upstream_unreachable", "upstream": upstream }))
}

/// Returns the error for a method of an extension that no upstream declared, or that several did, so that the relay
/// cannot select one. The data names up to 16 of them.
#[must_use]
pub fn ambiguous_method<'u>(
    method: &str,
    upstreams: impl IntoIterator<Item = &'u str>,
) -> ErrorObject {
    let upstreams: Vec<&str> = upstreams.into_iter().take(MAX_NAMED).collect();
    if upstreams.is_empty() {
        return methods::not_offered(method);
    }
    ErrorObject::method_not_found(format!(
        "several upstreams may offer `{method}`; connect to one of them directly"
    ))
    .with_data(json!({ "upstreams": upstreams }))
}

/// What is known about a call that is not parked any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostCall {
    /// The relay cancelled the call while it waited for input.
    Cancelled,
    /// The call ended, and its outcome is not stored any more.
    Ended,
    /// The relay has no record of the call, for example after a restart.
    Unknown,
}

/// Returns the tool result for a round of a call that is not parked any more. The relay never runs the tool again by
/// itself, so the text states whether it ran.
#[must_use]
pub fn lost_call(call: LostCall) -> CallToolResult {
    let state = match call {
        LostCall::Cancelled => {
            "The tool was cancelled while it waited, so it did not run to its end."
        }
        LostCall::Ended => "The tool ran to its end, but its result is not available any more.",
        LostCall::Unknown => "It is not known whether the tool ran to its end.",
    };
    CallToolResult::error(format!(
        "The requested input is not needed any more. {state} The call was not repeated; check its effect before you \
         call the tool again."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_method_names_its_upstreams() {
        let check = |upstreams: &[&str], expected: Option<serde_json::Value>| {
            let error = ambiguous_method("com.example/x", upstreams.iter().copied());
            assert_eq!(error.code, -32601);
            assert!(error.message.contains("com.example/x"));
            assert_eq!(error.data.map(|data| data.to_value().unwrap()), expected);
        };
        check(&[], None);
        check(&["a", "b"], Some(json!({"upstreams": ["a", "b"]})));
        check(&["x"; 17], Some(json!({"upstreams": vec!["x"; 16]})));
    }

    #[test]
    fn lost_call_is_a_tool_error_that_states_whether_the_tool_ran() {
        for (call, expected) in [
            (LostCall::Cancelled, "did not run to its end"),
            (LostCall::Ended, "The tool ran to its end"),
            (LostCall::Unknown, "not known whether"),
        ] {
            let result = lost_call(call);
            assert_eq!(result.is_error, Some(true));
            let text = result.content[0].as_text().unwrap();
            assert!(text.contains(expected), "{text}");
        }
    }
}
