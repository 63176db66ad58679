//! Which scopes a client asks for (spec 2026-07-28, authorization, "Scope Selection Strategy", "Refresh Tokens").

use crate::scopes::{InvalidScope, ScopeSet};

/// The scope that asks for a refresh token (OpenID Connect Core, section 11).
pub const OFFLINE_ACCESS: &str = "offline_access";

/// Everything that has a say in the scopes of an authorization request.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a caller that forgets a source would ask for other scopes"
)]
pub struct ScopeSources<'a> {
    /// `scope` of the challenge.
    pub challenged: Option<&'a str>,
    /// `scopes_supported` of the protected resource.
    pub resource_supports: Option<&'a [String]>,
    /// `scopes_supported` of the authorization server.
    pub server_supports: Option<&'a [String]>,
    /// Whether the client can keep a refresh token.
    pub wants_refresh_token: bool,
    /// What was asked for before for the same resource; kept, so that a step up loses nothing.
    pub requested_before: Option<&'a ScopeSet>,
}

impl ScopeSources<'_> {
    /// The scopes to ask for; `None` leaves the parameter out, and the server chooses.
    ///
    /// The challenge decides, otherwise the resource's metadata. `offline_access` is added only when the authorization
    /// server lists it, and never alone: that would ask for nothing but it.
    ///
    /// # Errors
    /// When the challenge or the metadata names something that is no scope.
    pub fn select(&self) -> Result<Option<ScopeSet>, InvalidScope> {
        let is_offline_listed = self
            .server_supports
            .is_some_and(|scopes| scopes.iter().any(|scope| scope == OFFLINE_ACCESS));
        let offline = ScopeSet(vec![OFFLINE_ACCESS.to_owned()]);
        let mut wanted = match (self.challenged, self.resource_supports) {
            (Some(scope), _) => ScopeSet::parse(scope)?,
            (None, Some(scopes)) => {
                let scopes = ScopeSet::from_list(scopes.iter().map(String::as_str))?;
                // It is no business of a resource, and a server that does not know it would refuse.
                scopes.without(&offline)
            }
            (None, None) => ScopeSet::new(),
        };
        if let Some(before) = self.requested_before {
            wanted = before.union(&wanted);
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        if self.wants_refresh_token && is_offline_listed {
            wanted = wanted.union(&offline);
        }
        Ok(Some(wanted))
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
    fn the_challenge_comes_first_then_the_metadata_then_nothing() {
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
    fn a_step_up_keeps_what_was_asked_for_before() {
        let before = ScopeSet::parse("a b").unwrap();
        let sources = ScopeSources {
            challenged: Some("c a"),
            requested_before: Some(&before),
            ..ScopeSources::default()
        };
        check(sources, Some("a b c"));
    }

    #[test]
    fn offline_access_is_asked_only_of_servers_that_list_it() {
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
        let unwanted = ScopeSources {
            wants_refresh_token: false,
            ..sources
        };
        check(unwanted, Some("a"));
        let alone = ScopeSources {
            challenged: None,
            ..sources
        };
        check(alone, None);
    }

    #[test]
    fn a_resource_cannot_make_us_ask_for_offline_access() {
        let supported = list("a offline_access");
        let sources = ScopeSources {
            resource_supports: Some(&supported),
            ..ScopeSources::default()
        };
        check(sources, Some("a"));
    }

    #[test]
    fn what_is_no_scope_is_an_error() {
        let sources = ScopeSources {
            challenged: Some("a\"b"),
            ..ScopeSources::default()
        };
        assert!(sources.select().is_err());
    }
}
