//! Requests of older revisions: `initialize`, the handshake and the methods.

use super::*;

#[test]
fn rejected_initialize_names_the_supported_versions() {
    modern("initialize", json!({})).run(|outcome| {
        let rejection = outcome.expect_err("modern revisions have no initialize");
        assert!(rejection.error.message.contains("2026-07-28, 2025-11-25"));
    });
    let initialize = legacy("initialize").params(json!({"protocolVersion": "2025-06-18"}));
    check(initialize.serving("2026-07-28"), "-32022 400");
    for case in [
        legacy("initialize").params(json!({"protocolVersion": "2025-06-18"})),
        legacy("tools/list"),
        legacy("tools/list").http(One("2025-06-18"), Absent, Absent),
        legacy("tools/list").http(Absent, Absent, Absent),
    ] {
        case.serving("2026-07-28").run(|outcome| {
            let rejection = outcome.expect_err("nothing but modern requests is served");
            assert_eq!(rejection.http_status, 400);
            let message = rejection.error.message;
            assert!(message.contains("2026-07-28"), "{message}");
        });
    }
}

#[test]
fn initialize_is_admitted_with_the_negotiated_version() {
    let initialize = |version: Value| {
        legacy("initialize").params(json!({"protocolVersion": version, "capabilities": {}}))
    };
    check(initialize(json!("2025-06-18")), "2025-06-18 Legacy");
    check(initialize(json!("2026-07-28")), "2025-11-25 Legacy");
    check(initialize(json!("1900-01-01")), "2025-11-25 Legacy");
    for version in [json!(""), json!(5), json!(null)] {
        check(initialize(version), "-32602 400");
    }
    check(legacy("initialize"), "-32602 400");
    // A repeated one gets the version that was negotiated before.
    for requested in ["2025-06-18", "2025-11-25"] {
        check(
            initialize(json!(requested)).negotiated("2025-06-18"),
            "2025-06-18 Legacy",
        );
    }
    // Over HTTP the header does not matter before a session exists.
    check(
        initialize(json!("2025-06-18")).http(Absent, Absent, Absent),
        "2025-06-18 Legacy",
    );
    check(
        initialize(json!("2025-06-18")).http(One("2025-03-26"), Absent, Absent),
        "2025-06-18 Legacy",
    );
}

#[test]
fn stdio_admits_only_initialize_and_ping_before_the_handshake() {
    check(legacy("ping"), "2025-11-25 Legacy");
    check(legacy("ping").serving("2026-07-28"), "-32602 400");
    for method in ["tools/list", "server/discover", "com.example/custom"] {
        legacy(method).run(|outcome| {
            let rejection = outcome.expect_err("nothing says the version");
            assert_eq!(rejection.error.code, -32602);
            assert!(rejection.error.message.contains(VERSION_KEY));
            assert!(rejection.error.message.contains("initialize"));
        });
    }
    check(legacy(""), "-32601 200");
    check(legacy("unknown/method"), "-32601 200");
}

#[test]
fn legacy_requests_have_the_methods_of_their_revision() {
    let check_method = |method, version: &str, expected: &str| {
        check(legacy(method).negotiated(version), expected);
    };
    check_method("tools/list", "2024-11-05", "2024-11-05 Legacy");
    check_method("ping", "2025-06-18", "2025-06-18 Legacy");
    check_method("tasks/get", "2025-11-25", "2025-11-25 Legacy");
    check_method("com.example/custom", "2025-03-26", "2025-03-26 Legacy");
    check_method("tasks/get", "2025-06-18", "-32601 200");
    check_method("server/discover", "2025-11-25", "-32601 200");
    check_method("roots/list", "2025-11-25", "-32601 200");
    check_method("notifications/initialized", "2025-11-25", "-32601 200");
    check_method("no/method", "2025-11-25", "-32601 200");
}

#[test]
fn required_initialized_check_is_opt_in() {
    let processed = |method, require_initialized| Case {
        lifecycle: Lifecycle::InitializeProcessed {
            version: ProtocolVersion::V2025_06_18,
        },
        require_initialized,
        ..legacy(method)
    };
    check(processed("tools/list", false), "2025-06-18 Legacy");
    check(processed("tools/list", true), "-32600 400");
    check(processed("ping", true), "2025-06-18 Legacy");
    let gated = Case {
        require_initialized: true,
        ..legacy("tools/list").negotiated("2025-06-18")
    };
    check(gated, "2025-06-18 Legacy");
    let modern = Case {
        require_initialized: true,
        ..modern("tools/list", json!({}))
    };
    check(modern, "2026-07-28 Modern");
}

#[test]
fn error_for_a_huge_method_name_is_short() {
    let name: &'static str = Box::leak("ü".repeat(100_000).into_boxed_str());
    legacy(name).run(|outcome| {
        let rejection = outcome.expect_err("the method is unknown");
        assert!(rejection.error.message.len() < 300);
    });
}
