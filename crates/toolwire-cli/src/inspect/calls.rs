//! The requests that the page sends to the server, and their outcomes.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use serde::Deserialize;
use tokio::sync::watch;
use toolwire::types::ProgressNotificationParams;
use toolwire::{Client, Error, RawJson};
use toolwire_proto::inspection::ExchangeReport;

use crate::inspect::call_outcome::{
    CallError, CallOutcome, CallState, CallSummary, InputExchange, is_error, named,
};
use crate::inspect::call_table::{CallEntry, CallLimits, CallTable, report_bytes, response_bytes};
use crate::inspect::events::PageEvents;
use crate::saved_calls::{SavedCall, SavedResponse};
use crate::sync::lock;

tokio::task_local! {
    /// The call whose request this task sends.
    static CURRENT: u64;
}

/// The number of input requests of a call that are stored. Later ones are not stored.
pub(super) const MAX_INPUTS: usize = 32;

/// The number of reports of the server about one call that are stored. Each round of a call has one. Later ones are only in the
/// log.
pub(super) const MAX_REPORTS: usize = 16;

/// The calls of the page. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Calls {
    table: Arc<Mutex<CallTable>>,
    events: PageEvents,
    limits: CallLimits,
    /// Changes when a call ends.
    ended: Arc<watch::Sender<()>>,
}

impl Calls {
    pub(super) fn new(events: &PageEvents) -> Self {
        Self {
            table: Arc::default(),
            events: events.clone(),
            limits: CallLimits::default(),
            ended: Arc::default(),
        }
    }

    /// Sends a request to the server, and passes the error of the request, if any, to `on_error`. Returns the id of the
    /// call, or `None` if too many calls run.
    pub(super) fn start(
        &self,
        client: Client,
        method: String,
        params: RawJson,
        prepared: Vec<SavedResponse>,
        on_error: impl FnOnce(&Error) + Send + 'static,
    ) -> Option<u64> {
        let name = named(params.get());
        let mut table = self.lock();
        let running = table.by_id.values().filter(|entry| entry.is_running());
        if running.count() >= self.limits.running {
            return None;
        }
        table.last += 1;
        let id = table.last;
        let summary = CallSummary {
            id,
            method: method.clone(),
            name,
            state: CallState::Running,
            took_us: None,
            failed: None,
            progress: None,
            trace_id: None,
            reports: 0,
            inputs: Vec::new(),
        };
        self.events.send("call", &summary);
        let (calls, sent) = (self.clone(), params.clone());
        // The table is locked, so the call cannot end before it is in the table.
        let task = tokio::spawn(async move {
            let progress = calls.clone();
            let request = client
                .request(method, sent)
                .on_progress(move |report| progress.progress(id, report));
            let result = CURRENT.scope(id, request.into_future()).await;
            if let Err(error) = &result {
                on_error(error);
            }
            calls.end(id, result);
        });
        let outcome = CallOutcome {
            summary,
            bytes: None,
            result: None,
            error: None,
        };
        let entry = CallEntry {
            outcome,
            stored_bytes: 0,
            params,
            responses: Vec::new(),
            reports: Vec::new(),
            prepared,
            start: Instant::now(),
            abort: Some(task.abort_handle()),
        };
        table.by_id.insert(id, entry);
        Some(id)
    }

    fn progress(&self, id: u64, report: ProgressNotificationParams) {
        if let Some(entry) = self.lock().by_id.get_mut(&id)
            && entry.is_running()
        {
            entry.outcome.summary.progress = Some(report);
            self.events.send("call", &entry.outcome.summary);
        }
    }

    /// Returns the call that causes an input request: that of this task, or the only one that runs. In the legacy era,
    /// a server does not state it.
    pub(super) fn current(&self) -> Option<u64> {
        if let Ok(id) = CURRENT.try_with(|id| *id) {
            return Some(id);
        }
        let table = self.lock();
        let mut running = table.by_id.iter().filter(|(_, entry)| entry.is_running());
        match (running.next(), running.next()) {
            (Some((id, _)), None) => Some(*id),
            _ => None,
        }
    }

