//! The errors that a relay itself sends, instead of an upstream.

use toolwire_types::CallToolResult;

/// What is known about a call that is not parked any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostCall {
    /// The relay cancelled the call before it ended.
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
            "The tool was cancelled before its end, because the input came too late or the call was given up."
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
    fn lost_call_is_a_tool_error_that_states_whether_the_tool_ran() {
        for (call, expected) in [
            (LostCall::Cancelled, "cancelled before its end"),
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
