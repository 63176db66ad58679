//! Looks up the session that a request names.

use std::sync::Arc;

use http::StatusCode;
use toolwire_proto::http::is_session_id;
use toolwire_proto::lifecycle::Lifecycle;
use toolwire_types::{ErrorObject, ResponseId};

use crate::store::StoreError;
use crate::transport::http::options::LegacyMode;
use crate::transport::http::request::guard;
use crate::transport::http::request::incoming::IncomingRequest;
use crate::transport::http::response::{self, HttpResponse};
use crate::transport::http::session::active::ActiveSession;

/// The result of looking up the session of a request.
pub(crate) enum SessionLookup {
    /// The request names no session, or sessions do not apply to it.
    None,
    /// The request names a session that the principal does not have.
    Unknown,
    Session(Arc<ActiveSession>),
}

impl SessionLookup {
    /// Returns the lifecycle of the session. A request without a session is treated as the first request.
    pub(crate) fn lifecycle(&self) -> Lifecycle {
        match self {
            Self::Session(session) => session.state.lifecycle(),
            Self::None | Self::Unknown => Lifecycle::Fresh,
        }
    }

    /// Returns the session, or the rejection of a request without one.
    fn into_session(self) -> Result<Arc<ActiveSession>, HttpResponse> {
        match self {
            Self::Session(session) => Ok(session),
            missing => Err(missing.reject(ResponseId::Absent)),
        }
    }

    /// Rejects a request that needs a session. The response is the same for expired, unknown and other principals'
    /// sessions, so that ids cannot be probed.
    #[cold]
    pub(crate) fn reject(&self, id: ResponseId) -> HttpResponse {
        let (status, reason) = match self {
            Self::Unknown => (
                StatusCode::NOT_FOUND,
                "there is no such session; send `initialize` to open one",
            ),
            Self::None | Self::Session(_) => (
                StatusCode::BAD_REQUEST,
                "the request has no session id: send `initialize` first and repeat its Mcp-Session-Id, \
                 or name a stateless protocol version in MCP-Protocol-Version and `_meta`",
            ),
        };
        response::error(status, id, ErrorObject::invalid_request(reason))
    }
}

impl IncomingRequest<'_> {
    /// Returns `true` if the request may have a session.
    pub(crate) fn may_have_session(&self) -> bool {
        self.endpoint.options.legacy == LegacyMode::Sessions && !self.declares_modern_version()
    }

    /// Returns the session id of the request, or the result of a lookup without one.
    pub(crate) fn session_id(&self) -> Result<&str, SessionLookup> {
        if !self.may_have_session() {
            return Err(SessionLookup::None);
        }
        match guard::text(self.head.session_id) {
            Ok(None) => Err(SessionLookup::None),
            Ok(Some(id)) if is_session_id(id) => Ok(id),
            Ok(Some(_)) | Err(()) => Err(SessionLookup::Unknown),
        }
    }

    /// Looks up the session that the request names.
    pub(crate) async fn find_session(&self) -> Result<SessionLookup, HttpResponse> {
        let id = match self.session_id() {
            Ok(id) => id,
            Err(missing) => return Ok(missing),
        };
        lookup_of(self.endpoint.session(id, &self.principal()).await)
    }

    /// Returns the session of the request, or the rejection if it has none.
    pub(crate) async fn session(&self) -> Result<Arc<ActiveSession>, HttpResponse> {
        self.check_version_header()?;
        self.find_session().await?.into_session()
    }

    /// Returns the session of a `notifications/initialized` like [`session`](Self::session). Whether it is initialized now
    /// depends on its store.
    pub(crate) async fn initialized_session(&self) -> Result<Arc<ActiveSession>, HttpResponse> {
        self.check_version_header()?;
        let lookup = match self.session_id() {
            Ok(id) => {
                let principal = self.principal();
                lookup_of(self.endpoint.initialized_session(id, &principal).await)?
            }
            Err(missing) => missing,
        };
        lookup.into_session()
    }
}

/// Returns the result of a lookup in the store.
fn lookup_of(
    loaded: Result<Option<Arc<ActiveSession>>, StoreError>,
) -> Result<SessionLookup, HttpResponse> {
    match loaded {
        Ok(Some(session)) => Ok(SessionLookup::Session(session)),
        Ok(None) => Ok(SessionLookup::Unknown),
        Err(error) => Err(response::store_error(&error)),
    }
}
