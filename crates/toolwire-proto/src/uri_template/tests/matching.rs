//! The URIs that match, and their values.

use super::super::MAX_URI_BYTES;
use super::super::matching::find;
use super::{Values, associative, list, strings, template};

#[track_caller]
fn check(text: &str, uri: &str, expected: &[(&str, &str)]) {
    check_values(text, uri, strings(expected));
}

#[track_caller]
fn check_values(text: &str, uri: &str, expected: Values) {
    assert_eq!(template(text).matches(uri), Some(expected), "{text} {uri}");
}

#[track_caller]
fn check_none(text: &str, uri: &str) {
    assert_eq!(template(text).matches(uri), None, "{text} {uri}");
}

#[test]
fn literals_match_themselves_in_any_spelling() {
    check("", "", &[]);
    check("x://a", "x://a", &[]);
    check("x://A%2fé", "x://%41%2F%c3%a9", &[]);
    check("x://%C3%A9", "x://é", &[]);
    check("x://%FF/{a}", "x://%ff/b", &[("a", "b")]);
    check_none("x://a", "x://b");
    check_none("x://a", "x://a/");
    check_none("x://a", "x://");
    check_none("x://a/b", "x://a%2Fb");
    check_none("x://A", "x://a");
}

#[test]
fn simple_variable_takes_a_segment() {
    check("x://{a}", "x://one", &[("a", "one")]);
    check("x://{a}/y", "x://one/y", &[("a", "one")]);
    check("{a}", "a:b@c!d,e;f=g&h+i", &[("a", "a:b@c!d,e;f=g&h+i")]);
    check("{a}", "caf%C3%A9%20%2C", &[("a", "café ,")]);
    check("{a}", "café", &[("a", "café")]);
    check("{a}", "...", &[("a", "...")]);
    check("{a}", "..b", &[("a", "..b")]);
    check_none("x://{a}", "x://");
    check_none("x://{a}", "x://one/two");
    check_none("x://{a}", "x://one?two");
    check_none("x://{a}", "x://one#two");
    check_none("x://{a}", "x://one%2Ftwo");
    check_none("x://{a}", "x://one two");
    check_none("x://{a}", "x://one\\two");
}

#[test]
fn dot_segments_never_match_within_a_segment() {
    for dots in [".", "..", "%2E", "%2e%2E", ".%2e", "..%5Cetc", "a%5C.."] {
        check_none("x://{a}", &format!("x://{dots}"));
        check_none("x://{a}/y", &format!("x://{dots}/y"));
        check_none("x:/{/a}", &format!("x://{dots}"));
        check_none("x:/{/a*}", &format!("x://b/{dots}/c"));
        check_none("x://b{;a}", &format!("x://b;a={dots}"));
        check_none("x://b{;a*}", &format!("x://b;{dots}=1"));
    }
    check_none("x://b{.a}", "x://b...");
    check("x://{+a}", "x://b/../c", &[("a", "b/../c")]);
    check("x://b{?a}", "x://b?a=../c", &[("a", "../c")]);
}

#[test]
fn malformed_escapes_never_match() {
    for escape in ["%", "%4", "%zz", "%C3", "%FF", "%C0%AF", "%ED%A0%80", "a%é"] {
        check_none("{a}", escape);
        check_none("{+a}", escape);
        check_none("x{?a}", &format!("x?a={escape}"));
        check_none("x{?a*}", &format!("x?{escape}=1"));
    }
}

#[test]
fn reserved_variables_take_reserved_characters() {
    check("file://{+path}", "file:///a/b?c#d", &[("path", "/a/b?c#d")]);
    check("{+a}", "b%2Fc", &[("a", "b/c")]);
    check("x{#a}", "x#b/c?d", &[("a", "b/c?d")]);
    check("x{#a}", "x", &[]);
    check("{+a,b}", "1/2,3", &[("a", "1/2"), ("b", "3")]);
    check_none("{+a}", "");
    check_none("x{#a}", "x#");
}

#[test]
fn optional_expressions_may_be_absent() {
    for text in ["x{/a}", "x{.a}", "x{;a}", "x{?a}", "x{&a}", "x{#a}"] {
        check(text, "x", &[]);
        check(&format!("{text}/y"), "x/y", &[]);
    }
    check("x{/a}{?b}{#c}", "x?b=1", &[("b", "1")]);
    check("x{/a}{?b}{#c}", "x/2#3", &[("a", "2"), ("c", "3")]);
}

