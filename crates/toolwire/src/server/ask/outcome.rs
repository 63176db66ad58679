//! The user's decision on a form, and the form's content.

use toolwire_proto::decode_message::decode_message;
use toolwire_types::{ElicitAction, ElicitResult, ElicitSchema, ErrorObject};

use crate::error::Error;
use crate::server::elicit::Elicit;

/// The outcome of an elicitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the specification defines these three actions"
)]
pub enum ElicitOutcome<T> {
    /// The user accepted, with this value.
    Accepted(T),
    /// The user declined.
    Declined,
    /// The user closed the form without a decision.
    Cancelled,
}

impl<T> ElicitOutcome<T> {
    /// Returns the accepted value.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined | Self::Cancelled => None,
        }
    }

    /// Returns `true` if the user accepted.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted(_))
    }

    /// Converts the accepted value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> ElicitOutcome<U> {
        match self {
            Self::Accepted(value) => ElicitOutcome::Accepted(change(value)),
            Self::Declined => ElicitOutcome::Declined,
            Self::Cancelled => ElicitOutcome::Cancelled,
        }
    }

    /// Returns the accepted value, or an error with the user's action. The error names `key`.
    pub(super) fn or_error(self, key: &str) -> Result<T, Error> {
        match self {
            Self::Accepted(value) => Ok(value),
            Self::Declined => Err(Error::not_accepted(key, ElicitAction::Decline)),
            Self::Cancelled => Err(Error::not_accepted(key, ElicitAction::Cancel)),
        }
    }
}

/// Converts a result into an outcome.
pub(super) fn from_result(result: ElicitResult) -> ElicitOutcome<ElicitResult> {
    match result.action {
        ElicitAction::Accept => ElicitOutcome::Accepted(result),
        ElicitAction::Decline => ElicitOutcome::Declined,
        ElicitAction::Cancel => ElicitOutcome::Cancelled,
    }
}

/// The output types of [`RequestContext::ask`](crate::RequestContext::ask): a type that implements [`Elicit`], or an
/// [`ElicitOutcome`] of such a type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked for",
    note = "ask for a type that derives `Elicit` (and `serde::Deserialize`), for text, a number or a boolean, or for \
            `ElicitOutcome<T>` of such a type"
)]
pub trait FormOutput: Sized + Send {
    /// Returns the schema of the form.
    fn form() -> ElicitSchema;

    /// Converts the user's result. `result` matches the form. Errors name `key`.
    ///
    /// # Errors
    /// Returns an error if the result cannot be decoded, or if `Self` requires an accepted form and the user did not
    /// accept.
    fn from_result(key: &str, result: ElicitResult) -> Result<Self, Error>;
}

impl<T: Elicit + Send> FormOutput for T {
    fn form() -> ElicitSchema {
        T::elicit_schema()
    }

    fn from_result(key: &str, result: ElicitResult) -> Result<Self, Error> {
        ElicitOutcome::from_result(key, result)?.or_error(key)
    }
}

impl<T: Elicit + Send> FormOutput for ElicitOutcome<T> {
    fn form() -> ElicitSchema {
        T::elicit_schema()
    }

    fn from_result(key: &str, result: ElicitResult) -> Result<Self, Error> {
        match from_result(result) {
            ElicitOutcome::Accepted(result) => {
                // A form with only empty fields may have no content.
                let content = result.content.unwrap_or_default();
                let value = T::from_content(content).map_err(|error| {
                    ErrorObject::invalid_params(format!(
                        "the response to {key:?} is invalid: {}",
                        decode_message(&error)
                    ))
                })?;
                Ok(Self::Accepted(value))
            }
            ElicitOutcome::Declined => Ok(Self::Declined),
            ElicitOutcome::Cancelled => Ok(Self::Cancelled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_accepted_outcome_has_a_value() {
        let check =
            |outcome: ElicitOutcome<u8>, value: Option<u8>, expected: Option<ElicitAction>| {
                assert_eq!(outcome.is_accepted(), value.is_some());
                assert_eq!(outcome.map(u16::from).accepted(), value.map(u16::from));
                assert_eq!(outcome.accepted(), value);
                let action = outcome
                    .or_error("key")
                    .err()
                    .and_then(|error| error.elicit_action());
                assert_eq!(action, expected);
            };
        check(ElicitOutcome::Accepted(7), Some(7), None);
        check(ElicitOutcome::Declined, None, Some(ElicitAction::Decline));
        check(ElicitOutcome::Cancelled, None, Some(ElicitAction::Cancel));
    }
}
