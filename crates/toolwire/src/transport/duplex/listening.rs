//! Requests for streams of changes.

use std::sync::Arc;

use toolwire_proto::admit::Admitted;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::requests;
use toolwire_types::{ErrorObject, ResponseId};

use crate::engine::TransportContext;
use crate::engine::encoding::{encode_error, encode_outcome};
use crate::server::Server;
use crate::server::middleware::Chain;
use crate::server::visibility::StoredCaller;
use crate::transport::duplex::open_listen::OpenListen;
use crate::transport::duplex::{MessageLoop, error_response};
use crate::transport::listen::{ListenEnd, ListenFilter, ListenStream, listen_work};
use crate::transport::outgoing_queue::MessageSink;

impl MessageLoop {
    #[cold]
    pub(super) fn on_listen(&mut self, admitted: &Admitted<'_>) {
        self.responses.flush_to(&self.context.out);
        let id = admitted.id.clone();
        self.listen_streams.retain(|_, stream| !stream.has_ended());
        if self.listen_streams.contains_key(&id) {
            // A response with the id would end the open stream.
            let error = ErrorObject::invalid_params(format!(
                "a subscription with the id {id} is already open"
            ));
            return self.respond(encode_error(ResponseId::Absent, error));
        }
        if self.listen_streams.len() >= self.limits.subscriptions {
            let error =
                requests::overloaded_error("too many subscriptions are open; cancel some first");
            return self.respond(encode_error(ResponseId::Id(id), error));
        }
        if let Some(token) = &self.context.token {
            let snapshot = self.server.snapshot();
            let needed = snapshot.scopes_for(admitted, Some(token));
            if let Err(error) = token.check_scopes(&needed) {
                return self.respond(encode_error(ResponseId::Id(id), error));
            }
        }
        let filter = match ListenFilter::read(&self.server, admitted) {
            Ok(filter) => filter,
            Err(error) => return self.respond(encode_error(ResponseId::Id(id), error)),
        };
        if let Some(chain) = self.server.snapshot().middleware.clone() {
            return self.listen_in(&chain, admitted, filter);
        }
        let out = Arc::clone(self.out()) as Arc<dyn MessageSink>;
        let token = self.context.token.clone();
        let caller = StoredCaller::new(&self.server, token, self.context.token.is_some(), admitted);
        let request = (id.clone(), admitted.version);
        match ListenStream::open(&self.server, request, filter, out, caller) {
            Ok(stream) => {
                self.listen_streams.insert(id, OpenListen::Stream(stream));
            }
            Err(error) => self.respond(encode_error(ResponseId::Id(id), error)),
        }
    }

    /// Opens a stream of changes inside the middleware of the server, in a task of its own.
    fn listen_in(&mut self, chain: &Chain, admitted: &Admitted<'_>, filter: ListenFilter) {
        let id = admitted.id.clone();
        // A stream must not hold the bytes of the chunk in which its request arrived.
        let context = self.context.with_sender(self.context.token.clone(), None);
        let context = Arc::new(context) as Arc<dyn TransportContext>;
        let exchange = match Server::open_in(self.server.snapshot(), admitted, context, None) {
            Ok(exchange) => exchange,
            Err(error) => return self.respond(error_response(id, error, admitted.version)),
        };
        let shutdown = self.server.shutdown_signal().clone();
        let ended = Box::pin(async move { shutdown.cancelled().await });
        let work = listen_work(self.server.clone(), filter, ListenEnd::Cancelled, ended);
        let running = chain.run(exchange, work);
        let (request, out) = (id.clone(), Arc::clone(self.out()));
        let task = self.tasks.spawn(async move {
            let outcome = running.await;
            out.push(OutgoingKind::Response, encode_outcome(&request, outcome));
        });
        self.listen_streams.insert(id, OpenListen::Task(task));
    }
}
