//! Matching of a URI against the parts of a template, without backtracking.
//!
//! There are two passes. The first goes from the end to the start. It determines the positions at which each part may
//! begin so that it and all later parts match the rest of the URI. It scans the URI once for each variable. The second
//! goes from the start to the end. Each variable takes the longest text after which the rest can still match, and this
//! choice is final.

use crate::uri_template::captures::Captures;
use crate::uri_template::characters::{AsciiSet, Token, tokenize};
use crate::uri_template::error::{TemplateError, TemplateErrorKind};
use crate::uri_template::position_set::PositionSet;
use crate::uri_template::{
    Expression, Literal, MAX_URI_BYTES, TemplatePart, Values, Variable, named, ordered,
};

/// Returns the values with which the parts expand to the URI. `steps` counts the visited characters, so that tests can
/// check the bound.
pub(super) fn find(parts: &[TemplatePart], uri: &str, steps: &mut usize) -> Option<Values> {
    if uri.len() > MAX_URI_BYTES || differs_at_start(parts, uri) {
        return None;
    }
    *steps += uri.len();
    let tokens = tokenize(uri).ok()?;
    let (parts, tokens) = match parts.split_first() {
        Some((TemplatePart::Literal(literal), rest)) => {
            (rest, tokens.strip_prefix(literal.tokens.as_slice())?)
        }
        _ => (parts, tokens.as_slice()),
    };
    let paths = match_paths(parts, tokens, steps);
    let matcher = TemplateMatcher {
        tokens,
        captures: Captures::new(tokens),
        steps,
    };
    matcher.run(parts, &paths)
}

/// Checks that matching is unambiguous, see [`crate::uri_template::UriTemplate::check_matchable`].
pub(super) fn check(parts: &[TemplatePart]) -> Result<(), TemplateError> {
    let mut adjacent: Vec<&Expression> = Vec::new();
    for part in parts {
        let TemplatePart::Expression(expression) = part else {
            adjacent.clear();
            continue;
        };
        check_expression(expression, &adjacent)?;
        adjacent.push(expression);
    }
    Ok(())
}

fn check_expression(expression: &Expression, before: &[&Expression]) -> Result<(), TemplateError> {
    let rules = expression.operator.rules();
    let is_consumed = before.iter().any(|earlier| {
        let separator = earlier.operator.rules().separator;
        rules.first_character == Some(separator)
            && earlier.variables.iter().any(Variable::is_exploded)
    });
    if is_consumed || (rules.first_character.is_none() && !before.is_empty()) {
        let kind = TemplateErrorKind::IndistinctExpressions;
        return Err(TemplateError::new(expression.position, kind));
    }
    let mut names: Vec<&str> = before
        .iter()
        .flat_map(|earlier| &earlier.variables)
        .map(|variable| variable.name.as_str())
        .collect();
    for (index, variable) in expression.variables.iter().enumerate() {
        let is_last = index + 1 == expression.variables.len();
        let kind = if names.contains(&variable.name.as_str()) {
            TemplateErrorKind::RepeatedVariable
        } else if variable.is_exploded() && !is_last && !rules.named {
            TemplateErrorKind::ExplodeNotLast
        } else {
            names.push(&variable.name);
            continue;
        };
        return Err(TemplateError::new(variable.position, kind));
    }
    Ok(())
}

/// Returns `true` if the URI certainly does not start with the literal text of the template. This check is cheap.
fn differs_at_start(parts: &[TemplatePart], uri: &str) -> bool {
    let Some(TemplatePart::Literal(literal)) = parts.first() else {
        return false;
    };
    let mut pairs = literal.text.bytes().zip(uri.bytes());
    // From the first escape on, different bytes may be the same character.
    let may_be_escape = |byte: u8| byte == b'%' || !byte.is_ascii();
    pairs
        .find(|&(expected, actual)| expected != actual || may_be_escape(actual))
        .is_some_and(|(expected, actual)| !may_be_escape(expected) && !may_be_escape(actual))
}

/// The positions at which a part may begin, with all later parts matching to the end of the URI.
pub(super) struct MatchPath {
    pub(super) starts: PositionSet,
    /// The positions at which an item of each variable may begin. Expressions with named pairs have one set for all.
    pub(super) item_starts: Vec<PositionSet>,
}

