//! The memory of calls that wait for input of their clients. The server has a revision in which it waits for the response.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use memchr::memmem;
use serde_json::json;
use tokio::task::JoinSet;
use toolwire_types::{ProtocolVersion, meta_key};

use crate::comparison::Sample;
use crate::http1::Target;
use crate::load::{Connection, Destination};
use crate::process::ServerProcess;

/// The number of calls before the measurement, so that one-time costs are not included.
const CALLS_BEFORE: usize = 20;

/// The number of connections of clients. A parked call needs none.
const CONNECTIONS: usize = 8;

/// The number of files of a program for a parked call or a session: its connections to the server, or those that it accepts.
const FILES_EACH: usize = 4;

/// Returns the number of files that a program may have open with this many calls or sessions.
pub(super) fn open_files(count: usize) -> u64 {
    ((count + CALLS_BEFORE) * FILES_EACH + 100) as u64
}

/// Starts calls that the server asks for input, and leaves them.
pub(super) async fn start(proxy: &ServerProcess, calls: usize) -> io::Result<Sample> {
    let destination = Destination::new(proxy.url(), None)?;
    park(&destination, CALLS_BEFORE).await?;
    let before = proxy.memory();
    park(&destination, calls).await?;
    let memory = before.zip(proxy.memory());
    Ok(Sample {
        bytes_each: memory.map(|(before, after)| {
            after.resident.saturating_sub(before.resident) as f64 / calls as f64
        }),
        ..Sample::default()
    })
}

async fn park(destination: &Destination, calls: usize) -> io::Result<()> {
    let left = Arc::new(AtomicUsize::new(calls));
    let mut clients = JoinSet::new();
    for _ in 0..CONNECTIONS.min(calls) {
        let (destination, left) = (destination.clone(), Arc::clone(&left));
        clients.spawn(async move {
            let mut connection = Connection::connect(&destination).await?;
            connection.set_request(&call(&destination.target));
            let one_less = |left: usize| left.checked_sub(1);
            while left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
                .is_ok()
            {
                let response = connection.exchange().await?;
                if memmem::find(response.body, b"\"input_required\"").is_none() {
                    let body = String::from_utf8_lossy(response.body);
                    return Err(io::Error::other(format!(
                        "not an input request: {body:.300}"
                    )));
                }
            }
            Ok(())
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(())
}

/// Returns a call of the tool `approve` of `toolwire demo`.
fn call(target: &Target) -> Vec<u8> {
    let params = json!({
        "name": "approve",
        "arguments": { "question": "Go?" },
        "_meta": {
            meta_key::PROTOCOL_VERSION: ProtocolVersion::LATEST.as_str(),
            meta_key::CLIENT_CAPABILITIES: { "elicitation": {} },
        },
    });
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    target.post("tools/call", Some("approve"), &message.to_string())
}
