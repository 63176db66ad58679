//! One HTTP request to the endpoint with the data that is needed to admit its message.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use toolwire_proto::admit::{self, AdmissionContext, Admitted};
use toolwire_proto::envelope::MalformedMessage;
use toolwire_proto::features::{Era, SupportedVersions};
use toolwire_proto::http::client_network;
use toolwire_proto::lifecycle::Lifecycle;
use toolwire_proto::scopes::ScopeSet;
use toolwire_proto::stamp;
use toolwire_types::ResponseId;

use crate::engine::{Principal, TokenInfo};
use crate::server::snapshot::Snapshot;
use crate::transport::http::authorizer::{AuthorizationError, scopes_unsupported};
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::exchange::context::{HttpStreamContext, PeerState};
use crate::transport::http::options::LegacyMode;
use crate::transport::http::request::client_address::{ClientAddress, client_address};
use crate::transport::http::request::connection_facts::ConnectionFacts;
use crate::transport::http::request::headers::RequestHeaders;
use crate::transport::http::response::{self, HttpResponse};

/// One HTTP request to the endpoint. A GET or DELETE has no message.
pub(crate) struct IncomingRequest<'a> {
    pub(crate) endpoint: &'a Arc<HttpEndpoint>,
    pub(crate) parts: &'a Parts,
    pub(crate) head: &'a RequestHeaders<'a>,
    pub(crate) auth: Option<Arc<TokenInfo>>,
    /// The server's registrations and options at the start of the request.
    pub(crate) snapshot: Arc<Snapshot>,
    /// The peer address of the connection, if the listener knows it.
    peer: Option<SocketAddr>,
}

impl<'a> IncomingRequest<'a> {
    pub(crate) fn new(
        endpoint: &'a Arc<HttpEndpoint>,
        parts: &'a Parts,
        head: &'a RequestHeaders<'a>,
        auth: Option<Arc<TokenInfo>>,
        peer: Option<SocketAddr>,
    ) -> Self {
        Self {
            endpoint,
            parts,
            head,
            auth,
            snapshot: endpoint.server.snapshot(),
            peer,
        }
    }
}

impl IncomingRequest<'_> {
    /// Returns the rejection of a request whose token does not grant the scopes that it needs.
    ///
    /// Spec 2026-07-28, basic/authorization, "Scope Challenge Handling": 403 with all scopes of the operation.
    pub(crate) fn missing_scopes(&self, admitted: &Admitted<'_>) -> Option<AuthorizationError> {
        let needed = self.snapshot.scopes_for(admitted, self.auth.as_deref());
        self.check_scopes(&needed).err()
    }

    /// Rejects a request whose token does not grant all of these scopes.
    pub(crate) fn check_scopes(&self, needed: &ScopeSet) -> Result<(), AuthorizationError> {
        let token = self.auth.as_deref().unwrap_or(TokenInfo::none());
        if token.grants(needed) {
            return Ok(());
        }
        Err(match &self.endpoint.options.authorizer {
            Some(authorizer) => authorizer.insufficient_scope(needed, token),
            None => scopes_unsupported(),
        })
    }

    #[cold]
    pub(crate) fn reject_malformed(&self, unreadable: MalformedMessage) -> HttpResponse {
        let id = match unreadable.id {
            Some(id) => ResponseId::Id(id),
            None => stamp::unreadable_id(admit::header_version(&self.head.routing)),
        };
        response::error(StatusCode::BAD_REQUEST, id, unreadable.error)
    }

    /// Returns `true` if the version header names a modern revision.
    pub(crate) fn declares_modern_version(&self) -> bool {
        admit::header_era(&self.head.routing) == Some(Era::Modern)
    }

    /// Spec 2025-11-25, basic/transports, "Protocol Version Header".
    pub(crate) fn check_version_header(&self) -> Result<(), HttpResponse> {
        admit::check_version_header(&self.head.routing, &self.snapshot.supported)
            .map_err(|error| response::error(StatusCode::BAD_REQUEST, ResponseId::Absent, error))
    }

    pub(crate) fn principal(&self) -> Principal {
        let token = self.auth.as_deref();
        token.map_or_else(Principal::anonymous, Principal::of)
    }

    /// Returns what the request shows about its connection.
    fn connection_facts(&self) -> ConnectionFacts {
        ConnectionFacts::new(self.parts, self.client_address())
    }

    /// Returns the network of the client, if the listener, a layer in front or a trusted proxy knows it.
    pub(crate) fn client_network(&self) -> Option<IpAddr> {
        network_of(self.parts, self.peer, self.endpoint.options.trusted_proxies)
    }

    fn client_address(&self) -> Option<ClientAddress> {
        let proxies = self.endpoint.options.trusted_proxies;
        client_address(self.parts, self.peer, proxies)
    }

    /// Creates the transport context of a request in this POST.
    pub(crate) fn context(&self, peer: PeerState) -> Arc<HttpStreamContext> {
        let queue = self.endpoint.queue();
        let middleware = self.snapshot.middleware.as_ref();
        let facts = middleware.map(|_| self.connection_facts());
        Arc::new(HttpStreamContext::new(
            queue,
            peer,
            self.auth.clone(),
            facts,
        ))
    }

    /// Calls `admit` with the admission context of this request.
    pub(crate) fn with_admission_context<R>(
        &self,
        lifecycle: Lifecycle,
        admit: impl FnOnce(&AdmissionContext<'_>) -> R,
    ) -> R {
        let options = &self.endpoint.options;
        let has_sessions = options.legacy == LegacyMode::Sessions;
        admit(&AdmissionContext {
            supported: &self.served_versions(),
            lifecycle,
            headers: Some(self.head.routing),
            is_custom_method: &|name| self.snapshot.is_custom_method(name),
            is_custom_notification: &|name| self.snapshot.is_custom_notification(name),
            require_initialized: has_sessions && self.snapshot.options.require_initialized,
        })
    }

    fn served_versions(&self) -> Cow<'_, SupportedVersions> {
        let legacy = self.endpoint.options.legacy;
        legacy.served_versions(&self.snapshot.supported)
    }
}

/// Returns the network of the client. If the proxies do not name it, returns that of the peer, so that such requests are
/// limited, too.
fn network_of(parts: &Parts, peer: Option<SocketAddr>, trusted_proxies: usize) -> Option<IpAddr> {
    let client = client_address(parts, peer, trusted_proxies);
    let client = client.or_else(|| client_address(parts, peer, 0))?;
    Some(client_network(client.address))
}

/// Returns the length of the parameters, which the handler of a request may retain.
pub(crate) fn params_bytes(admitted: &Admitted<'_>) -> usize {
    admitted.params().map_or(0, |params| params.get().len())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn request_without_a_forwarded_address_has_the_network_of_its_peer() {
        let peer: SocketAddr = "10.0.0.1:5000".parse().unwrap();
        let check = |forwarded: &str, trusted: usize, expected: &str| {
            let request = Request::builder().header("x-forwarded-for", forwarded);
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let network = network_of(&parts, Some(peer), trusted);
            let expected: IpAddr = expected.parse().unwrap();
            assert_eq!(network, Some(expected), "{forwarded} {trusted}");
        };
        check("1.2.3.4", 0, "10.0.0.1");
        check("1.2.3.4", 1, "1.2.3.4");
        check("1.2.3.4", 2, "10.0.0.1");
        check("unknown", 1, "10.0.0.1");
    }
}
