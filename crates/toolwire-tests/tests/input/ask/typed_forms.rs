//! Derived forms in every revision with elicitation: their schemas, and the values of the responses.

use std::collections::BTreeSet;
use std::fmt::Debug;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolwire::ask::{ElicitOutcome, FormOutput};
use toolwire::types::{ElicitRequestFormParams, ElicitRequestParams, InputRequest};
use toolwire::{Elicit, ProtocolVersion, RequestContext, Server};
use toolwire_proto::rounds::accept_response;
use toolwire_proto::stamp::{project_elicitation, restore_elicitation};
use toolwire_tests::peer::plain;

use super::{BOTH, Recorder, accept, client, result_text};

const WITH_FORMS: [ProtocolVersion; 3] = [
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
    ProtocolVersion::V2026_07_28,
];

type Words = String;
type Maybe = Option<u8>;
type Tags = Vec<Plain>;

#[derive(Debug, PartialEq, Deserialize, Elicit)]
#[serde(rename_all = "camelCase")]
struct Texts {
    free_text: String,
    #[elicit(min_length = 2, max_length = 3)]
    short: String,
    #[elicit(format = "email")]
    mail: String,
    #[elicit(format = "uri", title = "Home page")]
    page: Option<String>,
    #[elicit(format = "date")]
    r#type: String,
    #[elicit(format = "date-time")]
    at: Option<String>,
    letter: char,
    #[elicit(default = "né", max_length = 2)]
    name: Words,
    #[serde(skip)]
    internal: u8,
}

#[derive(Debug, PartialEq, Deserialize, Elicit)]
struct Numbers {
    byte: u8,
    signed: i8,
    wide: i32,
    large: u64,
    long: i64,
    size: usize,
    offset: isize,
    half: f32,
    real: f64,
    #[elicit(minimum = -1.5, maximum = 1.5, default = 0.5)]
    near: Option<f64>,
    #[elicit(minimum = LEAST, maximum = 9, default = 2)]
    seats: u16,
    maybe: Maybe,
    #[serde(default)]
    fallback: i16,
    flag: bool,
    #[elicit(default)]
    newsletter: Option<bool>,
}

const LEAST: u16 = 1;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Elicit)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
enum Plain {
    DarkRed,
    Blue,
    #[serde(rename = "grün")]
    Green,
    #[serde(skip)]
    #[expect(dead_code, reason = "a skipped variant cannot be chosen")]
    Hidden,
}

#[derive(Debug, PartialEq, Deserialize, Elicit)]
enum Titled {
    #[elicit(title = "The first")]
    First,
    Second,
}

#[derive(Debug, PartialEq, Deserialize, Elicit)]
struct Choices {
    one: Plain,
    #[elicit(default = "Second")]
    titled: Titled,
    maybe: Option<Titled>,
    any: Vec<Plain>,
    #[elicit(min_items = 1, max_items = 2, default("BLUE"))]
    some: Vec<Plain>,
    few: Option<Vec<Titled>>,
    set: BTreeSet<Plain>,
    #[elicit(max_items = 1)]
    tags: Tags,
}

#[derive(Debug, PartialEq, Deserialize, Elicit)]
struct Nothing {}

/// Generates any response that is valid according to the schema that the client got.
fn content(schema: &Value) -> BoxedStrategy<Value> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let fields = schema["properties"].as_object().expect("a form").iter();
    let fields: Vec<_> = fields
        .map(|(name, field)| {
            let (name, value) = (name.clone(), value(field));
            let value = if required.contains(&json!(name)) {
                value.prop_map(Some).boxed()
            } else {
                proptest::option::of(value).boxed()
            };
            value.prop_map(move |value| (name.clone(), value))
        })
        .collect();
    fields
        .prop_map(|fields| {
            let filled = fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)));
            Value::Object(filled.collect::<Map<_, _>>())
        })
        .boxed()
}

