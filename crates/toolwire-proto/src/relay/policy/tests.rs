use serde_json::json;
use toolwire_types::RawJson;

use super::*;
use crate::relay::glob::Glob;

fn glob(pattern: &str) -> Glob {
    pattern.parse().expect("a valid pattern")
}

fn allow(conditions: Conditions) -> PolicyRule {
    PolicyRule::new(Effect::Allow, conditions)
}

fn deny(conditions: Conditions) -> PolicyRule {
    PolicyRule::new(Effect::Deny, conditions)
}

fn tool(pattern: &str) -> Conditions {
    Conditions::new().with_tool(glob(pattern))
}

fn policy(rules: impl IntoIterator<Item = PolicyRule>) -> Policy {
    Policy::new(rules.into_iter().collect()).expect("few rules")
}

/// Checks the decision about a tool of the upstream `db`, and the rule that decides.
fn check(policy: &Policy, request: PolicyRequest<'_>, is_allowed: bool, rule: Option<usize>) {
    assert_eq!(
        policy.decide(&request),
        Decision { is_allowed, rule },
        "{request:?}"
    );
}

#[test]
fn default_depends_on_the_allow_rules() {
    let request = PolicyRequest::entry("db", "db_query", "query");
    check(&policy([]), request, true, None);
    check(&policy([deny(tool("drop_*"))]), request, true, None);
    check(&policy([allow(tool("drop_*"))]), request, false, None);
    check(
        &policy([deny(tool("drop_*")), allow(tool("get_*"))]),
        request,
        false,
        None,
    );
}

#[test]
fn first_rule_that_matches_decides() {
    let rules = policy([
        allow(tool("db_get_admin")),
        deny(tool("*_admin")),
        allow(Conditions::new()),
    ]);
    let entry = |name| PolicyRequest::entry("db", name, "x");
    check(&rules, entry("db_get_admin"), true, Some(0));
    check(&rules, entry("db_set_admin"), false, Some(1));
    check(&rules, entry("db_get"), true, Some(2));
}

#[test]
fn upstream_cannot_choose_a_name_that_is_allowed_for_another() {
    let request = PolicyRequest::entry("evil", "evil_weather_now", "weather_now");
    check(&policy([allow(tool("weather_*"))]), request, false, None);
    let for_upstream = tool("weather_*").with_upstream(glob("evil"));
    check(&policy([allow(for_upstream)]), request, true, Some(0));
    // A deny rule reads both names.
    check(&policy([deny(tool("weather_*"))]), request, false, Some(0));
    check(&policy([deny(tool("evil_*"))]), request, false, Some(0));
    // An exception of a deny rule permits, so it is as strict as an allow rule.
    let exception = deny(Conditions::new()).unless(tool("weather_*"));
    check(&policy([exception]), request, false, Some(0));
    let exception = allow(Conditions::new()).unless(tool("weather_*"));
    check(&policy([exception]), request, false, None);
}

#[test]
fn conditions_on_the_caller_need_its_identity() {
    let claims =
        RawJson::from(json!({"role": ["dev", "ops"], "level": 3, "team": "core", "x": [["dev"]]}));
    let scopes = ScopeSet::parse("read admin").unwrap();
    let entry = PolicyRequest::entry("db", "a", "a");
    let caller = entry.with_caller(Some("alice@x"), Some(&scopes), Some(claims.as_raw_value()));
    let cases = [
        (Conditions::new().with_principal(glob("*@x")), true),
        (Conditions::new().with_principal(glob("bob*")), false),
        (Conditions::new().with_scope("admin"), true),
        (Conditions::new().with_scope("adm"), false),
        (Conditions::new().with_claim("role", glob("ops")), true),
        (Conditions::new().with_claim("team", glob("c*")), true),
        (Conditions::new().with_claim("level", glob("3")), true),
        (Conditions::new().with_claim("role", glob("admin")), false),
        (Conditions::new().with_claim("x", glob("dev")), false),
        (Conditions::new().with_claim("missing", glob("*")), false),
    ];
    for (conditions, is_allowed) in cases {
        let rules = policy([allow(conditions.clone())]);
        assert_eq!(
            rules.decide(&caller).is_allowed,
            is_allowed,
            "{conditions:?}"
        );
        assert!(
            !rules.decide(&entry).is_allowed,
            "anonymous: {conditions:?}"
        );
        assert!(rules.depends_on_caller());
    }
    assert!(!policy([allow(tool("*"))]).depends_on_caller());
    let exception = deny(tool("*")).unless(Conditions::new().with_scope("admin"));
    assert!(policy([exception]).depends_on_caller());
}

