use toolwire_types::{ClientCapabilities, ProtocolVersion, ServerCapabilities};

use super::{
    Capability, MethodKind, NameSource, PROCESSED_BY_SERVER, all, find, is_about_task,
    may_have_notification_handler,
};

/// Returns one letter per revision, oldest first, for the sides that may send it: `c` client, `s` server, `b` both, `-`
/// none.
fn senders(name: &str) -> String {
    let Some(row) = find(name) else {
        return "unknown".to_owned();
    };
    ProtocolVersion::ALL
        .into_iter()
        .map(|version| {
            let direction = row.direction(version);
            match (
                row.is_served(version),
                direction.from_client(),
                direction.from_server(),
            ) {
                (false, _, _) => '-',
                (true, true, true) => 'b',
                (true, true, false) => 'c',
                (true, false, _) => 's',
            }
        })
        .collect()
}

#[test]
fn every_method_exists_in_its_revisions_and_directions() {
    for (name, expected) in [
        ("completion/complete", "ccccc"),
        ("elicitation/create", "--ss-"),
        ("initialize", "cccc-"),
        ("logging/setLevel", "cccc-"),
        ("notifications/cancelled", "bbbbb"),
        ("notifications/elicitation/complete", "---s-"),
        ("notifications/initialized", "cccc-"),
        ("notifications/message", "sssss"),
        ("notifications/progress", "bbbbs"),
        ("notifications/prompts/list_changed", "sssss"),
        ("notifications/resources/list_changed", "sssss"),
        ("notifications/resources/updated", "sssss"),
        ("notifications/roots/list_changed", "cccc-"),
        ("notifications/subscriptions/acknowledged", "----s"),
        ("notifications/tasks", "----s"),
        ("notifications/tasks/status", "---b-"),
        ("notifications/tools/list_changed", "sssss"),
        ("ping", "bbbb-"),
        ("prompts/get", "ccccc"),
        ("prompts/list", "ccccc"),
        ("resources/directory/read", "---cc"),
        ("resources/list", "ccccc"),
        ("resources/read", "ccccc"),
        ("resources/subscribe", "cccc-"),
        ("resources/templates/list", "ccccc"),
        ("resources/unsubscribe", "cccc-"),
        ("roots/list", "ssss-"),
        ("sampling/createMessage", "ssss-"),
        ("server/discover", "----c"),
        ("skills/get", "---cc"),
        ("skills/list", "---cc"),
        ("subscriptions/listen", "----c"),
        ("tasks/cancel", "---bc"),
        ("tasks/get", "---bc"),
        ("tasks/list", "---b-"),
        ("tasks/result", "---b-"),
        ("tasks/update", "----c"),
        ("tools/call", "ccccc"),
        ("tools/list", "ccccc"),
        ("", "unknown"),
        ("Tools/Call", "unknown"),
        ("tools/calls", "unknown"),
    ] {
        assert_eq!(senders(name), expected, "{name}");
    }
}

#[cfg(feature = "events")]
#[test]
fn methods_of_events_exist_since_2026_07_28() {
    for (name, expected) in [
        ("events/list", "----c"),
        ("events/poll", "----c"),
        ("events/stream", "----c"),
        ("events/subscribe", "----c"),
        ("events/unsubscribe", "----c"),
        ("notifications/events/active", "----s"),
        ("notifications/events/error", "----s"),
        ("notifications/events/event", "----s"),
        ("notifications/events/heartbeat", "----s"),
        ("notifications/events/list_changed", "----s"),
        ("notifications/events/terminated", "----s"),
    ] {
        assert_eq!(senders(name), expected, "{name}");
        let row = find(name).expect("the method is in the table");
        assert_eq!(row.name_source, NameSource::None, "{name}");
        let version = ProtocolVersion::V2026_07_28;
        assert!(!row.is_offered(version, &ServerCapabilities::default()));
        let extension = r#"{"extensions":{"io.modelcontextprotocol/events":{}}}"#;
        let server = serde_json::from_str(extension).expect("valid capabilities");
        assert!(row.is_offered(version, &server));
        let undeclared = ClientCapabilities::default();
        assert_eq!(row.rejection(version, &server, || &undeclared), None);
    }
}

#[cfg(not(feature = "events"))]
#[test]
fn methods_of_events_are_unknown_without_the_feature() {
    assert_eq!(senders("events/poll"), "unknown");
}