    /// Returns the call whose request of this method this task sends. A client may send further requests for a call.
    pub(super) fn sending(&self, method: &str) -> Option<u64> {
        let id = CURRENT.try_with(|id| *id).ok()?;
        let table = self.lock();
        let call = &table.by_id.get(&id)?.outcome.summary;
        (call.method == method).then_some(id)
    }

    /// Adds a report of the server to the call that it names, which may have ended.
    pub(super) fn add_report(&self, report: ExchangeReport) {
        let Some(id) = report.call.as_deref().and_then(|call| call.parse().ok()) else {
            return;
        };
        let mut table = self.lock();
        let Some(entry) = table.by_id.get_mut(&id) else {
            return;
        };
        if entry.reports.len() >= MAX_REPORTS {
            return;
        }
        if !entry.is_running() {
            entry.stored_bytes += report_bytes(&report);
        }
        entry.reports.push(report);
        entry.outcome.summary.reports = entry.reports.len();
        let summary = entry.outcome.summary.clone();
        table.remove_oldest(self.limits);
        drop(table);
        self.events.send("call", &summary);
    }

    /// Returns the reports of the server about a call, the oldest first. Returns `None` if the call is unknown.
    pub(super) fn reports(&self, id: u64) -> Option<Vec<ExchangeReport>> {
        let table = self.lock();
        table.by_id.get(&id).map(|entry| entry.reports.clone())
    }

    /// Sets the trace that the request of this task belongs to. A call may have several requests; the last one counts.
    pub(super) fn set_trace_id(&self, trace_id: String) {
        if let Ok(id) = CURRENT.try_with(|id| *id)
            && let Some(entry) = self.lock().by_id.get_mut(&id)
        {
            entry.outcome.summary.trace_id = Some(trace_id);
        }
    }

    /// Removes and returns the prepared response of a call to an input request.
    pub(super) fn prepared(&self, id: u64, kind: &str, message: &str) -> Option<RawJson> {
        let mut table = self.lock();
        let entry = table.by_id.get_mut(&id)?;
        let prepared = SavedResponse::take(&mut entry.prepared, kind, message)?;
        Some(prepared.response)
    }

    /// Returns a call of a tool that has ended, with the responses to its input requests.
    pub(super) fn to_save(&self, id: u64, name: String) -> Option<SavedCall> {
        #[derive(Deserialize)]
        struct ToolCall {
            name: String,
            #[serde(default)]
            arguments: Option<RawJson>,
        }
        let table = self.lock();
        let entry = table.by_id.get(&id).filter(|entry| !entry.is_running())?;
        if entry.outcome.summary.method != "tools/call" {
            return None;
        }
        let call: ToolCall = entry.params.parse().ok()?;
        Some(SavedCall {
            name,
            tool: call.name,
            arguments: call
                .arguments
                .unwrap_or_else(|| serde_json::json!({}).into()),
            responses: entry.responses.clone(),
        })
    }

    /// Adds an input request and its response to a call. `sent` is the whole response.
    pub(super) fn add_input(&self, id: u64, input: InputExchange, sent: SavedResponse) {
        if let Some(entry) = self.lock().by_id.get_mut(&id)
            && entry.is_running()
            && entry.outcome.summary.inputs.len() < MAX_INPUTS
        {
            entry.outcome.summary.inputs.push(input);
            entry.add_response(sent);
            self.events.send("call", &entry.outcome.summary);
        }
    }

    fn end(&self, id: u64, result: Result<RawJson, Error>) {
        let (result, error) = match result {
            Ok(result) => (Some(Arc::new(result)), None),
            Err(error) => (None, Some(CallError::of(&error))),
        };
        self.finish(id, CallState::Done, result, error);
    }

    /// Cancels a running call. Returns `false` if no call with this id runs.
    pub(super) fn cancel(&self, id: u64) -> bool {
        let abort = {
            let mut table = self.lock();
            let entry = table.by_id.get_mut(&id);
            entry.and_then(|entry| entry.abort.take())
        };
        let Some(abort) = abort else { return false };
        // Dropping the call cancels the request in the way of the transport.
        abort.abort();
        self.finish(id, CallState::Cancelled, None, None);
        true
    }

