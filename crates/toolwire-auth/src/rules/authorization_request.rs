//! The authorization request URL (OAuth 2.1, section 4.1.1).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use toolwire_proto::scopes::ScopeSet;

use crate::documents::Secret;
use crate::rules::endpoints::{self, InvalidUrl};
use crate::rules::pkce::{self, Verifier};
use crate::rules::resource_indicator::ResourceIndicator;
use crate::rules::scopes::OFFLINE_ACCESS;
use crate::rules::{form, redirect_uri};

/// Parameters that only this module sets.
const RESERVED: [&str; 9] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
    "scope",
    "dpop_jkt",
];

/// Returns `true` if the request itself sets a parameter, so that callers may not set it.
#[must_use]
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Creates a `state` from 256 bits of a secure random source.
#[must_use]
pub(crate) fn state_from_random(bytes: [u8; 32]) -> Secret {
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// An authorization request.
#[derive(Debug, Clone)]
pub(crate) struct AuthorizationRequest<'a> {
    client_id: &'a str,
    redirect_uri: &'a str,
    state: &'a Secret,
    challenge: String,
    resource: Option<&'a ResourceIndicator>,
    scopes: Option<&'a ScopeSet>,
    extra_parameters: Vec<(String, String)>,
}

impl<'a> AuthorizationRequest<'a> {
    /// Creates a request of a client. `state` is [random](state_from_random), used once, and stored with the verifier.
    #[must_use]
    pub(crate) fn new(
        client_id: &'a str,
        redirect_uri: &'a str,
        state: &'a Secret,
        verifier: &Verifier,
    ) -> Self {
        Self {
            client_id,
            redirect_uri,
            state,
            challenge: verifier.challenge(),
            resource: None,
            scopes: None,
            extra_parameters: Vec::new(),
        }
    }

    /// Sets the resource of the token. Required from 2025-06-18 on.
    #[must_use]
    pub(crate) fn with_resource(mut self, resource: &'a ResourceIndicator) -> Self {
        self.resource = Some(resource);
        self
    }

    /// Sets the requested scopes.
    #[must_use]
    pub(crate) fn with_scopes(mut self, scopes: &'a ScopeSet) -> Self {
        self.scopes = Some(scopes);
        self
    }

    /// Adds a parameter that an authorization server requires, such as `prompt`.
    ///
    /// # Errors
    /// Returns an error if the request itself sets the parameter.
    pub(crate) fn with_parameter(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Self, ReservedParameter> {
        let name = name.into();
        if is_reserved(&name) {
            return Err(ReservedParameter { name });
        }
        self.extra_parameters.push((name, value.into()));
        Ok(self)
    }

    /// Returns the URL to open at the server's authorization endpoint. The query of the endpoint is preserved.
    ///
    /// # Errors
    /// Returns an error if the endpoint or the redirect URI is invalid.
    pub(crate) fn url(&self, authorization_endpoint: &str) -> Result<String, InvalidUrl> {
        endpoints::check(authorization_endpoint)?;
        redirect_uri::check(self.redirect_uri)?;
        let mut pairs = vec![
            ("response_type", "code"),
            ("client_id", self.client_id),
            ("redirect_uri", self.redirect_uri),
            ("state", self.state.expose()),
            ("code_challenge", &self.challenge),
            ("code_challenge_method", pkce::METHOD),
        ];
        pairs.extend(
            self.resource
                .map(|resource| ("resource", resource.as_str())),
        );
        let scope = self.scopes.map(ToString::to_string);
        let scope = scope.as_deref().filter(|scope| !scope.is_empty());
        pairs.extend(scope.map(|scope| ("scope", scope)));
        // OpenID providers ignore `offline_access` and issue no refresh token unless the user is prompted (OpenID
        // Connect Core, section 11).
        let is_offline = self
            .scopes
            .is_some_and(|scopes| scopes.contains(OFFLINE_ACCESS));
        let has_prompt = self
            .extra_parameters
            .iter()
            .any(|(name, _)| name == "prompt");
        if is_offline && !has_prompt {
            pairs.push(("prompt", "consent"));
        }
        let extra_parameters = self.extra_parameters.iter();
        pairs.extend(extra_parameters.map(|(name, value)| (name.as_str(), value.as_str())));
        let separator = match authorization_endpoint.split_once('?') {
            None => "?",
            Some((_, "")) => "",
            Some(_) => "&",
        };
        let query = form::encode(pairs);
        Ok(format!("{authorization_endpoint}{separator}{query}"))
    }
}

/// The error of a parameter that the authorization request itself sets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct ReservedParameter {
    /// The name of the parameter.
    pub name: String,
}