#[test]
fn hints_have_the_defaults_of_the_specification() {
    use Hint::{Destructive, Idempotent, OpenWorld, ReadOnly};
    let check = |annotations: Option<serde_json::Value>, expected: [bool; 4]| {
        let json = annotations.map(RawJson::from);
        let raw = json.as_ref().map(RawJson::as_raw_value);
        let actual = [ReadOnly, Destructive, Idempotent, OpenWorld].map(|hint| hint.applies(raw));
        assert_eq!(actual, expected, "{json:?}");
    };
    check(None, [false, true, false, true]);
    check(Some(json!({})), [false, true, false, true]);
    check(
        Some(json!({"readOnlyHint": true})),
        [true, false, false, true],
    );
    check(
        Some(json!({"readOnlyHint": true, "destructiveHint": true})),
        [true, false, false, true],
    );
    check(
        Some(json!({"destructiveHint": false, "idempotentHint": true, "openWorldHint": false})),
        [false, false, true, false],
    );
    check(
        Some(json!({"destructiveHint": "no"})),
        [false, true, false, true],
    );
    check(Some(json!([])), [false, true, false, true]);
}

#[test]
fn destructive_tools_need_the_scope_of_the_exception() {
    let rules = policy([deny(Conditions::new().with_hint(Hint::Destructive))
        .unless(Conditions::new().with_scope("admin"))]);
    let read_only = RawJson::from(json!({"readOnlyHint": true}));
    let admin = ScopeSet::parse("admin").unwrap();
    let entry = PolicyRequest::entry("db", "a", "a").with_annotations(None);
    check(&rules, entry, false, Some(0));
    check(
        &rules,
        entry.with_caller(Some("a"), Some(&admin), None),
        true,
        None,
    );
    check(
        &rules,
        entry.with_annotations(Some(read_only.as_raw_value())),
        true,
        None,
    );
}

#[test]
fn hints_are_conditions_on_tools_only() {
    let hint = || Conditions::new().with_hint(Hint::Destructive);
    let resource = PolicyRequest::entry("db", "x://a", "x://a");
    let tool = PolicyRequest::entry("db", "a", "a").with_annotations(None);
    check(&policy([deny(hint())]), resource, true, None);
    check(&policy([deny(hint())]), tool, false, Some(0));
    check(&policy([allow(hint())]), resource, false, None);
    check(&policy([allow(hint())]), tool, true, Some(0));
}

#[test]
fn arguments_decide_calls_and_not_lists() {
    let starts = |start: &str| {
        Conditions::new().with_argument(ArgumentCondition::new(
            ["file", "path"],
            ArgumentTest::StartsWith(start.to_owned()),
        ))
    };
    let entry = PolicyRequest::entry("fs", "fs_read", "read");
    let decide = |rules: &Policy, arguments: serde_json::Value| {
        let arguments = RawJson::from(arguments);
        rules
            .decide(&entry.with_arguments(Some(arguments.as_raw_value())))
            .is_allowed
    };
    let path = |path: &str| json!({"file": {"path": path}});
    let allowed = policy([allow(starts("/public/"))]);
    let denied = policy([deny(starts("/secret/"))]);
    // The tool is listed, because some calls are permitted.
    assert!(allowed.decide(&entry).is_allowed && denied.decide(&entry).is_allowed);
    assert!(decide(&allowed, path("/public/a")) && !decide(&denied, path("/secret/a")));
    assert!(!decide(&allowed, path("/private/a")) && decide(&denied, path("/public/a")));
    for other in [
        json!({}),
        json!({"file": 1}),
        json!({"file": {"path": 1}}),
        json!([]),
    ] {
        assert!(!decide(&allowed, other.clone()) && decide(&denied, other));
    }
    assert!(!allowed.decide(&entry.with_arguments(None)).is_allowed);
    for doubtful in [
        "/public/../secret/a",
        "/public/..",
        "/public/%2E%2e/x",
        "/public\\..\\x",
    ] {
        assert!(!decide(&allowed, path(doubtful)), "{doubtful}");
        assert!(!decide(&denied, path(doubtful)), "{doubtful}");
    }
    assert!(decide(&allowed, path("/public/a..b")));
    // With an exception by argument, the tool is listed, too.
    let unless = policy([deny(tool("*")).unless(starts("/public/"))]);
    assert!(unless.decide(&entry).is_allowed);
    assert!(decide(&unless, path("/public/a")) && !decide(&unless, path("/x")));
    let unless = policy([allow(tool("*")).unless(starts("/secret/"))]);
    assert!(unless.decide(&entry).is_allowed);
    assert!(decide(&unless, path("/public/a")) && !decide(&unless, path("/secret/x")));
}

