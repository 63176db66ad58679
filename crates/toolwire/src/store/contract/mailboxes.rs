//! Contract tests for mailboxes.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::{sleep, timeout};
use toolwire_types::{ErrorObject, RawJson, RequestId};

use crate::engine::TokenInfo;
use crate::store::contract::{in_time, ok, unique_name};
use crate::store::{Mailbox, Mailboxes, NodeMessage, StoreError};

/// Checks [`Mailboxes`]. Each call of `connect` returns a connection to the same store, as each node has one.
///
/// # Panics
/// Panics if the store violates a rule. The message names the rule.
pub async fn mailboxes<M: Mailboxes + 'static>(connect: impl AsyncFn() -> Arc<M>) {
    let [first, second] = [connect().await, connect().await];
    let first: &dyn Mailboxes = &*first;
    let second: &dyn Mailboxes = &*second;
    message_reaches_one_mailbox(first, second).await;
    messages_arrive_in_order(first, second).await;
    waiting_node_is_woken(first, second).await;
    dropped_wait_loses_nothing(first, second).await;
    closed_mailbox_is_absent(first, second).await;
}

/// Checks the limit of a mailbox in which `limit` small messages may wait.
///
/// # Panics
/// Panics if the store violates a rule. The message names the rule.
pub async fn mailboxes_bound(mailboxes: &dyn Mailboxes, limit: usize) {
    let rule = "messages beyond the limit of a mailbox are rejected, until others were taken";
    let mut mailbox = open(mailboxes).await;
    let node = mailbox.node();
    for number in 0..limit {
        send(rule, mailboxes, node, &numbered(number)).await;
    }
    let rejected = mailboxes.send(node, &numbered(limit)).await;
    assert!(
        matches!(rejected, Err(StoreError::Full)),
        "{rule}: {rejected:?}"
    );
    let other = open(mailboxes).await;
    send(rule, mailboxes, other.node(), &numbered(0)).await;
    for number in 0..limit {
        assert_eq!(next(rule, &mut *mailbox).await, numbered(number), "{rule}");
    }
    // A store may count a message until its node waits for the next one.
    let send_when_possible = in_time(rule, async {
        while let Err(StoreError::Full) = mailboxes.send(node, &numbered(limit)).await {
            sleep(Duration::from_millis(10)).await;
        }
    });
    let (received, ()) = tokio::join!(next(rule, &mut *mailbox), send_when_possible);
    assert_eq!(received, numbered(limit), "{rule}");
}

async fn open(mailboxes: &dyn Mailboxes) -> Box<dyn Mailbox> {
    ok("open", mailboxes.open().await)
}

/// Sends a message to a mailbox that exists.
async fn send(rule: &str, mailboxes: &dyn Mailboxes, node: NonZeroU16, message: &NodeMessage) {
    let sent = ok("send", mailboxes.send(node, message).await);
    assert!(sent, "{rule}: there is no mailbox {node}");
}

async fn next(rule: &str, mailbox: &mut dyn Mailbox) -> NodeMessage {
    let next = in_time(rule, mailbox.next()).await;
    next.unwrap_or_else(|| panic!("{rule}: the number was lost"))
}

/// Returns small messages of one size.
fn numbered(number: usize) -> NodeMessage {
    NodeMessage::Response {
        session: "session".to_owned(),
        id: RequestId::from(i64::try_from(number % 10).unwrap_or_default()),
        outcome: Ok(RawJson::empty_object()),
    }
}

/// Returns one message of each kind.
fn all_messages() -> Vec<NodeMessage> {
    let token = TokenInfo {
        valid: true,
        subject: Some("änn".to_owned()),
        expires_at: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000)),
        ..TokenInfo::default()
    };
    let session = unique_name("session");
    vec![
        NodeMessage::Response {
            session: session.clone(),
            id: RequestId::from((1 << 53) - 1),
            outcome: Ok(RawJson::from(serde_json::json!({ "ä": [1.5, null, "\n"] }))),
        },
        NodeMessage::Response {
            session: session.clone(),
            id: RequestId::from("7"),
            outcome: Err(ErrorObject::invalid_params("no")),
        },
        NodeMessage::StreamMessage {
            session: session.clone(),
            message: RawJson::from(serde_json::json!({ "jsonrpc": "2.0" })),
            token: Arc::new(token),
        },
        NodeMessage::StreamMessage {
            session,
            message: RawJson::from(serde_json::json!({ "text": "x".repeat(200_000) })),
            token: Arc::default(),
        },
    ]
}

async fn message_reaches_one_mailbox(first: &dyn Mailboxes, second: &dyn Mailboxes) {
    let rule = "a message reaches the mailbox with the number, and no other";
    let [mut one, mut two, mut three] = [open(first).await, open(first).await, open(second).await];
    let nodes = [one.node(), two.node(), three.node()];
    let is_unique = nodes[0] != nodes[1] && nodes[0] != nodes[2] && nodes[1] != nodes[2];
    assert!(is_unique, "no two nodes have the same number: {nodes:?}");
    let messages = all_messages();
    for message in &messages {
        for sender in [first, second] {
            send(rule, sender, one.node(), message).await;
            send(rule, sender, three.node(), message).await;
        }
    }
    for message in &messages {
        for _ in 0..2 {
            assert_eq!(next(rule, &mut *one).await, *message, "{rule}");
            assert_eq!(next(rule, &mut *three).await, *message, "{rule}");
        }
    }
    let silence = Duration::from_millis(20);
    assert!(timeout(silence, two.next()).await.is_err(), "{rule}");
}

async fn messages_arrive_in_order(first: &dyn Mailboxes, second: &dyn Mailboxes) {
    let rule = "messages arrive in the order in which they were sent, each once";
    let mut mailbox = open(first).await;
    let node = mailbox.node();
    let sending = async {
        for number in 0..50 {
            send(rule, second, node, &numbered(number)).await;
            tokio::task::yield_now().await;
        }
    };
    let receiving = async {
        for number in 0..50 {
            assert_eq!(next(rule, &mut *mailbox).await, numbered(number), "{rule}");
        }
    };
    tokio::join!(sending, receiving);
}

async fn waiting_node_is_woken(first: &dyn Mailboxes, second: &dyn Mailboxes) {
    let rule = "a node that waits is woken by a message";
    let mut mailbox = open(first).await;
    let node = mailbox.node();
    for number in 0..2 {
        let sending = async {
            sleep(Duration::from_millis(20)).await;
            send(rule, second, node, &numbered(number)).await;
        };
        let (received, ()) = tokio::join!(next(rule, &mut *mailbox), sending);
        assert_eq!(received, numbered(number), "{rule}");
    }
}

async fn dropped_wait_loses_nothing(first: &dyn Mailboxes, second: &dyn Mailboxes) {
    let rule = "a message is not lost when a wait for it was dropped";
    let mut mailbox = open(first).await;
    for number in 0..6 {
        let _ = timeout(Duration::from_millis(number as u64 % 3), mailbox.next()).await;
        send(rule, second, mailbox.node(), &numbered(number)).await;
        assert_eq!(next(rule, &mut *mailbox).await, numbered(number), "{rule}");
    }
}

async fn closed_mailbox_is_absent(first: &dyn Mailboxes, second: &dyn Mailboxes) {
    let rule = "a message to the number of no node is reported at once";
    let mailbox = open(first).await;
    let node = mailbox.node();
    send(rule, second, node, &numbered(1)).await;
    drop(mailbox);
    let absent = async {
        while ok("send", second.send(node, &numbered(2)).await) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    in_time(rule, absent).await;
}
