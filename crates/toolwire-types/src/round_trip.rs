//! One check shared by the tests of every type: what is read is written back with the same meaning.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads `sample` as a `T`, writes it back, compares, and hands the value over for closer looks.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a sample reads best as a literal in the call"
)]
pub(crate) fn check<T: Serialize + DeserializeOwned + PartialEq + Clone + Debug>(
    sample: Value,
) -> T {
    let text = sample.to_string();
    let value: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
    let written = serde_json::to_string(&value).expect("a value that was read can be written");
    let reread: Value = serde_json::from_str(&written).expect("what was written is JSON");
    assert_eq!(reread, sample);
    assert_eq!(value.clone(), value);
    value
}
