use proptest::prelude::*;
use serde_json::{Value, json};
use toolwire_types::RawJson;

use super::rewrite::UriReference;
use super::*;
use crate::raw_object::RawObject;

fn table(names: &[&str]) -> UriTable {
    let mut table = UriTable::new();
    for name in names {
        table.add_source(name);
    }
    table
}

/// Checks that an exposed URI belongs to a source, as this URI.
fn check(table: &UriTable, exposed: &str, source: usize, uri: &str) {
    assert_eq!(
        table.resolve(exposed),
        Some((source, Cow::Borrowed(uri))),
        "{exposed}"
    );
}

#[test]
fn second_claim_gets_a_prefix() {
    let mut table = table(&["one", "Two_2"]);
    assert_eq!(table.add_uri(0, "file:///a").as_deref(), Some("file:///a"));
    assert_eq!(table.add_uri(1, "file:///b").as_deref(), Some("file:///b"));
    assert_eq!(
        table.add_uri(1, "file:///a").as_deref(),
        Some("two-2+file:///a")
    );
    assert_eq!(table.add_uri(0, "ui://w/v").as_deref(), Some("ui://w/v"));
    assert_eq!(
        table.add_uri(1, "ui://w/v").as_deref(),
        Some("ui://two-2+w/v")
    );
    assert_eq!(table.add_uri(0, "file:///a"), None);
    assert_eq!(table.add_uri(1, "file:///a"), None);
    check(&table, "file:///a", 0, "file:///a");
    check(&table, "file:///b", 1, "file:///b");
    check(&table, "two-2+file:///a", 1, "file:///a");
    check(&table, "ui://two-2+w/v", 1, "ui://w/v");
    assert_eq!(table.resolve("file:///c"), None);
    assert_eq!(table.exposed(0, "file:///a"), "file:///a");
    assert_eq!(table.exposed(1, "file:///a"), "two-2+file:///a");
    assert_eq!(table.exposed(0, "file:///b"), "one+file:///b");
    check(&table, "one+file:///b", 0, "file:///b");
    assert_eq!(table.exposed(1, "file:///unlisted"), "file:///unlisted");
}

#[test]
fn templates_claim_the_uris_that_match() {
    let mut table = table(&["a", "b", "c"]);
    assert_eq!(
        table.add_template(0, "db://{table}").as_deref(),
        Some("db://{table}")
    );
    assert_eq!(
        table.add_template(1, "db://{table}").as_deref(),
        Some("b+db://{table}")
    );
    assert_eq!(
        table.add_template(2, "db://users").as_deref(),
        Some("db://users")
    );
    assert_eq!(table.add_template(2, "x{").as_deref(), Some("x{"));
    assert_eq!(table.add_template(1, "db://{table}"), None);
    check(&table, "db://orders", 0, "db://orders");
    check(&table, "db://users", 2, "db://users");
    check(&table, "b+db://orders", 1, "db://orders");
    assert_eq!(table.exposed(1, "db://orders"), "b+db://orders");
    assert_eq!(table.exposed(0, "db://orders"), "db://orders");
    assert_eq!(table.exposed_template(1, "db://{table}"), "b+db://{table}");
    assert_eq!(table.exposed_template(0, "db://{table}"), "db://{table}");
}

#[test]
fn source_cannot_claim_the_prefix_of_another() {
    let mut table = table(&["a", "b"]);
    table.add_uri(1, "x:1");
    table.add_template(1, "{+all}");
    assert_eq!(table.add_uri(1, "a+x:1").as_deref(), Some("b+a+x:1"));
    assert_eq!(table.exposed(0, "x:1"), "a+x:1");
    check(&table, "a+x:1", 0, "x:1");
    check(&table, "b+a+x:1", 1, "a+x:1");
    // The same holds for its own prefix, unless it is the only source.
    assert_eq!(table.add_uri(1, "b+y:1").as_deref(), Some("b+b+y:1"));
    let mut single = UriTable::new();
    single.add_source("b");
    assert!(table.may_prefix() && !single.may_prefix());
    assert_eq!(single.add_uri(0, "b+y:1").as_deref(), Some("b+y:1"));
    check(&single, "b+y:1", 0, "b+y:1");
    // Names that give the same prefix get different ones.
    let mut same = UriTable::new();
    same.add_source("A");
    same.add_source("a");
    same.add_source("9");
    same.add_uri(0, "x:1");
    assert_eq!(same.add_uri(1, "x:1").as_deref(), Some("ax+x:1"));
    assert_eq!(same.add_uri(2, "x:1").as_deref(), Some("x9+x:1"));
}

#[test]
fn number_of_uris_and_templates_is_limited() {
    let mut table = table(&["a"]);
    for index in 0..MAX_URIS {
        assert!(table.add_uri(0, &format!("x:{index}")).is_some());
    }
    assert!(table.add_uri(0, "x:more").is_none());
    for index in 0..MAX_TEMPLATES {
        assert!(table.add_template(0, &format!("y:{index}{{a}}")).is_some());
    }
    assert!(table.add_template(0, "y:more{a}").is_none());
}

