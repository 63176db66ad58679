use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn parse(yaml: &str) -> Result<Value, String> {
    let file = format!("---\n{yaml}\n---\nbody\n");
    let fields = parse_front_matter(file.as_bytes());
    fields.map(Value::Object).map_err(|error| error.to_string())
}

fn check(yaml: &str, expected: Value) {
    let value = parse(yaml).unwrap_or_else(|error| panic!("{error} in {yaml}"));
    assert_eq!(value.to_string(), expected.to_string(), "{yaml}");
}

fn check_error(yaml: &str, expected: &str) {
    let error = parse(yaml).expect_err(yaml);
    assert!(error.contains(expected), "{error}");
}

#[test]
fn block_is_between_two_lines_of_three_hyphens() {
    let check = |file: &[u8], expected: Result<&str, FrontMatterError>| {
        let expected = expected.map(str::as_bytes);
        assert_eq!(block(file), expected, "{}", String::from_utf8_lossy(file));
    };
    check(b"---\na: 1\n---\nbody", Ok("a: 1\n"));
    check(b"---\r\na: 1\r\n---\r\nbody", Ok("a: 1\r\n"));
    check(b"\xef\xbb\xbf---\na: 1\n---", Ok("a: 1\n"));
    check(b"---\n---\n", Ok(""));
    check(b"---\na: 1\n----\n--- \n---", Ok("a: 1\n----\n--- \n"));
    check(b"---\na: 1\n---\nb: 2\n---\n", Ok("a: 1\n"));
    for file in [
        &b""[..],
        b"# Title",
        b"\n---\na: 1\n---",
        b" ---\na: 1\n---",
        b"--- \na: 1\n---",
        b"----\na: 1\n---",
        b"---a: 1\n---",
    ] {
        check(file, Err(FrontMatterError::MissingStart));
    }
    for file in [&b"---"[..], b"---\n", b"---\na: 1\n", b"---\na: 1\n ---"] {
        check(file, Err(FrontMatterError::MissingEnd));
    }
}

#[test]
fn instructions_follow_the_front_matter() {
    let check = |text: &str, expected: &str| assert_eq!(instructions(text), expected, "{text}");
    check("---\na: 1\n---\nbody\n---\n", "body\n---\n");
    check("---\na: 1\n---\n\r\n\n  body\n", "  body\n");
    check("---\r\na: 1\r\n---\r\nbody", "body");
    check("\u{feff}---\na: 1\n---\n\u{fc}", "\u{fc}");
    check("---\na: 1\n---", "");
    check("body", "body");
}

#[test]
fn block_may_have_64_kib() {
    let file = |length: usize| format!("---\na: {}\n---\n", "x".repeat(length - 4));
    let longest = file(MAX_FRONT_MATTER_BYTES);
    assert!(parse_front_matter(longest.as_bytes()).is_ok());
    let too_long = file(MAX_FRONT_MATTER_BYTES + 1);
    let error = parse_front_matter(too_long.as_bytes());
    assert_eq!(error, Err(FrontMatterError::TooLong));
    let endless = format!("---\n{}", "a: 1\n".repeat(1_000_000));
    let error = parse_front_matter(endless.as_bytes());
    assert_eq!(error, Err(FrontMatterError::TooLong));
}

#[test]
fn block_must_be_utf_8_but_the_body_need_not_be() {
    let error = parse_front_matter(b"---\na: \xff\n---\n");
    assert_eq!(error, Err(FrontMatterError::NotUtf8));
    assert!(parse_front_matter(b"---\na: 1\n---\n\xff").is_ok());
}

#[test]
fn yaml_becomes_json() {
    check(
        "name: a\ndescription: b c",
        json!({"name": "a", "description": "b c"}),
    );
    check("z: 1\na: 2", json!({"z": 1, "a": 2}));
    check(
        "a: [1, 1.0, yes, no, on, null, 2024-01-31, true]",
        json!({"a": [1, 1.0, "yes", "no", "on", null, "2024-01-31", true]}),
    );
    check("a: '1'\nb: \"true\"", json!({"a": "1", "b": "true"}));
    check(
        "a:\n  b:\n    - c: 1\n    - d",
        json!({"a": {"b": [{"c": 1}, "d"]}}),
    );
    check(
        "a: |\n  b\n  c\nd: >-\n  e\n  f",
        json!({"a": "b\nc\n", "d": "e f"}),
    );
    check("a: 1 # comment\n# more", json!({"a": 1}));
    check("1: a\ntrue: b", json!({"1": "a", "true": "b"}));
    check("a:\nb: ~", json!({"a": null, "b": null}));
    check("a: {}\nb: []", json!({"a": {}, "b": []}));
    check("a: \"\\u00fc\\n\"", json!({"a": "ü\n"}));
    check("a: b\r\nc: d\r", json!({"a": "b", "c": "d"}));
}

