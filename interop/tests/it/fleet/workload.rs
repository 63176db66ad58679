//! Runs all scenarios side by side before, during and after a fault.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use toolwire::ProtocolVersion;
use toolwire_interop::Fleet;

use super::ledger::{Failure, Ledger, Permitted, Phase};
use super::leftovers;
use super::node_client::NodeClient;
use super::scenarios::calls::{Caller, LongSession};
use super::scenarios::changes::Listeners;
use super::scenarios::client::{self, FullClient};
use super::scenarios::{http_sse, input_requests, streams, tasks};

/// Calls of 2026-07-28 through the balancer.
pub(super) const MODERN_CALL: &str = "modern call";

/// Requests of one session, in turn on all nodes.
pub(super) const SESSION: &str = "session";

/// Calls that a client cancels on another node.
pub(super) const CANCELLED_CALL: &str = "cancelled call";

/// The names of all operations.
const OPERATIONS: [&str; 21] = [
    MODERN_CALL,
    "legacy call",
    SESSION,
    "resumed stream",
    CANCELLED_CALL,
    "input request in a session",
    "input request in a result",
    "change",
    "task",
    "legacy task",
    "2024-11-05 call",
    client::MODERN.progress,
    client::MODERN.input,
    client::MODERN.cancel,
    client::MODERN.listen,
    client::MODERN.task,
    client::LEGACY.progress,
    client::LEGACY.input,
    client::LEGACY.cancel,
    client::LEGACY.listen,
    client::LEGACY.task,
];

/// The pause of a client between two operations.
const PAUSE: Duration = Duration::from_millis(150);

/// An operation of a client.
type Operation<C> =
    for<'a> fn(&'a C) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// Clients that use the fleet until the end of a trial.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) ledger: Arc<Ledger>,
    is_ending: Arc<AtomicBool>,
    running: JoinSet<()>,
    client: NodeClient,
}

impl Workload {
    /// Starts the clients, and waits until each operation has succeeded.
    pub(super) async fn start(fleet: &Fleet) -> Self {
        let mut workload = Self {
            ledger: Arc::new(Ledger::new()),
            is_ending: Arc::new(AtomicBool::new(false)),
            running: JoinSet::new(),
            client: NodeClient::new(fleet.addresses()),
        };
        let client = workload.client.clone();
        workload.start_callers(fleet, &client).await;
        workload.start_streams(&client);
        let listeners = Listeners::open(&client).await;
        let listeners = listeners.unwrap_or_else(|failure| panic!("{failure}"));
        workload.repeat("change", listeners, |listeners| {
            Box::pin(listeners.change())
        });
        workload.ledger.wait_for_successes(&OPERATIONS, 1).await;
        workload
    }

    async fn start_callers(&mut self, fleet: &Fleet, client: &NodeClient) {
        let (url, executions) = (fleet.url(), &client.executions);
        let caller = Caller::connect(&url, ProtocolVersion::V2026_07_28, executions).await;
        self.repeat(MODERN_CALL, caller, |caller| Box::pin(caller.call_once()));
        let caller = Caller::connect(&url, ProtocolVersion::V2025_11_25, executions).await;
        self.repeat("legacy call", caller, |caller| Box::pin(caller.call()));
        for (version, names) in [
            (ProtocolVersion::V2026_07_28, &client::MODERN),
            (ProtocolVersion::V2025_11_25, &client::LEGACY),
        ] {
            let client = FullClient::connect(&url, version, names, executions, &self.ledger).await;
            self.run_until_end(client, |client| Box::pin(client.run_all()));
        }
        let session = LongSession::open(client).await;
        let session = session.unwrap_or_else(|failure| panic!("{failure}"));
        self.repeat(SESSION, session, |session| {
            Box::pin(session.call_all_nodes())
        });
    }

    fn start_streams(&mut self, client: &NodeClient) {
        let client = || client.clone();
        self.repeat("resumed stream", client(), |client| {
            Box::pin(streams::resumed_call(client))
        });
        self.repeat(CANCELLED_CALL, client(), |client| {
            Box::pin(streams::cancelled_call(client))
        });
        self.repeat("input request in a session", client(), |client| {
            Box::pin(input_requests::ask_in_session(client))
        });
        self.repeat("input request in a result", client(), |client| {
            Box::pin(input_requests::ask_in_result(client))
        });
        self.repeat("task", client(), |client| {
            Box::pin(tasks::run_tasks(client))
        });
        self.repeat("legacy task", client(), |client| {
            Box::pin(tasks::run_legacy_task(client))
        });
        self.repeat("2024-11-05 call", client(), |client| {
            Box::pin(http_sse::call(client))
        });
    }

    /// Repeats an operation until the end of the trial, and records it.
    fn repeat<C: Send + Sync + 'static>(
        &mut self,
        name: &'static str,
        client: C,
        operation: Operation<C>,
    ) {
        let ledger = Arc::clone(&self.ledger);
        self.run_until_end((client, ledger), move |(client, ledger)| {
            Box::pin(ledger.record(name, operation(client)))
        });
    }

    /// Repeats operations that are recorded already.
    fn run_until_end<C: Send + Sync + 'static>(
        &mut self,
        client: C,
        run: impl for<'a> Fn(&'a C) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> + Send + 'static,
    ) {
        let is_ending = Arc::clone(&self.is_ending);
        self.running.spawn(async move {
            while !is_ending.load(Ordering::Relaxed) {
                run(&client).await;
                sleep(PAUSE).await;
            }
        });
    }

    /// Starts the fault.
    pub(super) fn start_fault(&self) {
        self.ledger.start_phase(Phase::Fault);
    }

    /// Notes that the fault is over, waits until every operation succeeds again, runs each once more, and judges all
    /// outcomes.
    pub(super) async fn end(mut self, fleet: &Fleet, permitted: &Permitted) {
        self.ledger.note_recovery();
        self.ledger.wait_for_successes(&OPERATIONS, 1).await;
        self.ledger.start_phase(Phase::After);
        self.ledger.wait_for_successes(&OPERATIONS, 1).await;
        self.is_ending.store(true, Ordering::Relaxed);
        // Every operation that has begun gets its outcome.
        while let Some(ended) = self.running.join_next().await {
            ended.expect("no client panics");
        }
        self.ledger.judge(permitted);
        let printed = fleet.printed();
        let printed = printed.unwrap_or_else(|problem| panic!("{problem}"));
        let problems = self.client.executions.problems(&printed);
        assert!(
            problems.is_empty(),
            "{}\n{}",
            problems.join("\n"),
            self.ledger
        );
        if permitted.failures.contains(&(CANCELLED_CALL, 0)) {
            leftovers::wait_for_cancelled_calls(&self.client).await;
        }
        leftovers::check(fleet, &self.client).await;
    }
}
