//! Properties of all templates and all URIs.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::super::operator::Operator;
use super::{TemplateValue, UriTemplate, Values};

/// Template expressions, no two with a common variable.
const EXPRESSIONS: [&str; 14] = [
    "{a}", "{b:4}", "{c,d}", "{e*}", "{+f}", "{.g}", "{.h*}", "{/i}", "{/j*}", "{;k,l}", "{?m,n}",
    "{?o*}", "{&p}", "{#q}",
];

/// Returns an expression with values that a match returns unchanged.
fn piece() -> impl Strategy<Value = (usize, TemplateValue, TemplateValue)> {
    // Values that a match returns unchanged: not empty, and without `.` or `/`, which could split them.
    let text = || "[a-zA-Z0-9_~ ,:@!$&'()*+;=?#%é€𝄞\\[\\]-]{1,12}";
    let name = || "[b-z é=&]{2,6}";
    let strings = || text().prop_map(TemplateValue::String);
    let lists = || prop::collection::vec(text(), 1..4).prop_map(TemplateValue::List);
    let maps = prop::collection::btree_map(name(), text(), 1..4)
        .prop_map(|pairs| TemplateValue::Associative(pairs.into_iter().collect()));
    let path = "[a-z?.]{1,4}(/[a-z?.]{1,4}){0,3}".prop_map(TemplateValue::String);
    (
        0..EXPRESSIONS.len(),
        strings(),
        strings(),
        lists(),
        maps,
        path,
        any::<bool>(),
    )
        .prop_map(
            |(index, first, second, list, map, path, as_map)| match EXPRESSIONS[index] {
                "{b:4}" => {
                    let TemplateValue::String(text) = first else {
                        unreachable!("a string was generated");
                    };
                    let beginning: String = text.chars().take(4).collect();
                    (index, beginning.into(), second)
                }
                "{+f}" | "{#q}" => (index, path, second),
                text if text.contains('*') => (index, if as_map { map } else { list }, second),
                _ => (index, first, second),
            },
        )
}

proptest! {
    #[test]
    fn match_of_an_expansion_returns_its_values(
        pieces in prop::collection::vec(piece(), 0..6),
        close in any::<bool>(),
    ) {
        let mut text = "x:/".to_owned();
        let mut values = Values::new();
        for (index, first, second) in pieces {
            let expression = EXPRESSIONS[index];
            if text.contains(expression) {
                continue;
            }
            text.push_str("//");
            text.push_str(expression);
            let mut names = expression.chars().filter(char::is_ascii_lowercase);
            for value in [first, second] {
                if let Some(name) = names.next() {
                    values.insert(name, value);
                }
            }
        }
        if close {
            text.push_str("//end");
        }
        let template = UriTemplate::parse(&text).unwrap();
        template.check_matchable().unwrap();
        let uri = template.expand(&values).unwrap();
        prop_assert_eq!(template.matches(&uri), Some(values), "{} {}", text, uri);
    }

    #[test]
    fn expansion_of_a_match_gives_the_same_match(
        expressions in subsequence(EXPRESSIONS.to_vec(), 0..5).prop_shuffle(),
        literals in prop::collection::vec(select(vec!["", "", "x", "/", ".", "-", "?m=", "&", "é"]), 6),
        uri in prop::collection::vec(
            select(vec![
                "x", "/", ".", "-", "?", "&", ";", "#", ",", "=", "é", "a", "k=", "m=1", "n=", "o=2", "p=",
            ]),
            0..14,
        ),
    ) {
        let mut text = literals[0].to_owned();
        for (expression, literal) in expressions.iter().zip(&literals[1..]) {
            text.push_str(expression);
            text.push_str(literal);
        }
        let template = UriTemplate::parse(&text).unwrap();
        let uri = uri.concat();
        if template.check_matchable().is_ok() && let Some(values) = template.matches(&uri) {
            let expanded = template.expand(&values).unwrap();
            prop_assert_eq!(template.matches(&expanded), Some(values), "{} {} {}", text, uri, expanded);
        }
    }

    #[test]
    fn matching_does_not_panic_and_captures_stay_in_their_segment(
        text in "([{}+#./;?&*:,=%ab0 é]|\\{a\\}|\\{/b\\*\\}|\\{;c,d\\}|\\{.e\\}){0,8}",
        uri in "([{}+#./;?&*:,=%ab0 é]|%2[EFef]|%5C|\\.\\.|;c=|/){0,24}",
    ) {
        if let Ok(template) = UriTemplate::parse(&text) {
            let _ = template.check_matchable();
            let captured = template.matches(&uri).unwrap_or_default();
            let _ = template.expand(&captured);
            for expression in template.expressions() {
                if matches!(
                    expression.operator,
                    Operator::Simple | Operator::Label | Operator::PathSegment | Operator::PathParameter
                ) {
                    for variable in &expression.variables {
                        prop_assert!(captured.get(&variable.name).is_none_or(is_within_segment));
                    }
                }
            }
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>(), uri in any::<String>()) {
        if let Ok(template) = UriTemplate::parse(&text) {
            let _ = template.matches(&uri);
        }
        let _ = UriTemplate::parse("{a}{/b*}{?c,d*}").unwrap().matches(&uri);
    }
}

fn is_within_segment(value: &TemplateValue) -> bool {
    let is_safe = |text: &String| !text.contains('/') && text != "." && text != "..";
    match value {
        TemplateValue::String(text) => is_safe(text),
        TemplateValue::List(items) => items.iter().all(is_safe),
        TemplateValue::Associative(pairs) => pairs
            .iter()
            .all(|(name, value)| is_safe(name) && is_safe(value)),
    }
}