proptest! {
    #[test]
    fn exposed_uris_resolve_to_their_source(
        uris in prop::collection::vec((0..3_usize, "(a\\+|b\\+|c\\+){0,2}(x:[01]?|ui://(a\\+)?h)"), 0..12),
        templates in prop::collection::vec((0..3_usize, prop_oneof![Just("x:{a}"), Just("{+all}"), Just("a+{b}")]), 0..3),
        sent in prop::collection::vec((0..3_usize, "(a\\+|b\\+){0,2}(x:[01]?|ui://(b\\+)?h)"), 0..12),
    ) {
        let mut table = table(&["a", "b", "c"]);
        let mut exposed = std::collections::HashSet::new();
        let mut added = Vec::new();
        for (source, uri) in &uris {
            if let Some(text) = table.add_uri(*source, uri) {
                prop_assert!(exposed.insert(text.clone()));
                added.push((*source, uri, text));
            }
        }
        for (source, template) in &templates {
            table.add_template(*source, template);
        }
        for (source, uri, text) in added {
            prop_assert_eq!(table.resolve(&text), Some((source, Cow::Borrowed(uri.as_str()))));
        }
        for (source, uri) in &sent {
            let text = table.exposed(*source, uri);
            if let Some(resolved) = table.resolve(&text) {
                prop_assert_eq!(resolved, (*source, Cow::Borrowed(uri.as_str())));
            } else {
                prop_assert_eq!(&text, uri);
            }
        }
    }
}

/// Replaces `a:1` by `b+a:1`, and `a:{x}` by `b+a:{x}`.
fn replace(reference: UriReference<'_>) -> Option<String> {
    match reference {
        UriReference::Uri(uri) => uri.starts_with("a:").then(|| format!("b+{uri}")),
        UriReference::Template(template) => (template == "a:{x}").then(|| format!("b+{template}")),
    }
}

fn edited(json: Value, edit: impl FnOnce(&mut RawObject<'_>)) -> Value {
    let json = RawJson::from(json);
    let mut object = RawObject::parse(json.as_raw_value()).unwrap();
    edit(&mut object);
    serde_json::from_str(object.finish().get()).unwrap()
}

#[test]
fn uris_are_rewritten_where_the_protocol_defines_them() {
    let check = |method: &str, given: Value, expected: Value| {
        let actual = edited(given, |object| rewrite::result(method, object, replace));
        assert_eq!(actual, expected, "{method}");
    };
    check(
        "resources/list",
        json!({"resources": [{"uri": "a:1", "name": "a:1"}, {"uri": "c:1"}]}),
        json!({"resources": [{"uri": "b+a:1", "name": "a:1"}, {"uri": "c:1"}]}),
    );
    check(
        "resources/templates/list",
        json!({"resourceTemplates": [{"uriTemplate": "a:{x}"}, {"uriTemplate": "a:{y}"}]}),
        json!({"resourceTemplates": [{"uriTemplate": "b+a:{x}"}, {"uriTemplate": "a:{y}"}]}),
    );
    check(
        "resources/read",
        json!({"contents": [{"uri": "a:1", "text": "a:1"}]}),
        json!({"contents": [{"uri": "b+a:1", "text": "a:1"}]}),
    );
    check(
        "tools/list",
        json!({"tools": [{"name": "t", "_meta": {"ui": {"resourceUri": "a:1"}, "ui/resourceUri": "a:1", "uri": "a:1"}}]}),
        json!({"tools": [{"name": "t", "_meta": {"ui": {"resourceUri": "b+a:1"}, "ui/resourceUri": "b+a:1", "uri": "a:1"}}]}),
    );
    let blocks = |uri: &str| {
        json!([
            {"type": "text", "text": "a:1", "uri": "a:1"},
            {"type": "resource_link", "uri": uri, "name": "n"},
            {"type": "resource", "resource": {"uri": uri, "text": "a:1"}},
        ])
    };
    check(
        "tools/call",
        json!({"content": blocks("a:1"), "structuredContent": {"uri": "a:1", "resource": {"uri": "a:1"}}}),
        json!({"content": blocks("b+a:1"), "structuredContent": {"uri": "a:1", "resource": {"uri": "a:1"}}}),
    );
    check(
        "prompts/get",
        json!({"messages": [{"role": "user", "content": blocks("a:1")[2]}]}),
        json!({"messages": [{"role": "user", "content": blocks("b+a:1")[2]}]}),
    );
    check(
        "skills/list",
        json!({"skills": [{"uri": "a:1", "resources": [{"uri": "a:2"}]}]}),
        json!({"skills": [{"uri": "b+a:1", "resources": [{"uri": "b+a:2"}]}]}),
    );
    check(
        "com.example/x",
        json!({"uri": "a:1"}),
        json!({"uri": "a:1"}),
    );

    let check = |method: &str, given: Value, expected: Value| {
        let actual = edited(given, |object| rewrite::request(method, object, replace));
        assert_eq!(actual, expected, "{method}");
    };
    check(
        "resources/read",
        json!({"uri": "a:1"}),
        json!({"uri": "b+a:1"}),
    );
    check("tools/call", json!({"uri": "a:1"}), json!({"uri": "a:1"}));
    for (reference, expected) in [
        (
            json!({"type": "ref/resource", "uri": "a:{x}"}),
            json!({"type": "ref/resource", "uri": "b+a:{x}"}),
        ),
        (
            json!({"type": "ref/resource", "uri": "a:1"}),
            json!({"type": "ref/resource", "uri": "b+a:1"}),
        ),
        (
            json!({"type": "ref/prompt", "name": "a:1", "uri": "a:1"}),
            json!({"type": "ref/prompt", "name": "a:1", "uri": "a:1"}),
        ),
    ] {
        check(
            "completion/complete",
            json!({"ref": reference}),
            json!({"ref": expected}),
        );
    }
    let updated = edited(json!({"uri": "a:1"}), |object| {
        rewrite::notification("notifications/resources/updated", object, replace);
    });
    assert_eq!(updated, json!({"uri": "b+a:1"}));
    let error = edited(
        json!({"code": -32002, "message": "a:1", "data": {"uri": "a:1"}}),
        |object| {
            rewrite::error(object, replace);
        },
    );
    assert_eq!(
        error,
        json!({"code": -32002, "message": "a:1", "data": {"uri": "b+a:1"}})
    );
}
