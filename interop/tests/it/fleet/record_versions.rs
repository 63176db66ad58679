//! Nodes of two versions: records that a newer node has written.

use serde_json::json;
use toolwire_interop::Fleet;
use toolwire_tests::peer::legacy;

use super::ledger::Failure;
use super::node_client::{NodeClient, in_session};

/// Replaces every session, as a node of another version does. A value is a revision of 8 bytes, a format of one byte, and
/// a JSON object. `format` and `first_members` are texts of the engine, in which `\x01` is a byte.
fn replace_sessions(fleet: &Fleet, format: &str, first_members: &str) {
    let script = format!(
        "for _, key in ipairs(redis.call('KEYS', 'tw:toolwire-demo:{{s:*}}:s:*')) do \
         local value = redis.call('GET', key) \
         local revision = string.sub(value, 1, 6) .. string.char(string.byte(value, 7) + 1, 0) \
         local members = string.sub(value, 11) \
         redis.call('SET', key, revision .. '{format}{{{first_members}' .. members, 'KEEPTTL') end \
         return 'replaced'"
    );
    let replaced = fleet.engine_command(&format!("EVAL \"{script}\" 0"));
    let replaced = replaced.unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(replaced, "replaced");
}

/// Returns whether all sessions contain a text.
fn all_contain(fleet: &Fleet, text: &str) -> bool {
    let script = format!(
        "for _, key in ipairs(redis.call('KEYS', 'tw:toolwire-demo:{{s:*}}:s:*')) do \
         if not string.find(redis.call('GET', key), '{text}', 1, true) then return 'no' end end \
         return 'yes'"
    );
    let found = fleet.engine_command(&format!("EVAL \"{script}\" 0"));
    found.unwrap_or_else(|problem| panic!("{problem}")) == "yes"
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_newer_records_stay_and_newer_formats_are_unavailable() {
    let fleet = Fleet::start(2).unwrap_or_else(|problem| panic!("{problem}"));
    let client = NodeClient::new(fleet.addresses());
    let session = client.open_session().await.unwrap();
    let set_level = |level: &str| {
        let set_level = legacy(1, "logging/setLevel", json!({"level": level}));
        in_session(&session, &set_level)
    };

    replace_sessions(&fleet, r"\x01", r"\x22colour\x22:\x22red\x22,");
    for level in ["error", "alert"] {
        let node = client.next_node();
        client.result_of(&node, &set_level(level)).await.unwrap();
        assert!(all_contain(&fleet, level), "the record was replaced");
        assert!(all_contain(&fleet, "colour"), "the new member stays");
    }

    replace_sessions(&fleet, r"\x7f", "");
    for _ in 0..2 {
        // A client that gets 404 would give up the session.
        let rejected = client
            .result_of(&client.next_node(), &set_level("info"))
            .await;
        let is_unavailable =
            matches!(&rejected, Err(Failure::Unavailable(reason)) if reason.starts_with("503"));
        assert!(is_unavailable, "{rejected:?}");
    }
    replace_sessions(&fleet, r"\x01", "");
    client
        .result_of(&client.next_node(), &set_level("info"))
        .await
        .unwrap();
}
