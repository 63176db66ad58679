//! Calls to a legacy upstream server that wait for input of a modern client.
//!
//! The request to the server stays open while its call is parked, so the tool runs once.
//! [`toolwire_proto::relay::parked`] decides what happens with each round. This module sends the messages, and has the
//! request of each parked call.

mod input_bytes;
mod lost_calls;
mod running_call;
mod table;

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::relay::errors::{LostCall, lost_call};
use toolwire_proto::relay::input_rounds::{RawInputRequest, input_required, read_round};
use toolwire_proto::relay::parked::{CallId, MAX_OPEN_REQUESTS, PrincipalDigest, Round};
use toolwire_proto::relay::request_state::principal_digest;
use toolwire_proto::request_state::StateError;
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::Principal;
use crate::relay::client_key::connection_number;
use crate::relay::connection::{UpstreamConnection, unreachable};
use crate::relay::parked::table::ParkedTable;
use crate::relay::round_client::PendingInput;
use crate::relay::session_owner::SessionOwner;
use crate::server::request::Exchange;
use crate::server::state_seal::StatePurpose;
use crate::sync::lock;

pub(super) use input_bytes::{CallInputBytes, InputBytes, InputPermit};
pub(super) use running_call::RunningCall;

/// How long the state of a parked call is valid: much longer than the call, so that a client whose response comes too late
/// learns how the call ended.
const STATE_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The outcome of the upstream server.
pub(super) type UpstreamOutcome = Result<RawJson, ErrorObject>;

/// The outcome of a round.
#[derive(Debug, Clone)]
pub(super) enum ParkedOutcome {
    /// The result of the relay that requests input. It has the form of the client's revision.
    InputRequired(RawJson),
    /// The outcome of the call, in the form of the upstream's revision.
    Ended(UpstreamOutcome),
}

/// The end of a round.
#[derive(Debug)]
pub(super) enum RoundEnd {
    /// The call has ended. The session can serve another call of its owner, unless the server may still work.
    Done(UpstreamOutcome, Option<(SessionOwner, UpstreamConnection)>),
    /// The server asks for input, or the outcome of the round was known.
    InputRequested(ParkedOutcome),
}

/// The parked calls of a relay, and the outcomes of recent rounds.
#[derive(Debug, Clone, Default)]
pub(super) struct ParkedCalls(Arc<ParkedState>);

#[derive(Debug, Default)]
struct ParkedState {
    table: Mutex<ParkedTable>,
    /// Notified when a round ends, and when a call is removed.
    changed: Notify,
    input_bytes: InputBytes,
}

impl ParkedCalls {
    /// Runs a new call until the server responds or asks for input. Then the call is parked.
    pub(super) async fn start(
        &self,
        exchange: &Exchange,
        running: RunningCall,
    ) -> Result<RoundEnd, ErrorObject> {
        let id = random_id()?;
        let guard = RoundGuard {
            calls: self.clone(),
            id,
            owner: owner_of(exchange, id),
            is_stored: false,
        };
        self.run(exchange, running, guard).await
    }

    /// Returns the limit on the bytes of the input requests of a new call.
    pub(super) fn input_bytes(&self) -> CallInputBytes {
        CallInputBytes::new(self.0.input_bytes.clone())
    }

    /// Continues a parked call with the responses of the client.
    ///
    /// # Errors
    /// Returns an error if the state is not one of this principal and call, or if the responses are invalid.
    pub(super) async fn resume(
        &self,
        exchange: &Exchange,
        state: &str,
    ) -> Result<RoundEnd, ErrorObject> {
        let principal = Principal::of(exchange.context.auth());
        let seal = &exchange.snapshot().options.seal;
        let opened = seal.open_text(&purpose(exchange, &principal), state);
        let named = opened.as_deref().and_then(parse_round);
        let (id, round) = named.ok_or(StateError::unreadable())?;
        let responses = input_responses(exchange)?;
        loop {
            let mut changed = pin!(self.0.changed.notified());
            // Registered before the check, so that no change is missed.
            changed.as_mut().enable();
            self.expire();
            let received = lock(&self.0.table).receive_round(id, round, &responses);
            match received {
                Some((Round::Continue(responses), Some(mut running), owner)) => {
                    let guard = RoundGuard {
                        calls: self.clone(),
                        id,
                        owner,
                        is_stored: true,
                    };
                    running.respond(responses);
                    let scope = exchange.context.scope();
                    let token = scope.progress_token.clone();
                    running.resume(Arc::clone(&scope.transport), token);
                    return self.run(exchange, running, guard).await;
                }
                Some((Round::Repeat(outcome), ..)) => return Ok(RoundEnd::InputRequested(outcome)),
                Some((Round::Join, ..)) => changed.await,
                _ => {
                    let end = lock(&self.0.table).end_of(id);
                    let lost = ParkedOutcome::Ended(lost(exchange, end));
                    return Ok(RoundEnd::InputRequested(lost));
                }
            }
        }
    }

