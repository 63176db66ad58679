//! Runs a call from its parameters to its result: timeouts, input rounds and retries.

use std::borrow::Cow;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Notify;
use tokio::time::Instant;
use toolwire_proto::deprecations::DeprecatedFeature;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::requests::RequestTimeouts;
use toolwire_proto::result_kind::{ResultKind, classify};
use toolwire_proto::rounds::{RoundCounter, retry_params};
use toolwire_types::{
    ErrorObject, InputRequest, InputRequiredResult, InputResponses, Meta, ProgressToken,
    ProtocolVersion, RawJson, code, meta_key,
};

use crate::client::Client;
use crate::client::cache::Lookup;
use crate::client::call::CallOptions;
use crate::client::middleware::{ClientNext, ClientRequest, ReceivedRequest, SendRequest};
use crate::client::session::ActiveConnection;
use crate::client::transport::{OutgoingRequest, ServerResponse};
use crate::engine::{BoxFuture, boxed_cold, deadline_after, warn_if_deprecated};
use crate::error::Error;

/// A result that is not the end of a call.
enum Incomplete {
    /// The server requires input.
    InputRequired(Box<InputRequiredResult>),
    /// The result is a task, which has the result later.
    Task,
}

#[expect(
    clippy::ptr_arg,
    reason = "a method whose name is known here is cloned without a copy"
)]
impl Client {
    /// Runs a call: looks it up in the cache, resolves input requests, and returns the complete result.
    pub(crate) async fn run(
        &self,
        method: &Cow<'static, str>,
        params: Option<RawJson>,
        options: &CallOptions,
    ) -> Result<RawJson, Error> {
        let version = self.version();
        let cache = &self.shared.cache;
        let lookup = if cache.applies_to(version, method, options.cache) {
            // Boxed like every cold path, so that it does not enlarge the future of other calls.
            Box::pin(cache.look_up(version, method, params.as_ref(), options.cache)).await
        } else {
            Lookup::Uncached
        };
        let ticket = match lookup {
            Lookup::Hit(result) => return Ok(result),
            Lookup::Miss(ticket) => Some(ticket),
            Lookup::Uncached => None,
        };
        if self.may_request_task(method) {
            return self.run_with_task(method, params, options).await;
        }
        let round = self.round(method, params.as_ref(), options).await;
        let result = round.inspect_err(|error| {
            cache.on_rejected(method, params.as_ref(), error);
        })?;
        let Some(incomplete) = self.incomplete(method, &result, options)? else {
            if let Some(ticket) = ticket {
                Box::pin(cache.store_result(*ticket, &result)).await;
            }
            return Ok(result);
        };
        Box::pin(async move {
            match incomplete {
                Incomplete::InputRequired(required) => {
                    self.resolve_input(method, params, options, required).await
                }
                Incomplete::Task => self.task_outcome(result, options).await,
            }
        })
        .await
    }

    /// Repeats a request with input responses until the result is complete. The result is never cached.
    async fn resolve_input(
        &self,
        method: &Cow<'static, str>,
        params: Option<RawJson>,
        options: &CallOptions,
        mut required: Box<InputRequiredResult>,
    ) -> Result<RawJson, Error> {
        let original = params.unwrap_or_else(RawJson::empty_object);
        let mut rounds = RoundCounter::new(self.shared.config.limits.rounds);
        loop {
            let pause = rounds
                .next_round(&required)
                .map_err(|error| Error::limit(format!("{method}: {error}")))?;
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            let responses = self.input_responses(&required).await?;
            let params = retry_params(&original, &required, &responses)
                .map_err(|error| Error::invalid_request(format!("{method}: {error}")))?;
            let result = self.round(method, Some(&params), options).await?;
            match self.incomplete(method, &result, options)? {
                Some(Incomplete::InputRequired(next)) => required = next,
                Some(Incomplete::Task) => return self.task_outcome(result, options).await,
                None => return Ok(result),
            }
        }
    }

    /// Runs the handler of an input request in a result, behind the middleware of the client if it has any.
    pub(crate) async fn respond_to_input(
        &self,
        request: InputRequest,
        version: ProtocolVersion,
    ) -> Result<RawJson, ErrorObject> {
        let shared = &self.shared;
        let Some(chain) = &shared.config.middleware else {
            return shared.handlers.respond(request, version).await;
        };
        let received = ReceivedRequest::of_input(&request, version, &shared.connection);
        let responding = Box::pin(shared.handlers.respond(request, version));
        received.respond(Some(chain), responding).await
    }

