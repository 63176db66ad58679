//! The scopes that a client requests (spec 2026-07-28, authorization, "Scope Selection Strategy", "Refresh Tokens").

use toolwire_proto::scopes::{InvalidScope, ScopeSet};

/// The scope that requests a refresh token (OpenID Connect Core, section 11).
pub(crate) const OFFLINE_ACCESS: &str = "offline_access";

/// All inputs that determine the scopes of an authorization request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScopeSources<'a> {
    /// `scope` of the challenge.
    pub challenged: Option<&'a str>,
    /// `scopes_supported` of the protected resource.
    pub resource_supports: Option<&'a [String]>,
    /// `scopes_supported` of the authorization server.
    pub server_supports: Option<&'a [String]>,
    /// Whether the client can store a refresh token.
    pub wants_refresh_token: bool,
    /// The scopes requested before for the same resource. They are requested again, so that a step-up keeps them.
    pub requested_before: Option<&'a ScopeSet>,
}

impl ScopeSources<'_> {
    /// Returns the scopes to request. Returns `None` to omit the parameter, so that the server chooses.
    ///
    /// The challenge decides, otherwise the metadata of the resource. `offline_access` is added only if the
    /// authorization server lists it and there are other scopes.
    ///
    /// # Errors
    /// Returns an error if the challenge or the metadata has an invalid scope.
    pub(crate) fn select(&self) -> Result<Option<ScopeSet>, InvalidScope> {
        let is_offline_listed = self
            .server_supports
            .is_some_and(|scopes| scopes.iter().any(|scope| scope == OFFLINE_ACCESS));
        let offline = ScopeSet::from_trusted([OFFLINE_ACCESS]);
        let mut selected = match (self.challenged, self.resource_supports) {
            (Some(scope), _) => ScopeSet::parse(scope)?,
            (None, Some(scopes)) => {
                let scopes = ScopeSet::from_list(scopes.iter().map(String::as_str))?;
                // The scope does not concern the resource, and a server that does not support it would reject the
                // request.
                scopes.without(&offline)
            }
            (None, None) => ScopeSet::new(),
        };
        if let Some(before) = self.requested_before {
            selected = before.union(&selected);
        }
        if selected.is_empty() {
            return Ok(None);
        }
        if self.wants_refresh_token && is_offline_listed {
            selected = selected.union(&offline);
        }
        Ok(Some(selected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[track_caller]
    fn check(sources: ScopeSources<'_>, expected: Option<&str>) {
        let selected = sources.select().unwrap();
        let selected = selected.as_ref().map(ToString::to_string);
        assert_eq!(selected.as_deref(), expected, "{sources:?}");
    }

    #[test]
    fn challenge_takes_precedence_over_metadata() {
        let supported = list("a b");
        let sources = ScopeSources {
            challenged: Some("c"),
            resource_supports: Some(&supported),
            ..ScopeSources::default()
        };
        check(sources, Some("c"));
        let without_challenge = ScopeSources {
            challenged: None,
            ..sources
        };
        check(without_challenge, Some("a b"));
        check(ScopeSources::default(), None);
        let empty = ScopeSources {
            resource_supports: Some(&[]),
            ..ScopeSources::default()
        };
        check(empty, None);
        let empty_challenge = ScopeSources {
            challenged: Some(""),
            ..sources
        };
        check(empty_challenge, None);
    }

    #[test]
    fn step_up_keeps_the_scopes_requested_before() {
        let before = ScopeSet::parse("a b").unwrap();
        let sources = ScopeSources {
            challenged: Some("c a"),
            requested_before: Some(&before),
            ..ScopeSources::default()
        };
        check(sources, Some("a b c"));
    }

    #[test]
    fn offline_access_is_requested_only_from_servers_that_list_it() {
        let (with, without) = (list("a offline_access"), list("a"));
        let sources = ScopeSources {
            challenged: Some("a"),
            server_supports: Some(&with),
            wants_refresh_token: true,
            ..ScopeSources::default()
        };
        check(sources, Some("a offline_access"));
        let unlisted = ScopeSources {
            server_supports: Some(&without),
            ..sources
        };
        check(unlisted, Some("a"));
        let without_refresh_token = ScopeSources {
            wants_refresh_token: false,
            ..sources
        };
        check(without_refresh_token, Some("a"));
        let offline_only = ScopeSources {
            challenged: None,
            ..sources
        };
        check(offline_only, None);
    }

    #[test]
    fn resource_metadata_cannot_request_offline_access() {
        let supported = list("a offline_access");
        let sources = ScopeSources {
            resource_supports: Some(&supported),
            ..ScopeSources::default()
        };
        check(sources, Some("a"));
    }

    #[test]
    fn invalid_scope_is_an_error() {
        let sources = ScopeSources {
            challenged: Some("a\"b"),
            ..ScopeSources::default()
        };
        assert!(sources.select().is_err());
    }
}