fn value(field: &Value) -> BoxedStrategy<Value> {
    let number = |key: &str, otherwise: f64| field[key].as_f64().unwrap_or(otherwise);
    let count = |key: &str, otherwise: usize| {
        let count = field[key].as_u64();
        count.map_or(otherwise, |count| usize::try_from(count).expect("small"))
    };
    match field["type"].as_str() {
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("integer") => {
            let (minimum, maximum) = (number("minimum", -1e15), number("maximum", 1e15));
            let whole = minimum as i64..=maximum as i64;
            (whole, any::<bool>())
                .prop_map(|(whole, as_double)| {
                    if as_double {
                        json!(whole as f64)
                    } else {
                        json!(whole)
                    }
                })
                .boxed()
        }
        Some("number") => {
            let range = number("minimum", -1e300)..=number("maximum", 1e300);
            range.prop_map(Value::from).boxed()
        }
        Some("array") => {
            let words = words(&field["items"]);
            let counts = count("minItems", 0)..=count("maxItems", words.len());
            proptest::sample::subsequence(words, counts)
                .prop_shuffle()
                .prop_map(Value::from)
                .boxed()
        }
        Some("string") if !words(field).is_empty() => {
            let word = proptest::sample::select(words(field));
            word.prop_map(Value::from).boxed()
        }
        _ => text(field, count("minLength", 0), count("maxLength", 9)),
    }
}

fn text(field: &Value, shortest: usize, longest: usize) -> BoxedStrategy<Value> {
    let text = match field["format"].as_str() {
        Some("email") => "[a-z]{1,9}@[a-z]{1,9}\\.org".boxed(),
        Some("uri") => "https://[a-z]{1,9}/[a-z0-9]{0,9}".boxed(),
        Some("date") => "[12][0-9]{3}-(0[1-9]|1[0-2])-([01][1-9]|2[0-8])".boxed(),
        Some("date-time") => {
            "20[0-9]{2}-0[1-9]-1[0-9]T[01][0-9]:[0-5][0-9]:[0-5][0-9](Z|[+-]0[0-9]:30)".boxed()
        }
        _ => proptest::collection::vec(any::<char>(), shortest..=longest)
            .prop_map(String::from_iter)
            .boxed(),
    };
    text.prop_map(Value::from).boxed()
}

/// Returns the values of a choice, in the schema of any revision.
fn words(choice: &Value) -> Vec<String> {
    let plain = choice["enum"].as_array().into_iter().flatten();
    let titled = [&choice["oneOf"], &choice["anyOf"]];
    let titled = titled.into_iter().filter_map(Value::as_array).flatten();
    plain
        .chain(titled.map(|option| &option["const"]))
        .map(|word| word.as_str().expect("a word").to_owned())
        .collect()
}

fn elicitation<A: FormOutput>() -> ElicitRequestParams {
    ElicitRequestFormParams::new("?", A::form()).into()
}

/// Returns the schema that a client of the revision gets.
fn sent<A: FormOutput>(version: ProtocolVersion) -> Value {
    let projected = project_elicitation(elicitation::<A>(), version).expect("the form can be sent");
    serde_json::to_value(projected).expect("JSON")["requestedSchema"].clone()
}

/// Returns the value of the handler when a client of the revision sends `content`.
fn received<A: FormOutput>(version: ProtocolVersion, content: Value) -> Result<A, String> {
    let response = restore_elicitation(&elicitation::<A>(), accept(content).into(), version);
    let response = accept_response(&InputRequest::from(elicitation::<A>()), response);
    let response = response.map_err(|invalid| invalid.to_string())?;
    let result = response.parse().expect("an elicit result");
    A::from_result("key", result).map_err(|error| error.to_string())
}

fn check_any_response<A: FormOutput + Debug>() {
    for version in WITH_FORMS {
        let mut runner = proptest::test_runner::TestRunner::default();
        let outcome = runner.run(&content(&sent::<A>(version)), |content| {
            let received = received::<A>(version, content.clone());
            prop_assert!(received.is_ok(), "{version} {content}: {received:?}");
            Ok(())
        });
        outcome.expect("every valid response is accepted");
    }
}

#[test]
fn any_valid_response_to_texts_is_accepted() {
    check_any_response::<Texts>();
}

#[test]
fn any_valid_response_to_numbers_is_accepted() {
    check_any_response::<Numbers>();
}

#[test]
fn any_valid_response_to_choices_is_accepted() {
    check_any_response::<Choices>();
    check_any_response::<ElicitOutcome<Choices>>();
}

