//! What is a template and what is not.

use super::super::{MAX_EXPRESSIONS, MAX_TEMPLATE_BYTES, MAX_VARIABLES, TemplateErrorKind};
use super::{UriTemplate, template};

#[track_caller]
fn check_refused(text: &str, position: usize, kind: TemplateErrorKind) {
    let error = UriTemplate::parse(text).expect_err(text);
    assert_eq!((error.position(), error.kind()), (position, kind), "{text}");
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    use TemplateErrorKind as Kind;
    check_refused("a{b", 1, Kind::UnclosedExpression);
    check_refused("a{", 1, Kind::UnclosedExpression);
    check_refused("ab}c", 2, Kind::StrayClosingBrace);
    check_refused("{a}}", 3, Kind::StrayClosingBrace);
    check_refused("{a{b}}", 2, Kind::IllegalName);
    check_refused("a b", 1, Kind::IllegalCharacter(' '));
    check_refused("é\"", 2, Kind::IllegalCharacter('"'));
    check_refused("a\u{85}", 1, Kind::IllegalCharacter('\u{85}'));
    check_refused("a%", 1, Kind::MalformedEscape);
    check_refused("a%4", 1, Kind::MalformedEscape);
    check_refused("a%4é", 1, Kind::MalformedEscape);
    check_refused("%41%zz", 3, Kind::MalformedEscape);
    check_refused("{}", 1, Kind::MissingName);
    check_refused("{?}", 2, Kind::MissingName);
    check_refused("{a,}", 3, Kind::MissingName);
    check_refused("{a,,b}", 3, Kind::MissingName);
    check_refused("{*}", 1, Kind::MissingName);
    check_refused("{:3}", 1, Kind::MissingName);
    check_refused("{=a}", 1, Kind::ReservedOperator('='));
    check_refused("{|a}", 1, Kind::ReservedOperator('|'));
    check_refused("{ a}", 1, Kind::IllegalName);
    check_refused("{a-b}", 2, Kind::IllegalName);
    check_refused("{a..b}", 3, Kind::IllegalName);
    check_refused("{a.}", 2, Kind::IllegalName);
    check_refused("{..a}", 2, Kind::IllegalName);
    check_refused("{é}", 1, Kind::IllegalName);
    check_refused("{%4}", 1, Kind::MalformedEscape);
    check_refused("{a:}", 2, Kind::IllegalPrefixLength);
    check_refused("{a:0}", 2, Kind::IllegalPrefixLength);
    check_refused("{a:01}", 2, Kind::IllegalPrefixLength);
    check_refused("{a:10000}", 2, Kind::IllegalPrefixLength);
    check_refused("{a:+1}", 2, Kind::IllegalPrefixLength);
    check_refused("{a:3*}", 2, Kind::IllegalPrefixLength);
    check_refused("{a*:3}", 2, Kind::IllegalModifier);
    check_refused("{a**}", 2, Kind::IllegalModifier);
}

#[test]
fn limits_are_the_last_that_is_accepted() {
    template(&"a".repeat(MAX_TEMPLATE_BYTES));
    check_refused(
        &"a".repeat(MAX_TEMPLATE_BYTES + 1),
        MAX_TEMPLATE_BYTES,
        TemplateErrorKind::TooLong,
    );
    template(&"{a}".repeat(MAX_EXPRESSIONS));
    check_refused(
        &"{a}".repeat(MAX_EXPRESSIONS + 1),
        3 * MAX_EXPRESSIONS,
        TemplateErrorKind::TooManyExpressions,
    );
    let names = |count| format!("{{{}}}", vec!["a"; count].join(","));
    template(&names(MAX_VARIABLES));
    check_refused(
        &names(MAX_VARIABLES + 1),
        0,
        TemplateErrorKind::TooManyVariables,
    );
}

#[test]
fn variables_are_listed_once_in_order() {
    let template = template("{b}/{a:3}{?c*,b,d.e,%41}");
    assert_eq!(template.variables(), ["b", "a", "c", "d.e", "%41"]);
}

#[test]
fn template_prints_as_written() {
    let text = "x://é/{a}{?b*}";
    assert_eq!(template(text).as_str(), text);
    assert_eq!(template(text).to_string(), text);
}

#[test]
fn error_reads_as_one_line() {
    let error = UriTemplate::parse("x://{a").unwrap_err();
    assert_eq!(error.to_string(), "expression is not closed at byte 4");
}

#[test]
fn more_literal_text_is_more_specific() {
    let ascending = [
        "{+a}",
        "{a}{?b}",
        "{a}",
        "x://{+a}",
        "x://{a}",
        "x://{a}/{b}",
        "x://users/{a}",
        "x://users/me",
    ];
    for pair in ascending.windows(2) {
        let [less, more] = [pair[0], pair[1]].map(|text| template(text).specificity());
        assert!(less < more, "{pair:?}");
    }
}
