//! Requests that describe themselves (2026-07-28): one POST, one exchange, nothing remembered.

use std::sync::Arc;
use std::task::{Context, Poll};

use toolwire_proto::admit::{Admitted, http_status_for};
use toolwire_proto::param_headers;
use toolwire_types::{ErrorObject, RequestId, ResponseId, code};

use crate::engine::{BoxFuture, TransportContext};
use crate::server::dispatch::Dispatch;
use crate::transport::http::answer::{self, Answer, Finished, status};
use crate::transport::http::endpoint::Endpoint;
use crate::transport::http::event_source::{EventSource, Flow};
use crate::transport::http::guard;
use crate::transport::http::post::Post;
use crate::transport::http::running::{OnDisconnect, Opening, Running, Work};
use crate::transport::http::stream_context::{HttpStreamContext, Peer};
use crate::transport::http::stream_queue::StreamQueue;
use crate::transport::listen::ListenStream;
use crate::transport::outlet::Outlet;

/// Serves an admitted request.
pub(super) async fn serve(post: &Post<'_>, admitted: Admitted<'_>) -> Answer {
    let endpoint = post.endpoint;
    if admitted.method.name() == "subscriptions/listen" {
        return listen(endpoint, &admitted);
    }
    if let Err(error) = check_param_headers(post, &admitted) {
        return refuse(&admitted.id, &admitted, error);
    }
    let Some(slot) = endpoint.requests.take() else {
        return answer::unavailable("too many requests run at the moment");
    };
    let limits = &endpoint.options.limits;
    let (id, era, has_state) = (
        admitted.id.clone(),
        admitted.era,
        admitted.request_state.is_some(),
    );
    let context = Arc::new(HttpStreamContext::new(
        limits.outbox(),
        Peer::Stateless,
        post.auth.clone(),
    ));
    let transport = Arc::clone(&context) as Arc<dyn TransportContext>;
    let exchange = match endpoint.server.open(admitted, transport, None) {
        Ok(exchange) => exchange,
        Err(error) => {
            // A request whose own fields cannot be read is a bad message. A state that does not open any more is not.
            let code = match error.code {
                code::INVALID_PARAMS if !has_state => 400,
                other => http_status_for(other, era),
            };
            return answer::error(status(code), ResponseId::Id(id), error);
        }
    };
    let work = match endpoint.server.dispatch(exchange) {
        Dispatch::Now(outcome) => {
            let finished = Finished::new(&id, era, &outcome);
            return answer::json(finished.status, finished.message);
        }
        Dispatch::Later(future) => Work::One { id, era, future },
    };
    let mut running = Running::new(work, context, OnDisconnect::Cancel, slot);
    match running.open(limits.quiet_period).await {
        Opening::Outcome(finished) => answer::finished(finished),
        Opening::Stream => endpoint.stream_exchange(running),
    }
}

/// Spec 2026-07-28, basic/transports/streamable-http, "Custom Headers from Tool Parameters".
fn check_param_headers(post: &Post<'_>, admitted: &Admitted<'_>) -> Result<(), ErrorObject> {
    let (Some(name), "tools/call") = (&admitted.name, admitted.method.name()) else {
        return Ok(());
    };
    let Some(tool) = post.snapshot.tools.get(&**name) else {
        return Ok(());
    };
    param_headers::check(&tool.param_headers, admitted.arguments, |header| {
        guard::lookup_named(&post.parts.headers, header)
    })
    .map_err(ErrorObject::from)
}

fn refuse(id: &RequestId, admitted: &Admitted<'_>, error: ErrorObject) -> Answer {
    let status = status(http_status_for(error.code, admitted.era));
    answer::error(status, ResponseId::Id(id.clone()), error)
}

/// Opens a stream of changes.
fn listen(endpoint: &Arc<Endpoint>, admitted: &Admitted<'_>) -> Answer {
    let Some(slot) = endpoint.streams.take() else {
        return answer::unavailable("too many streams are open at the moment");
    };
    let limits = &endpoint.options.limits;
    let queue = Arc::new(StreamQueue::new(limits.outbox()));
    let outlet = Arc::clone(&queue) as Arc<dyn Outlet>;
    let stream = match ListenStream::open(&endpoint.server, admitted, outlet) {
        Ok(stream) => stream,
        Err(error) => {
            let code = match error.code {
                code::INVALID_PARAMS => 400,
                other => http_status_for(other, admitted.era),
            };
            return answer::error(status(code), ResponseId::Id(admitted.id.clone()), error);
        }
    };
    let shutdown = endpoint.server.shutdown().clone();
    let source = ListenEvents {
        queue,
        stream: Some(stream),
        endpoint: Arc::clone(endpoint),
        shutdown: Box::pin(async move { shutdown.cancelled().await }),
    };
    endpoint.stream(Box::new(source), Some(slot))
}

/// The events of one `subscriptions/listen`.
struct ListenEvents {
    queue: Arc<StreamQueue>,
    /// `None` once it is concluded.
    stream: Option<ListenStream>,
    endpoint: Arc<Endpoint>,
    shutdown: BoxFuture<'static, ()>,
}

impl EventSource for ListenEvents {
    fn poll_events(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<Flow> {
        if self.stream.is_some() && self.shutdown.as_mut().poll(cx).is_ready() {
            let stream = self.stream.take().expect("it was there a line above");
            stream.conclude(&self.endpoint.server);
        }
        let news = self.queue.poll_news(cx);
        self.queue.take_events(out);
        match (news, &self.stream) {
            (_, None) => Poll::Ready(Flow::Ends),
            (Poll::Ready(()), Some(_)) => Poll::Ready(Flow::Continues),
            (Poll::Pending, Some(_)) => Poll::Pending,
        }
    }
}
