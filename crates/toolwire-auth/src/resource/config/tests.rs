use serde_json::{Value, json};

use super::*;

pub(crate) const ISSUER: &str = "https://auth.example.com";

fn config() -> ResourceServerConfig {
    ResourceServerConfig::new("https://mcp.example.com/mcp", [ISSUER])
}

/// Returns the purpose of tokens for tests of verifiers.
pub(crate) fn purpose() -> TokenPurpose {
    config().build().unwrap().purpose
}

fn metadata(server: &ResourceServer) -> Value {
    serde_json::from_slice(&server.metadata).unwrap()
}

#[test]
fn invalid_configuration_is_rejected() {
    let none = ResourceServerConfig::new("https://mcp.example.com/mcp", Vec::<String>::new());
    assert!(matches!(
        none.build(),
        Err(ResourceServerConfigError::NoAuthorizationServer)
    ));
    for (resource, issuer) in [
        ("http://mcp.example.com/mcp", ISSUER),
        ("mcp.example.com", ISSUER),
        ("https://mcp.example.com/mcp#part", ISSUER),
        ("https://mcp.example.com/a/../mcp", ISSUER),
        ("https://mcp.example.com/mcp", "http://auth.example.com"),
        ("https://mcp.example.com/mcp", "auth.example.com"),
        ("https://mcp.example.com/mcp", ""),
    ] {
        let outcome = ResourceServerConfig::new(resource, [issuer]).build();
        assert!(
            matches!(outcome, Err(ResourceServerConfigError::Url(_))),
            "{resource} {issuer}"
        );
    }
    for config in [
        config().with_required_scopes(["a\"b"]),
        config().with_supported_scopes(["a\\b"]),
    ] {
        assert!(matches!(
            config.build(),
            Err(ResourceServerConfigError::Scope(_))
        ));
    }
}

#[test]
fn metadata_contains_the_configured_values() {
    let server = config()
        .with_required_scopes(["read"])
        .with_supported_scopes(["read", "write"])
        .with_name("Demo")
        .with_documentation("https://docs.example.com")
        .with_dpop_required()
        .build()
        .unwrap();
    let algorithms = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA";
    let algorithms: Vec<&str> = algorithms.split(' ').collect();
    assert_eq!(
        metadata(&server),
        json!({
            "resource": "https://mcp.example.com/mcp",
            "authorization_servers": [ISSUER],
            "scopes_supported": ["read", "write"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Demo",
            "resource_documentation": "https://docs.example.com",
            "dpop_signing_alg_values_supported": algorithms,
            "dpop_bound_access_tokens_required": true,
        })
    );
}

#[test]
fn required_scopes_are_the_default_of_supported_scopes() {
    let server = config().with_required_scopes(["read"]).build().unwrap();
    assert_eq!(metadata(&server)["scopes_supported"], json!(["read"]));
    let plain = metadata(&config().build().unwrap());
    assert_eq!(plain.get("scopes_supported"), None);
    assert_eq!(plain.get("dpop_bound_access_tokens_required"), None);
}

#[test]
fn metadata_is_served_at_the_resource_path_and_at_the_root() {
    for (resource, url, path) in [
        (
            "https://a.example",
            "https://a.example/.well-known/oauth-protected-resource",
            ROOT_METADATA,
        ),
        (
            "https://a.example/",
            "https://a.example/.well-known/oauth-protected-resource",
            ROOT_METADATA,
        ),
        (
            "https://a.example:8443/x/mcp",
            "https://a.example:8443/.well-known/oauth-protected-resource/x/mcp",
            "/.well-known/oauth-protected-resource/x/mcp",
        ),
        (
            "https://a.example/mcp?tenant=1",
            "https://a.example/.well-known/oauth-protected-resource/mcp?tenant=1",
            "/.well-known/oauth-protected-resource/mcp",
        ),
    ] {
        let server = ResourceServerConfig::new(resource, [ISSUER])
            .build()
            .unwrap();
        assert_eq!(server.metadata_url, url);
        assert_eq!(server.metadata_paths, [path, ROOT_METADATA], "{resource}");
    }
}

#[test]
fn leeway_is_at_most_five_minutes() {
    let claims = crate::documents::AccessTokenClaims {
        iss: Some(ISSUER.to_owned()),
        aud: Some("https://mcp.example.com/mcp".into()),
        exp: Some(1000),
        ..crate::documents::AccessTokenClaims::default()
    };
    for (leeway, last) in [
        (None, 1059),
        (Some(0), 999),
        (Some(300), 1299),
        (Some(9999), 1299),
    ] {
        let config = match leeway {
            Some(seconds) => config().with_leeway(seconds),
            None => config(),
        };
        let rules = config.build().unwrap().purpose.rules;
        assert!(rules.check_claims(&claims, last).is_ok(), "{leeway:?}");
        assert!(rules.check_claims(&claims, last + 1).is_err(), "{leeway:?}");
    }
}
