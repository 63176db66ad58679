//! Reads the `resultType` of a result before the result is parsed.
//!
//! Spec 2026-07-28, basic, "ResultType": a missing member means `complete`, and a result with a value that the client
//! does not recognize is invalid.

use serde::Deserialize;
use serde::de::Error as _;

use crate::raw::RawJson;
use crate::result::ResultType;

/// Returns the `resultType` of a result that is not parsed yet.
pub(crate) fn result_type(raw: &RawJson) -> serde_json::Result<ResultType> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kind {
        result_type: Option<ResultType>,
    }

    if !raw.is_object() {
        return Err(serde_json::Error::custom("a result must be an object"));
    }
    let kind: Kind = raw.parse()?;
    Ok(kind.result_type.unwrap_or(ResultType::Complete))
}

/// Returns the error for a result type that is invalid for the request.
pub(crate) fn unexpected(kind: &ResultType) -> serde_json::Error {
    serde_json::Error::custom(format_args!("unexpected resultType {:?}", kind.as_str()))
}