impl fmt::Display for ReservedParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the parameter `{}` of authorization requests is reserved",
            self.name
        )
    }
}

impl std::error::Error for ReservedParameter {}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDPOINT: &str = "https://auth.example.com/authorize";
    const CALLBACK: &str = "http://127.0.0.1:3000/callback";

    #[test]
    fn state_is_encoded_random_bytes() {
        let (one, other) = (state_from_random([1; 32]), state_from_random([2; 32]));
        assert_eq!(one.expose().len(), 43);
        assert_ne!(one, other);
    }

    #[test]
    fn request_has_each_parameter_once() {
        let (state, verifier) = (Secret::new("s 1"), Verifier::from_random([0; 32]));
        let resource = ResourceIndicator::parse("https://mcp.example.com").unwrap();
        let scopes = ScopeSet::parse("a b").unwrap();
        let url = AuthorizationRequest::new("https://app/id", CALLBACK, &state, &verifier)
            .with_resource(&resource)
            .with_scopes(&scopes)
            .with_parameter("prompt", "consent")
            .unwrap()
            .url(ENDPOINT)
            .unwrap();
        let (endpoint, query) = url.split_once('?').unwrap();
        assert_eq!(endpoint, ENDPOINT);
        let pairs = form::decode(query).unwrap();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            pairs,
            [
                ("response_type", "code"),
                ("client_id", "https://app/id"),
                ("redirect_uri", CALLBACK),
                ("state", "s 1"),
                ("code_challenge", verifier.challenge().as_str()),
                ("code_challenge_method", "S256"),
                ("resource", "https://mcp.example.com"),
                ("scope", "a b"),
                ("prompt", "consent"),
            ]
        );
        assert!(
            url.contains("&resource=https%3A%2F%2Fmcp.example.com&"),
            "{url}"
        );
    }

    #[test]
    fn endpoint_query_is_preserved_and_empty_scopes_are_omitted() {
        let (state, verifier) = (Secret::new("s"), Verifier::from_random([0; 32]));
        let none = ScopeSet::new();
        let request =
            AuthorizationRequest::new("c", CALLBACK, &state, &verifier).with_scopes(&none);
        for (endpoint, start) in [
            ("https://a/b", "https://a/b?response_type="),
            ("https://a/b?", "https://a/b?response_type="),
            ("https://a/b?c=d", "https://a/b?c=d&response_type="),
        ] {
            let url = request.url(endpoint).unwrap();
            assert!(url.starts_with(start) && !url.contains("scope"), "{url}");
        }
    }

    #[test]
    fn offline_access_adds_the_consent_prompt() {
        #[track_caller]
        fn check(scopes: &str, prompt: Option<&str>, expected: &[&str]) {
            let (state, verifier) = (Secret::new("s"), Verifier::from_random([0; 32]));
            let scopes = ScopeSet::parse(scopes).unwrap();
            let mut request =
                AuthorizationRequest::new("c", CALLBACK, &state, &verifier).with_scopes(&scopes);
            if let Some(prompt) = prompt {
                request = request.with_parameter("prompt", prompt).unwrap();
            }
            let url = request.url(ENDPOINT).unwrap();
            let pairs = form::decode(url.split_once('?').unwrap().1).unwrap();
            let prompts = pairs.iter().filter(|(name, _)| name == "prompt");
            let prompts: Vec<_> = prompts.map(|(_, value)| value.as_str()).collect();
            assert_eq!(prompts, expected, "{url}");
        }
        check("a", None, &[]);
        check("a offline_access", None, &["consent"]);
        check(
            "a offline_access",
            Some("login consent"),
            &["login consent"],
        );
    }

    #[test]
    fn insecure_urls_are_rejected() {
        let (state, verifier) = (Secret::new("s"), Verifier::from_random([0; 32]));
        let request = AuthorizationRequest::new("c", CALLBACK, &state, &verifier);
        for endpoint in [
            "javascript:alert(1)",
            "http://auth.example.com/",
            "https://a/#b",
            "-a",
        ] {
            assert!(request.url(endpoint).is_err(), "{endpoint}");
        }
        let plain_redirect = AuthorizationRequest::new("c", "http://evil.test/", &state, &verifier);
        assert!(plain_redirect.url(ENDPOINT).is_err());
    }

    #[test]
    fn reserved_parameters_cannot_be_added() {
        let (state, verifier) = (Secret::new("s"), Verifier::from_random([0; 32]));
        let request = AuthorizationRequest::new("c", CALLBACK, &state, &verifier);
        for name in RESERVED {
            let error = request.clone().with_parameter(name, "x").unwrap_err();
            assert_eq!(error.name, name);
            assert!(is_reserved(name));
        }
    }
}
