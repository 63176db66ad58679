mod headers;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolwire_types::{LoggingLevel, RawJson};

use super::*;
use crate::envelope::{Envelope, NotificationEnvelope};
use crate::strict_json::{self, Limits};

const VERSION_KEY: &str = meta_key::PROTOCOL_VERSION;
const CAPABILITIES_KEY: &str = meta_key::CLIENT_CAPABILITIES;

/// A request and its admission context. By default the request is modern and sent over HTTP.
struct Case {
    method: &'static str,
    params: Option<Value>,
    headers: Option<[HeaderLookup<'static>; 3]>,
    lifecycle: Lifecycle,
    supported: SupportedVersions,
    require_initialized: bool,
}

fn modern(method: &'static str, params: Value) -> Case {
    let mut params = params;
    params["_meta"][VERSION_KEY] = json!("2026-07-28");
    params["_meta"][CAPABILITIES_KEY] = json!({});
    Case {
        params: Some(params),
        ..legacy(method)
    }
}

fn legacy(method: &'static str) -> Case {
    Case {
        method,
        params: None,
        headers: None,
        lifecycle: Lifecycle::Fresh,
        supported: SupportedVersions::default(),
        require_initialized: false,
    }
}

impl Case {
    fn http(
        mut self,
        version: HeaderLookup<'static>,
        method: HeaderLookup<'static>,
        name: HeaderLookup<'static>,
    ) -> Self {
        self.headers = Some([version, method, name]);
        self
    }

    fn params(mut self, params: Value) -> Self {
        self.params = Some(params);
        self
    }

    fn meta(mut self, key: &str, value: Value) -> Self {
        self.params.get_or_insert_with(|| json!({}))["_meta"][key] = value;
        self
    }

    fn without_meta(mut self, key: &str) -> Self {
        if let Some(meta) = self
            .params
            .as_mut()
            .and_then(|params| params["_meta"].as_object_mut())
        {
            meta.remove(key);
        }
        self
    }

    fn negotiated(mut self, version: &str) -> Self {
        self.lifecycle = Lifecycle::Initialized {
            version: version.parse().expect("a released version"),
        };
        self
    }

    fn serving(mut self, names: &str) -> Self {
        self.supported = names
            .split_whitespace()
            .map(|name| name.parse().expect("a released version"))
            .collect();
        self
    }

    /// Admits the request and passes the outcome to `inspect`.
    fn run<T>(&self, inspect: impl FnOnce(Result<Admitted<'_>, Rejection>) -> T) -> T {
        let mut message = json!({"jsonrpc": "2.0", "id": 7, "method": self.method});
        if let Some(params) = &self.params {
            message["params"] = params.clone();
        }
        let message = message.to_string();
        match strict_json::read(message.as_bytes(), &Limits::default()) {
            Ok(Envelope::Request(request)) => inspect(admit(&request, &self.context())),
            other => panic!("{message} is no request: {other:?}"),
        }
    }

    fn context(&self) -> AdmissionContext<'_> {
        AdmissionContext {
            supported: &self.supported,
            lifecycle: self.lifecycle,
            headers: self
                .headers
                .map(|[protocol_version, method, name]| RoutingHeaders {
                    protocol_version,
                    method,
                    name,
                }),
            is_custom_method: &|name| name == "com.example/custom",
            is_custom_notification: &|name| name == "com.example/custom",
            require_initialized: self.require_initialized,
        }
    }

    fn outcome(&self) -> String {
        self.run(|outcome| match outcome {
            Ok(admitted) => format!("{} {:?}", admitted.version, admitted.era),
            Err(rejection) => {
                assert_eq!(rejection.id, 7.into());
                format!("{} {}", rejection.error.code, rejection.http_status)
            }
        })
    }
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "cases are built in the call")]
fn check(case: Case, expected: &str) {
    assert_eq!(case.outcome(), expected);
}

use HeaderLookup::{Absent, One, Repeated, Unreadable};