    async fn input_responses(
        &self,
        required: &InputRequiredResult,
    ) -> Result<InputResponses, Error> {
        let mut responses = InputResponses::new();
        let requests = required
            .input_requests
            .iter()
            .flat_map(|requests| requests.iter());
        for (key, request) in requests {
            let response = self.respond_to_input(request.clone(), self.version()).await;
            let response = response.map_err(|error| {
                Error::invalid_request(format!(
                    "the input request {key:?} ({}) has no response: {}",
                    request.method(),
                    error.message
                ))
            })?;
            responses.insert(key, response);
        }
        Ok(responses)
    }

    /// Returns what has to happen before the call has a complete result. Returns `None` if the result is complete, or
    /// if the caller handles it.
    ///
    /// # Errors
    /// Returns an error if the type of the result is unknown or the result is malformed.
    fn incomplete(
        &self,
        method: &str,
        result: &RawJson,
        options: &CallOptions,
    ) -> Result<Option<Incomplete>, Error> {
        let declared = &self.shared.config.handlers.declared;
        let kind = classify(
            self.version(),
            method,
            |extension| declared.extension(extension).is_some(),
            result.as_raw_value(),
        );
        match kind {
            ResultKind::Unknown(kind) => Err(Error::protocol(format!(
                "the server sent a result of unknown type {kind:?} for {method}"
            ))),
            ResultKind::Malformed(what) => Err(Error::protocol(format!(
                "the result of {method} is malformed: {what}"
            ))),
            _ if options.returns_input_required => Ok(None),
            ResultKind::InputRequired(required) => {
                Ok(Some(Incomplete::InputRequired(Box::new(required))))
            }
            // Without the option of the client, its user has declared the extension, and handles tasks.
            ResultKind::Task if self.shared.config.tasks && !options.returns_task => {
                Ok(Some(Incomplete::Task))
            }
            _ => Ok(None),
        }
    }

    /// Sends one request and returns its result, through the middleware of the client if it has any. Retries if the first
    /// attempt cannot have had an effect.
    pub(crate) async fn round(
        &self,
        method: &Cow<'static, str>,
        params: Option<&RawJson>,
        options: &CallOptions,
    ) -> Result<RawJson, Error> {
        // One future for both paths: a nested one would make each call larger.
        if let Some(chain) = &self.shared.config.middleware
            && !options.is_behind_middleware
        {
            return boxed_cold(|| async move {
                let mut request = ClientRequest::new(
                    method.clone(),
                    params.cloned(),
                    self.call_meta(options),
                    self.version(),
                    &self.shared.connection,
                );
                let sender = RoundSender {
                    client: self,
                    options,
                };
                ClientNext::new(chain, &sender).run(&mut request).await
            })
            .await;
        }
        let session = self.session();
        let error = match self.exchange(&session, method, params, options).await {
            Ok(result) => return Ok(result),
            Err(error) => error,
        };
        // An error with an HTTP status does not pass the message router.
        if let Some(rpc) = error.rpc() {
            session.incoming.on_error(rpc);
        }
        let mismatch = error
            .rpc()
            .is_some_and(|rpc| rpc.code == code::HEADER_MISMATCH);
        if mismatch
            && session.version().has_routing_headers()
            && Box::pin(self.relist_tools(method, params)).await
        {
            return Box::pin(self.exchange(&session, method, params, options)).await;
        }
        match Box::pin(self.detect_era_again(&session, &error)).await? {
            Some(session) => Box::pin(self.exchange(&session, method, params, options)).await,
            None => Err(error),
        }
    }

