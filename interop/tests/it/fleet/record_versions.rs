//! Nodes of two versions: records and messages that a newer node has written.

use serde_json::json;
use toolwire_interop::Fleet;
use toolwire_tests::peer::legacy;

use super::ledger::Failure;
use super::node_client::{NodeClient, in_session};
use super::scenarios::input_requests;

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
    run_script(fleet, &script, "replaced");
}

/// Adds a member to the record of every session and of every task, as a node of a newer version does.
pub(super) fn add_member_to_records(fleet: &Fleet, name: &str) {
    replace_sessions(fleet, r"\x01", &format!(r"\x22{name}\x22:\x22red\x22,"));
    let script = format!(
        "for _, key in ipairs(redis.call('KEYS', 'tw:toolwire-demo:{{tasks}}:t:*')) do \
         local record = redis.call('HGET', key, 'record') \
         redis.call('HINCRBY', key, 'revision', 1) \
         redis.call('HSET', key, 'record', '{{\\x22{name}\\x22:\\x22red\\x22,' .. string.sub(record, 2)) end \
         return 'replaced'"
    );
    run_script(fleet, &script, "replaced");
}

/// Sends a message on the bus, and one to every node, that this version does not know.
pub(super) fn send_unknown_messages(fleet: &Fleet) {
    let script = "redis.call('PUBLISH', 'tw:toolwire-demo:bus', '{\\x22colour\\x22:\\x22red\\x22}') \
         local message = string.rep('0', 16) .. '{\\x22colour\\x22:\\x22red\\x22}' \
         for _, lease in ipairs(redis.call('KEYS', 'tw:toolwire-demo:{m:*}:o')) do \
         local messages = string.sub(lease, 1, -2) .. 'l' \
         redis.call('RPUSH', messages, message) \
         redis.call('PEXPIRE', messages, 60000) \
         redis.call('HINCRBY', lease, 'bytes', #message) \
         redis.call('HSET', lease, 'last_id', string.sub(message, 1, 16)) \
         redis.call('PUBLISH', redis.call('HGET', lease, 'channel'), lease) end \
         return 'sent'";
    run_script(fleet, script, "sent");
}

fn run_script(fleet: &Fleet, script: &str, expected: &str) {
    let returned = fleet.engine_command(&format!("EVAL \"{script}\" 0"));
    let returned = returned.unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(returned, expected);
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

/// A part of the log message of a node about a message that it cannot read.
const UNREADABLE: &str = "a message of another node cannot be read";

#[tokio::test(flavor = "multi_thread")]
async fn unknown_messages_are_ignored_with_a_warning() {
    let mut fleet = Fleet::start(2).unwrap_or_else(|problem| panic!("{problem}"));
    let client = NodeClient::new(fleet.addresses());
    send_unknown_messages(&fleet);
    // Each node gets the responses to its input requests after the unknown messages, through the same mailbox.
    for _ in 0..4 {
        input_requests::ask_in_session(&client).await.unwrap();
    }
    let logged = tokio::task::block_in_place(|| fleet.drain_node(0));
    let logged = logged.unwrap_or_else(|problem| panic!("{problem}"));
    let warnings = logged.iter().filter(|line| line.contains(UNREADABLE));
    // One for the message on the bus, and one for the message in the mailbox.
    assert_eq!(warnings.count(), 2, "{logged:?}");
}
