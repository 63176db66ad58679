//! Modern clients of a legacy upstream server.
//!
//! A legacy server has sessions, and it sends requests to its client in the middle of a call. A modern client has
//! neither. So the relay has sessions of its own. A request whose client can be asked has a session to itself while it
//! runs, which declares the capabilities of the client. If the server asks, the call is
//! [parked](crate::relay::parked) and the client gets an `input_required` result. The requests of other clients, and
//! all subscriptions, share one session without capabilities.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;
use toolwire_proto::cache::CacheHint;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::relay::convert::{
    Conversion, HopMeta, ResultMembers, discover_result, url_input_required,
};
use toolwire_proto::relay::mapping::{Action, Sender, action};
use toolwire_types::{ErrorObject, ProtocolVersion, RawJson, meta_key};

use crate::error::Error;
use crate::relay::change_streams::ChangeStreams;
use crate::relay::connection::{UpstreamConnection, UpstreamRequest, unreachable};
use crate::relay::connector::UpstreamConnector;
use crate::relay::legacy_client::converted_error;
use crate::relay::log_filter::LogFilter;
use crate::relay::messages::UpstreamMessages;
use crate::relay::parked::{ParkedCalls, ParkedOutcome, RoundEnd, RunningCall};
use crate::relay::required_task::send_call;
use crate::relay::round_client::RoundClient;
use crate::relay::session_owner::SessionOwner;
use crate::relay::shared_log_level::SharedLogLevel;
use crate::server::request::Exchange;

/// The sessions of the relay with a legacy upstream server.
#[derive(Debug)]
pub(super) struct LegacyUpstream {
    connector: Arc<UpstreamConnector>,
    /// The session for clients that cannot be asked.
    shared: UpstreamConnection,
    /// The parked calls of all clients. They have sessions of their own, so they do not end with this one.
    parked: ParkedCalls,
    changes: Arc<ChangeStreams>,
    /// The log level of the session for clients that cannot be asked, and whether the server accepts levels.
    log_level: Arc<SharedLogLevel>,
}

impl LegacyUpstream {
    /// Creates the sessions, with an open one that was initialized without capabilities.
    pub(super) async fn start(
        connector: Arc<UpstreamConnector>,
        parked: ParkedCalls,
        shared: UpstreamConnection,
    ) -> Result<Self, Error> {
        let log_level = Arc::<SharedLogLevel>::default();
        let changes = ChangeStreams::new(shared.clone(), Arc::clone(&log_level));
        let changes = Arc::new(changes);
        let receiver = Arc::downgrade(&changes);
        shared.messages.set_change_receiver(receiver);
        shared.end_initialization(None).await?;
        if !connector.permits_sessions_of_calls() {
            let name = connector.name();
            tracing::warn!(
                name,
                "with one connection, the upstream server cannot ask clients without a session for input"
            );
        }
        Ok(Self {
            connector,
            shared,
            parked,
            changes,
            log_level,
        })
    }

    /// Returns the session for clients that cannot be asked.
    pub(super) fn shared_session(&self) -> &UpstreamConnection {
        &self.shared
    }

    /// Forwards a notification of a client.
    pub(super) async fn notify(&self, method: &str, params: Option<RawJson>) -> Result<(), Error> {
        let version = self.shared.version();
        match action(method, Sender::Client, ProtocolVersion::LATEST, version) {
            Action::Forward | Action::Convert => {
                self.shared
                    .client
                    .forward_notification(method, params)
                    .await
            }
            _ => Ok(()),
        }
    }

    /// Serves a request of a modern client. It waits for a session until the deadline.
    pub(super) async fn serve(
        &self,
        exchange: &Exchange,
        deadline: Instant,
    ) -> Result<RawJson, ErrorObject> {
        let method = exchange.route().name();
        let version = exchange.context.version();
        match action(method, Sender::Client, version, self.shared.version()) {
            Action::Forward | Action::Convert => {
                if !exchange.context.scope().may_ask_input {
                    let outcome = self.forward(exchange, deadline).await;
                    return self.converted(exchange, outcome);
                }
                let outcome = self.call(exchange, deadline).await;
                match outcome.unwrap_or_else(|error| ParkedOutcome::Ended(Err(error))) {
                    ParkedOutcome::InputRequired(result) => Ok(result),
                    ParkedOutcome::Ended(outcome) => self.converted(exchange, outcome),
                }
            }
            Action::RespondHere => match method {
                "server/discover" => self.discover(exchange),
                "subscriptions/listen" => {
                    let outcome = self.changes.serve(exchange).await;
                    self.converted(exchange, outcome)
                }
                _ => Err(ErrorObject::method_not_found(method.to_owned())),
            },
            _ => Err(ErrorObject::method_not_found(method.to_owned())),
        }
    }