    /// Runs a round until the server responds or asks for input.
    async fn run(
        &self,
        exchange: &Exchange,
        mut running: RunningCall,
        mut guard: RoundGuard,
    ) -> Result<RoundEnd, ErrorObject> {
        let response = loop {
            let mut changed = pin!(self.0.changed.notified());
            changed.as_mut().enable();
            let (is_removed, park_in) = {
                let mut table = lock(&self.0.table);
                let is_removed = guard.is_stored && !table.contains(guard.id);
                (is_removed, table.park_in(guard.id, guard.owner))
            };
            if is_removed {
                return Ok(RoundEnd::Done(lost(exchange, LostCall::Cancelled), None));
            }
            tokio::select! {
                biased;
                response = &mut running.response => break Some(response),
                Some(input) = running.inputs.recv() => guard.ask(&mut running, input),
                () = sleep(park_in) => break None,
                () = changed => {}
            }
        };
        match response {
            Some(Ok(outcome)) => {
                guard.finish(&outcome);
                // An input request that is still open would reach the next call.
                let session = running.open.is_empty().then_some(running.into_session());
                Ok(RoundEnd::Done(outcome, session))
            }
            Some(Err(error)) => {
                let outcome = Err(unreachable(&error));
                guard.finish(&outcome);
                Ok(RoundEnd::Done(outcome, None))
            }
            None => {
                let principal = Principal::of(exchange.context.auth());
                let seal = &exchange.snapshot().options.seal;
                let purpose = purpose(exchange, &principal);
                let parked = guard.park(running, |next_round| {
                    seal.seal_text(&purpose, &next_round, STATE_LIFETIME)
                })?;
                Ok(RoundEnd::InputRequested(match parked {
                    Some(result) => ParkedOutcome::InputRequired(result),
                    None => ParkedOutcome::Ended(lost(exchange, LostCall::Cancelled)),
                }))
            }
        }
    }

    /// Cancels the calls that are parked for too long, and removes old outcomes.
    pub(super) fn expire(&self) {
        let expired = lock(&self.0.table).expire();
        // Dropping the calls cancels them.
        drop(expired);
    }

    /// Returns the number of calls that wait for input.
    pub(super) fn len(&self) -> usize {
        lock(&self.0.table).len()
    }

    /// Drops all parked calls, which cancels them.
    pub(super) fn clear(&self) {
        let calls = std::mem::take(&mut *lock(&self.0.table));
        drop(calls);
        self.0.changed.notify_waiters();
    }
}

/// A round that runs. If it is dropped before its end, the call is removed.
#[derive(Debug)]
struct RoundGuard {
    calls: ParkedCalls,
    id: CallId,
    owner: PrincipalDigest,
    /// Whether the table has the call. It is added with the first input request.
    is_stored: bool,
}

impl RoundGuard {
    /// Adds an input request of the server, or rejects it if the call has too many.
    fn ask(&mut self, running: &mut RunningCall, input: PendingInput) {
        let params = match running.converted(&input) {
            Ok(params) => params,
            Err(error) => return drop(input.response.send(Err(error))),
        };
        let number = running.next_number();
        let mut table = lock(&self.calls.0.table);
        let mut removed = Vec::new();
        if !self.is_stored {
            removed = table.insert(self.id, self.owner);
            self.is_stored = true;
        }
        let is_added = table.request_input(self.id, self.owner, number, &input.method, params);
        drop(table);
        if !removed.is_empty() {
            drop(removed);
            self.calls.0.changed.notify_waiters();
        }
        if is_added {
            running.open.insert(number, input);
        } else {
            let error = format!("a call may have at most {MAX_OPEN_REQUESTS} open input requests");
            drop(input.response.send(Err(ErrorObject::internal(error))));
        }
    }

