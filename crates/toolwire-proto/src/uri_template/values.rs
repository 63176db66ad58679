//! The values of template variables, by name.

use std::collections::BTreeMap;

/// The value of one variable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "RFC 6570 section 2.3 defines these three"
)]
pub enum TemplateValue {
    /// A string, possibly empty.
    String(String),
    /// A list of strings. An empty list counts as no value.
    List(Vec<String>),
    /// Names with their values, in order. Without entries it counts as no value.
    Associative(Vec<(String, String)>),
}

impl From<&str> for TemplateValue {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for TemplateValue {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<Vec<String>> for TemplateValue {
    fn from(items: Vec<String>) -> Self {
        Self::List(items)
    }
}

impl From<Vec<(String, String)>> for TemplateValue {
    fn from(pairs: Vec<(String, String)>) -> Self {
        Self::Associative(pairs)
    }
}

/// The values of template variables, for an expansion or from a match. A variable without a value is undefined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values {
    by_name: BTreeMap<String, TemplateValue>,
}

impl Values {
    /// Creates an empty set of values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value and returns the set. A value of that name is replaced.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<TemplateValue>) -> Self {
        self.insert(name, value);
        self
    }

    /// Adds a value. A value of that name is replaced.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<TemplateValue>) {
        self.by_name.insert(name.into(), value.into());
    }

    /// Returns the value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&TemplateValue> {
        self.by_name.get(name)
    }

    /// Returns the value of a variable if it is a string.
    #[must_use]
    pub fn string(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            TemplateValue::String(text) => Some(text),
            TemplateValue::List(_) | TemplateValue::Associative(_) => None,
        }
    }

    /// Returns the value of a variable if it is a list.
    #[must_use]
    pub fn list(&self, name: &str) -> Option<&[String]> {
        match self.get(name)? {
            TemplateValue::List(items) => Some(items),
            TemplateValue::String(_) | TemplateValue::Associative(_) => None,
        }
    }

    /// Returns the value of a variable if it is associative.
    #[must_use]
    pub fn associative(&self, name: &str) -> Option<&[(String, String)]> {
        match self.get(name)? {
            TemplateValue::Associative(pairs) => Some(pairs),
            TemplateValue::String(_) | TemplateValue::List(_) => None,
        }
    }

    /// Returns all values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &TemplateValue)> {
        self.by_name
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the number of variables with a value.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns `true` if no variable has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

impl<N: Into<String>, V: Into<TemplateValue>> FromIterator<(N, V)> for Values {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(values: I) -> Self {
        let by_name = values
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self { by_name }
    }
}

impl IntoIterator for Values {
    type Item = (String, TemplateValue);
    type IntoIter = std::collections::btree_map::IntoIter<String, TemplateValue>;

    fn into_iter(self) -> Self::IntoIter {
        self.by_name.into_iter()
    }
}