    fn discover(&self, exchange: &Exchange) -> Result<RawJson, ErrorObject> {
        let details = self.shared.client.server();
        let stored = details.and_then(|details| details.raw.clone());
        let result = stored.and_then(|stored| {
            discover_result(
                stored.as_raw_value(),
                self.shared.version(),
                &exchange.snapshot().supported,
                CacheHint::default(),
            )
        });
        result.ok_or_else(|| ErrorObject::internal("the upstream server sent no details"))
    }

    /// Sends a request that asks for no input. A client that can be asked gets the response of a session with its
    /// capabilities, because servers list some entries only to clients that can use them.
    async fn forward(
        &self,
        exchange: &Exchange,
        deadline: Instant,
    ) -> Result<RawJson, ErrorObject> {
        let Some(identity) = self.askable_identity(exchange) else {
            return self.forward_shared(exchange).await;
        };
        let params = self.legacy_params(exchange)?;
        let owner = SessionOwner::of(exchange, &identity);
        let session = self.check_out(&owner, deadline, identity).await?;
        let outcome = forward_over(&session, exchange, params).await;
        self.connector.check_in(owner, session);
        outcome
    }

    /// Sends a request over the session without capabilities.
    async fn forward_shared(&self, exchange: &Exchange) -> Result<RawJson, ErrorObject> {
        let params = self.legacy_params(exchange)?;
        self.log_level.request(&self.shared, exchange).await;
        forward_over(&self.shared, exchange, params).await
    }

    /// Runs a call that may ask for input, or the next round of a parked call.
    async fn call(
        &self,
        exchange: &Exchange,
        deadline: Instant,
    ) -> Result<ParkedOutcome, ErrorObject> {
        // A request with a state is never a new call, whatever else it declares.
        let end = match request_state(exchange)? {
            Some(state) => self.parked.resume(exchange, &state).await?,
            None => {
                let Some(identity) = self.askable_identity(exchange) else {
                    let outcome = self.forward_shared(exchange).await;
                    return Ok(ParkedOutcome::Ended(outcome));
                };
                let params = self.legacy_params(exchange)?;
                let owner = SessionOwner::of(exchange, &identity);
                let session = self.check_out(&owner, deadline, identity).await?;
                self.log_level.request_alone(&session, exchange).await;
                let bytes = self.parked.input_bytes();
                let running = RunningCall::start(session, owner, exchange, params, bytes);
                self.parked.start(exchange, running).await?
            }
        };
        Ok(match end {
            RoundEnd::InputRequested(outcome) => outcome,
            RoundEnd::Done(outcome, session) => {
                if let Some((owner, session)) = session {
                    self.connector.check_in(owner, session);
                }
                ParkedOutcome::Ended(outcome)
            }
        })
    }

    /// Returns the parameters of `initialize` for a client that can be asked for input. Returns `None` also if the limit on
    /// connections permits no session for its request. The server then sees a client that cannot be asked.
    fn askable_identity(&self, exchange: &Exchange) -> Option<RawJson> {
        if !self.connector.permits_sessions_of_calls() {
            return None;
        }
        let capabilities = exchange.context.client_capabilities();
        let can_be_asked = capabilities.elicitation.is_some()
            || capabilities.sampling.is_some()
            || capabilities.roots.is_some();
        if !can_be_asked {
            return None;
        }
        let params = exchange.params()?;
        let mut members = RawObject::parse(params.as_raw_value())?;
        let meta = members.object_mut("_meta")?;
        let mut identity = RawObject::empty();
        let version = self.shared.version();
        identity.set_text("protocolVersion", version.as_str());
        let declared = meta.get(meta_key::CLIENT_CAPABILITIES)?;
        let mut declared = RawObject::parse(declared.raw())?;
        let conversion = Conversion::new(exchange.context.version(), version);
        conversion.client_capabilities(&mut declared);
        identity.set("capabilities", declared.finish());
        let info = meta.get(meta_key::CLIENT_INFO);
        let info = info.map(|info| RawJson::from(info.raw()));
        identity.set("clientInfo", info.unwrap_or_else(own_info));
        Some(identity.finish())
    }

