//! The errors of an elicitation result or a form. Their messages name the field and the allowed values.

use std::fmt;

use toolwire_types::ErrorObject;

/// An elicitation result that does not match the form.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InvalidElicitResult {
    /// The field. `None` if the result as a whole is invalid.
    pub field: Option<String>,
    /// The problem with the field or the result.
    pub problem: FieldError,
}

impl InvalidElicitResult {
    pub(super) fn in_field(field: &str, problem: FieldError) -> Self {
        Self {
            field: Some(field.to_owned()),
            problem,
        }
    }

    pub(super) fn of_the_whole(problem: FieldError) -> Self {
        Self {
            field: None,
            problem,
        }
    }
}

impl fmt::Display for InvalidElicitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "the field {field:?} {}", self.problem),
            None => write!(f, "the elicitation result {}", self.problem),
        }
    }
}

impl std::error::Error for InvalidElicitResult {}

impl From<InvalidElicitResult> for ErrorObject {
    fn from(invalid: InvalidElicitResult) -> Self {
        Self::invalid_params(invalid.to_string())
    }
}

/// The problem with a field of an elicitation result, or with the whole result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FieldError {
    /// Content without an accepted form.
    UnexpectedContent,
    /// A required field is missing.
    Missing,
    /// The form has no such field.
    UnknownField {
        /// The fields of the form.
        allowed: Vec<String>,
    },
    /// The form describes the field in a way that this library cannot parse.
    UnreadableField,
    /// The value has another JSON type.
    WrongType {
        /// The expected type.
        expected: &'static str,
    },
    /// The text has too few characters.
    TooShort {
        /// The minimum number of characters.
        minimum: u64,
    },
    /// The text has too many characters.
    TooLong {
        /// The maximum number of characters.
        maximum: u64,
    },
    /// The text does not have the required format.
    WrongFormat {
        /// The expected format.
        expected: &'static str,
    },
    /// The number is too small.
    TooSmall {
        /// The minimum value.
        minimum: f64,
    },
    /// The number is too large.
    TooLarge {
        /// The maximum value.
        maximum: f64,
    },
    /// The value is not an option of the field, or contains a value that is not.
    NotAnOption {
        /// The options.
        allowed: Vec<String>,
    },
    /// The value contains an option twice.
    Repeated,
    /// The value contains too few options.
    TooFew {
        /// The minimum number of options.
        minimum: u64,
    },
    /// The value contains too many options.
    TooMany {
        /// The maximum number of options.
        maximum: u64,
    },
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnexpectedContent => {
                f.write_str("has content, which only an accepted form may have")
            }
            Self::Missing => f.write_str("is required and was not filled in"),
            Self::UnknownField { allowed } if allowed.is_empty() => {
                f.write_str("is not in the form, which has no fields")
            }
            Self::UnknownField { allowed } => {
                write!(f, "is not in the form; its fields are {}", Listed(allowed))
            }
            Self::UnreadableField => {
                f.write_str("is of a kind that forms do not have, and cannot be checked")
            }
            Self::WrongType { expected } => write!(f, "must be {expected}"),
            Self::TooShort { minimum } => {
                write!(f, "has fewer characters than the minimum of {minimum}")
            }
            Self::TooLong { maximum } => {
                write!(f, "has more characters than the maximum of {maximum}")
            }
            Self::WrongFormat { expected } => write!(f, "must be {expected}"),
            Self::TooSmall { minimum } => write!(f, "must be at least {minimum}"),
            Self::TooLarge { maximum } => write!(f, "must be at most {maximum}"),
            Self::NotAnOption { allowed } if allowed.is_empty() => {
                f.write_str("has no words to choose from")
            }
            Self::NotAnOption { allowed } => {
                write!(f, "must be chosen from {}", Listed(allowed))
            }
            Self::Repeated => f.write_str("names a choice twice"),
            Self::TooFew { minimum } => {
                write!(f, "has fewer choices than the minimum of {minimum}")
            }
            Self::TooMany { maximum } => {
                write!(f, "has more choices than the maximum of {maximum}")
            }
        }
    }
}

/// A list of options for a message, shortened after the first [`Self::NAMED`].
struct Listed<'a>(&'a [String]);

/// The maximum number of options that a message names.
const NAMED: usize = 10;

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.0.iter().take(NAMED).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{word:?}")?;
        }
        match self.0.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// A form whose fields this library cannot parse, so that its results cannot be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadableSchema {
    /// The field that cannot be parsed. `None` if the schema as a whole is not a form.
    pub field: Option<String>,
    /// The reason.
    pub reason: String,
}

impl UnreadableSchema {
    pub(super) fn new(field: Option<&str>, reason: impl Into<String>) -> Self {
        Self {
            field: field.map(str::to_owned),
            reason: reason.into(),
        }
    }
}

impl fmt::Display for UnreadableSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "the field {field:?} of requestedSchema: {}", self.reason),
            None => write!(
                f,
                "requestedSchema must be a flat object with properties: {}",
                self.reason
            ),
        }
    }
}

impl std::error::Error for UnreadableSchema {}

impl From<UnreadableSchema> for ErrorObject {
    fn from(unreadable: UnreadableSchema) -> Self {
        Self::invalid_params(unreadable.to_string())
    }
}