    /// Ends the call with an outcome.
    fn finish(self, outcome: &UpstreamOutcome) {
        if !self.is_stored {
            return;
        }
        let removed = lock(&self.calls.0.table).finish(self.id, self.owner, outcome);
        drop(removed);
        self.end();
    }

    /// Parks the call, and returns the result for the client. `seal` returns the state that names the next round.
    /// Returns `None` if the call was removed.
    fn park(
        self,
        running: RunningCall,
        seal: impl FnOnce(String) -> Result<String, ErrorObject>,
    ) -> Result<Option<RawJson>, ErrorObject> {
        running.park();
        let open = lock(&self.calls.0.table).open_requests(self.id, self.owner);
        let Some((round, requests)) = open else {
            return Ok(None);
        };
        let requests: Vec<RawInputRequest> = requests
            .into_iter()
            .map(|open| RawInputRequest::new(open.key, open.method, open.params))
            .collect();
        let state = seal(write_round(self.id, round.saturating_add(1)))?;
        let result = input_required(&requests, &state);
        let outcome = result.clone();
        let removed = lock(&self.calls.0.table).park(self.id, self.owner, running, outcome);
        let is_parked = removed.is_none();
        drop(removed);
        self.end();
        Ok(is_parked.then_some(result))
    }

    /// Ends the round without removing the call.
    fn end(mut self) {
        self.is_stored = false;
        self.calls.0.changed.notify_waiters();
    }
}

impl Drop for RoundGuard {
    fn drop(&mut self) {
        if self.is_stored {
            let removed = lock(&self.calls.0.table).remove(self.id);
            drop(removed);
            self.calls.0.changed.notify_waiters();
        }
    }
}

async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

/// Returns the owner whose calls are limited: a principal, or without authorization a connection. Anonymous callers over
/// HTTP have only the limit of all calls, because nothing tells them apart.
fn owner_of(exchange: &Exchange, id: CallId) -> PrincipalDigest {
    let principal = Principal::of(exchange.context.auth());
    if let Some(principal) = principal.as_str() {
        return principal_digest(Some(principal));
    }
    // The text of a principal is JSON, so these differ from all principals.
    let owner = match connection_number(&*exchange.context.scope().transport) {
        Some(number) => format!("connection {number}"),
        None => format!("call {}", write_round(id, 0)),
    };
    principal_digest(Some(&owner))
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

/// Returns the outcome for a client whose call is no longer parked. It is never run a second time.
fn lost(exchange: &Exchange, end: LostCall) -> UpstreamOutcome {
    if exchange.route().name() == "tools/call" {
        let result = lost_call(end);
        return Ok(RawJson::from_serialize(&result).expect("a result holds only text"));
    }
    Err(ErrorObject::invalid_params(
        "params.requestState: the input request is no longer open, because the response came too late or the relay was \
         restarted; send the request without a state",
    ))
}

fn input_responses(exchange: &Exchange) -> Result<Vec<(String, RawJson)>, ErrorObject> {
    let params = exchange.params().map(RawJson::as_raw_value);
    let Some(params) = params.and_then(RawObject::parse) else {
        return Ok(Vec::new());
    };
    let round = read_round(&params);
    let round = round.map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
    Ok(round.responses)
}

/// Writes the name of a round, which the sealed state contains.
fn write_round(id: CallId, round: u32) -> String {
    format!("{:032x}.{round}", u128::from_be_bytes(id))
}

fn parse_round(name: &str) -> Option<(CallId, u32)> {
    let (id, round) = name.split_once('.')?;
    let id = u128::from_str_radix(id, 16).ok()?;
    Some((id.to_be_bytes(), round.parse().ok()?))
}

fn random_id() -> Result<CallId, ErrorObject> {
    let mut id = [0; 16];
    getrandom::fill(&mut id)
        .map_err(|_| ErrorObject::internal("the system provides no random bytes"))?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_round_is_read_as_it_was_written() {
        let id = [7; 16];
        assert_eq!(parse_round(&write_round(id, 3)), Some((id, 3)));
        for invalid in ["", "7", "x.1", "7.x", "7.-1"] {
            assert_eq!(parse_round(invalid), None, "{invalid}");
        }
    }
}
