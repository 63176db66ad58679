//! The registration endpoint (RFC 7591). It is open, so registrations are small and have a short retention.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use toolwire_proto::http::is_json;

use crate::deprecation::warn_about_registration;
use crate::documents::ClientMetadata;
use crate::proxy::ProxyState;
use crate::proxy::responses::{self, ProxyResponse};
use crate::proxy::store::OwnerLimit;
use crate::rules::authorization_server::registration::AcceptedRegistration;
use crate::rules::redirect_uri::Destination;

/// Registers a client.
pub(super) async fn register(proxy: &ProxyState, request: &Request<Bytes>) -> ProxyResponse {
    let invalid =
        |code: &str, reason: &str| responses::error(StatusCode::BAD_REQUEST, code, reason);
    let content_type = request.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let metadata: Option<ClientMetadata> = is_json(content_type)
        .then(|| serde_json::from_slice(request.body()).ok())
        .flatten();
    let Some(metadata) = metadata else {
        let reason = "the body must be client metadata as JSON";
        return invalid("invalid_client_metadata", reason);
    };
    let accepted = match AcceptedRegistration::check(&metadata) {
        Ok(accepted) => accepted,
        Err(error) => return invalid(error.code(), &error.to_string()),
    };
    let is_permitted = |uri: &String| {
        Destination::of(uri).is_some_and(|destination| proxy.permits_redirect_to(&destination))
    };
    if !accepted.redirect_uris.iter().all(is_permitted) {
        let reason = "this server does not permit redirects to this host";
        return invalid("invalid_redirect_uri", reason);
    }
    warn_about_registration();
    // A source that registers many clients evicts its own unused ones.
    let owner = proxy.sources.owner(request, OwnerLimit::RemoveFirst);
    match proxy.clients.register(&proxy.store, &accepted, owner).await {
        Ok(registration) => responses::json(StatusCode::CREATED, &registration),
        Err(error) => responses::unavailable(&error),
    }
}
