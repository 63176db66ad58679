//! Requests of legacy servers. Each is handled by its own task, so that reading continues.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use toolwire_proto::envelope::RequestEnvelope;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::methods;
use toolwire_types::{
    ElicitRequestParams, ErrorObject, InputRequest, ProtocolVersion, RawJson, RequestId, Response,
};

use crate::client::incoming::IncomingMessages;
use crate::client::middleware::ReceivedRequest;
use crate::client::send::{SendMessage, trace_wire};
#[cfg(feature = "relay")]
use crate::engine::BoxFuture;
use crate::engine::PeerText;

/// The maximum number of concurrent requests of one server. Further requests are rejected.
const MAX_SERVER_REQUESTS: usize = 64;

/// How long the server may take to accept a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

impl IncomingMessages {
    /// Handles a request of the server in its own task, and responds through `reply`. `origin` is the request of the
    /// client on whose stream it arrived.
    pub(crate) fn on_request(
        self: &Arc<Self>,
        request: &RequestEnvelope<'_>,
        origin: Option<&RequestId>,
        reply: &Arc<dyn SendMessage>,
    ) {
        let version = self.state().version;
        if version.is_some_and(|version| !version.has_server_requests()) {
            // Spec 2026-07-28, basic/patterns: servers send no requests, and clients no responses.
            tracing::warn!(method = %PeerText::new(&request.method), "ignored a request from a modern server");
            self.count_skipped("a request from a modern server");
            return;
        }
        let id = request.id.clone();
        let work = version.and_then(|version| self.requested_work(version, request, origin));
        let Some(work) = work else {
            let outcome = match &*request.method {
                "ping" => Ok(RawJson::empty_object()),
                method => Err(ErrorObject::method_not_found(method.to_owned())),
            };
            return self.respond(reply, id, outcome);
        };
        let work = match work {
            Ok(work) => work,
            Err(error) => return self.respond(reply, id, Err(error)),
        };
        let mut state = self.state();
        if let RequestedWork::Input(input, _) = &work
            && let InputRequest::Elicitation(ElicitRequestParams::Url(page)) = &**input
            && let Some(id) = &page.elicitation_id
        {
            state.elicitations.announce(id);
        }
        let rejection = if state.running.contains_key(&id) {
            Some(ErrorObject::invalid_request(
                "a request with this id is in flight",
            ))
        } else if state.running.len() >= MAX_SERVER_REQUESTS {
            Some(ErrorObject::internal(
                "too many requests in flight; try again later",
            ))
        } else {
            None
        };
        if let Some(rejection) = rejection {
            drop(state);
            return self.respond(reply, id, Err(rejection));
        }
        let messages = Arc::clone(self);
        let reply = Arc::clone(reply);
        let running_id = id.clone();
        let received = self.received(request, version);
        // Spawned while the table is locked, so that the task cannot end before it is in the table.
        let task = tokio::spawn(async move {
            let outcome = match received {
                Some(received) => messages.handle_received(&received, work).await,
                None => messages.handle_work(work).await,
            };
            // The response is sent before the request leaves the table, so the table bounds both.
            send_response(&reply, running_id.clone(), outcome).await;
            messages.state().running.remove(&running_id);
        });
        state.running.insert(id, task.abort_handle());
    }

    /// Returns a request of the server for the middleware. Returns `None` without any, and for a relay.
    fn received(
        &self,
        request: &RequestEnvelope<'_>,
        version: Option<ProtocolVersion>,
    ) -> Option<ReceivedRequest> {
        self.middleware.as_ref()?;
        if self.handlers.is_relay() {
            return None;
        }
        Some(ReceivedRequest::new(
            Some(request.id.clone()),
            request.method.clone().into_owned(),
            request.params.map(RawJson::from),
            version?,
            &self.connection,
        ))
    }

    /// Runs the handler of a request behind the middleware.
    async fn handle_received(
        &self,
        received: &ReceivedRequest,
        work: RequestedWork,
    ) -> Result<RawJson, ErrorObject> {
        let responding = Box::pin(self.handle_work(work));
        received.respond(self.middleware.as_ref(), responding).await
    }

    async fn handle_work(&self, work: RequestedWork) -> Result<RawJson, ErrorObject> {
        match work {
            RequestedWork::Input(input, version) => self.handlers.respond(*input, version).await,
            RequestedWork::Custom(method, params) => {
                self.handlers.respond_to_custom(&method, params).await
            }
            #[cfg(feature = "relay")]
            RequestedWork::Relay(response) => response.await,
        }
    }

    /// Sends an immediate response from its own task. A server that does not read gets no more of them.
    fn respond(
        self: &Arc<Self>,
        reply: &Arc<dyn SendMessage>,
        id: RequestId,
        outcome: Result<RawJson, ErrorObject>,
    ) {
        let mut state = self.state();
        if state.responding >= MAX_SERVER_REQUESTS {
            drop(state);
            return self.count_skipped("a request of a server that does not read responses");
        }
        state.responding += 1;
        drop(state);
        let (messages, reply) = (Arc::clone(self), Arc::clone(reply));
        tokio::spawn(async move {
            send_response(&reply, id, outcome).await;
            messages.state().responding -= 1;
        });
    }

