//! Admission over HTTP: headers that repeat the body or replace a missing part of it.

use super::*;

#[test]
fn modern_headers_must_match_the_body() {
    let with = |version, method, name| call().http(version, method, name);
    let (version, method, name) = (One("2026-07-28"), One("tools/call"), One("add"));
    for bad in [Absent, Repeated, Unreadable, One("other"), One("")] {
        check(with(bad, method, name), "-32020 400");
        check(with(version, bad, name), "-32020 400");
        check(with(version, method, bad), "-32020 400");
    }
    check(with(One("2025-11-25"), method, name), "-32020 400");
    check(with(version, One("Tools/Call"), name), "-32020 400");
    check(with(version, method, One("Add")), "-32020 400");
    check(
        with(One(" 2026-07-28\t"), One(" tools/call "), One("\tadd ")),
        "2026-07-28 Modern",
    );
}

#[test]
fn name_header_is_decoded_before_the_comparison() {
    let read = |uri: &str, header| {
        modern("resources/read", json!({ "uri": uri })).http(
            One("2026-07-28"),
            One("resources/read"),
            header,
        )
    };
    check(read("file:///a", One("file:///a")), "2026-07-28 Modern");
    check(read("ü", One("=?base64?w7w=?=")), "2026-07-28 Modern");
    check(read("ü", One("=?base64?broken?=")), "-32020 400");
    check(read("file:///a", One("file:///b")), "-32020 400");
    let named = |params: Value| {
        modern("tasks/get", params).http(One("2026-07-28"), One("tasks/get"), One("t-1"))
    };
    check(named(json!({"taskId": "t-1"})), "2026-07-28 Modern");
    check(named(json!({"taskId": 1})), "-32020 400");
    check(named(json!({})), "-32020 400");
    // Methods that name nothing need no name header, and ignore one.
    check(
        list().http(One("2026-07-28"), One("tools/list"), One("x")),
        "2026-07-28 Modern",
    );
}

#[test]
fn methods_with_a_name_require_the_name_header() {
    for (method, params) in [
        ("tools/call", json!({"name": "x"})),
        ("prompts/get", json!({"name": "x"})),
        ("resources/read", json!({"uri": "x"})),
        ("tasks/get", json!({"taskId": "x"})),
        ("tasks/update", json!({"taskId": "x"})),
        ("tasks/cancel", json!({"taskId": "x"})),
    ] {
        let with = |name| modern(method, params.clone()).http(One("2026-07-28"), One(method), name);
        check(with(One("x")), "2026-07-28 Modern");
        check(with(One("=?base64?eA==?=")), "2026-07-28 Modern");
        for bad in [
            Absent,
            Repeated,
            Unreadable,
            One("y"),
            One("X"),
            One("=?BASE64?eA==?="),
        ] {
            check(with(bad), "-32020 400");
        }
    }
}

#[test]
fn rejection_names_the_header() {
    let check = |case: Case, header: &str| {
        case.run(|outcome| {
            let rejection = outcome.expect_err("a header is wrong");
            assert!(rejection.error.message.contains(header), "{header}");
        });
    };
    let (version, method) = (One("2026-07-28"), One("tools/call"));
    check(call().http(Absent, Absent, Absent), "MCP-Protocol-Version");
    check(call().http(version, Absent, Absent), "Mcp-Method");
    check(call().http(version, method, Absent), "Mcp-Name");
}

#[test]
fn either_the_body_or_the_header_makes_a_request_modern() {
    let initialize = || legacy("initialize").params(json!({"protocolVersion": "2025-06-18"}));
    let modern_header = One("2026-07-28");
    // With the header alone, the body lacks the metadata of modern requests.
    check(
        initialize().http(modern_header, One("initialize"), Absent),
        "-32602 400",
    );
    check(
        legacy("ping").http(modern_header, Absent, Absent),
        "-32602 400",
    );
    check(
        legacy("tools/list")
            .negotiated("2025-11-25")
            .http(modern_header, Absent, Absent),
        "-32602 400",
    );
    // With the body alone, the headers do not match it.
    for header in [Absent, One("2025-11-25"), One("1900-01-01")] {
        check(list().http(header, One("tools/list"), Absent), "-32020 400");
        check(
            list()
                .negotiated("2025-11-25")
                .http(header, One("tools/list"), Absent),
            "-32020 400",
        );
    }
    // Some of the modern keys without the version do not make a request modern.
    check(
        list()
            .without_meta(VERSION_KEY)
            .http(One("2025-06-18"), Absent, Absent),
        "2025-06-18 Legacy",
    );
    // An unknown future version does not make a request modern.
    check(
        legacy("tools/list").http(One("2027-01-01"), Absent, Absent),
        "-32022 400",
    );
}

#[test]
fn legacy_http_takes_the_version_from_session_header_or_default() {
    let get = |header| legacy("tools/list").http(header, Absent, Absent);
    check(get(Absent), "2025-03-26 Legacy");
    check(get(One("2025-06-18")), "2025-06-18 Legacy");
    check(
        get(One("2025-06-18")).negotiated("2025-11-25"),
        "2025-11-25 Legacy",
    );
    check(get(Absent).negotiated("2025-11-25"), "2025-11-25 Legacy");
    check(get(One("1900-01-01")), "-32022 400");
    check(
        get(One("1900-01-01")).negotiated("2025-11-25"),
        "-32022 400",
    );
    check(get(Repeated), "-32600 400");
    check(get(Unreadable), "-32600 400");
    check(get(One("2025-06-18")).serving("2026-07-28"), "-32022 400");
    check(get(Absent).serving("2026-07-28"), "-32602 400");
    check(get(Absent).serving("2025-06-18"), "-32602 400");
    // A modern header makes the request modern, and the request lacks its metadata.
    check(get(One("2026-07-28")), "-32602 400");
}
