//! The keys of request states are replaced on all nodes, one after the other, while clients make calls of two rounds.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::task::JoinSet;
use tokio::time::{Duration, sleep, timeout};
use toolwire_interop::Fleet;

use super::ledger::Failure;
use super::node_client::NodeClient;
use super::scenarios::input_requests::ask_in_result;

const NODES: usize = 3;
const CLIENTS: usize = 4;

/// The calls of each client that begin and end between two replacements of all nodes.
const CALLS: usize = 3;

/// The timeout of these calls.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A file with a key, which is removed at the end.
struct KeyFile(PathBuf);

impl KeyFile {
    fn new(byte: u8) -> Self {
        let name = format!("toolwire-rotated-{}-{byte}.key", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, [byte; 32]).expect("the key is written");
        Self(path)
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns the arguments of a node with these keys.
fn arguments(keys: &[&KeyFile]) -> Vec<OsString> {
    let paths = keys.iter().map(|key| Path::new(&key.0));
    paths
        .flat_map(|path| ["--state-key".into(), path.into()])
        .collect()
}

/// Clients that make calls of two rounds until they are stopped.
struct Callers {
    running: JoinSet<Result<(), Failure>>,
    /// The number of calls of each client that succeeded.
    calls: Arc<[AtomicUsize]>,
    is_ending: Arc<AtomicBool>,
}

impl Callers {
    fn start(client: &NodeClient) -> Self {
        let calls: Arc<[AtomicUsize]> = (0..CLIENTS).map(|_| AtomicUsize::new(0)).collect();
        let is_ending = Arc::new(AtomicBool::new(false));
        let mut running = JoinSet::new();
        for number in 0..CLIENTS {
            let (client, calls) = (client.clone(), Arc::clone(&calls));
            let is_ending = Arc::clone(&is_ending);
            running.spawn(async move {
                while !is_ending.load(Ordering::Relaxed) {
                    ask_in_result(&client).await?;
                    calls[number].fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            });
        }
        Self {
            running,
            calls,
            is_ending,
        }
    }

    /// Waits until no call runs that had begun before. Fails if a call fails.
    async fn wait_for_calls(&mut self) {
        let count = |calls: &AtomicUsize| calls.load(Ordering::Relaxed);
        let before: Vec<usize> = self.calls.iter().map(count).collect();
        let has_called = |calls: &[AtomicUsize]| {
            let mut both = calls.iter().map(count).zip(&before);
            both.all(|(now, before)| now >= before + CALLS)
        };
        let waiting = async {
            while !has_called(&self.calls) {
                if let Some(ended) = self.running.try_join_next() {
                    panic!("a client ended: {ended:?}");
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(TIMEOUT, waiting).await.expect("clients make calls");
    }

    /// Ends the clients. All their calls must succeed.
    async fn end(mut self) {
        self.is_ending.store(true, Ordering::Relaxed);
        while let Some(ended) = self.running.join_next().await {
            let outcome = ended.expect("no client panics");
            outcome.unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_rotated_without_a_failed_call() {
    let (old, new) = (KeyFile::new(1), KeyFile::new(2));
    let fleet = Fleet::start_with_arguments(NODES, arguments(&[&old]));
    let mut fleet = fleet.unwrap_or_else(|problem| panic!("{problem}"));
    let client = NodeClient::new(fleet.addresses());
    let mut callers = Callers::start(&client);
    callers.wait_for_calls().await;
    for keys in [&[&old, &new][..], &[&new, &old], &[&new]] {
        fleet.set_arguments(arguments(keys));
        let replaced = tokio::task::block_in_place(|| fleet.replace_nodes());
        replaced.unwrap_or_else(|problem| panic!("{problem}"));
        callers.wait_for_calls().await;
    }
    callers.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn key_that_other_nodes_do_not_have_fails_calls() {
    let (old, new) = (KeyFile::new(3), KeyFile::new(4));
    let fleet = Fleet::start_with_arguments(1, arguments(&[&old]));
    let mut fleet = fleet.unwrap_or_else(|problem| panic!("{problem}"));
    fleet.set_arguments(arguments(&[&new]));
    fleet
        .add_node()
        .unwrap_or_else(|problem| panic!("{problem}"));
    let failed = ask_in_result(&NodeClient::new(fleet.addresses())).await;
    let reason = failed.expect_err("no node opens the state of the other");
    assert!(reason.to_string().contains("requestState"), "{reason}");
}