    /// Returns what a request of the server asks for. Returns `None` if the client has no such handler.
    fn requested_work(
        &self,
        version: ProtocolVersion,
        request: &RequestEnvelope<'_>,
        origin: Option<&RequestId>,
    ) -> Option<Result<RequestedWork, ErrorObject>> {
        #[cfg(feature = "relay")]
        if let Some(relay) = &self.handlers.relay {
            let is_forwarded = request.method != "ping";
            return is_forwarded
                .then(|| Ok(RequestedWork::Relay(relay.on_request(request, origin))));
        }
        #[cfg(not(feature = "relay"))]
        let _ = origin;
        let Some(method) = methods::find(&request.method) else {
            let method = &*request.method;
            let params = request
                .params
                .map_or_else(RawJson::empty_object, RawJson::from);
            let is_handled = self.handlers.requests.contains_key(method);
            return is_handled.then(|| Ok(RequestedWork::Custom(method.to_owned(), params)));
        };
        if request.method == "ping" || !method.is_server_request(version) {
            return None;
        }
        // The parameters stay raw, so that a number that fits no type is an error of the request.
        let input = ServerRequest {
            method: &request.method,
            params: request.params,
        };
        let input = RawJson::from_serialize(&input).and_then(|input| input.parse());
        Some(match input {
            Ok(input) => Ok(RequestedWork::Input(Box::new(input), version)),
            Err(error) => {
                let message = format!("{}: {error}", request.method);
                Err(ErrorObject::invalid_params(message))
            }
        })
    }
}

/// What a request of the server asks for.
enum RequestedWork {
    /// Input, in the form of this revision.
    Input(Box<InputRequest>, ProtocolVersion),
    /// A handler of a method that the protocol does not define, with the parameters.
    Custom(String, RawJson),
    /// The response of the client behind a relay.
    #[cfg(feature = "relay")]
    Relay(BoxFuture<'static, Result<RawJson, ErrorObject>>),
}

/// A request of the server, serialized like an input request.
#[derive(Serialize)]
struct ServerRequest<'a> {
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
}

async fn send_response(
    reply: &Arc<dyn SendMessage>,
    id: RequestId,
    outcome: Result<RawJson, ErrorObject>,
) {
    let response = match outcome {
        Ok(result) => Response::result(id, result),
        Err(error) => Response::error(id, error),
    };
    let message = serde_json::to_vec(&response).expect("a response always serialises");
    trace_wire("sent", &message);
    match tokio::time::timeout(RESPONSE_TIMEOUT, reply.send(message)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a response could not be sent"),
        Err(_) => tracing::debug!("the server did not accept a response in time"),
    }
}

#[cfg(test)]
mod tests {
    use toolwire_types::code;

    use super::*;
    use crate::client::cache::{Cache, CacheOptions};
    use crate::client::middleware::{ClientMiddleware, ClientNext, ClientRequest};
    use crate::engine::{BoxFuture, ConnectionInfo};
    use crate::error::Error;

    struct PanicsBeforeItsFuture;

    impl ClientMiddleware for PanicsBeforeItsFuture {
        fn handle<'a>(
            &'a self,
            request: &'a mut ClientRequest,
            next: ClientNext<'a>,
        ) -> BoxFuture<'a, Result<RawJson, Error>> {
            Box::pin(async move { next.run(request).await })
        }

        fn handle_received<'a>(
            &'a self,
            _request: &'a ReceivedRequest,
            _responding: BoxFuture<'a, Result<RawJson, ErrorObject>>,
        ) -> BoxFuture<'a, Result<RawJson, ErrorObject>> {
            panic!("a middleware without a future");
        }
    }

    #[tokio::test]
    async fn middleware_that_panics_before_its_future_fails_the_request() {
        let middleware: Arc<dyn ClientMiddleware> = Arc::new(PanicsBeforeItsFuture);
        let connection = Arc::new(ConnectionInfo::default());
        let messages = IncomingMessages::new(
            Arc::default(),
            Arc::new(Cache::new(&CacheOptions::default(), String::new())),
            Arc::default(),
            Some(Arc::from([middleware])),
            Arc::clone(&connection),
        );
        let version = ProtocolVersion::V2025_11_25;
        let method = "com.example/method".to_owned();
        let id = RequestId::from(1);
        let received = ReceivedRequest::new(Some(id), method.clone(), None, version, &connection);
        let work = RequestedWork::Custom(method, RawJson::empty_object());
        let outcome = messages.handle_received(&received, work).await;
        let error = outcome.expect_err("the middleware panics");
        assert_eq!(error.code, code::INTERNAL_ERROR);
        assert!(error.message.contains("middleware"), "{error:?}");
    }
}
