//! Calls to a legacy upstream server that wait for input of a modern client.
//!
//! ```text
//!              ┌─────────── the server asks ──────────┐
//!  running ────┤                                      ▼
//!    ▲         └─ the server responds ─► done       parked
//!    │                                                │ │
//!    └── the client retries with the same state ◄─────┘ └─► dropped: deadline, too many, the server is gone
//! ```
//!
//! The request to the server stays open while the call is parked, so the tool runs once. The outcome of a round is stored
//! for a minute: a client that repeats the round gets the same result.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::relay::convert::Conversion;
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::{BoxFuture, Principal};
use crate::error::Error;
use crate::relay::connection::{LogFilter, UpstreamConnection, UpstreamRequest, unreachable};
use crate::relay::round_client::{PendingInput, RoundClient};
use crate::relay::session_owner::SessionOwner;
use crate::relay::sessions::connection_number;
use crate::server::request::Exchange;
use crate::server::state_seal::StatePurpose;
use crate::sync::lock;

/// How long a call waits for the client's next request.
const MAX_PARKED_TIME: Duration = Duration::from_secs(600);

/// The maximum number of parked calls of one owner. The oldest one is dropped for another.
const MAX_PARKED_OF_OWNER: usize = 16;

/// The maximum number of parked calls.
const MAX_PARKED: usize = 1024;

/// The maximum number of input requests of one call.
const MAX_INPUT_REQUESTS: usize = 16;

/// How long the relay waits for further input requests after the first one, to send them together.
const GATHERING_TIME: Duration = Duration::from_millis(25);

/// How long the outcome of a round is stored, and the maximum bytes of all stored outcomes.
const OUTCOME_TIME: Duration = Duration::from_secs(60);
const MAX_OUTCOME_BYTES: usize = 64 * 1024 * 1024;

/// The outcome of the upstream server.
pub(super) type UpstreamOutcome = Result<RawJson, ErrorObject>;

/// A call whose client may be asked for input.
pub(super) struct RunningCall {
    client: Arc<RoundClient>,
    session: UpstreamConnection,
    inputs: mpsc::Receiver<PendingInput>,
    response: BoxFuture<'static, Result<UpstreamOutcome, Error>>,
    /// The client that the session was opened for.
    owner: SessionOwner,
    /// The input requests without a response, by their keys.
    open: Vec<(String, PendingInput)>,
    asked: usize,
    /// The conversion of input requests to the client's revision.
    conversion: Conversion,
}

/// The end of a round.
#[derive(Debug)]
pub(super) enum RoundEnd {
    /// The call has ended. The session can serve another call of its owner, unless the server may still work.
    Done(UpstreamOutcome, Option<(SessionOwner, UpstreamConnection)>),
    /// The server asks for input. The result is the one for the client.
    Asked(UpstreamOutcome),
}

impl RunningCall {
    /// Sends a call over a session that no other call uses.
    pub(super) fn start(
        session: UpstreamConnection,
        owner: SessionOwner,
        exchange: &Exchange,
        params: RawJson,
    ) -> Self {
        let mut request = UpstreamRequest::of(exchange, Some(params));
        let (sender, inputs) = mpsc::channel(MAX_INPUT_REQUESTS);
        let client = Arc::new(RoundClient::with_input(Arc::clone(&request.client), sender));
        request.client = Arc::clone(&client) as _;
        request.logs = LogFilter::of_modern(exchange);
        let conversion = Conversion::new(session.version(), request.client_version);
        let sending = session.clone();
        let request = request.into_owned();
        Self {
            client,
            session,
            inputs,
            response: Box::pin(async move { sending.try_send(request).await }),
            owner,
            open: Vec::new(),
            asked: 0,
            conversion,
        }
    }

