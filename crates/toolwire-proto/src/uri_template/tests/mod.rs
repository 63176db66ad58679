//! Tests of URI templates, by subject.

mod ambiguity;
mod expansion;
mod matching;
mod parsing;
mod properties;

use super::{TemplateValue, UriTemplate, Values};

fn template(text: &str) -> UriTemplate {
    UriTemplate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn list(items: &[&str]) -> TemplateValue {
    TemplateValue::List(items.iter().map(|item| (*item).to_owned()).collect())
}

fn associative(pairs: &[(&str, &str)]) -> TemplateValue {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    TemplateValue::Associative(pairs.iter().map(owned).collect())
}

fn strings(values: &[(&str, &str)]) -> Values {
    values.iter().copied().collect()
}
