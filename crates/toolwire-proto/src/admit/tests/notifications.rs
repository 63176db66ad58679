//! Notifications: cancellations, and those of certain revisions.

use toolwire_types::RawJson;

use super::*;
use crate::envelope::NotificationEnvelope;

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