    /// Waits for the response, or for input requests. Returns `None` for input requests.
    async fn next(&mut self) -> Option<Result<UpstreamOutcome, Error>> {
        let mut is_asked = !self.open.is_empty();
        loop {
            let gathering = async {
                if is_asked {
                    tokio::time::sleep(GATHERING_TIME).await;
                } else {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                biased;
                response = &mut self.response => return Some(response),
                Some(input) = self.inputs.recv() => is_asked |= self.ask(input),
                () = gathering => return None,
            }
        }
    }

    /// Adds an input request. Returns `false` if the client cannot get it, and the server gets an error.
    fn ask(&mut self, input: PendingInput) -> bool {
        self.asked += 1;
        if self.asked > MAX_INPUT_REQUESTS {
            let error = format!("a call may ask for input at most {MAX_INPUT_REQUESTS} times");
            drop(input.response.send(Err(ErrorObject::internal(error))));
            return false;
        }
        self.open.push((format!("q{}", self.asked), input));
        true
    }

    /// Returns the `input_required` result with all open input requests.
    fn input_required(&mut self, state: &str) -> RawJson {
        let conversion = self.conversion;
        let mut requests = RawObject::empty();
        let open = std::mem::take(&mut self.open);
        for (key, input) in open {
            let params = if input.params.is_null() {
                Ok(None)
            } else {
                let params = input.params.as_raw_value();
                let converted = conversion.input_request(&input.method, params, &key);
                converted.map(Some)
            };
            match params {
                Ok(params) => {
                    let mut request = RawObject::empty();
                    request.set_text("method", &input.method);
                    if let Some(params) = params {
                        request.set("params", params);
                    }
                    requests.set(key.clone(), request.finish());
                    self.open.push((key, input));
                }
                Err(error) => drop(input.response.send(Err(error))),
            }
        }
        let mut result = RawObject::empty();
        result.set_text("resultType", "input_required");
        result.set("inputRequests", requests.finish());
        result.set_text("requestState", state);
        result.finish()
    }

    /// Passes the client's responses to the server. An input request without a response stays open.
    fn respond(&mut self, responses: &RawObject<'_>) {
        let back = Conversion::new(self.conversion.to(), self.conversion.from());
        let open = std::mem::take(&mut self.open);
        for (key, input) in open {
            let Some(response) = responses.get(&key) else {
                self.open.push((key, input));
                continue;
            };
            let (method, request) = (&input.method, input.params.as_raw_value());
            let response = back.input_response(method, request, response.raw());
            drop(input.response.send(response));
        }
    }
}

impl std::fmt::Debug for RunningCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningCall")
            .field("open", &self.open.len())
            .finish_non_exhaustive()
    }
}

/// The parked calls of an upstream server, and the outcomes of recent rounds.
#[derive(Debug, Clone, Default)]
pub(super) struct ParkedCalls(Arc<Mutex<ParkedTable>>);

#[derive(Debug, Default)]
struct ParkedTable {
    calls: HashMap<String, ParkedCall>,
    outcomes: VecDeque<StoredOutcome>,
}

#[derive(Debug)]
struct ParkedCall {
    running: RunningCall,
    owner: CallOwner,
    since: Instant,
}

/// The owner of a parked call: a principal, or without authorization a connection.
#[derive(Debug, Clone, PartialEq)]
struct CallOwner {
    principal: Principal,
    connection: Option<usize>,
}

impl CallOwner {
    fn of(exchange: &Exchange, principal: Principal) -> Self {
        let connection = match principal.as_str() {
            Some(_) => None,
            None => connection_number(&*exchange.context.scope().transport),
        };
        Self {
            principal,
            connection,
        }
    }

    /// Returns `true` if the calls of the owner are limited. All anonymous callers over HTTP have only the limit of all
    /// calls, because nothing tells them apart.
    fn is_limited(&self) -> bool {
        self.principal.as_str().is_some() || self.connection.is_some()
    }
}

#[derive(Debug)]
struct StoredOutcome {
    /// The parked round that the client resumed.
    round: String,
    outcome: UpstreamOutcome,
    until: Instant,
}

impl ParkedCalls {
    /// Drops all parked calls, which cancels them.
    pub(super) fn clear(&self) {
        let calls = std::mem::take(&mut lock(&self.0).calls);
        drop(calls);
    }

    /// Runs a call until the server responds or asks for input. Then the call is parked.
    pub(super) async fn run(
        &self,
        exchange: &Exchange,
        mut running: RunningCall,
    ) -> Result<RoundEnd, ErrorObject> {
        match running.next().await {
            Some(Ok(outcome)) => {
                // An input request that is still open would reach the next call.
                let is_free = running.open.is_empty();
                let session = is_free.then_some((running.owner, running.session));
                return Ok(RoundEnd::Done(outcome, session));
            }
            Some(Err(error)) => return Ok(RoundEnd::Done(Err(unreachable(&error)), None)),
            None => {}
        }
        let round = random_name()?;
        let principal = Principal::of(exchange.context.auth());
        let seal = &exchange.snapshot().options.seal;
        let state = seal.write(&purpose(exchange, &principal), None, Some(round.clone()))?;
        let result = running.input_required(&state.unwrap_or_default());
        running.client.park();
        self.park(round, running, CallOwner::of(exchange, principal));
        Ok(RoundEnd::Asked(Ok(result)))
    }

