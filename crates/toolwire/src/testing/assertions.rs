//! Assertions on results. A failed assertion shows the complete result as JSON.

use serde::Serialize;
use serde_json::Value;
use toolwire_types::{
    CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents,
};

use crate::error::Error;

/// A result with texts: of a tool, a prompt or a resource.
pub trait TextResult: Serialize + sealed::Sealed {
    /// Returns the texts in order, without other content.
    fn texts(&self) -> Vec<&str>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for toolwire_types::CallToolResult {}
    impl Sealed for toolwire_types::GetPromptResult {}
    impl Sealed for toolwire_types::ReadResourceResult {}
}

impl TextResult for CallToolResult {
    fn texts(&self) -> Vec<&str> {
        self.content
            .iter()
            .filter_map(ContentBlock::as_text)
            .collect()
    }
}

impl TextResult for GetPromptResult {
    fn texts(&self) -> Vec<&str> {
        let messages = self.messages.iter();
        messages
            .filter_map(|message| message.content.as_text())
            .collect()
    }
}

impl TextResult for ReadResourceResult {
    fn texts(&self) -> Vec<&str> {
        fn text(contents: &ResourceContents) -> Option<&str> {
            match contents {
                ResourceContents::Text(text) => Some(&text.text),
                _ => None,
            }
        }
        self.contents.iter().filter_map(text).collect()
    }
}

/// Asserts that the result is not an error, and that its texts, joined by line breaks, equal `expected`.
///
/// # Panics
/// Panics if the assertion fails.
#[track_caller]
pub fn assert_text(result: &impl TextResult, expected: &str) {
    let shown = pretty(result);
    let value = serde_json::to_value(result).expect("a result always serialises");
    assert!(
        value.get("isError") != Some(&Value::Bool(true)),
        "expected the text {expected:?}, but the tool failed:\n{shown}"
    );
    let text = result.texts().join("\n");
    assert!(
        text == expected,
        "expected the text {expected:?}, but it is {text:?}:\n{shown}"
    );
}

/// Asserts that the structured content of a tool's result equals a value that serializes to JSON.
///
/// ```
/// use toolwire::{CallToolResult, testing};
///
/// let result = CallToolResult::structured(&serde_json::json!({"sum": 3})).unwrap();
/// testing::assert_structured(&result, serde_json::json!({"sum": 3}));
/// ```
///
/// # Panics
/// Panics if the content differs or is missing.
#[track_caller]
pub fn assert_structured(result: &CallToolResult, expected: impl Serialize) {
    let expected = serde_json::to_value(expected).expect("the expected value serialises");
    let shown = pretty(result);
    let Some(content) = &result.structured_content else {
        panic!("expected structured content, but the result has none:\n{shown}");
    };
    let content = content.to_value().expect("structured content is JSON");
    assert!(
        content == expected,
        "expected the structured content {expected}, but it is {content}:\n{shown}"
    );
}

/// Asserts that the tool failed, and that its text contains `part`.
///
/// ```
/// use toolwire::{CallToolResult, testing};
///
/// testing::assert_tool_error(&CallToolResult::error("no such city: Atlantis"), "Atlantis");
/// ```
///
/// # Panics
/// Panics if the tool did not fail, or failed with another text.
#[track_caller]
pub fn assert_tool_error(result: &CallToolResult, part: &str) {
    let shown = pretty(result);
    assert!(
        result.is_error == Some(true),
        "expected the tool to fail with {part:?}, but it did not:\n{shown}"
    );
    let text = result.texts().join("\n");
    assert!(
        text.contains(part),
        "expected the tool to fail with {part:?}, but the text is {text:?}:\n{shown}"
    );
}

/// Asserts that the server responded with a JSON-RPC error of this code. Returns the message of the error.
///
/// # Panics
/// Panics if the call succeeded, or failed in another way.
#[track_caller]
pub fn assert_rpc_error<T>(outcome: &Result<T, Error>, code: i64) -> &str {
    let error = match outcome {
        Ok(_) => panic!("expected the error {code}, but the call succeeded"),
        Err(error) => error,
    };
    match error.rpc() {
        Some(rpc) if rpc.code == code => &rpc.message,
        Some(rpc) => panic!(
            "expected the error {code}, but it is {}: {}",
            rpc.code, rpc.message
        ),
        None => panic!("expected the error {code} from the server, but the call failed: {error}"),
    }
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("a result always serialises")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire_types::ErrorObject;

    use super::*;

    fn message_of(check: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let panic = std::panic::catch_unwind(check).expect_err("the assertion holds");
        *panic.downcast::<String>().expect("a formatted message")
    }

    #[test]
    fn failed_assertion_shows_the_result() {
        let result = CallToolResult::text("4");
        let message = message_of(|| assert_text(&result, "3"));
        assert!(message.contains("expected the text \"3\", but it is \"4\""));
        assert!(message.contains("\"type\": \"text\""), "{message}");
        let message = message_of(|| assert_structured(&result, json!({})));
        assert!(message.contains("has none"), "{message}");
        let message = message_of(|| assert_tool_error(&result, "no"));
        assert!(message.contains("but it did not"), "{message}");
    }

    #[test]
    fn text_of_a_failed_tool_does_not_count_as_text() {
        let result = CallToolResult::error("3");
        assert!(message_of(|| assert_text(&result, "3")).contains("the tool failed"));
        assert_tool_error(&result, "3");
    }

    #[test]
    fn structured_content_is_compared_as_a_value() {
        let result = CallToolResult::structured(&json!({"a": 1, "b": 2})).expect("plain data");
        assert_structured(&result, json!({"b": 2, "a": 1}));
        let message = message_of(|| assert_structured(&result, json!({"a": 1})));
        assert!(message.contains(r#"but it is {"a":1,"b":2}"#), "{message}");
    }

    #[test]
    fn rpc_errors_are_distinguished_from_other_errors() {
        let rejected: Result<(), Error> = Err(ErrorObject::invalid_params("no such note").into());
        assert_eq!(assert_rpc_error(&rejected, -32602), "no such note");
        let other = std::panic::AssertUnwindSafe(&rejected);
        let message = message_of(move || {
            assert_rpc_error(*other, -32601);
        });
        assert!(message.contains("it is -32602"), "{message}");
        let timed_out: Result<(), Error> = Err(Error::timeout());
        let timed_out = std::panic::AssertUnwindSafe(&timed_out);
        let message = message_of(move || {
            assert_rpc_error(*timed_out, 1);
        });
        assert!(message.contains("timeout"), "{message}");
    }
}