#[test]
fn ordered_variables_are_filled_from_the_left() {
    check("{a,b}", "1,2", &[("a", "1"), ("b", "2")]);
    check("{a,b}", "1", &[("a", "1")]);
    check("{/a,b}/c", "/1/2/c", &[("a", "1"), ("b", "2")]);
    check("{/a,b}/c", "/1/c", &[("a", "1")]);
    check("{/a}{/b}", "/1", &[("a", "1")]);
    check("{.a,b}", ".1.2", &[("a", "1"), ("b", "2")]);
    check("x{.a}", "x.tar.gz", &[("a", "tar.gz")]);
    check_none("{a,b}", "1,2,3");
    check_none("{a,b}", "1,");
    check_none("{a,b}", ",1");
    check_none("{/a,b}", "//1");
    check_none("{/a}", "/");
}

#[test]
fn leftmost_capture_is_the_longest() {
    check("{a}-{b}", "1-2-3", &[("a", "1-2"), ("b", "3")]);
    check("{a}.{b}", "x.tar.gz", &[("a", "x.tar"), ("b", "gz")]);
    check("{+a}/{b}", "1/2/3", &[("a", "1/2"), ("b", "3")]);
    check("{a}aa", "aaaa", &[("a", "aa")]);
    check("{a}{b}", "123", &[("a", "12"), ("b", "3")]);
    check(
        "{a,b}-{c}",
        "1,2-3,4-5",
        &[("a", "1"), ("b", "2"), ("c", "3,4-5")],
    );
    check_none("{a}aa", "aa");
}

#[test]
fn capture_stops_before_the_operator_that_follows() {
    check("{a}{.b}", "x.tar.gz", &[("a", "x"), ("b", "tar.gz")]);
    check("{a}{;b}", "x;b=1", &[("a", "x"), ("b", "1")]);
    check("{a}{&b}", "x&b=1", &[("a", "x"), ("b", "1")]);
    check("{+a}{?b}", "x/y?b=1", &[("a", "x/y"), ("b", "1")]);
    check("{+a}{?b}{#c}", "x/y#1", &[("a", "x/y"), ("c", "1")]);
    check("{.a}{.b}", ".1.2", &[("a", "1"), ("b", "2")]);
    check_none("{+a}{?b}", "x?c=1");
}

#[test]
fn named_variables_are_found_in_any_order() {
    let both = [("a", "1"), ("b", "2")];
    check("x{?a,b}", "x?a=1&b=2", &both);
    check("x{?a,b}", "x?b=2&a=1", &both);
    check("x?c=0{&a,b}", "x?c=0&b=2&a=1", &both);
    check("x{;a,b}", "x;b=2;a=1", &both);
    check("x{?a}{&b}", "x?a=1&b=2", &both);
    check("x{?a,b}", "x?b=2", &[("b", "2")]);
    check("x{?a}", "x?%61=1", &[("a", "1")]);
    check("x{?a%20b}", "x?a%20b=1", &[("a%20b", "1")]);
    check("x{?a}", "x?a=%2F%26%3D%23", &[("a", "/&=#")]);
    check("x{?a}", "x?a=/?=b", &[("a", "/?=b")]);
    check("x{?a,b}y", "x?a=1yy", &[("a", "1y")]);
}

#[test]
fn empty_named_value_is_an_empty_string() {
    check("x{?a}", "x?a=", &[("a", "")]);
    check("x{?a}", "x?a", &[("a", "")]);
    check("x{;a,b}", "x;a;b=", &[("a", ""), ("b", "")]);
}

#[test]
fn unknown_pairs_do_not_match() {
    check_none("x{?a}", "x?");
    check_none("x{?a}", "x?b=1");
    check_none("x{?a}", "x?a=1&b=2");
    check_none("x{?a}", "x?a=1&a=2");
    check_none("x{?a}", "x?a=1&");
    check_none("x{?a}", "x?&a=1");
    check_none("x{?a}", "x?=1");
    check_none("x{?a}", "x?a=1#b");
    check_none("x{?a}", "x?aa=1");
    check_none("x{?a}", "x&a=1");
    check_none("x{;a}", "x;a=1/2");
}

#[test]
fn exploded_variables_are_lists() {
    let values = || Values::new().with("a", list(&["1", "2", "3"]));
    check_values("{a*}", "1,2,3", values());
    check_values("{+a*}", "1,2,3", values());
    check_values("x{#a*}", "x#1,2,3", values());
    check_values("x{.a*}", "x.1.2.3", values());
    check_values("x{/a*}", "x/1/2/3", values());
    check_values("x{/a*}/y", "x/1/2/3/y", values());
    check_values("x{;a*}", "x;a=1;a=2;a=3", values());
    check_values("x{?a*}", "x?a=1&a=2&a=3", values());
    check_values("x{&a*}", "x&a=1&a=2&a=3", values());
    check_values("x{?b,a*}", "x?a=1&b=0&a=2&a=3", values().with("b", "0"));
    check_values("{/a*}", "/1", Values::new().with("a", list(&["1"])));
    check_values("{/b,a*}", "/0/1/2/3", values().with("b", "0"));
    check_values("{/a*,b}", "/1/2/3", values());
    check("x{/a*}", "x", &[]);
    check_none("x{/a*}", "x/1//2");
    check_none("x{/a*}", "x/1/");
}

