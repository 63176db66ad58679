use serde_json::{Value, json};
#[cfg(feature = "events")]
use toolwire_types::events::EXTENSION_ID as EVENTS_EXTENSION;
use toolwire_types::{
    Notification, RawJson, RequestId, ServerCapabilities, SubscriptionFilter, meta_key,
};

use super::*;
use crate::uri_template::MAX_URI_BYTES;

#[test]
fn changes_are_parsed_from_their_notifications() {
    let changes = [
        Change::ToolsListChanged,
        Change::PromptsListChanged,
        Change::ResourcesListChanged,
        Change::ResourceUpdated("file:///a".to_owned()),
    ];
    for change in changes {
        let notification = change.to_notification().expect("no task");
        let params = notification.params.as_ref().map(RawJson::as_raw_value);
        assert_eq!(
            Change::of_notification(&notification.method, params),
            Some(change)
        );
    }
    let task = RawJson::from(json!({"taskId": "t", "status": "working"}));
    assert_eq!(
        Change::of_notification("notifications/tasks", Some(task.as_raw_value())),
        Some(Change::Task("t".to_owned()))
    );
    assert_eq!(
        Change::of_notification("notifications/resources/updated", None),
        None
    );
    assert_eq!(Change::of_notification("notifications/message", None), None);
}

fn filter(value: Value) -> SubscriptionFilter {
    serde_json::from_value(value).expect("a filter")
}

#[test]
fn accepted_filter_is_requested_and_declared() {
    let check = |requested: Value, server: Value, expected: Value| {
        let server: ServerCapabilities = serde_json::from_value(server).expect("capabilities");
        let granted = accepted_filter(&filter(requested), &server);
        assert_eq!(serde_json::to_value(granted).expect("plain data"), expected);
    };
    let everything = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["a:b", "a:c", "a:b"], "taskIds": ["t"], "unheardOf": true,
    });
    check(everything.clone(), json!({}), json!({}));
    check(
        everything.clone(),
        json!({"tools": {"listChanged": true}, "prompts": {}, "resources": {"listChanged": false}}),
        json!({"toolsListChanged": true}),
    );
    check(
        everything,
        json!({
            "prompts": {"listChanged": true},
            "resources": {"listChanged": true, "subscribe": true},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        }),
        json!({
            "promptsListChanged": true, "resourcesListChanged": true,
            "resourceSubscriptions": ["a:b", "a:c"], "taskIds": ["t"],
        }),
    );
    check(
        json!({"toolsListChanged": false, "resourceSubscriptions": []}),
        json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}}),
        json!({}),
    );
}

#[test]
fn listening_to_tasks_requires_the_extension_of_a_server_that_offers_it() {
    let check = |requested: Value, server: Value, expected: Option<&str>| {
        let server: ServerCapabilities = serde_json::from_value(server).expect("capabilities");
        assert_eq!(required_extension(&filter(requested), &server), expected);
    };
    let offering = || json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let tasks = || json!({"taskIds": ["t"]});
    check(tasks(), offering(), Some("io.modelcontextprotocol/tasks"));
    check(tasks(), json!({"tasks": {}}), None);
    check(json!({"taskIds": []}), offering(), None);
    check(json!({"toolsListChanged": true}), offering(), None);
}

#[cfg(feature = "events")]
#[test]
fn changes_of_event_types_are_accepted_only_if_they_are_declared() {
    let check = |settings: Value, expected: bool| {
        let server = json!({"extensions": {EVENTS_EXTENSION: settings}});
        let server: ServerCapabilities = serde_json::from_value(server).expect("capabilities");
        let granted = accepted_filter(&filter(json!({"eventsListChanged": true})), &server);
        let accepted = granted.events_list_changed == Some(true);
        assert_eq!(accepted, expected);
        let listener = Filter::new(&granted).expect("a small filter");
        let change = Change::EventsListChanged;
        assert_eq!(listener.accepts(&change), expected);
        assert_eq!(listener.changes().any(|one| one == change), expected);
        assert!(!listener.accepts(&Change::ToolsListChanged));
        let notification = change.to_notification().expect("it is no task");
        let read = Change::of_notification(&notification.method, None);
        assert_eq!(read, Some(change));
    };
    check(json!({"listChanged": true}), true);
    check(json!({"listChanged": false}), false);
    check(json!({}), false);
    let tools = Filter::new(&filter(json!({"toolsListChanged": true}))).expect("small");
    assert!(!tools.accepts(&Change::EventsListChanged));
}

#[test]
fn listener_receives_only_requested_changes() {
    let changes = [
        ("toolsListChanged", Change::ToolsListChanged),
        ("promptsListChanged", Change::PromptsListChanged),
        ("resourcesListChanged", Change::ResourcesListChanged),
    ];
    for (requested, _) in &changes {
        let listener = Filter::new(&filter(json!({*requested: true}))).expect("a small filter");
        for (kind, change) in &changes {
            assert_eq!(
                listener.accepts(change),
                kind == requested,
                "{kind} {requested}"
            );
        }
        assert!(!listener.accepts(&Change::ResourceUpdated("a:b".to_owned())));
        assert!(!listener.accepts(&Change::Task("t".to_owned())));
    }
    let tasks = Filter::new(&filter(json!({"taskIds": ["t"]}))).expect("a small filter");
    assert!(tasks.accepts(&Change::Task("t".to_owned())));
    assert!(!tasks.accepts(&Change::Task("t2".to_owned())));
}

