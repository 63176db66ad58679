//! What a user did with a form, and what the form held.

use toolwire_types::{ElicitAction, ElicitResult, ElicitSchema, ErrorObject};

use crate::error::Error;
use crate::server::elicit::Elicit;

/// What the user did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "these are all the user can do")]
pub enum ElicitOutcome<T> {
    /// Agreed, with this.
    Accepted(T),
    /// Said no.
    Declined,
    /// Turned away without an answer.
    Cancelled,
}

impl<T> ElicitOutcome<T> {
    /// What the user agreed to, if so.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined | Self::Cancelled => None,
        }
    }

    /// Whether the user agreed.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted(_))
    }

    /// Changes what was agreed to.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> ElicitOutcome<U> {
        match self {
            Self::Accepted(value) => ElicitOutcome::Accepted(change(value)),
            Self::Declined => ElicitOutcome::Declined,
            Self::Cancelled => ElicitOutcome::Cancelled,
        }
    }

    /// What the user agreed to, or the error that says what else was done under `key`.
    pub(super) fn or_error(self, key: &str) -> Result<T, Error> {
        match self {
            Self::Accepted(value) => Ok(value),
            Self::Declined => Err(Error::not_accepted(key, ElicitAction::Decline)),
            Self::Cancelled => Err(Error::not_accepted(key, ElicitAction::Cancel)),
        }
    }
}

/// Sorts a result by what the user did.
pub(super) fn sort(result: ElicitResult) -> ElicitOutcome<ElicitResult> {
    match result.action {
        ElicitAction::Accept => ElicitOutcome::Accepted(result),
        ElicitAction::Decline => ElicitOutcome::Declined,
        ElicitAction::Cancel => ElicitOutcome::Cancelled,
    }
}

/// What [`RequestContext::ask`](crate::RequestContext::ask) can return: a type that derives [`Elicit`], or an
/// [`Answer`] of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked for",
    note = "ask for a type that derives `Elicit` (and `serde::Deserialize`), or for `Answer<T>` of such a type"
)]
pub trait FormOutput: Sized + Send {
    /// The form.
    fn form() -> ElicitSchema;

    /// Reads what the user did; `result` fits the form, and errors name `key`.
    ///
    /// # Errors
    /// When it is not what is asked for.
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
        match sort(result) {
            ElicitOutcome::Accepted(mut result) => {
                // A form all of whose fields were left empty may come without content.
                result.content.get_or_insert_default();
                match result.content_as() {
                    Ok(Some(value)) => Ok(Self::Accepted(value)),
                    Ok(None) => Ok(Self::Cancelled),
                    Err(error) => Err(ErrorObject::invalid_params(format!(
                        "the answer to {key:?} cannot be used: {error}"
                    ))
                    .into()),
                }
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
    fn only_what_was_accepted_has_a_value() {
        let check = |answer: ElicitOutcome<u8>, value: Option<u8>, error: Option<ElicitAction>| {
            assert_eq!(answer.is_accepted(), value.is_some());
            assert_eq!(answer.map(u16::from).accepted(), value.map(u16::from));
            assert_eq!(answer.accepted(), value);
            let outcome = answer.or_error("key");
            let because = outcome.err().and_then(|error| error.elicit_action());
            assert_eq!(because, error);
        };
        check(ElicitOutcome::Accepted(7), Some(7), None);
        check(ElicitOutcome::Declined, None, Some(ElicitAction::Decline));
        check(ElicitOutcome::Cancelled, None, Some(ElicitAction::Cancel));
    }
}