fn call() -> Case {
    modern("tools/call", json!({"name": "add"})).http(
        One("2026-07-28"),
        One("tools/call"),
        One("add"),
    )
}

fn list() -> Case {
    modern("tools/list", json!({})).http(One("2026-07-28"), One("tools/list"), Absent)
}

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
fn admitted_request_has_the_values_of_its_params() {
    let params = json!({
        "name": "add", "arguments": {"a": 1},
        "inputResponses": {"ok": {"action": "accept"}}, "requestState": "",
        "_meta": {
            "progressToken": "p", "traceparent": 5, meta_key::LOG_LEVEL: "info", meta_key::CLIENT_INFO: {"name": "n\n"},
        },
    });
    modern("tools/call", params).run(|outcome| {
        let admitted = outcome.expect("it is complete");
        assert_eq!(*admitted.id, 7.into());
        assert_eq!(admitted.method.name(), "tools/call");
        assert_eq!(admitted.name.as_deref(), Some("add"));
        assert!(matches!(admitted.name, Some(Cow::Borrowed(_))));
        assert_eq!(admitted.request_state().as_deref(), Some(""));
        assert_eq!(
            admitted.input_responses().map(RawValue::get),
            Some(r#"{"ok":{"action":"accept"}}"#)
        );
        assert_eq!(admitted.arguments().map(RawValue::get), Some(r#"{"a":1}"#));
        assert_eq!(admitted.progress_token(), Some("p".into()));
        assert_eq!(admitted.log_level, Some(LoggingLevel::Info));
        assert_eq!(
            admitted.client_capabilities().map(RawValue::get),
            Some("{}")
        );
    });
}

#[test]
fn input_responses_are_read_only_for_methods_that_may_request_input() {
    let with = |case: Case, member: &str, value: Value| {
        let mut case = case;
        case.params.get_or_insert_with(|| json!({}))[member] = value;
        case
    };
    for value in [json!([]), json!("x"), json!(5)] {
        check(
            with(
                modern("prompts/get", json!({"name": "p"})),
                "inputResponses",
                value.clone(),
            ),
            "-32602 400",
        );
        check(
            with(modern("tools/list", json!({})), "inputResponses", value),
            "2026-07-28 Modern",
        );
    }
    for value in [json!({}), json!(5)] {
        check(
            with(
                modern("resources/read", json!({"uri": "a:b"})),
                "requestState",
                value.clone(),
            ),
            "-32602 400",
        );
        let legacy = legacy("tools/call").negotiated("2025-11-25");
        check(with(legacy, "requestState", value), "2025-11-25 Legacy");
    }
    modern("tools/list", json!({"requestState": "s"})).run(|outcome| {
        let admitted = outcome.expect("an unrelated member is ignored");
        assert_eq!(admitted.request_state(), None);
    });
}

#[test]
fn error_for_a_huge_method_name_is_short() {
    let name: &'static str = Box::leak("ü".repeat(100_000).into_boxed_str());
    legacy(name).run(|outcome| {
        let rejection = outcome.expect_err("the method is unknown");
        assert!(rejection.error.message.len() < 300);
    });
}

#[test]
fn rejections_before_dispatch_have_status_400() {
    let check = |code: i64, legacy: u16, modern: u16| {
        assert_eq!(
            http_status_before_dispatch(code, Era::Legacy),
            legacy,
            "{code}"
        );
        assert_eq!(
            http_status_before_dispatch(code, Era::Modern),
            modern,
            "{code}"
        );
    };
    check(-32600, 400, 400);
    check(-32602, 400, 400);
    check(-32022, 400, 400);
    check(-32020, 200, 400);
    check(-32601, 200, 404);
    check(-32603, 200, 200);
}

#[test]
fn errors_during_dispatch_have_their_http_status() {
    let check = |code: i64, legacy: u16, modern: u16| {
        assert_eq!(http_status_for(code, Era::Legacy), legacy, "{code}");
        assert_eq!(http_status_for(code, Era::Modern), modern, "{code}");
    };
    check(-32700, 200, 200);
    check(-32600, 200, 200);
    check(-32601, 200, 404);
    check(-32602, 200, 200);
    check(-32603, 200, 200);
    check(-32020, 200, 400);
    check(-32021, 200, 400);
    check(-32022, 200, 400);
    check(-32002, 200, 200);
    check(-1, 200, 200);
    check(1234, 200, 200);
}

fn notification_action(case: &Case) -> String {
    let params = case.params.clone().map(RawJson::from);
    let notification = NotificationEnvelope {
        method: case.method.into(),
        params: params.as_ref().map(RawJson::as_raw_value),
    };
    match admit_notification(&notification, &case.context()) {
        NotificationAction::Cancel { request_id, reason } => {
            format!("cancel {request_id} {}", reason.as_deref().unwrap_or("-"))
        }
        NotificationAction::Initialized => "initialized".to_owned(),
        NotificationAction::Progress(_) => "progress".to_owned(),
        NotificationAction::RootsListChanged => "roots".to_owned(),
        NotificationAction::TaskStatus(_) => "task".to_owned(),
        NotificationAction::Custom(name, _) => format!("custom {name}"),
        NotificationAction::Ignore(reason) => format!("{reason:?}"),
    }
}

#[test]
fn cancellations_are_accepted_on_stdio_and_within_sessions() {
    let cancel = |params: Value| legacy("notifications/cancelled").params(params);
    let check = |case: Case, expected: &str| assert_eq!(notification_action(&case), expected);
    check(cancel(json!({"requestId": 7})), "cancel 7 -");
    check(
        cancel(json!({"requestId": "7", "reason": "bored"})),
        "cancel \"7\" bored",
    );
    check(cancel(json!({"requestId": 7, "reason": 5})), "cancel 7 -");
    check(
        cancel(json!({"requestId": 7})).negotiated("2025-06-18"),
        "cancel 7 -",
    );
    for params in [
        json!({}),
        json!({"requestId": null}),
        json!({"requestId": 1.5}),
    ] {
        check(cancel(params), "Malformed");
    }
    check(legacy("notifications/cancelled"), "Malformed");

    let http = |version| cancel(json!({"requestId": 7})).http(version, Absent, Absent);
    check(http(One("2026-07-28")), "WrongVersion");
    check(http(Absent), "NoConnection");
    check(http(One("2025-06-18")), "NoConnection");
    check(
        http(One("2025-06-18")).negotiated("2025-06-18"),
        "cancel 7 -",
    );
}

#[test]
fn other_notifications_belong_to_their_revisions() {
    let check = |case: Case, expected: &str| assert_eq!(notification_action(&case), expected);
    let session = |method| legacy(method).negotiated("2025-11-25");
    let initialized = |lifecycle| Case {
        lifecycle,
        ..legacy("notifications/initialized")
    };
    let version = ProtocolVersion::V2025_06_18;
    check(
        initialized(Lifecycle::InitializeProcessed { version }),
        "initialized",
    );
    check(initialized(Lifecycle::Initialized { version }), "OutOfTurn");
    check(initialized(Lifecycle::Fresh), "OutOfTurn");
    check(session("notifications/roots/list_changed"), "roots");
    check(
        session("notifications/progress").params(json!({"progressToken": 1, "progress": 1})),
        "progress",
    );
    check(session("notifications/progress"), "Malformed");
    check(
        session("notifications/tasks/status").params(json!({})),
        "task",
    );
    check(
        legacy("notifications/tasks/status")
            .negotiated("2025-06-18")
            .params(json!({})),
        "WrongVersion",
    );
    check(session("notifications/message"), "WrongVersion");
    check(session("tools/list"), "WrongVersion");
    check(session("notifications/unheard"), "Unknown");
    check(session("com.example/custom"), "custom com.example/custom");
    check(
        legacy("notifications/roots/list_changed").http(One("2026-07-28"), Absent, Absent),
        "WrongVersion",
    );
}