#[test]
fn subscribed_uri_covers_itself_and_its_sub_resources() {
    let check = |subscribed: &str, changed: &str, expected: bool| {
        let listener = Filter::new(&filter(json!({"resourceSubscriptions": [subscribed]})))
            .expect("a small filter");
        let change = Change::ResourceUpdated(changed.to_owned());
        assert_eq!(
            listener.accepts(&change),
            expected,
            "{subscribed} {changed}"
        );
    };
    check("file:///a", "file:///a", true);
    check("file:///a", "file:///a/b/c", true);
    check("file:///a/", "file:///a/b", true);
    check("file:///a", "file:///a?x=1", true);
    check("file:///a", "file:///a#top", true);
    check("file:///a", "file:///ab", false);
    check("file:///a/b", "file:///a", false);
    check("file:///", "file:///a", true);
    check("file:", "file:///a", false);
    check("file://", "file:///a", false);
    check("https://", "https://x.test/a", false);
    check("https:/", "https://x.test/a", false);
    check("https://x.test", "https://x.test/a", true);
    check("https://x.test", "https://x.test.evil/a", false);
    check("note:1", "note:1/part", true);
    check("ü:ä", "ü:ä/ö", true);
    check("", "file:///a", false);
}

#[test]
fn filter_may_name_1024_uris() {
    for (count, fits) in [(1023, true), (1024, true), (1025, false)] {
        for member in ["resourceSubscriptions", "taskIds"] {
            let names: Vec<_> = (0..count).map(|number| format!("a:{number}")).collect();
            let outcome = Filter::new(&filter(json!({ member: names })));
            assert_eq!(outcome.is_ok(), fits, "{member} {count}");
            if let Err(error) = outcome {
                assert_eq!(error.code, -32602);
            }
        }
    }
}

#[test]
fn uri_of_a_filter_may_have_8_kib() {
    for (bytes, fits) in [(MAX_URI_BYTES, true), (MAX_URI_BYTES + 1, false)] {
        for member in ["resourceSubscriptions", "taskIds"] {
            let names = ["a".repeat(bytes)];
            let outcome = Filter::new(&filter(json!({ member: names })));
            assert_eq!(outcome.is_ok(), fits, "{member} {bytes}");
            if let Err(error) = outcome {
                assert_eq!(error.code, -32602);
                assert!(error.message.contains(member), "{}", error.message);
            }
        }
    }
}

#[test]
fn all_names_of_a_filter_may_have_64_kib() {
    for (bytes, fits) in [(MAX_FILTER_BYTES, true), (MAX_FILTER_BYTES + 1, false)] {
        let mut uris: Vec<_> = (0..15).map(|n| format!("{n:04}").repeat(1024)).collect();
        let rest = bytes - uris.iter().map(String::len).sum::<usize>();
        let tasks = [uris.pop().expect("there are 15"), "t".repeat(rest)];
        let value = json!({"resourceSubscriptions": uris, "taskIds": tasks});
        let outcome = Filter::new(&filter(value));
        assert_eq!(outcome.is_ok(), fits, "{bytes}");
        match outcome {
            Ok(filter) => assert!(filter.memory_bytes() > 2 * bytes),
            Err(error) => assert_eq!(error.code, -32602),
        }
    }
}

#[test]
fn each_change_has_its_notification() {
    let check = |change: Change, expected: Value| {
        let notification = change.to_notification().expect("it needs no task");
        assert_eq!(serde_json::to_value(notification).expect("json"), expected);
    };
    check(
        Change::ToolsListChanged,
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
    );
    check(
        Change::PromptsListChanged,
        json!({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}),
    );
    check(
        Change::ResourcesListChanged,
        json!({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}),
    );
    check(
        Change::ResourceUpdated("a:b".to_owned()),
        json!({
            "jsonrpc": "2.0", "method": "notifications/resources/updated",
            "params": {"uri": "a:b"},
        }),
    );
    assert!(Change::Task("t".to_owned()).to_notification().is_none());
}

#[test]
fn stamp_keeps_the_type_of_the_id_and_other_members() {
    let check = |params: Option<Value>, id: RequestId, expected: Value| {
        let plain = Notification::new("notifications/x", params.map(RawJson::from));
        let stamped = stamp(plain, &id).params.expect("the id is in there");
        assert_eq!(stamped, expected.into());
        assert_eq!(subscription_of(stamped.as_raw_value()), Some(id));
    };
    let key = meta_key::SUBSCRIPTION_ID;
    check(None, 1.into(), json!({"_meta": {key: 1}}));
    check(None, "1".into(), json!({"_meta": {key: "1"}}));
    check(None, "".into(), json!({"_meta": {key: ""}}));
    check(
        Some(json!({"uri": "a:b", "_meta": {"other": [1], key: "old"}})),
        7.into(),
        json!({"uri": "a:b", "_meta": {"other": [1], key: 7}}),
    );
    check(
        Some(json!({"_meta": 3})),
        7.into(),
        json!({"_meta": {key: 7}}),
    );
}

#[test]
fn acknowledgement_has_the_subscription_and_the_accepted_filter() {
    let granted = SubscriptionFilter::new().with_tools_list_changed();
    let notification = acknowledgement(&"listen-1".into(), granted);
    assert_eq!(
        serde_json::to_value(notification).expect("json"),
        json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {
                "_meta": {meta_key::SUBSCRIPTION_ID: "listen-1"},
                "notifications": {"toolsListChanged": true},
            },
        })
    );
}

#[test]
fn task_notification_contains_the_whole_task() {
    let notification = task_notification(json!({"taskId": "t", "status": "working"}).into());
    assert_eq!(notification.method, "notifications/tasks");
    assert!(subscription_of(RawJson::empty_object().as_raw_value()).is_none());
}
