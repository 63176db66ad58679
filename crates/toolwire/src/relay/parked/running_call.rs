//! The request of a call whose client may be asked for input, over several rounds.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::mpsc;
use toolwire_proto::relay::convert::Conversion;
use toolwire_proto::relay::mapping::{Action, Sender, action};
use toolwire_proto::relay::parked::MAX_OPEN_REQUESTS;
use toolwire_types::{ErrorObject, ProgressToken, RawJson};

use crate::engine::{BoxFuture, TransportContext};
use crate::error::Error;
use crate::relay::connection::{UpstreamConnection, UpstreamRequest};
use crate::relay::log_filter::LogFilter;
use crate::relay::parked::{CallInputBytes, UpstreamOutcome};
use crate::relay::required_task::send_call;
use crate::relay::round_client::{PendingInput, RoundClient};
use crate::relay::session_owner::SessionOwner;
use crate::server::request::Exchange;

/// A call whose client may be asked for input.
pub(in crate::relay) struct RunningCall {
    client: Arc<RoundClient>,
    session: UpstreamConnection,
    pub(super) inputs: mpsc::Receiver<PendingInput>,
    pub(super) response: BoxFuture<'static, Result<UpstreamOutcome, Error>>,
    /// The client that the session was opened for.
    owner: SessionOwner,
    /// The input requests without a response, by number.
    pub(super) open: HashMap<u64, PendingInput>,
    asked: u64,
    /// The conversion of input requests to the client's revision.
    conversion: Conversion,
}

impl RunningCall {
    /// Sends a call over a session that no other call uses.
    pub(in crate::relay) fn start(
        session: UpstreamConnection,
        owner: SessionOwner,
        exchange: &Exchange,
        params: RawJson,
        input_bytes: CallInputBytes,
    ) -> Self {
        let mut request = UpstreamRequest::of(exchange, Some(params));
        let (sender, inputs) = mpsc::channel(MAX_OPEN_REQUESTS);
        let client = Arc::clone(&request.client);
        let client = Arc::new(RoundClient::with_input(client, sender, input_bytes));
        request.client = Arc::clone(&client) as _;
        request.logs = LogFilter::of_modern(exchange);
        let conversion = Conversion::new(session.version(), request.client_version);
        let sending = session.clone();
        let request = request.into_owned();
        Self {
            client,
            session,
            inputs,
            response: Box::pin(async move { send_call(&sending, request).await }),
            owner,
            open: HashMap::new(),
            asked: 0,
            conversion,
        }
    }

    /// Returns the number of the next input request.
    pub(super) fn next_number(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    /// Returns the parameters of an input request in the form of the client's revision.
    ///
    /// # Errors
    /// Returns an error if the request of the server is not an input request of that revision.
    pub(super) fn converted(&self, input: &PendingInput) -> Result<Option<RawJson>, ErrorObject> {
        let (upstream, client) = (self.conversion.from(), self.conversion.to());
        if action(&input.method, Sender::Upstream, client, upstream) != Action::RequestInput {
            return Err(ErrorObject::method_not_found(input.method.clone()));
        }
        if input.params.is_null() {
            return Ok(None);
        }
        let params = input.params.as_raw_value();
        let elicitation_id = format!("q{}", self.asked + 1);
        let converted = self
            .conversion
            .input_request(&input.method, params, &elicitation_id);
        converted.map(Some)
    }

    /// Passes the client's responses to the server.
    pub(super) fn respond(&mut self, responses: Vec<(u64, RawJson)>) {
        let back = Conversion::new(self.conversion.to(), self.conversion.from());
        for (number, response) in responses {
            let Some(input) = self.open.remove(&number) else {
                continue;
            };
            let (request, response) = (input.params.as_raw_value(), response.as_raw_value());
            let response = back.input_response(&input.method, request, response);
            drop(input.response.send(response));
        }
    }

    /// Ends a round: messages of the server wait for the next one.
    pub(super) fn park(&self) {
        self.client.park();
    }

    /// Starts the next round, whose request has this progress token.
    pub(super) fn resume(&self, client: Arc<dyn TransportContext>, token: Option<ProgressToken>) {
        self.client.resume(client, token);
    }

    /// Returns the session after the end of the call.
    pub(super) fn into_session(self) -> (SessionOwner, UpstreamConnection) {
        (self.owner, self.session)
    }
}

impl std::fmt::Debug for RunningCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningCall")
            .field("open", &self.open.len())
            .finish_non_exhaustive()
    }
}