#[test]
fn table_is_sorted_without_duplicates() {
    assert!(all().is_sorted_by(|earlier, later| earlier.name < later.name));
    let events = if cfg!(feature = "events") { 11 } else { 0 };
    assert_eq!(all().len(), 39 + events);
}

#[test]
fn rows_are_found_only_by_their_exact_name() {
    for row in all() {
        assert_eq!(find(row.name), Some(row));
        let (first, last) = (&row.name[..1], &row.name[row.name.len() - 1..]);
        for other in [
            &row.name[1..],
            &row.name[..row.name.len() - 1],
            &format!("{}{last}", row.name),
            &format!("{first}{}{last}", "x".repeat(row.name.len() - 2)),
            &row.name.to_uppercase(),
        ] {
            assert_eq!(find(other), None, "{other}");
        }
    }
    for other in ["", "x", "/", "ü", "tools/call\0"] {
        assert_eq!(find(other), None, "{other:?}");
    }
}

#[test]
fn eight_results_are_cacheable_and_three_methods_may_request_input() {
    let names = |keep: fn(&super::Method) -> bool| -> Vec<&str> {
        all()
            .iter()
            .filter(|row| keep(row))
            .map(|row| row.name)
            .collect()
    };
    assert_eq!(
        names(|row| row.cacheable),
        [
            "prompts/list",
            "resources/list",
            "resources/read",
            "resources/templates/list",
            "server/discover",
            "skills/get",
            "skills/list",
            "tools/list"
        ]
    );
    assert_eq!(
        names(|row| row.may_ask_input),
        ["prompts/get", "resources/read", "tools/call"]
    );
    assert_eq!(names(|row| row.may_become_task), ["tools/call"]);
}

#[test]
fn modern_methods_that_name_something_are_the_six_with_a_name_header() {
    let named: Vec<_> = all()
        .iter()
        .filter(|row| row.is_served(ProtocolVersion::V2026_07_28))
        .filter(|row| row.name_source != NameSource::None)
        .map(|row| (row.name, row.name_source))
        .collect();
    assert_eq!(
        named,
        [
            ("prompts/get", NameSource::Name),
            ("resources/read", NameSource::Uri),
            ("tasks/cancel", NameSource::TaskId),
            ("tasks/get", NameSource::TaskId),
            ("tasks/update", NameSource::TaskId),
            ("tools/call", NameSource::Name),
        ]
    );
}

#[test]
fn methods_about_one_task_are_those_of_both_designs() {
    let about_task: Vec<_> = all()
        .iter()
        .map(|row| row.name)
        .filter(|name| is_about_task(name))
        .collect();
    assert_eq!(
        about_task,
        ["tasks/cancel", "tasks/get", "tasks/result", "tasks/update"]
    );
    assert!(!is_about_task("com.example/method"));
}

#[test]
fn required_capabilities_differ_by_revision() {
    let check = |name: &str, version: ProtocolVersion, expected: Option<Capability>| {
        let row = find(name).expect("the method is in the table");
        assert_eq!(row.capability(version), expected, "{name} {version}");
    };
    use ProtocolVersion::*;
    check("completion/complete", V2024_11_05, None);
    check(
        "completion/complete",
        V2025_03_26,
        Some(Capability::Completions),
    );
    check("tasks/get", V2025_11_25, Some(Capability::CoreTasks));
    check("tasks/get", V2026_07_28, None);
    check("tools/call", V2026_07_28, Some(Capability::Tools));
    check("ping", V2025_06_18, None);
}