#[test]
fn arguments_are_compared_by_value() {
    let check = |test: ArgumentTest, argument: serde_json::Value, expected: bool| {
        let condition =
            Conditions::new().with_argument(ArgumentCondition::new(["a"], test.clone()));
        let arguments = RawJson::from(json!({ "a": argument }));
        let request =
            PolicyRequest::entry("u", "t", "t").with_arguments(Some(arguments.as_raw_value()));
        assert_eq!(
            policy([allow(condition)]).decide(&request).is_allowed,
            expected,
            "{test:?} {arguments}"
        );
    };
    check(ArgumentTest::Equals(json!(1)), json!(1.0), true);
    check(ArgumentTest::Equals(json!(1)), json!("1"), false);
    check(ArgumentTest::Equals(json!("x")), json!("x"), true);
    check(
        ArgumentTest::Equals(json!({"b": [1]})),
        json!({"b": [1]}),
        true,
    );
    check(ArgumentTest::Equals(json!(null)), json!(null), true);
    check(
        ArgumentTest::Matches(glob("get_*").into()),
        json!("get_x"),
        true,
    );
    check(
        ArgumentTest::Matches(glob("get_*").into()),
        json!(["get_x"]),
        false,
    );
}

#[test]
fn rule_applies_to_every_form_of_a_uri() {
    let decide = |rules: &Policy, own_uri: &str| {
        let exposed = format!("fs+{own_uri}");
        rules
            .decide(&PolicyRequest::entry("fs", &exposed, own_uri))
            .is_allowed
    };
    let denied = policy([deny(tool("file:///secret/*"))]);
    let allowed = policy([allow(tool("file:///public/*").with_upstream(glob("fs")))]);
    assert!(decide(&denied, "file:///public/a") && decide(&allowed, "file:///public/a"));
    for uri in [
        "file:///public/../secret/a",
        "file:///public/%2e%2e/secret/a",
        "file:////secret/a",
        "file:///%73ecret/a",
        "FILE:///secret/a",
    ] {
        assert!(!decide(&denied, uri) && !decide(&allowed, uri), "{uri}");
    }
}

#[test]
fn denied_template_cannot_be_used() {
    let used =
        PolicyRequest::entry("fs", "fs+x://a", "x://a").with_template("fs+x://{id}", "x://{id}");
    check(&policy([deny(tool("x://{id}"))]), used, false, Some(0));
    check(&policy([deny(tool("x://a"))]), used, false, Some(0));
    check(&policy([deny(tool("x://b"))]), used, true, None);
    // An allowed template does not allow all of its URIs.
    check(&policy([allow(tool("fs+x://{id}"))]), used, false, None);
    check(&policy([allow(tool("fs+x://a"))]), used, true, Some(0));
}

#[test]
fn number_of_rules_is_limited() {
    let rules = |count| Policy::new(vec![deny(tool("a")); count]);
    assert!(rules(MAX_RULES).is_ok());
    assert!(
        rules(MAX_RULES + 1)
            .unwrap_err()
            .to_string()
            .contains("1024")
    );
}

#[test]
fn caller_of_a_transport_without_tokens_has_every_scope() {
    let rules = policy([deny(tool("*")).unless(Conditions::new().with_scope("admin"))]);
    let request = PolicyRequest::entry("u", "t", "t");
    assert!(!rules.decide(&request).is_allowed);
    assert!(rules.decide(&request.with_every_scope()).is_allowed);
}

#[test]
fn template_is_listed_if_a_uri_of_it_may_be_permitted() {
    let rule = |effect, pattern: &str| {
        let conditions = Conditions::new().with_tool(pattern.parse().unwrap());
        PolicyRule::new(effect, conditions)
    };
    let check = |effect: Effect, pattern: &str, expected: bool| {
        let policy = Policy::new(vec![rule(effect, pattern)]).unwrap();
        let template = PolicyRequest::entry("u", "notes://by/{name}", "notes://by/{name}");
        let decision = policy.decide(&template.of_template());
        assert_eq!(decision.is_allowed, expected, "{effect:?} {pattern}");
    };
    check(Effect::Allow, "notes://by/ann", true);
    check(Effect::Allow, "notes://*", true);
    check(Effect::Allow, "NOTES://by/a*", true);
    check(Effect::Allow, "notes://of/*", false);
    check(Effect::Allow, "files*", false);
    check(Effect::Deny, "notes://by/ann", true);
    check(Effect::Deny, "notes://by/*", false);
    check(Effect::Deny, "notes://of/*", true);
    // The URI itself is decided when it is used.
    let policy = Policy::new(vec![rule(Effect::Allow, "notes://by/ann")]).unwrap();
    let read = |uri: &'static str| {
        let request = PolicyRequest::entry("u", uri, uri).with_arguments(None);
        policy.decide(&request).is_allowed
    };
    assert!(read("notes://by/ann") && !read("notes://by/bob"));
}
