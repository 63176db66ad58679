//! The operators of RFC 6570 and their rules.

use crate::uri_template::characters::{AsciiSet, URI};

/// The operator of an expression, under the names of RFC 6570 section 3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    PathSegment,
    PathParameter,
    Query,
    QueryContinuation,
}

/// One column of the table in RFC 6570 appendix A, with the rules for matching.
#[derive(Debug)]
pub(super) struct OperatorRules {
    /// The character before the first value. An expression with such a character is optional in a match.
    pub(super) first_character: Option<char>,
    /// The character between values.
    pub(super) separator: char,
    /// Whether a value is written with the name of its variable.
    pub(super) named: bool,
    /// The text between a name and an empty value.
    pub(super) before_empty: &'static str,
    /// Whether reserved characters and escapes are copied unchanged.
    pub(super) allows_reserved: bool,
    /// The plain characters that a captured value may contain, before the expression narrows them.
    pub(super) captures: AsciiSet,
    /// Whether a captured value must stay within one path segment.
    pub(super) within_segment: bool,
}

const SEGMENT: AsciiSet = URI.without(AsciiSet::of("/?#"));
const QUERY: AsciiSet = URI.without(AsciiSet::of("#&"));

impl Operator {
    /// Returns the operator of a character.
    pub(super) fn from_character(character: char) -> Option<Self> {
        Some(match character {
            '+' => Self::Reserved,
            '#' => Self::Fragment,
            '.' => Self::Label,
            '/' => Self::PathSegment,
            ';' => Self::PathParameter,
            '?' => Self::Query,
            '&' => Self::QueryContinuation,
            _ => return None,
        })
    }

    pub(super) const fn rules(self) -> &'static OperatorRules {
        const IN_SEGMENT: OperatorRules = OperatorRules {
            first_character: None,
            separator: ',',
            named: false,
            before_empty: "",
            allows_reserved: false,
            captures: SEGMENT,
            within_segment: true,
        };
        const ANYWHERE: OperatorRules = OperatorRules {
            allows_reserved: true,
            captures: URI,
            within_segment: false,
            ..IN_SEGMENT
        };
        const IN_QUERY: OperatorRules = OperatorRules {
            separator: '&',
            named: true,
            before_empty: "=",
            captures: QUERY,
            within_segment: false,
            ..IN_SEGMENT
        };
        match self {
            Self::Simple => &IN_SEGMENT,
            Self::Reserved => &ANYWHERE,
            Self::Fragment => &OperatorRules {
                first_character: Some('#'),
                ..ANYWHERE
            },
            Self::Label => &OperatorRules {
                first_character: Some('.'),
                separator: '.',
                ..IN_SEGMENT
            },
            Self::PathSegment => &OperatorRules {
                first_character: Some('/'),
                separator: '/',
                ..IN_SEGMENT
            },
            Self::PathParameter => &OperatorRules {
                first_character: Some(';'),
                separator: ';',
                named: true,
                ..IN_SEGMENT
            },
            Self::Query => &OperatorRules {
                first_character: Some('?'),
                ..IN_QUERY
            },
            Self::QueryContinuation => &OperatorRules {
                first_character: Some('&'),
                ..IN_QUERY
            },
        }
    }
}
