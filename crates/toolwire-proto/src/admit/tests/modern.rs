//! Requests of 2026-07-28: their metadata, versions and methods.

use super::*;

#[test]
fn complete_modern_requests_are_admitted() {
    check(call(), "2026-07-28 Modern");
    check(list(), "2026-07-28 Modern");
    check(modern("tools/list", json!({})), "2026-07-28 Modern");
    check(modern("server/discover", json!({})), "2026-07-28 Modern");
    check(
        modern("com.example/custom", json!({"name": 5})),
        "2026-07-28 Modern",
    );
    // The handshake of the connection does not affect a modern request.
    check(
        modern("tools/list", json!({})).negotiated("2025-03-26"),
        "2026-07-28 Modern",
    );
}

#[test]
fn modern_request_requires_its_meta_keys() {
    check(list().without_meta(VERSION_KEY), "-32602 400");
    check(list().without_meta(CAPABILITIES_KEY), "-32602 400");
    check(list().params(json!({})), "-32602 400");
    check(list().params(json!({"_meta": null})), "-32602 400");
    for meta in [json!([]), json!("x"), json!(5), json!([null, null, null])] {
        check(list().params(json!({ "_meta": meta })), "-32602 400");
    }
    check(list().meta(VERSION_KEY, json!(20260728)), "-32602 400");
    check(list().meta(CAPABILITIES_KEY, json!([])), "-32602 400");
    check(list().meta(CAPABILITIES_KEY, json!(null)), "-32602 400");
    check(
        list().meta(meta_key::CLIENT_INFO, json!("me")),
        "-32602 400",
    );
    check(
        list().meta(meta_key::CLIENT_INFO, json!({"name": "me", "version": "1"})),
        "2026-07-28 Modern",
    );
    let mut without_params = list();
    without_params.params = None;
    check(without_params, "-32602 400");
}

#[test]
fn progress_tokens_are_short_strings_or_integers() {
    let token = |value: Value| list().meta(meta_key::PROGRESS_TOKEN, value);
    check(token(json!(0)), "2026-07-28 Modern");
    check(token(json!("")), "2026-07-28 Modern");
    check(token(json!("x".repeat(1024))), "2026-07-28 Modern");
    check(token(json!("x".repeat(1025))), "-32602 400");
    for value in [json!({}), json!([]), json!(1.5), json!(true)] {
        check(token(value.clone()), "-32602 400");
        check(
            legacy("tools/list")
                .negotiated("2025-06-18")
                .meta(meta_key::PROGRESS_TOKEN, value),
            "-32602 400",
        );
    }
}

#[test]
fn log_levels_must_be_known_on_modern_requests() {
    let level = |value: Value| list().meta(meta_key::LOG_LEVEL, value);
    check(level(json!("warning")), "2026-07-28 Modern");
    check(level(json!("loud")), "-32602 400");
    check(level(json!(3)), "-32602 400");
    check(
        legacy("tools/list")
            .negotiated("2025-06-18")
            .meta(meta_key::LOG_LEVEL, json!("loud")),
        "2025-06-18 Legacy",
    );
}

#[test]
fn unsupported_version_error_lists_the_supported_versions() {
    for version in ["1900-01-01", "2025-11-25", ""] {
        let case =
            list()
                .meta(VERSION_KEY, json!(version))
                .http(One(version), One("tools/list"), Absent);
        case.run(|outcome| {
            let rejection = outcome.expect_err("the version is not served this way");
            assert_eq!(rejection.http_status, 400);
            assert_eq!(rejection.error.code, -32022);
            let supported: Vec<_> = case.supported.names().collect();
            assert_eq!(
                rejection.error.data,
                Some(json!({"supported": supported, "requested": version}).into())
            );
        });
    }
    check(list().serving("2025-06-18"), "-32022 400");
    check(
        modern("tools/list", json!({})).meta(VERSION_KEY, json!("1900-01-01")),
        "-32022 400",
    );
}

#[test]
fn modern_requests_have_modern_methods_only() {
    for method in [
        "ping",
        "initialize",
        "logging/setLevel",
        "resources/subscribe",
        "tasks/list",
        "tasks/result",
        "sampling/createMessage",
        "notifications/cancelled",
        "unknown/method",
        "",
    ] {
        check(
            modern(method, json!({})).http(One("2026-07-28"), One(method), Absent),
            "-32601 404",
        );
        check(modern(method, json!({})), "-32601 404");
    }
}

#[test]
fn checks_follow_the_order_of_the_specification() {
    // Each case breaks all checks from one step on. The first broken step decides.
    let broken = || {
        modern("no/method", json!({}))
            .meta(VERSION_KEY, json!("1900-01-01"))
            .http(One("2025-06-18"), Absent, Absent)
    };
    check(broken().without_meta(CAPABILITIES_KEY), "-32602 400");
    check(broken(), "-32020 400");
    check(
        broken().http(One("1900-01-01"), One("no/method"), Absent),
        "-32022 400",
    );
    check(
        broken().meta(VERSION_KEY, json!("2026-07-28")).http(
            One("2026-07-28"),
            One("no/method"),
            Absent,
        ),
        "-32601 404",
    );
}