/// Returns the match path of each part, and of the end of the template.
fn match_paths(parts: &[TemplatePart], tokens: &[Token], steps: &mut usize) -> Vec<MatchPath> {
    let mut end = PositionSet::for_length(tokens.len());
    end.insert(tokens.len());
    let mut paths = vec![MatchPath {
        starts: end,
        item_starts: Vec::new(),
    }];
    for part in parts.iter().rev() {
        let ends = &paths[paths.len() - 1].starts;
        let path = match part {
            TemplatePart::Literal(literal) => literal_path(literal, tokens, ends, steps),
            TemplatePart::Expression(expression) => {
                let item_starts = if expression.operator.rules().named {
                    vec![named::item_starts(expression, tokens, ends, steps)]
                } else {
                    ordered::item_starts(expression, tokens, ends, steps)
                };
                expression_path(expression, tokens, ends, item_starts)
            }
        };
        paths.push(path);
    }
    paths.reverse();
    paths
}

fn literal_path(
    literal: &Literal,
    tokens: &[Token],
    ends: &PositionSet,
    steps: &mut usize,
) -> MatchPath {
    let mut starts = PositionSet::for_length(tokens.len());
    for (position, window) in tokens.windows(literal.tokens.len()).enumerate() {
        *steps += 1;
        if ends.contains(position + window.len()) {
            *steps += window.len();
            if window == literal.tokens {
                starts.insert(position);
            }
        }
    }
    MatchPath {
        starts,
        item_starts: Vec::new(),
    }
}

/// Computes the match path of an expression. It starts with its first character and may then be absent, or it starts
/// with an item.
fn expression_path(
    expression: &Expression,
    tokens: &[Token],
    ends: &PositionSet,
    item_starts: Vec<PositionSet>,
) -> MatchPath {
    let first_items = &item_starts[0];
    let starts = match expression.operator.rules().first_character {
        None => first_items.clone(),
        Some(first_character) => {
            let mut starts = ends.clone();
            for (position, token) in tokens.iter().enumerate() {
                if *token == Token::Plain(first_character) && first_items.contains(position + 1) {
                    starts.insert(position);
                }
            }
            starts
        }
    };
    MatchPath {
        starts,
        item_starts,
    }
}

/// Returns `true` if a captured item may contain a character.
pub(super) fn may_contain(expression: &Expression, plain: AsciiSet, token: Token) -> bool {
    match token {
        Token::Plain(character) => plain.contains(character),
        Token::Escaped(character) => {
            character != '/' || !expression.operator.rules().within_segment
        }
        Token::Octet(_) => false,
    }
}

/// The second pass, which goes through the URI once and records the captures.
pub(super) struct TemplateMatcher<'template, 'uri> {
    pub(super) tokens: &'uri [Token],
    pub(super) captures: Captures<'template, 'uri>,
    pub(super) steps: &'uri mut usize,
}

impl<'template> TemplateMatcher<'template, '_> {
    fn run(mut self, parts: &'template [TemplatePart], paths: &[MatchPath]) -> Option<Values> {
        if !paths[0].starts.contains(0) {
            return None;
        }
        let mut position = 0;
        for (part, pair) in parts.iter().zip(paths.windows(2)) {
            let (path, ends) = (&pair[0], &pair[1].starts);
            position = match part {
                TemplatePart::Literal(literal) => position + literal.tokens.len(),
                TemplatePart::Expression(expression) => {
                    self.expression(expression, position, path, ends)?
                }
            };
        }
        Some(self.captures.into_values())
    }

    /// Records the captures of one expression and returns its end.
    fn expression(
        &mut self,
        expression: &'template Expression,
        position: usize,
        path: &MatchPath,
        ends: &PositionSet,
    ) -> Option<usize> {
        let rules = expression.operator.rules();
        let first_item = match rules.first_character {
            None => position,
            Some(first_character) => {
                let is_present = self.tokens.get(position) == Some(&Token::Plain(first_character))
                    && path.item_starts[0].contains(position + 1);
                if !is_present {
                    return Some(position);
                }
                position + 1
            }
        };
        if rules.named {
            self.named(expression, first_item, &path.item_starts[0], ends)
        } else {
            self.ordered(expression, first_item, &path.item_starts, ends)
        }
    }

    /// Returns the end of the longest item that begins at `start`, given the positions where items may end.
    pub(super) fn longest_item(
        &mut self,
        expression: &Expression,
        start: usize,
        longest: usize,
        may_end: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let length = self.tokens[start..]
            .iter()
            .take(longest)
            .take_while(|token| may_contain(expression, expression.captures, **token))
            .count();
        *self.steps += 2 * length;
        (start..=start + length).rev().find(|end| may_end(*end))
    }
}