    fn finish(
        &self,
        id: u64,
        state: CallState,
        result: Option<Arc<RawJson>>,
        error: Option<CallError>,
    ) {
        let mut table = self.lock();
        let Some(entry) = table.by_id.get_mut(&id).filter(|entry| entry.is_running()) else {
            return;
        };
        entry.abort = None;
        let took = u64::try_from(entry.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let outcome = &mut entry.outcome;
        outcome.summary.state = state;
        outcome.summary.took_us = Some(took);
        let is_failed_tool = result.as_ref().is_some_and(|result| is_error(result.get()));
        outcome.summary.failed = Some(error.is_some() || is_failed_tool);
        outcome.bytes = result.as_ref().map(|result| result.get().len());
        outcome.result = result;
        outcome.error = error;
        entry.prepared = Vec::new();
        let responses = entry.responses.iter().map(response_bytes);
        let reports = entry.reports.iter().map(report_bytes);
        let stored_bytes = outcome.stored_bytes()
            + entry.params.get().len()
            + responses.sum::<usize>()
            + reports.sum::<usize>();
        let summary = outcome.summary.clone();
        entry.stored_bytes = stored_bytes;
        table.remove_oldest(self.limits);
        drop(table);
        self.events.send("call", &summary);
        self.ended.send_replace(());
    }

    /// Returns a call, or `None` if it never existed or was removed.
    pub(super) fn get(&self, id: u64) -> Option<CallOutcome> {
        let table = self.lock();
        table.by_id.get(&id).map(|entry| entry.outcome.clone())
    }

    /// Waits until a call ends. Returns `None` if it is unknown.
    pub(super) async fn wait(&self, id: u64) -> Option<CallOutcome> {
        let mut ended = self.ended.subscribe();
        loop {
            let outcome = self.get(id)?;
            if outcome.summary.state != CallState::Running || ended.changed().await.is_err() {
                return Some(outcome);
            }
        }
    }

    /// Returns all calls, the oldest first.
    pub(super) fn list(&self) -> Vec<CallSummary> {
        let table = self.lock();
        let entries = table.by_id.values();
        entries.map(|entry| entry.outcome.summary.clone()).collect()
    }

    /// Cancels all running calls.
    pub(super) fn cancel_all(&self) {
        let running: Vec<u64> = {
            let table = self.lock();
            let entries = table.by_id.iter().filter(|(_, entry)| entry.is_running());
            entries.map(|(id, _)| *id).collect()
        };
        for id in running {
            self.cancel(id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, CallTable> {
        lock(&self.table)
    }
}

#[cfg(test)]
impl Calls {
    /// Returns the bytes of an ended call that count.
    pub(super) fn stored_bytes(&self, id: u64) -> usize {
        self.lock().by_id[&id].stored_bytes
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire::{ErrorObject, RequestContext, Server, Tool, ToolError, ToolHandler};

    use super::*;
    use crate::inspect::call_table::MAX_RESPONSE_BYTES;

    async fn client() -> Client {
        let size = Tool::new("size", json!({"type": "object"}));
        let size = ToolHandler::raw(size, |_: RequestContext, arguments: RawJson| async move {
            "x".repeat(
                arguments.to_value().expect("JSON")["bytes"]
                    .as_u64()
                    .expect("a size") as usize,
            )
        });
        let wait = Tool::new("wait", json!({"type": "object"}));
        let wait = ToolHandler::raw(wait, |_: RequestContext, _: RawJson| async move {
            std::future::pending::<String>().await
        });
        let fail = Tool::new("fail", json!({"type": "object"}));
        let fail = ToolHandler::raw(fail, |_: RequestContext, arguments: RawJson| async move {
            let bytes = arguments.to_value().expect("JSON")["bytes"].as_u64();
            let data = "x".repeat(bytes.expect("a size") as usize);
            let error = ErrorObject::new(-1, "failed").with_data(json!(data));
            Err::<String, _>(ToolError::rpc(error))
        });
        let server = Server::new("test", "1").tool(size).tool(wait).tool(fail);
        Client::in_process(&server).await.expect("a client")
    }

    fn calls(limits: CallLimits) -> Calls {
        Calls {
            limits,
            ..Calls::new(&PageEvents::new())
        }
    }

    fn call(calls: &Calls, client: &Client, name: &str, bytes: usize) -> Option<u64> {
        let params = json!({"name": name, "arguments": {"bytes": bytes}});
        let method = "tools/call".to_owned();
        calls.start(client.clone(), method, params.into(), Vec::new(), |_| {})
    }

    #[tokio::test]
    async fn ended_calls_are_limited_in_count_and_bytes() {
        let client = client().await;
        let limits = CallLimits {
            running: 4,
            ended: 2,
            bytes: 2000,
        };
        let calls = calls(limits);
        let mut ids = Vec::new();
        for bytes in [10, 10, 10, 1000, 1100, 5000] {
            let id = call(&calls, &client, "size", bytes).expect("a call");
            let outcome = calls.wait(id).await.expect("an outcome");
            assert_eq!(outcome.summary.failed, Some(false));
            ids.push(calls.list().iter().map(|call| call.id).collect::<Vec<_>>());
        }
        // The last result alone is larger than the limit.
        let expected: [&[u64]; 6] = [&[1], &[1, 2], &[2, 3], &[3, 4], &[5], &[6]];
        assert_eq!(ids, expected);
    }

    #[tokio::test]
    async fn data_of_errors_counts() {
        let client = client().await;
        let calls = calls(CallLimits {
            bytes: 2000,
            ..CallLimits::default()
        });
        for (data, expected) in [(500, 1), (500, 2), (2000, 1)] {
            let id = call(&calls, &client, "fail", data).expect("a call");
            let outcome = calls.wait(id).await.expect("an outcome");
            assert_eq!(outcome.summary.failed, Some(true));
            assert_eq!(calls.list().len(), expected, "{data}");
        }
    }

    #[tokio::test]
    async fn outcomes_at_the_limit_are_stored() {
        let client = client().await;
        let limits = CallLimits {
            bytes: 1000,
            ..CallLimits::default()
        };
        let calls = calls(limits);
        for _ in 0..2 {
            let id = call(&calls, &client, "size", 1).expect("a call");
            calls.wait(id).await.expect("an outcome");
        }
        let mut table = calls.lock();
        let mut stored = |sizes: [usize; 2]| {
            for (entry, size) in table.by_id.values_mut().zip(sizes) {
                entry.stored_bytes = size;
            }
            table.remove_oldest(limits);
            table.by_id.len()
        };
        assert_eq!(stored([600, 400]), 2);
        assert_eq!(stored([601, 400]), 1);
    }

    #[tokio::test]
    async fn running_calls_are_limited_and_cancelled() {
        let client = client().await;
        let limits = CallLimits {
            running: 1,
            ..CallLimits::default()
        };
        let calls = calls(limits);
        let id = call(&calls, &client, "wait", 0).expect("a call");
        assert_eq!(call(&calls, &client, "wait", 0), None);
        assert!(calls.cancel(id));
        assert!(!calls.cancel(id));
        let outcome = calls.wait(id).await.expect("an outcome");
        assert_eq!(outcome.summary.state, CallState::Cancelled);
        assert!(call(&calls, &client, "wait", 0).is_some());
        calls.cancel_all();
    }

    #[tokio::test]
    async fn responses_for_a_saved_call_are_limited_in_bytes() {
        let client = client().await;
        let calls = calls(CallLimits::default());
        let id = call(&calls, &client, "wait", 0).expect("a call");
        let sent = |bytes: usize| SavedResponse {
            kind: "form".to_owned(),
            message: "m".repeat(bytes - 2),
            response: json!({}).into(),
        };
        let stored = |sent| {
            let mut table = calls.lock();
            let entry = table.by_id.get_mut(&id).expect("the call");
            entry.add_response(sent);
            entry.responses.len()
        };
        assert_eq!(stored(sent(MAX_RESPONSE_BYTES + 1)), 0);
        assert_eq!(stored(sent(MAX_RESPONSE_BYTES)), 1);
        assert_eq!(stored(sent(3)), 1);
        calls.cancel_all();
    }

    #[test]
    fn default_limits_are_those_of_the_documentation() {
        let limits = CallLimits::default();
        assert_eq!((limits.running, limits.ended), (64, 200));
        assert_eq!(limits.bytes, 67_108_864);
    }
}