    /// Returns a session for one request.
    async fn check_out(
        &self,
        owner: &SessionOwner,
        deadline: Instant,
        identity: RawJson,
    ) -> Result<UpstreamConnection, ErrorObject> {
        let messages = Arc::<UpstreamMessages>::default();
        messages.set_change_receiver(self.changes.receiver_of_other_session());
        let connector = &self.connector;
        let session = connector.check_out(owner, deadline, identity, messages);
        session.await.map_err(|error| unreachable(&error))
    }

    /// Returns the parameters of a request in the form of the upstream's revision.
    fn legacy_params(&self, exchange: &Exchange) -> Result<RawJson, ErrorObject> {
        let params = exchange.params().cloned();
        let params = params.unwrap_or_else(RawJson::empty_object);
        let mut members = RawObject::parse(params.as_raw_value())
            .ok_or_else(|| ErrorObject::invalid_params("the parameters are not an object"))?;
        let version = self.shared.version();
        let conversion = Conversion::new(exchange.context.version(), version);
        conversion.request(exchange.route().name(), &mut members);
        members.remove("inputResponses");
        members.remove("requestState");
        let mut hop = HopMeta::new(version);
        if let Some(token) = exchange.context.scope().progress_token.clone() {
            hop = hop.with_progress_token(token);
        }
        hop.write(&mut members);
        Ok(members.finish())
    }

    /// Returns the name and version of the server, with the members and numbers as it wrote them.
    fn server_info(&self) -> Option<RawJson> {
        let details = self.shared.client.server()?;
        let initialized = RawObject::parse(details.raw.as_ref()?.as_raw_value())?;
        Some(RawJson::from(initialized.get("serverInfo")?.raw()))
    }

    /// Returns an outcome of the upstream server in the form of the client's revision.
    fn converted(
        &self,
        exchange: &Exchange,
        outcome: Result<RawJson, ErrorObject>,
    ) -> Result<RawJson, ErrorObject> {
        let conversion = Conversion::new(self.shared.version(), exchange.context.version());
        let result = match outcome {
            Ok(result) => result,
            Err(error) => {
                return url_elicitations(&error)
                    .map_or_else(|| Err(converted_error(conversion, &error, exchange)), Ok);
            }
        };
        let Some(mut members) = RawObject::parse(result.as_raw_value()) else {
            return Ok(result);
        };
        let mut result_members = ResultMembers::default();
        if let Some(info) = self.server_info() {
            result_members = result_members.with_server_info(info);
        }
        let converted = conversion.result(exchange.route().name(), &mut members, &result_members);
        converted.map_err(|error| ErrorObject::internal(error.to_string()))?;
        Ok(members.finish())
    }
}

/// Sends a request over a session. The server cannot ask its client.
async fn forward_over(
    session: &UpstreamConnection,
    exchange: &Exchange,
    params: RawJson,
) -> Result<RawJson, ErrorObject> {
    let mut request = UpstreamRequest::of(exchange, Some(params));
    let client = Arc::clone(&request.client);
    request.client = Arc::new(RoundClient::without_input(client));
    request.logs = LogFilter::of_modern(exchange);
    let response = send_call(session, request).await;
    response.unwrap_or_else(|error| Err(unreachable(&error)))
}

/// Returns the input requests for the error −32042. The client's retry is a new call.
fn url_elicitations(error: &ErrorObject) -> Option<RawJson> {
    let written = RawJson::from_serialize(error).ok()?;
    let members = RawObject::parse(written.as_raw_value())?;
    url_input_required(&members, None)
}

/// Returns the state of an earlier round.
///
/// # Errors
/// Returns an error if the state is not text.
fn request_state(exchange: &Exchange) -> Result<Option<String>, ErrorObject> {
    let params = exchange.params().map(RawJson::as_raw_value);
    let Some(members) = params.and_then(RawObject::parse) else {
        return Ok(None);
    };
    if !members.contains("requestState") {
        return Ok(None);
    }
    let state = members.text("requestState").map(Cow::into_owned);
    let invalid = || ErrorObject::invalid_params("params.requestState: expected a string");
    state.map(Some).ok_or_else(invalid)
}

/// Returns the name of the relay, for clients that do not send theirs.
fn own_info() -> RawJson {
    RawJson::from(json!({ "name": "toolwire-relay", "version": env!("CARGO_PKG_VERSION") }))
}