#[test]
fn method_is_offered_only_with_its_capability_or_extension() {
    let check = |name: &str, version: ProtocolVersion, server: &str, expected: bool| {
        let server: ServerCapabilities = serde_json::from_str(server).expect("valid capabilities");
        let row = find(name).expect("the method is in the table");
        assert_eq!(row.is_offered(version, &server), expected, "{name}");
    };
    use ProtocolVersion::*;
    check("tools/call", V2026_07_28, r#"{"tools":{}}"#, true);
    check("tools/call", V2026_07_28, "{}", false);
    check("ping", V2025_11_25, "{}", true);
    check("ping", V2026_07_28, "{}", false);
    check(
        "resources/subscribe",
        V2025_11_25,
        r#"{"resources":{}}"#,
        false,
    );
    check(
        "resources/subscribe",
        V2025_11_25,
        r#"{"resources":{"subscribe":true}}"#,
        true,
    );
    check("logging/setLevel", V2025_11_25, r#"{"logging":{}}"#, true);
    check("tasks/update", V2026_07_28, r#"{"tasks":{}}"#, false);
    check(
        "tasks/update",
        V2026_07_28,
        r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
        true,
    );
    check("tasks/list", V2025_11_25, r#"{"tasks":{}}"#, false);
    check("tasks/list", V2025_11_25, r#"{"tasks":{"list":{}}}"#, true);
    check("completion/complete", V2024_11_05, "{}", true);
    check("completion/complete", V2025_06_18, "{}", false);

    let skills = r#"{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{}}}"#;
    for version in [V2025_11_25, V2026_07_28] {
        check("skills/list", version, r#"{"resources":{}}"#, false);
        check("skills/list", version, skills, true);
        check("skills/get", version, skills, true);
        check("resources/directory/read", version, skills, true);
    }
    check("skills/list", V2025_06_18, skills, false);
}

#[test]
fn only_task_methods_of_the_extension_require_a_declaration() {
    let requiring = |version: ProtocolVersion| -> Vec<&str> {
        let rows = all().iter();
        let rows = rows.filter(|row| row.declared_extension(version).is_some());
        rows.map(|row| row.name).collect()
    };
    for version in ProtocolVersion::ALL {
        let expected: &[&str] = match version {
            ProtocolVersion::V2026_07_28 => &["tasks/cancel", "tasks/get", "tasks/update"],
            _ => &[],
        };
        assert_eq!(requiring(version), expected, "{version}");
    }
}

#[test]
fn missing_method_is_reported_before_a_missing_declaration() {
    let check = |name: &str, version: ProtocolVersion, server: &str, client: &str, expected| {
        let server: ServerCapabilities = serde_json::from_str(server).expect("valid capabilities");
        let client: ClientCapabilities = serde_json::from_str(client).expect("valid capabilities");
        let row = find(name).expect("the method is in the table");
        let rejection = row.rejection(version, &server, || &client);
        let code = rejection.map(|error| error.code);
        assert_eq!(code, expected, "{name} {version}");
    };
    use ProtocolVersion::*;
    let extension = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let core = r#"{"tasks":{"cancel":{}}}"#;
    for name in ["tasks/get", "tasks/cancel", "tasks/update"] {
        check(name, V2026_07_28, "{}", extension, Some(-32601));
        check(name, V2026_07_28, core, extension, Some(-32601));
        check(name, V2026_07_28, extension, "{}", Some(-32021));
        check(name, V2026_07_28, extension, core, Some(-32021));
        check(name, V2026_07_28, extension, extension, None);
    }
    // The core methods of 2025-11-25 need no declaration.
    check("tasks/get", V2025_11_25, core, "{}", None);
    check("tasks/get", V2025_11_25, extension, extension, Some(-32601));
    check(
        "tasks/result",
        V2026_07_28,
        extension,
        extension,
        Some(-32601),
    );
    check(
        "tasks/list",
        V2026_07_28,
        extension,
        extension,
        Some(-32601),
    );
    check("tools/call", V2026_07_28, r#"{"tools":{}}"#, "{}", None);
}

#[test]
fn every_capability_has_the_name_of_its_path() {
    for capability in Capability::ALL {
        let server = match capability.name().split_once('.') {
            Some((outer, inner @ ("list" | "cancel"))) => {
                format!(r#"{{"{outer}":{{"{inner}":{{}}}}}}"#)
            }
            Some((outer, inner)) => format!(r#"{{"{outer}":{{"{inner}":true}}}}"#),
            None => format!(r#"{{"{}":{{}}}}"#, capability.name()),
        };
        let server: ServerCapabilities = serde_json::from_str(&server).expect("valid capabilities");
        assert!(capability.is_advertised(&server), "{capability:?}");
    }
}

#[test]
fn notification_handlers_receive_what_clients_send_and_the_server_does_not_process() {
    let registered: Vec<&str> = all()
        .iter()
        .map(|row| row.name)
        .filter(|name| may_have_notification_handler(name))
        .collect();
    assert_eq!(
        registered,
        [
            "notifications/progress",
            "notifications/roots/list_changed",
            "notifications/tasks/status",
        ]
    );
    for name in PROCESSED_BY_SERVER {
        let row = find(name).expect("the notification is in the table");
        assert_eq!(row.kind, MethodKind::Notification, "{name}");
    }
    assert!(may_have_notification_handler("com.example/tick"));
    assert!(may_have_notification_handler("notifications/acme"));
}
