//! A client of toolwire that resumes streams, responds to input requests, cancels, listens and waits for tasks.
//!
//! It does not choose nodes: all requests go through the balancer.

use std::sync::Arc;
use std::sync::Mutex as StdMutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::timeout;
use toolwire::types::{ElicitResult, SubscriptionFilter};
use toolwire::{Called, Client, Error, ProtocolVersion, Subscription};

use crate::fleet::executions::{self, Executions};
use crate::fleet::ledger::{Failure, Ledger};
use crate::fleet::node_client::expect_equal;
use crate::fleet::scenarios::changes::RESOURCE;

/// How long a call of the client waits for a response or for progress.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest time until a subscription delivers a change: longer than any fault.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The number of progress notifications of a call.
const STEPS: u32 = 6;

/// A client, its operations and the names under which they are recorded.
#[derive(Debug)]
pub(crate) struct FullClient {
    client: Client,
    names: &'static Names,
    executions: Arc<Executions>,
    ledger: Arc<Ledger>,
    /// How often the client has sent `initialize` since the last operation: its session was lost.
    initialized: Arc<AtomicUsize>,
    subscription: Mutex<Option<Subscription>>,
}

/// The names of the operations of one era.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) progress: &'static str,
    pub(crate) input: &'static str,
    pub(crate) cancel: &'static str,
    pub(crate) listen: &'static str,
    pub(crate) task: &'static str,
}

pub(crate) const MODERN: Names = Names {
    progress: "modern client: progress",
    input: "modern client: input request",
    cancel: "modern client: cancellation",
    listen: "modern client: subscription",
    task: "modern client: task",
};

pub(crate) const LEGACY: Names = Names {
    progress: "legacy client: progress",
    input: "legacy client: input request",
    cancel: "legacy client: cancellation",
    listen: "legacy client: subscription",
    task: "legacy client: task",
};

impl FullClient {
    /// Connects a client of this revision.
    pub(crate) async fn connect(
        url: &str,
        version: ProtocolVersion,
        names: &'static Names,
        executions: &Arc<Executions>,
        ledger: &Arc<Ledger>,
    ) -> Self {
        let initialized = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&initialized);
        let client = Client::builder("workshop", "1.0.0")
            .with_versions([version])
            .with_timeout(CALL_TIMEOUT)
            .with_tasks()
            .on_elicitation(|_| async {
                Ok(ElicitResult::accept().with_content([("confirmed", true)]))
            })
            .on_wire_message(move |message| {
                let is_initialize = message
                    .bytes
                    .windows(12)
                    .any(|part| part == b"\"initialize\"");
                if message.is_sent && is_initialize {
                    counted.fetch_add(1, Ordering::SeqCst);
                }
            })
            .connect(url)
            .await;
        let client = client.expect("the nodes serve clients");
        initialized.store(0, Ordering::SeqCst);
        Self {
            client,
            names,
            executions: Arc::clone(executions),
            ledger: Arc::clone(ledger),
            initialized,
            subscription: Mutex::new(None),
        }
    }

    /// Runs all operations, one after the other, and records each.
    pub(crate) async fn run_all(&self) {
        let (ledger, names) = (&self.ledger, self.names);
        ledger.record(names.progress, self.progress()).await;
        ledger.record(names.input, self.respond()).await;
        ledger.record(names.cancel, self.cancel()).await;
        ledger.record(names.listen, self.listen()).await;
        ledger.record(names.task, self.run_task()).await;
    }

    /// Counts down, with all progress and no progress twice. A legacy client resumes a stream that breaks.
    async fn progress(&self) -> Result<(), Failure> {
        let steps = Arc::<StdMutex<Vec<f64>>>::default();
        let received = Arc::clone(&steps);
        let arguments = json!({"from": STEPS, "delay_ms": 20});
        let result = self.client.call_tool("countdown", arguments);
        let result = result.on_progress(move |step| {
            let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
            received.push(step.progress);
        });
        let result = self.outcome(result.await)?;
        expect_equal(result.all_text(), format!("counted down from {STEPS}"))?;
        let steps = steps.lock().unwrap_or_else(PoisonError::into_inner);
        let expected: Vec<f64> = (1..=STEPS).map(f64::from).collect();
        expect_equal(&*steps, &expected)
    }

    /// Responds to an input request in a result, and to one of a running call.
    async fn respond(&self) -> Result<(), Failure> {
        for (tool, expected) in [("confirm", "confirmed"), ("approve", "approved")] {
            let called = self.client.call_tool(tool, json!({"question": "Really?"}));
            let result = self.outcome(called.await)?;
            expect_equal(result.all_text(), expected.to_owned())?;
        }
        Ok(())
    }

    /// Drops a call that would run for minutes. At the end of the trial, no node runs it any more.
    async fn cancel(&self) -> Result<(), Failure> {
        let arguments = json!({"from": 10_000, "delay_ms": 50});
        let call = self.client.call_tool("countdown", arguments);
        let (call, mut progress) = call.with_progress();
        let mut call = Box::pin(call.into_future());
        tokio::select! {
            ended = &mut call => {
                self.outcome(ended)?;
                Err(Failure::Wrong("the call ended before its progress".to_owned()))
            }
            Some(_) = progress.next() => Ok(()),
        }
    }

    /// Changes a resource, and waits until the subscription delivers a change. Opens the subscription if there is none.
    async fn listen(&self) -> Result<(), Failure> {
        let mut subscription = self.subscription.lock().await;
        if subscription.is_none() {
            let filter = SubscriptionFilter::new().with_resource(RESOURCE);
            *subscription = Some(self.outcome(self.client.listen(filter).await)?);
        }
        let Some(changes) = &mut *subscription else {
            return Ok(());
        };
        self.outcome(self.client.call_tool("bump", json!({})).await)?;
        let next = timeout(CHANGE_TIMEOUT, changes.next()).await;
        match next {
            Ok(Ok(Some(_))) => Ok(()),
            Ok(ended) => {
                *subscription = None;
                self.outcome(ended)?;
                Err(Failure::Unavailable(
                    "the subscription has ended".to_owned(),
                ))
            }
            Err(_) => {
                *subscription = None;
                Err(Failure::Wrong(
                    "the subscription delivers no change".to_owned(),
                ))
            }
        }
    }

    /// Waits for the result of a call that becomes a task.
    async fn run_task(&self) -> Result<(), Failure> {
        let key = self.executions.next_key(self.names.task);
        let call = self
            .client
            .call_tool(executions::TOOL, executions::arguments(&key));
        let called = self.outcome(call.as_task().await)?;
        let Called::Task(task) = called else {
            return Err(Failure::Wrong("the call has not become a task".to_owned()));
        };
        let result = self.outcome(task.wait().await)?;
        expect_equal(result.all_text(), "printed".to_owned())?;
        self.executions.record_success(key);
        Ok(())
    }

    /// Returns a result, or why there is none. A session that the client had to open again was lost.
    fn outcome<T>(&self, outcome: Result<T, Error>) -> Result<T, Failure> {
        if self.initialized.swap(0, Ordering::SeqCst) > 0 {
            return Err(Failure::Lost("the session was opened again".to_owned()));
        }
        outcome.map_err(|error| match error.http_status() {
            Some(404) => Failure::Lost(format!("{error:?}")),
            _ if error.is_task_gone() => Failure::Lost(format!("{error:?}")),
            _ => Failure::Unavailable(format!("{error:?}")),
        })
    }
}
