//! Expressions of pairs: `{;a,b}`, `{?a,b}` and `{&a,b}`.
//!
//! A pair is a name, or a name, `=` and a value. The name determines the variable of the pair, so the order is free.

use crate::uri_template::captures::Pair;
use crate::uri_template::characters::{AsciiSet, Token};
use crate::uri_template::matching::{TemplateMatcher, may_contain};
use crate::uri_template::position_set::PositionSet;
use crate::uri_template::{Expression, Variable};

/// The characters that names do not contain, because they can precede a name. So all names in a URI together are no
/// longer than the URI.
const NOT_IN_NAMES: AsciiSet = AsciiSet::of("=/?&;");

/// Returns the positions at which a pair may begin so that everything after it matches.
pub(super) fn item_starts(
    expression: &Expression,
    tokens: &[Token],
    ends: &PositionSet,
    steps: &mut usize,
) -> PositionSet {
    let next_step = NamedStep {
        tokens,
        separator: expression.operator.rules().separator,
        ends,
    };
    let mut starts = PositionSet::for_length(tokens.len());
    let mut furthest_end = tokens.len();
    let mut nearest_end = usize::MAX;
    let mut name_end = tokens.len();
    let mut value_ends = None;
    for position in (0..=tokens.len()).rev() {
        *steps += 1;
        let token = tokens.get(position).copied();
        if !token.is_some_and(|token| in_name(expression, token)) {
            name_end = position;
            value_ends = (token == Some(Token::Plain('='))).then_some((nearest_end, furthest_end));
        }
        if !token.is_some_and(|token| may_contain(expression, expression.captures, token)) {
            furthest_end = position;
        }
        if name_end > position && next_step.is_after_delimiter(position) {
            *steps += name_end - position;
            let owner = owner_of(expression, &tokens[position..name_end]);
            let matches = owner.is_some_and(|owner| match value_ends {
                Some((nearest_end, furthest_end)) => {
                    let longest = expression.variables[owner].longest_item();
                    let reach = (name_end + 1).saturating_add(longest);
                    nearest_end <= furthest_end.min(reach)
                }
                None => next_step.may_end(name_end, &starts),
            });
            if matches {
                starts.insert(position);
            }
        }
        if next_step.may_end(position, &starts) {
            nearest_end = position;
        }
    }
    starts
}

fn in_name(expression: &Expression, token: Token) -> bool {
    may_contain(expression, expression.captures.without(NOT_IN_NAMES), token)
}

/// Returns the variable of a pair: the one with that name, otherwise the first that takes any name.
fn owner_of(expression: &Expression, name: &[Token]) -> Option<usize> {
    let variables = &expression.variables;
    variables
        .iter()
        .position(|variable| variable.name_tokens == name)
        .or_else(|| variables.iter().position(Variable::is_exploded))
}

/// The conditions for the end of a pair.
struct NamedStep<'a> {
    tokens: &'a [Token],
    separator: char,
    ends: &'a PositionSet,
}

impl NamedStep<'_> {
    /// Returns `true` if a pair may end here.
    fn may_end(&self, position: usize, starts: &PositionSet) -> bool {
        self.ends.contains(position) || self.continues(position, starts)
    }

    /// Returns `true` if a separator is here and another pair follows it.
    fn continues(&self, position: usize, starts: &PositionSet) -> bool {
        self.tokens.get(position) == Some(&Token::Plain(self.separator))
            && starts.contains(position + 1)
    }

    /// Returns `true` if the character before the position can precede a pair.
    fn is_after_delimiter(&self, position: usize) -> bool {
        let before = position.checked_sub(1).map(|before| self.tokens[before]);
        matches!(before, Some(Token::Plain('?' | '&' | ';')))
    }
}

impl<'template> TemplateMatcher<'template, '_> {
    /// Records the pairs of the expression, the first of which begins at `start`, and returns its end.
    pub(super) fn named(
        &mut self,
        expression: &'template Expression,
        mut start: usize,
        starts: &PositionSet,
        ends: &PositionSet,
    ) -> Option<usize> {
        let rules = expression.operator.rules();
        let next_step = NamedStep {
            tokens: self.tokens,
            separator: rules.separator,
            ends,
        };
        let mut pairs_of = vec![Vec::new(); expression.variables.len()];
        let end = loop {
            let name_end = start
                + self.tokens[start..]
                    .iter()
                    .take_while(|token| in_name(expression, **token))
                    .count();
            *self.steps += name_end - start;
            let name = start..name_end;
            let owner = owner_of(expression, &self.tokens[name.clone()])?;
            let value = if self.tokens.get(name_end) == Some(&Token::Plain('=')) {
                let longest = expression.variables[owner].longest_item();
                let value_start = name_end + 1;
                let value_end = self.longest_item(expression, value_start, longest, |end| {
                    next_step.may_end(end, starts)
                })?;
                value_start..value_end
            } else {
                name_end..name_end
            };
            let end = value.end;
            pairs_of[owner].push(Pair { name, value });
            if !next_step.continues(end, starts) {
                break end;
            }
            start = end + 1;
        };
        for (variable, pairs) in expression.variables.iter().zip(&pairs_of) {
            self.captures.pairs(variable, pairs, rules.within_segment)?;
        }
        Some(end)
    }
}