#[test]
fn form_without_fields_can_be_accepted() {
    for version in WITH_FORMS {
        assert_eq!(
            sent::<Nothing>(version),
            json!({"type": "object", "properties": {}})
        );
        assert_eq!(received(version, json!({})), Ok(Nothing {}));
    }
}

#[test]
fn schema_has_the_limits_of_the_type_also_through_aliases() {
    let form = sent::<Numbers>(ProtocolVersion::V2026_07_28);
    let field = |name: &str| form["properties"][name].clone();
    assert_eq!(
        field("byte"),
        json!({"type": "integer", "minimum": 0, "maximum": 255})
    );
    assert_eq!(
        field("signed"),
        json!({"type": "integer", "minimum": -128, "maximum": 127})
    );
    assert_eq!(field("large"), json!({"type": "integer", "minimum": 0}));
    assert_eq!(field("long"), json!({"type": "integer"}));
    assert_eq!(field("real"), json!({"type": "number"}));
    assert_eq!(field("half")["maximum"].as_f64(), Some(f32::MAX.into()));
    assert_eq!(
        field("seats"),
        json!({"type": "integer", "minimum": 1, "maximum": 9, "default": 2})
    );
    assert_eq!(
        field("newsletter"),
        json!({"type": "boolean", "default": true})
    );
    let required = form["required"].as_array().expect("names");
    for (name, is_required) in [
        ("byte", true),
        ("maybe", false),
        ("fallback", false),
        ("near", false),
    ] {
        assert_eq!(required.contains(&json!(name)), is_required, "{name}");
    }
    let texts = sent::<Texts>(ProtocolVersion::V2026_07_28);
    let field = |name: &str| texts["properties"][name].clone();
    assert_eq!(
        field("letter"),
        json!({"type": "string", "minLength": 1, "maxLength": 1})
    );
    assert_eq!(
        field("name"),
        json!({"type": "string", "maxLength": 2, "default": "né"})
    );
    assert_eq!(field("type"), json!({"type": "string", "format": "date"}));
    assert_eq!(field("internal"), json!(null));
    assert_eq!(field("freeText"), json!({"type": "string"}));
}

#[test]
fn values_outside_of_the_type_are_rejected_with_the_reason() {
    #[derive(Debug, PartialEq, Deserialize, Elicit)]
    struct Small {
        byte: u8,
        long: Option<i64>,
        colours: Option<Vec<Plain>>,
    }

    let check = |content: Value, part: &str| {
        for version in WITH_FORMS {
            let rejected =
                received::<Small>(version, content.clone()).expect_err("an invalid value");
            assert!(rejected.contains(part), "{content}: {rejected}");
        }
    };
    check(json!({"byte": 300}), r#""byte" must be at most 255"#);
    check(json!({"byte": -1}), r#""byte" must be at least 0"#);
    check(json!({"byte": 2.5}), r#""byte" must be a whole number"#);
    check(json!({"byte": 1, "long": 1e30}), "is invalid");
    check(json!({"byte": 1, "colours": ["BLUE", "BLUE"]}), "twice");
    check(
        json!({"byte": 1, "colours": ["Hidden"]}),
        "must be chosen from",
    );
    let small = received::<Small>(WITH_FORMS[0], json!({"byte": 3.0, "long": -4.0}));
    let expected = Small {
        byte: 3,
        long: Some(-4),
        colours: None,
    };
    assert_eq!(small, Ok(expected));
}

/// The same with a server and a client: a value that does not fit is an error of the client and not a panic.
#[tokio::test]
async fn numbers_beyond_the_type_do_not_reach_the_handler() {
    let ages = plain("age", |ctx: RequestContext| async move {
        #[derive(Deserialize, Elicit)]
        struct Age {
            long: i64,
        }
        let age: Age = ctx.ask("age", "How old?").await?;
        Ok::<_, toolwire::Error>(age.long.to_string())
    });
    let server = Server::new("s", "1").tool(ages);
    for version in BOTH {
        let responses = [("old", accept(json!({"long": 1e30})))];
        let client = client(&server, version, &responses, &Recorder::default()).await;
        let outcome = result_text(client.call_tool("age", json!({})).await);
        assert!(
            outcome.contains("the response to \"age\" is invalid"),
            "{outcome}"
        );
    }
}