#[test]
fn aliases_are_expanded_within_limits() {
    check("a: &x [1]\nb: *x", json!({"a": [1], "b": [1]}));
    check("a: &x 1\nb: {c: *x}", json!({"a": 1, "b": {"c": 1}}));
    check("&x a: 1\nb: *x", json!({"a": 1, "b": "a"}));
    check(
        "a: &x {b: 1}\n<<: *x",
        json!({"a": {"b": 1}, "<<": {"b": 1}}),
    );
    check_error(
        "a: &x [*x]",
        "line 2: the alias refers to a value that contains it",
    );
    check_error("a: *x", "line 2: the YAML is invalid");

    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let items = vec![format!("*a{}", level - 1); 9].join(", ");
        laughs.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    check_error(&laughs, "the aliases make the front matter too large");

    let mut deep = "a0: &a0 [x]\n".to_owned();
    for level in 1..40 {
        deep.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
    }
    check_error(&deep, "line 33: the values are nested too deeply");
}

#[test]
fn depth_is_limited() {
    let nested = |depth: usize| format!("a: {}{}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    check_error(
        &nested(MAX_DEPTH + 1),
        "line 2: the values are nested too deeply",
    );
    // The parser itself stops at a depth of 255.
    for yaml in [nested(20_000), format!("a: {}", "[".repeat(60_000))] {
        check_error(&yaml, "line 2: ");
    }
}

#[test]
fn what_readers_interpret_differently_is_rejected() {
    for (yaml, expected) in [
        ("a: !!str 1", "line 2: tags are not allowed"),
        ("b: 1\na: !own {}", "line 3: tags are not allowed"),
        ("a: !x []", "tags are not allowed"),
        ("a: ! 1", "tags are not allowed"),
        ("a: 1\na: 2", "line 3: the key \"a\" is there twice"),
        ("b: {a: 1, 'a': 2}", "the key \"a\" is there twice"),
        ("[a]: 1", "a key is not a text"),
        ("{a: 1}: 1", "a key is not a text"),
        ("a: &x b\n*x : 1", "a key is not a text"),
        ("a: .inf", "the number \".inf\" has no JSON form"),
        ("a: 1\n...\nb: 2", "a second YAML document starts"),
    ] {
        check_error(yaml, expected);
    }
}

#[test]
fn invalid_yaml_is_reported_with_its_line() {
    for (yaml, expected) in [
        ("a: 1\nb: [", "the YAML is invalid"),
        ("a: \"b", "the YAML is invalid"),
        ("a: b: c", "line 2: the YAML is invalid"),
        ("a: 1\n\tb: 2", "the YAML is invalid"),
        ("a: @b", "line 2: the YAML is invalid"),
    ] {
        check_error(yaml, expected);
    }
}

#[test]
fn front_matter_without_fields_is_rejected() {
    for yaml in ["", "# comment", "a", "- a", "[]", "~"] {
        check_error(yaml, "the front matter has no fields");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_text_panics(yaml in "[a-c \\[\\]{}:,&*!|>'\"#?%@~\\-.\\n\\t0-9\\\\]{0,60}") {
        let _ = parse(&yaml);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let file = [b"---\n", bytes.as_slice(), b"\n---\n"].concat();
        let _ = parse_front_matter(&file);
    }

    /// JSON is YAML, so a JSON object in one line is read as it is.
    #[test]
    fn json_is_read_as_it_is(texts in proptest::collection::vec("[a-zA-Z0-9 :,#'\"\\\\]{0,12}", 1..5), number in any::<i64>()) {
        let fields = json!({"texts": texts, "number": number, "none": null, "nested": {"x": [true, 0.5]}});
        prop_assert_eq!(parse(&fields.to_string()), Ok(fields));
    }
}
