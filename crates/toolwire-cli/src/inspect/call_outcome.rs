//! A call and its outcome, as the page gets them.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use toolwire::types::{ErrorObject, ProgressNotificationParams};
use toolwire::{Error, RawJson};

use crate::failure::{Failure, Phase};

/// Whether a call still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CallState {
    Running,
    Done,
    Cancelled,
}

/// A call without its outcome.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallSummary {
    pub(super) id: u64,
    pub(super) method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) state: CallState,
    /// The duration in microseconds. The page gets milliseconds.
    #[serde(
        rename = "tookMs",
        serialize_with = "milliseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) took_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) progress: Option<ProgressNotificationParams>,
    /// The trace in `_meta` of the request, by which a collector finds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trace_id: Option<String>,
    /// The number of reports of the server about this call.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) reports: usize,
    /// The input requests of the server during this call that have a response, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) inputs: Vec<InputExchange>,
}

/// An input request of the server, and the response of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct InputExchange {
    pub(super) kind: &'static str,
    /// The beginning of what the server asked.
    pub(super) message: String,
    /// The beginning of the response, as JSON.
    pub(super) response: String,
}

/// A call with its outcome.
#[derive(Debug, Clone, Serialize)]
pub(super) struct CallOutcome {
    #[serde(flatten)]
    pub(super) summary: CallSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<usize>,
    #[serde(
        serialize_with = "shared_result",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) result: Option<Arc<RawJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<CallError>,
}

impl CallOutcome {
    /// Returns the bytes of the result, or of the error, and of the summary as JSON.
    pub(super) fn stored_bytes(&self) -> usize {
        let summary = serde_json::to_string(&self.summary).unwrap_or_default();
        let error = self.error.as_ref().map_or(0, CallError::bytes);
        self.bytes.unwrap_or(0) + error + summary.len()
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The duration from which a fraction of a millisecond does not matter, in microseconds.
const WHOLE_FROM_US: u64 = 10_000;

/// Writes milliseconds: with a fraction for a short duration, otherwise whole.
fn milliseconds<S: Serializer>(took_us: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    match *took_us {
        Some(took) if took < WHOLE_FROM_US && took % 1000 != 0 => {
            serializer.serialize_f64(took as f64 / 1000.0)
        }
        Some(took) => serializer.serialize_u64(took / 1000),
        None => serializer.serialize_none(),
    }
}

fn shared_result<S: Serializer>(
    result: &Option<Arc<RawJson>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    result.as_deref().serialize(serializer)
}

/// The error of a call: that of the server, or one of the connection.
#[derive(Debug, Clone, Serialize)]
pub(super) struct CallError {
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<RawJson>,
}

impl CallError {
    /// Returns the error of the server, or the reason why there is no response.
    pub(super) fn of(error: &Error) -> Self {
        match error.rpc() {
            Some(ErrorObject {
                code,
                message,
                data,
                ..
            }) => Self {
                code: Some(*code),
                message: message.to_string(),
                data: data.clone(),
            },
            None => Self {
                code: None,
                message: Failure::of(error, Phase::Calling).message_with_advice(),
                data: None,
            },
        }
    }

    fn bytes(&self) -> usize {
        let data = self.data.as_ref();
        self.message.len() + data.map_or(0, |data| data.get().len())
    }
}

/// Returns the name or the URI in the parameters of a request.
pub(super) fn named(params: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: Option<String>,
        uri: Option<String>,
    }
    let named: Named = serde_json::from_str(params).ok()?;
    named.name.or(named.uri)
}

/// Returns `true` for the result of a tool that failed.
pub(super) fn is_error(result: &str) -> bool {
    #[derive(Deserialize)]
    struct Failed<'r> {
        #[serde(borrow, rename = "isError")]
        is_error: Option<&'r RawValue>,
    }
    let failed: Option<Failed<'_>> = serde_json::from_str(result).ok();
    failed
        .and_then(|failed| failed.is_error)
        .is_some_and(|value| value.get() == "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_durations_have_a_fraction() {
        let check = |took_us: u64, expected: &str| {
            let summary = CallSummary {
                id: 1,
                method: "ping".to_owned(),
                name: None,
                state: CallState::Done,
                took_us: Some(took_us),
                failed: Some(false),
                progress: None,
                trace_id: None,
                reports: 0,
                inputs: Vec::new(),
            };
            let json = serde_json::to_string(&summary).expect("JSON");
            let member = format!("\"tookMs\":{expected},");
            assert!(json.contains(&member), "{json}");
        };
        check(0, "0");
        check(103, "0.103");
        check(2_000, "2");
        check(9_999, "9.999");
        check(10_000, "10");
        check(1_234_567, "1234");
    }
}
