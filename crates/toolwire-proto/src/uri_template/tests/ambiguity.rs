//! Templates that expand but cannot be matched unambiguously.

use super::super::TemplateErrorKind::{self, *};
use super::template;

#[track_caller]
fn check(text: &str, expected: Result<(), (usize, TemplateErrorKind)>) {
    let actual = template(text).check_matchable();
    let actual = actual.map_err(|error| (error.position(), error.kind()));
    assert_eq!(actual, expected, "{text}");
}

#[test]
fn expressions_need_text_between_them() {
    check("{a}{b}", Err((3, IndistinctExpressions)));
    check("x{/a}{+b}", Err((5, IndistinctExpressions)));
    check("{a}{?b}{c}", Err((7, IndistinctExpressions)));
    check("{/a*}{/b}", Err((5, IndistinctExpressions)));
    check("{/a*}{?b}{/c}", Err((9, IndistinctExpressions)));
    check("{?a*}{&b}", Err((5, IndistinctExpressions)));
    check("{a}-{b}", Ok(()));
    check("{a}{/b}{.c}{;d}{?e}{&f}{#g}", Ok(()));
    check("{+a}{?b}", Ok(()));
    check("{/a}{/b*}", Ok(()));
}

#[test]
fn exploded_variable_is_the_last_of_an_ordered_expression() {
    check("{/a*,b}", Err((2, ExplodeNotLast)));
    check("{a,b*,c}", Err((3, ExplodeNotLast)));
    check("{/a,b*}", Ok(()));
    check("{?a*,b}", Ok(()));
}

#[test]
fn adjacent_expressions_do_not_share_a_variable() {
    check("{?a,a}", Err((4, RepeatedVariable)));
    check("{?a}{&a}", Err((6, RepeatedVariable)));
    check("{/a:1,a}", Err((6, RepeatedVariable)));
    check("{a:1}/{a}", Ok(()));
}