    /// Continues a parked call with the responses of the client.
    ///
    /// # Errors
    /// Returns an error if the state is not one of this principal and call.
    pub(super) async fn resume(
        &self,
        exchange: &Exchange,
        state: &str,
    ) -> Result<RoundEnd, ErrorObject> {
        let principal = Principal::of(exchange.context.auth());
        let seal = &exchange.snapshot().options.seal;
        let opened = seal.open(&purpose(exchange, &principal), state)?;
        let round = opened.author_state.unwrap_or_default();
        let parked = lock(&self.0).calls.remove(&round);
        let Some(mut parked) = parked else {
            let outcome = self.outcome(&round);
            return Ok(RoundEnd::Asked(outcome.unwrap_or_else(|| Ok(not_open()))));
        };
        if let Some(responses) = input_responses(exchange)
            && let Some(responses) = RawObject::parse(responses.as_raw_value())
        {
            parked.running.respond(&responses);
        }
        let transport = &exchange.context.scope().transport;
        parked.running.client.resume(Arc::clone(transport));
        let end = self.run(exchange, parked.running).await?;
        let outcome = match &end {
            RoundEnd::Done(outcome, _) | RoundEnd::Asked(outcome) => outcome.clone(),
        };
        self.store(round, outcome);
        Ok(end)
    }

    fn park(&self, round: String, running: RunningCall, owner: CallOwner) {
        let mut table = lock(&self.0);
        let is_own = |call: &ParkedCall| call.owner == owner;
        let own = table.calls.values().filter(|call| is_own(call)).count();
        let is_owner_full = owner.is_limited() && own >= MAX_PARKED_OF_OWNER;
        let evicted = (is_owner_full || table.calls.len() >= MAX_PARKED).then(|| {
            let candidates = table.calls.iter();
            // A call of the same owner gives way, if there is one.
            let candidates = candidates.filter(|(_, call)| own == 0 || is_own(call));
            let oldest = candidates.min_by_key(|(_, call)| call.since);
            oldest.map(|(round, _)| round.clone())
        });
        let evicted = evicted
            .flatten()
            .and_then(|round| table.calls.remove(&round));
        let call = ParkedCall {
            running,
            owner,
            since: Instant::now(),
        };
        table.calls.insert(round.clone(), call);
        drop(table);
        drop(evicted);
        let parked = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(MAX_PARKED_TIME).await;
            if let Some(parked) = parked.upgrade() {
                // Dropping the call cancels it.
                let expired = lock(&parked).calls.remove(&round);
                drop(expired);
            }
        });
    }

    /// Stores the outcome of a round for a client that repeats it.
    fn store(&self, round: String, outcome: UpstreamOutcome) {
        let mut table = lock(&self.0);
        let until = Instant::now() + OUTCOME_TIME;
        table.outcomes.push_back(StoredOutcome {
            round,
            outcome,
            until,
        });
        let mut bytes: usize = table.outcomes.iter().map(StoredOutcome::bytes).sum();
        while let Some(first) = table.outcomes.front()
            && (first.until < Instant::now() || bytes > MAX_OUTCOME_BYTES)
        {
            bytes -= first.bytes();
            table.outcomes.pop_front();
        }
    }

    fn outcome(&self, round: &str) -> Option<UpstreamOutcome> {
        let table = lock(&self.0);
        let stored = table.outcomes.iter().find(|stored| stored.round == round)?;
        (stored.until >= Instant::now()).then(|| stored.outcome.clone())
    }
}

impl StoredOutcome {
    fn bytes(&self) -> usize {
        let outcome = match &self.outcome {
            Ok(result) => result.get().len(),
            Err(error) => {
                error.message.len() + error.data.as_ref().map_or(0, |data| data.get().len())
            }
        };
        outcome + self.round.len() + size_of::<Self>()
    }
}

/// Returns what a state of this request is bound to.
fn purpose<'a>(exchange: &'a Exchange, principal: &'a Principal) -> StatePurpose<'a> {
    StatePurpose {
        principal,
        method: exchange.route().name(),
        name: exchange.name().unwrap_or_default(),
        arguments: exchange.arguments(),
    }
}

/// Returns the result for a client whose call is no longer parked. It is never run a second time.
fn not_open() -> RawJson {
    let text = "The input request is no longer open, because the response came too late or the relay was restarted. \
                The call may have had effects. Call the tool again to start over.";
    RawJson::from(serde_json::json!({
        "content": [{ "type": "text", "text": text }],
        "isError": true,
    }))
}

fn input_responses(exchange: &Exchange) -> Option<RawJson> {
    let members = RawObject::parse(exchange.params()?.as_raw_value())?;
    Some(RawJson::from(members.get("inputResponses")?.raw()))
}

fn random_name() -> Result<String, ErrorObject> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|_| ErrorObject::internal("the system provides no random bytes"))?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}