#[test]
fn exploded_pairs_are_associative_values() {
    let values = || Values::new().with("a", associative(&[("k", "1"), ("l m", ";")]));
    check_values("{a*}", "k=1,l%20m=%3B", values());
    check_values("x{/a*}", "x/k=1/l%20m=;", values());
    check_values("x{;a*}", "x;k=1;l%20m=%3B", values());
    check_values("x{?a*}", "x?k=1&l%20m=;", values());
    check_values("x{?b,a*}", "x?k=1&b=0&l%20m=;", values().with("b", "0"));
    let mixed = associative(&[("a", "1"), ("k", "2")]);
    check_values("x{?a*}", "x?a=1&k=2", Values::new().with("a", mixed));
    let not_all = list(&["k=1", "2"]);
    check_values("{a*}", "k=1,2", Values::new().with("a", not_all));
    check_none("{a*}", "k=1,k=2");
    check_none("x{?a*}", "x?k=1&k=2");
    check_none("x{?a*}", "x?=2");
}

#[test]
fn prefix_limits_the_number_of_characters() {
    check("{a:3}", "abc", &[("a", "abc")]);
    check("{a:3}", "ab", &[("a", "ab")]);
    check("{a:2}", "%C3%A9%20", &[("a", "é ")]);
    check("{a:3}-{b}", "1-2-3", &[("a", "1-2"), ("b", "3")]);
    check("{a:2}-{b}", "1-2-3", &[("a", "1"), ("b", "2-3")]);
    check("x{?a:2}", "x?a=12", &[("a", "12")]);
    check_none("{a:3}", "abcd");
    check_none("x{?a:2}", "x?a=123");
}

#[test]
fn variable_has_the_same_value_everywhere() {
    check("{a:1}/{a}", "v/value", &[("a", "value")]);
    check("{a}/{a:9}", "value/value", &[("a", "value")]);
    check("{a}/{a}", "v/v", &[("a", "v")]);
    check_none("{a:1}/{a}", "w/value");
    check_none("{a:9}/{a}", "v/value");
    check_none("{a}/{a}", "v/w");
    check_none("{a}{/a*}", "v/v");
}

#[test]
fn overlong_uri_never_matches() {
    let uri = "a".repeat(MAX_URI_BYTES);
    check("{a}", &uri, &[("a", &uri)]);
    check_none("{a}", &format!("{uri}a"));
}

#[test]
fn work_grows_with_the_length_of_the_uri() {
    // A template and a URI: its start, the repeated part, its end. Some match and some fail at the end.
    let hard = [
        ("{/id*}", "", "/a", ""),
        ("{/id*}", "", "/a", "!{"),
        ("{/id*}x", "", "/", ""),
        ("{/a*}{/b*}{/c*}", "", "/a", " "),
        ("x{?tags*}", "x?k=1", "&tags=a", ""),
        ("x{?tags*}", "x?tags=1", "&tags=a", "#"),
        ("x{?tags*}", "x?k=1", "&k=a", ""),
        ("{?a}", "?a=", "?", "#"),
        ("{?a*}{?b*}{?c*}", "", "?a=", "#"),
        ("{;a*}{;b*}", "", ";a=1", "/"),
        ("{a}{b}{c}{d}{e}{f}", "", "a", ""),
        ("{a}{b}{c}{d}{e}{f}", "", "a", "/"),
        ("{+a}{+b}{+c}{+d}x", "", "a", ""),
        ("{+a}a{+b}a{+c}a{+d}b", "", "a", "b"),
        ("{a*}{b*}", "", "a,", "/"),
        ("{+a:99}{+b:99}", "", "%41", ""),
        ("{+a}aaaaaaaaaaaaaaaab{+b}", "", "a", "ba"),
    ];
    for (text, start, unit, end) in hard {
        let template = template(text);
        let steps_for = |length: usize| {
            let repeated = (length - start.len() - end.len()) / unit.len();
            let uri = format!("{start}{}{end}", unit.repeat(repeated));
            let mut steps = 0;
            find(&template.parts, &uri, &mut steps);
            assert!(steps >= length - 16, "{text}: only {steps} steps counted");
            steps
        };
        for length in [1024, 2048, 4096] {
            let (once, twice) = (steps_for(length), steps_for(2 * length));
            assert!(2 * twice <= 5 * once, "{text}: {once} then {twice}");
        }
        assert!(steps_for(MAX_URI_BYTES) <= 64 * MAX_URI_BYTES, "{text}");
    }
}
