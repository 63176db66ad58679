//! The task of a relay that ends what has expired, and opens lost sessions again.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::relay::connection::UpstreamConnection;
use crate::relay::inner::RelayInner;
use crate::relay::session_opening::close_in_task;
use crate::relay::sessions::Handshake;

/// The time between two runs.
const INTERVAL: Duration = Duration::from_secs(2);

/// Runs until the relay is closed or dropped.
pub(super) async fn run(relay: Weak<RelayInner>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(relay) = relay.upgrade() else {
            return;
        };
        if relay.connector.check_open().is_err() {
            return;
        }
        let idle = relay.connector.idle.take_expired();
        let unused = relay.shared.take_expired(relay.connector.idle_timeout());
        for connection in idle.into_iter().chain(unused) {
            close_connection(connection);
        }
        for abandoned in relay.sessions.take_abandoned() {
            close_in_task(abandoned);
        }
        relay.parked.expire();
        // A connection becomes unused without a notification.
        relay.connector.retry_waiting();
        reopen_lost(&relay);
    }
}

fn close_connection(connection: UpstreamConnection) {
    tokio::spawn(async move { connection.close().await });
}

/// Opens the lost sessions of clients again, so that they learn about changes without a request of theirs.
fn reopen_lost(relay: &Arc<RelayInner>) {
    for session in relay.sessions.lost() {
        let is_reopening = session.reopening.try_lock().is_err();
        if is_reopening || matches!(session.handshake(), Handshake::Initializing) {
            continue;
        }
        let relay = Arc::clone(relay);
        tokio::spawn(async move {
            if let Err(error) = relay.upstream_of(&session).await {
                tracing::debug!(%error, "a lost session with the upstream server was not opened again");
            }
        });
    }
}
