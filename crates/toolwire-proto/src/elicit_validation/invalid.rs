//! What can be wrong with an answer or a form, in words that name the field and what is allowed.

use std::fmt;

use toolwire_types::ErrorObject;

/// An answer that does not fit the form.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InvalidElicitResult {
    /// The field; `None` when the answer as a whole is wrong.
    pub field: Option<String>,
    /// What is wrong with it.
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
            None => write!(f, "the answer {}", self.problem),
        }
    }
}

impl std::error::Error for InvalidElicitResult {}

impl From<InvalidElicitResult> for ErrorObject {
    fn from(invalid: InvalidElicitResult) -> Self {
        Self::invalid_params(invalid.to_string())
    }
}

/// What is wrong with a field of an answer, or with the whole.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FieldError {
    /// Only an accepted form has content.
    UnexpectedContent,
    /// It must be filled in.
    Missing,
    /// The form has no such field.
    UnknownField {
        /// The fields it has.
        allowed: Vec<String>,
    },
    /// The form describes it in a way this library cannot read.
    UnreadableField,
    /// It is of another JSON type.
    WrongType {
        /// What it must be.
        expected: &'static str,
    },
    /// It has too few characters.
    TooShort {
        /// The fewest allowed.
        minimum: u64,
    },
    /// It has too many characters.
    TooLong {
        /// The most allowed.
        maximum: u64,
    },
    /// It does not look as it must.
    WrongFormat {
        /// What it must look like.
        expected: &'static str,
    },
    /// The number is too small.
    TooSmall {
        /// The smallest allowed.
        minimum: f64,
    },
    /// The number is too large.
    TooLarge {
        /// The largest allowed.
        maximum: f64,
    },
    /// It is, or contains, none of the words to choose from.
    NotAnOption {
        /// The words.
        allowed: Vec<String>,
    },
    /// A word is chosen twice.
    Repeated,
    /// Too few words are chosen.
    TooFew {
        /// The fewest allowed.
        minimum: u64,
    },
    /// Too many words are chosen.
    TooMany {
        /// The most allowed.
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

/// Words for a message, which stays readable when there are hundreds.
struct Listed<'a>(&'a [String]);

/// How many words a message names.
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

/// A form whose fields this library cannot read, so that no answer to it can be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadableSchema {
    /// The field that cannot be read; `None` when the schema as a whole is no form.
    pub field: Option<String>,
    /// What is wrong.
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
