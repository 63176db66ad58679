//! An authorizer for tests with several users.

use bytes::Bytes;
use http::StatusCode;
use toolwire::transport::http::{AuthorizationError, Authorizer};
use toolwire::{BoxFuture, ScopeSet, TokenInfo};

/// An authorizer whose access tokens are the names of the users. A name may be followed by a colon and the scopes that the
/// token grants, separated by commas.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "it has no settings")]
pub struct NamedUsers;

impl Authorizer for NamedUsers {
    fn authorize<'a>(
        &'a self,
        head: &'a http::request::Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        let field = head.headers.get("authorization");
        let user = field.and_then(|field| field.to_str().ok()?.strip_prefix("Bearer "));
        let token = user.map(|user| {
            let token = TokenInfo::verified().with_issuer("https://issuer");
            match user.split_once(':') {
                Some((user, scopes)) => token.with_subject(user).with_scopes(scopes.split(',')),
                None => token.with_subject(user),
            }
        });
        let missing = || AuthorizationError::new(StatusCode::UNAUTHORIZED, "no token");
        Box::pin(std::future::ready(token.ok_or_else(missing)))
    }

    fn insufficient_scope(&self, _: &ScopeSet, _: &TokenInfo) -> AuthorizationError {
        AuthorizationError::new(StatusCode::FORBIDDEN, "not permitted")
    }

    fn document(&self, _: &str) -> Option<Bytes> {
        None
    }
}
