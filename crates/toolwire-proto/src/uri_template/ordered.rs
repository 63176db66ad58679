//! Expressions whose variables are filled in order: `{a,b}`, `{+a,b}`, `{#a,b}`, `{.a,b}` and `{/a,b}`.
//!
//! Items do not contain the separator, so an item ends at a separator before the next item or at the end of the
//! expression.

use crate::uri_template::characters::Token;
use crate::uri_template::matching::{TemplateMatcher, may_contain};
use crate::uri_template::position_set::PositionSet;
use crate::uri_template::{Expression, Variable};

/// Returns, for each variable, the positions at which an item of it may begin so that everything after it matches.
pub(super) fn item_starts(
    expression: &Expression,
    tokens: &[Token],
    ends: &PositionSet,
    steps: &mut usize,
) -> Vec<PositionSet> {
    let mut item_starts: Vec<PositionSet> = Vec::with_capacity(expression.variables.len());
    for variable in expression.variables.iter().rev() {
        let next_step = OrderedStep {
            tokens,
            separator: expression.operator.rules().separator,
            ends,
            next_starts: item_starts.last(),
        };
        let starts = variable_starts(expression, variable, &next_step, steps);
        item_starts.push(starts);
    }
    item_starts.reverse();
    item_starts
}

/// Returns the positions at which an item of one variable may begin.
///
/// The scan starts at the end of the URI. At each position it knows the maximum length of an item and the nearest
/// possible end.
fn variable_starts(
    expression: &Expression,
    variable: &Variable,
    next_step: &OrderedStep<'_>,
    steps: &mut usize,
) -> PositionSet {
    let length = next_step.tokens.len();
    let mut starts = PositionSet::for_length(length);
    let mut furthest_end = length;
    let mut nearest_end = usize::MAX;
    for position in (0..=length).rev() {
        *steps += 1;
        match next_step.tokens.get(position) {
            Some(token) if may_contain(expression, expression.captures, *token) => {
                let reach = position.saturating_add(variable.longest_item());
                if nearest_end <= furthest_end.min(reach) {
                    starts.insert(position);
                }
            }
            _ => furthest_end = position,
        }
        if next_step.may_end(position, variable.is_exploded().then_some(&starts)) {
            nearest_end = position;
        }
    }
    starts
}

/// The conditions for the end of an item.
struct OrderedStep<'a> {
    tokens: &'a [Token],
    separator: char,
    ends: &'a PositionSet,
    /// The positions at which the next variable may begin, if there is one.
    next_starts: Option<&'a PositionSet>,
}

impl OrderedStep<'_> {
    /// Returns `true` if an item may end here. `same_starts` are the positions at which another item of the variable
    /// may begin.
    fn may_end(&self, position: usize, same_starts: Option<&PositionSet>) -> bool {
        self.ends.contains(position)
            || self.continues(position, same_starts)
            || self.continues(position, self.next_starts)
    }

    /// Returns `true` if a separator is here and one of the given starts follows it.
    fn continues(&self, position: usize, starts: Option<&PositionSet>) -> bool {
        self.tokens.get(position) == Some(&Token::Plain(self.separator))
            && starts.is_some_and(|starts| starts.contains(position + 1))
    }
}

impl<'template> TemplateMatcher<'template, '_> {
    /// Records the items of the expression, the first of which begins at `start`, and returns its end.
    pub(super) fn ordered(
        &mut self,
        expression: &'template Expression,
        mut start: usize,
        item_starts: &[PositionSet],
        ends: &PositionSet,
    ) -> Option<usize> {
        let rules = expression.operator.rules();
        let mut items = Vec::new();
        for (index, variable) in expression.variables.iter().enumerate() {
            let next_step = OrderedStep {
                tokens: self.tokens,
                separator: rules.separator,
                ends,
                next_starts: item_starts.get(index + 1),
            };
            let same_starts = variable.is_exploded().then_some(&item_starts[index]);
            let end = loop {
                let end = self.longest_item(expression, start, variable.longest_item(), |end| {
                    end > start && next_step.may_end(end, same_starts)
                })?;
                items.push(start..end);
                if !next_step.continues(end, same_starts) {
                    break end;
                }
                start = end + 1;
            };
            self.captures
                .items(variable, &items, rules.within_segment)?;
            items.clear();
            if !next_step.continues(end, next_step.next_starts) {
                return Some(end);
            }
            start = end + 1;
        }
        None
    }
}