    async fn exchange(
        &self,
        session: &ActiveConnection,
        method: &Cow<'static, str>,
        caller_params: Option<&RawJson>,
        options: &CallOptions,
    ) -> Result<RawJson, Error> {
        let shared = &self.shared;
        let version = session.version();
        let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
        if let Some(sent) = &options.sent_id {
            sent.set(id);
        }
        let mut meta = self.call_meta(options);
        // Only calls with a progress listener can observe activity.
        let listener = options.on_progress.as_ref();
        let listener = listener.filter(|_| options.progress_route.is_none());
        let listener = listener.map(|listener| (listener, Arc::new(Notify::new())));
        let _progress = listener.as_ref().map(|(listener, activity)| {
            // The request id is unique, so it can serve as the progress token.
            let token = ProgressToken::from(id);
            meta.insert(meta_key::PROGRESS_TOKEN, RawJson::from_value(&id.into()));
            let routes = &session.incoming.progress;
            routes.register(token, Arc::clone(listener), Arc::clone(activity))
        });
        if let Some(route) = &options.progress_route {
            let token = RawJson::from_value(&route.token.into());
            meta.insert(meta_key::PROGRESS_TOKEN, token);
        }
        let activity = listener.as_ref().map(|(_, activity)| &**activity);
        let route = options.progress_route.as_ref();
        let activity = activity.or(route.map(|route| &*route.activity));
        if let Some(level) = options.log_level.or_else(|| self.log_level())
            && version.logs_on_request_only()
        {
            warn_if_deprecated(DeprecatedFeature::Logging, version);
            let level = RawJson::from_serialize(&level).expect("a level is a string");
            meta.insert(meta_key::LOG_LEVEL, level);
        }
        let params = session
            .meta
            .params(caller_params, &meta)
            .map_err(|error| Error::invalid_request(format!("{method}: {error}")))?;
        let mirrored = if version.has_routing_headers() {
            self.mirrored_headers(method, caller_params)?
        } else {
            Vec::new()
        };
        let request = OutgoingRequest {
            id: id.into(),
            method: method.clone(),
            params: Some(params),
            version,
            mirrored,
            forwarded: None,
        };
        let limits = &shared.config.limits;
        let timeouts = RequestTimeouts {
            idle: options.timeout.unwrap_or(limits.timeout),
            maximum: options.max_timeout.unwrap_or(limits.max_timeout),
        };
        let exchange = pin!(async {
            // If no permit is free, the call waits for one. The timeout includes this wait.
            let _permit = match shared.call_permits.try_acquire() {
                Ok(permit) => permit,
                Err(_) => Box::pin(shared.call_permits.acquire())
                    .await
                    .map_err(|_| Error::closed())?,
            };
            session.transport.exchange(&request).await
        });
        // The server cannot continue while it waits for a response of this client, perhaps of its user.
        let waits_for_client =
            || session.incoming.has_server_requests() || shared.config.user_interaction.is_active();
        let response = before_deadline(timeouts, activity, waits_for_client, exchange).await?;
        response.map_err(Error::from)
    }

    fn call_meta(&self, options: &CallOptions) -> Meta {
        let mut meta = Meta::new();
        let source = self.shared.config.trace.as_ref();
        if let Some(trace) = &options.trace {
            trace.to_meta(&mut meta);
        } else if let Some(trace) = source.and_then(|source| source()) {
            trace.to_meta(&mut meta);
        }
        for (key, value) in options.meta.iter().flat_map(|meta| meta.iter()) {
            meta.insert(key, value.clone());
        }
        meta
    }
}

/// Sends the requests of one round behind the middleware.
struct RoundSender<'a> {
    client: &'a Client,
    options: &'a CallOptions,
}

impl SendRequest for RoundSender<'_> {
    fn send<'a>(&'a self, request: &'a ClientRequest) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move {
            let mut options = self.options.clone();
            options.meta = request.checked_meta()?;
            options.sent_id = Some(request.id_sink().clone());
            options.is_behind_middleware = true;
            let (method, params) = request.parts();
            self.client.round(method, params, &options).await
        })
    }
}

/// Waits for a response. Activity restarts the idle timeout, but the maximum timeout always applies.
fn before_deadline(
    timeouts: RequestTimeouts,
    activity: Option<&Notify>,
    waits_for_client: impl Fn() -> bool,
    mut exchange: Pin<&mut impl Future<Output = Result<ServerResponse, Error>>>,
) -> impl Future<Output = Result<ServerResponse, Error>> {
    let start = Instant::now();
    let latest = deadline_after(start, timeouts.maximum);
    let mut deadline = deadline_after(start, timeouts.idle).min(latest);
    let idle = timeouts.idle;
    async move {
        loop {
            tokio::select! {
                biased;
                response = &mut exchange => return response,
                () = wait_for_progress(activity) => {
                    deadline = deadline_after(Instant::now(), idle).min(latest);
                }
                () = tokio::time::sleep_until(deadline) => {
                    if deadline >= latest || !waits_for_client() {
                        return Err(Error::timeout());
                    }
                    deadline = deadline_after(Instant::now(), idle).min(latest);
                }
            }
        }
    }
}

/// Waits for progress. Never returns without a progress listener.
async fn wait_for_progress(activity: Option<&Notify>) {
    match activity {
        Some(activity) => Box::pin(activity.notified()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::fake_transport::FakeServer;

    /// Allocations above about one kilobyte are slower.
    #[tokio::test]
    async fn call_fits_into_a_kilobyte() {
        let server = FakeServer::new("server", |_, _| Ok(json!({})));
        let client = server.connect(Client::builder("test", "1.0.0")).await;
        let call = client.call_tool("echo", json!({}));
        let (method, options) = (Cow::Borrowed("tools/call"), CallOptions::default());
        let running = client.run(&method, None, &options);
        let size = size_of_val(&call) + size_of_val(&running);
        assert!(size <= 1000, "{size} bytes");
    }
}
