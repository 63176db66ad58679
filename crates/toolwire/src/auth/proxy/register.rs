//! The registration endpoint (RFC 7591): anybody may come, so little is kept of each and not for long.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use toolwire_proto::auth::authorization_server::registration::AcceptedRegistration;
use toolwire_proto::auth::redirect_uri::Destination;
use toolwire_proto::http::is_json;
use toolwire_types::auth::ClientMetadata;

use crate::auth::proxy::ProxyState;
use crate::auth::proxy::responses::{self, ProxyResponse};
use crate::store::OwnerLimit;

/// Registers a client.
pub(super) async fn register(core: &ProxyState, request: &Request<Bytes>) -> ProxyResponse {
    let invalid =
        |code: &str, reason: &str| responses::error(StatusCode::BAD_REQUEST, code, reason);
    let content_type = request.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let metadata: Option<ClientMetadata> = is_json(content_type)
        .then(|| serde_json::from_slice(request.body()).ok())
        .flatten();
    let Some(metadata) = metadata else {
        let reason = "send the metadata of the client as JSON";
        return invalid("invalid_client_metadata", reason);
    };
    let accepted = match AcceptedRegistration::judge(&metadata) {
        Ok(accepted) => accepted,
        Err(refused) => return invalid(refused.code(), &refused.to_string()),
    };
    let mut destinations = accepted
        .redirect_uris
        .iter()
        .map(|uri| Destination::of(uri));
    let all_served = destinations
        .all(|destination| destination.is_some_and(|place| core.sends_users_to(&place)));
    if !all_served {
        let reason = "this server does not send users to this host";
        return invalid("invalid_redirect_uri", reason);
    }
    // A source that registers many clients pushes out unused ones of its own.
    let owner = core.sources.owner(request, OwnerLimit::RemoveFirst);
    match core.clients.register(&core.vault, &accepted, owner).await {
        Ok(registration) => responses::json(StatusCode::CREATED, &registration),
        Err(error) => responses::unavailable(&error),
    }
}
