//! The check that the tests of the documents share: a parsed value serializes to equal JSON.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Parses `sample` as a `T`, compares its serialization with `sample`, and returns the value.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the sample is a literal in each call"
)]
pub(crate) fn check<T: Serialize + DeserializeOwned + PartialEq + Clone + Debug>(
    sample: Value,
) -> T {
    let text = sample.to_string();
    let value: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
    let serialized = serde_json::to_string(&value).expect("a parsed value can be serialized");
    let reparsed: Value =
        serde_json::from_str(&serialized).expect("a serialized value is valid JSON");
    assert_eq!(reparsed, sample);
    assert_eq!(value.clone(), value);
    value
}
