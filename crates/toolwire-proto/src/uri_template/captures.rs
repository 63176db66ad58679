//! The captures of a match: decoded, checked, and one value for each variable.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use crate::uri_template::characters::Token;
use crate::uri_template::{Modifier, TemplateValue, Values, Variable};

/// The captures so far.
pub(super) struct Captures<'template, 'uri> {
    tokens: &'uri [Token],
    by_name: BTreeMap<&'template str, Capture>,
}

struct Capture {
    /// The maximum number of characters of the value that it contains.
    longest: usize,
    value: TemplateValue,
}

/// A name and a value in the URI.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
}

impl<'template, 'uri> Captures<'template, 'uri> {
    pub(super) fn new(tokens: &'uri [Token]) -> Self {
        Self {
            tokens,
            by_name: BTreeMap::new(),
        }
    }

    pub(super) fn into_values(self) -> Values {
        self.by_name
            .into_iter()
            .map(|(name, capture)| (name, capture.value))
            .collect()
    }

    /// Records the items of a variable that is filled in order. Returns `None` if they are invalid.
    pub(super) fn items(
        &mut self,
        variable: &'template Variable,
        items: &[Range<usize>],
        within_segment: bool,
    ) -> Option<()> {
        let value = match (variable.modifier, items) {
            (Modifier::Explode, _) => match self.split_pairs(items) {
                Some(pairs) => self.associative(&pairs, within_segment)?,
                None => self.list(items.iter().cloned(), within_segment)?,
            },
            (_, [only]) => TemplateValue::String(self.decode(only.clone(), within_segment)?),
            _ => return None,
        };
        self.record(variable, value)
    }

    /// Records the pairs that belong to a variable, if any. Returns `None` if they are invalid.
    pub(super) fn pairs(
        &mut self,
        variable: &'template Variable,
        pairs: &[Pair],
        within_segment: bool,
    ) -> Option<()> {
        let has_own_name = |pair: &Pair| self.tokens[pair.name.clone()] == variable.name_tokens;
        let values = || pairs.iter().map(|pair| pair.value.clone());
        let value = match (variable.modifier, pairs) {
            (_, []) => return Some(()),
            (Modifier::Explode, _) if pairs.iter().all(has_own_name) => {
                self.list(values(), within_segment)?
            }
            (Modifier::Explode, _) => self.associative(pairs, within_segment)?,
            (_, [only]) => TemplateValue::String(self.decode(only.value.clone(), within_segment)?),
            // The same name occurs twice, and the variable takes one value.
            _ => return None,
        };
        self.record(variable, value)
    }

    /// Splits every item at its first `=`, if all items have one after a name.
    fn split_pairs(&self, items: &[Range<usize>]) -> Option<Vec<Pair>> {
        items
            .iter()
            .map(|item| {
                let equals = self.tokens[item.clone()]
                    .iter()
                    .position(|token| *token == Token::Plain('='))
                    .filter(|offset| *offset > 0)?;
                let name_end = item.start + equals;
                Some(Pair {
                    name: item.start..name_end,
                    value: name_end + 1..item.end,
                })
            })
            .collect()
    }

    fn list(
        &self,
        items: impl Iterator<Item = Range<usize>>,
        within_segment: bool,
    ) -> Option<TemplateValue> {
        items
            .map(|item| self.decode(item, within_segment))
            .collect::<Option<Vec<_>>>()
            .map(TemplateValue::List)
    }

    fn associative(&self, pairs: &[Pair], within_segment: bool) -> Option<TemplateValue> {
        let decoded: Vec<(String, String)> = pairs
            .iter()
            .map(|pair| {
                let name = self.decode(pair.name.clone(), within_segment)?;
                Some((name, self.decode(pair.value.clone(), within_segment)?))
            })
            .collect::<Option<_>>()?;
        let mut names = HashSet::new();
        let distinct = decoded.iter().all(|(name, _)| names.insert(name.as_str()));
        distinct.then_some(TemplateValue::Associative(decoded))
    }

    fn decode(&self, range: Range<usize>, within_segment: bool) -> Option<String> {
        let text: String = self.tokens[range]
            .iter()
            .map(|token| match token {
                Token::Plain(character) | Token::Escaped(character) => Some(*character),
                Token::Octet(_) => None,
            })
            .collect::<Option<_>>()?;
        let leaves_segment = within_segment && has_dot_segment(&text);
        (!leaves_segment).then_some(text)
    }

    /// Keeps the capture that contains more of the value. All captures of a variable must agree.
    fn record(&mut self, variable: &'template Variable, value: TemplateValue) -> Option<()> {
        let capture = Capture {
            longest: variable.longest_item(),
            value,
        };
        let merged = match self.by_name.remove(variable.name.as_str()) {
            None => capture,
            Some(earlier) if earlier.longest > capture.longest => earlier.confirmed_by(&capture)?,
            Some(earlier) => capture.confirmed_by(&earlier)?,
        };
        self.by_name.insert(&variable.name, merged);
        Some(())
    }
}

impl Capture {
    /// Returns this capture if the other one agrees with its start.
    fn confirmed_by(self, other: &Self) -> Option<Self> {
        let agrees = match (&self.value, &other.value) {
            (TemplateValue::String(whole), TemplateValue::String(beginning)) => {
                whole.chars().take(other.longest).eq(beginning.chars())
            }
            (whole, again) => whole == again,
        };
        agrees.then_some(self)
    }
}

/// Returns `true` if the text, as a path, contains a segment for the same or the parent directory. Backslashes count
/// because they separate directories on some systems.
fn has_dot_segment(text: &str) -> bool {
    text.split(['/', '\\'])
        .any(|segment| matches!(segment, "." | ".."))
}
