//! Valid and invalid templates.

use super::super::{MAX_EXPRESSIONS, MAX_TEMPLATE_BYTES, MAX_VARIABLES, TemplateErrorKind};
use super::{UriTemplate, template};

#[track_caller]
fn check_rejected(text: &str, position: usize, kind: TemplateErrorKind) {
    let error = UriTemplate::parse(text).expect_err(text);
    assert_eq!((error.position(), error.kind()), (position, kind), "{text}");
}

#[test]
fn errors_have_kind_and_position() {
    use TemplateErrorKind as Kind;
    check_rejected("a{b", 1, Kind::UnclosedExpression);
    check_rejected("a{", 1, Kind::UnclosedExpression);
    check_rejected("ab}c", 2, Kind::StrayClosingBrace);
    check_rejected("{a}}", 3, Kind::StrayClosingBrace);
    check_rejected("{a{b}}", 2, Kind::IllegalName);
    check_rejected("a b", 1, Kind::IllegalCharacter(' '));
    check_rejected("é\"", 2, Kind::IllegalCharacter('"'));
    check_rejected("a\u{85}", 1, Kind::IllegalCharacter('\u{85}'));
    check_rejected("a%", 1, Kind::MalformedEscape);
    check_rejected("a%4", 1, Kind::MalformedEscape);
    check_rejected("a%4é", 1, Kind::MalformedEscape);
    check_rejected("%41%zz", 3, Kind::MalformedEscape);
    check_rejected("{}", 1, Kind::MissingName);
    check_rejected("{?}", 2, Kind::MissingName);
    check_rejected("{a,}", 3, Kind::MissingName);
    check_rejected("{a,,b}", 3, Kind::MissingName);
    check_rejected("{*}", 1, Kind::MissingName);
    check_rejected("{:3}", 1, Kind::MissingName);
    check_rejected("{=a}", 1, Kind::ReservedOperator('='));
    check_rejected("{|a}", 1, Kind::ReservedOperator('|'));
    check_rejected("{ a}", 1, Kind::IllegalName);
    check_rejected("{a-b}", 2, Kind::IllegalName);
    check_rejected("{a..b}", 3, Kind::IllegalName);
    check_rejected("{a.}", 2, Kind::IllegalName);
    check_rejected("{..a}", 2, Kind::IllegalName);
    check_rejected("{é}", 1, Kind::IllegalName);
    check_rejected("{%4}", 1, Kind::MalformedEscape);
    check_rejected("{a:}", 2, Kind::IllegalPrefixLength);
    check_rejected("{a:0}", 2, Kind::IllegalPrefixLength);
    check_rejected("{a:01}", 2, Kind::IllegalPrefixLength);
    check_rejected("{a:10000}", 2, Kind::IllegalPrefixLength);
    check_rejected("{a:+1}", 2, Kind::IllegalPrefixLength);
    check_rejected("{a:3*}", 2, Kind::IllegalPrefixLength);
    check_rejected("{a*:3}", 2, Kind::IllegalModifier);
    check_rejected("{a**}", 2, Kind::IllegalModifier);
}

#[test]
fn templates_of_exactly_the_limits_are_accepted() {
    template(&"a".repeat(MAX_TEMPLATE_BYTES));
    check_rejected(
        &"a".repeat(MAX_TEMPLATE_BYTES + 1),
        MAX_TEMPLATE_BYTES,
        TemplateErrorKind::TooLong,
    );
    template(&"{a}".repeat(MAX_EXPRESSIONS));
    check_rejected(
        &"{a}".repeat(MAX_EXPRESSIONS + 1),
        3 * MAX_EXPRESSIONS,
        TemplateErrorKind::TooManyExpressions,
    );
    let names = |count| format!("{{{}}}", vec!["a"; count].join(","));
    template(&names(MAX_VARIABLES));
    check_rejected(
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
fn error_is_displayed_in_one_line() {
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
