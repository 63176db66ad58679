//! The reason why a template is rejected, and the position.

use std::fmt;

/// A template that is invalid, cannot be expanded with the given values, or cannot be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    position: usize,
    kind: TemplateErrorKind,
}

impl TemplateError {
    pub(super) fn new(position: usize, kind: TemplateErrorKind) -> Self {
        Self { position, kind }
    }

    /// Returns the position in the template, as an offset in bytes.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> TemplateErrorKind {
        self.kind
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.position)
    }
}

impl std::error::Error for TemplateError {}

/// The kind of a template error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateErrorKind {
    /// More than [`MAX_TEMPLATE_BYTES`](crate::uri_template::MAX_TEMPLATE_BYTES).
    TooLong,
    /// More than [`MAX_EXPRESSIONS`](crate::uri_template::MAX_EXPRESSIONS).
    TooManyExpressions,
    /// More than [`MAX_VARIABLES`](crate::uri_template::MAX_VARIABLES).
    TooManyVariables,
    /// A `{` without its `}`.
    UnclosedExpression,
    /// A `}` without its `{`.
    StrayClosingBrace,
    /// A character that literal text cannot contain.
    IllegalCharacter(char),
    /// A `%` without two hexadecimal digits behind it.
    MalformedEscape,
    /// An operator that the RFC reserves: one of `=`, `,`, `!`, `@`, `|`.
    ReservedOperator(char),
    /// A missing variable name.
    MissingName,
    /// A variable name with an invalid character, or with a dot at an invalid position.
    IllegalName,
    /// A prefix length that is not a number from 1 to 9999.
    IllegalPrefixLength,
    /// Text after the `*` of a variable.
    IllegalModifier,
    /// A prefix modifier on a list or an associative value.
    PrefixOfComposite,
    /// An expression that follows another one directly, so that a match cannot determine where the first one ends.
    IndistinctExpressions,
    /// A variable with `*` before others that are filled in order, so that a match cannot determine its length.
    ExplodeNotLast,
    /// A variable that adjacent expressions repeat.
    RepeatedVariable,
}

impl fmt::Display for TemplateErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::TooLong => "template is too long",
            Self::TooManyExpressions => "template has too many expressions",
            Self::TooManyVariables => "template has too many variables",
            Self::UnclosedExpression => "expression is not closed",
            Self::StrayClosingBrace => "closing brace without an opening one",
            Self::IllegalCharacter(character) => {
                return write!(f, "character {character:?} is not allowed in literal text");
            }
            Self::MalformedEscape => "percent sign without two hexadecimal digits",
            Self::ReservedOperator(operator) => {
                return write!(f, "operator {operator:?} is reserved");
            }
            Self::MissingName => "variable name is missing",
            Self::IllegalName => "variable name is not valid",
            Self::IllegalPrefixLength => "prefix length is not a number from 1 to 9999",
            Self::IllegalModifier => "nothing may follow the explode modifier",
            Self::PrefixOfComposite => {
                "prefix modifier does not apply to a list or an associative value"
            }
            Self::IndistinctExpressions => {
                "expression cannot be separated from the one before it, put literal text between them"
            }
            Self::ExplodeNotLast => "variable with explode modifier must be the last one",
            Self::RepeatedVariable => "variable is repeated",
        };
        f.write_str(text)
    }
}
