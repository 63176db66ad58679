use serde_json::{Value, json};
use toolwire::transport::http::Authorizer as _;

use super::*;
use crate::documents::AccessTokenClaims;
use crate::resource::ResourceServer;

const RESOURCE: &str = "https://mcp.example.com/mcp";
const TENANT: &str = "0AB1c2d3-0000-4000-8000-0123456789ab";

/// Builds a server, and checks its issuer and its accepted audiences.
#[track_caller]
fn check(config: ResourceServerConfig, issuer: &str, good: &[&str], bad: &[&str]) {
    let server = config.build().unwrap();
    let metadata = server.document("/.well-known/oauth-protected-resource/mcp");
    let metadata: Value = serde_json::from_slice(&metadata.unwrap()).unwrap();
    assert_eq!(metadata["authorization_servers"], json!([issuer]));
    assert_eq!(metadata["resource"], RESOURCE);
    let is_accepted = |audience: &str| is_accepted(&server, issuer, audience);
    for audience in good.iter().chain(&[RESOURCE]) {
        assert!(is_accepted(audience), "{audience}");
    }
    for audience in bad.iter().chain(&["https://other.example.com/mcp", ""]) {
        assert!(!is_accepted(audience), "{audience}");
    }
}

fn is_accepted(server: &ResourceServer, issuer: &str, audience: &str) -> bool {
    let claims = AccessTokenClaims {
        iss: Some(issuer.to_owned()),
        aud: Some(audience.into()),
        exp: Some(2000),
        ..AccessTokenClaims::default()
    };
    server.purpose.rules.check_claims(&claims, 1000).is_ok()
}

#[test]
fn entra_requires_a_tenant_id() {
    let config = ResourceServerConfig::entra(RESOURCE, TENANT, "app").unwrap();
    let issuer = "https://login.microsoftonline.com/0ab1c2d3-0000-4000-8000-0123456789ab/v2.0";
    check(
        config,
        issuer,
        &["app", "api://app"],
        &["00000003-0000-0000-c000-000000000000"],
    );
    for tenant in [
        "common",
        "organizations",
        "consumers",
        "example.com",
        "",
        "../x",
        &format!("{TENANT}/"),
    ] {
        let error = ResourceServerConfig::entra(RESOURCE, tenant, "app").unwrap_err();
        assert!(error.to_string().contains("tenant"), "{error}");
    }
}

#[test]
fn auth0_issuer_ends_with_a_slash() {
    let config = ResourceServerConfig::auth0(RESOURCE, "example.eu.auth0.com");
    let issuer = "https://example.eu.auth0.com/";
    check(
        config,
        issuer,
        &[],
        &["https://example.eu.auth0.com/userinfo"],
    );
}

#[test]
fn google_tokens_have_a_client_as_audience() {
    let config = ResourceServerConfig::google(RESOURCE, "1.apps.googleusercontent.com");
    check(
        config,
        "https://accounts.google.com",
        &["1.apps.googleusercontent.com"],
        &["2.apps.googleusercontent.com"],
    );
}

#[test]
fn github_tokens_have_an_app_as_audience() {
    let config = ResourceServerConfig::github(RESOURCE, "Iv1.a", &"secret".into());
    check(
        config,
        "https://github.com/login/oauth",
        &["Iv1.a"],
        &["Iv1.b"],
    );
}

#[test]
fn authkit_tokens_have_the_resource_as_audience() {
    let config = ResourceServerConfig::workos(RESOURCE, "example.authkit.app");
    check(config, "https://example.authkit.app", &[], &["client_01"]);
}

#[test]
fn keycloak_issuer_is_a_realm() {
    for url in ["https://id.example.com", "https://id.example.com/"] {
        let config = ResourceServerConfig::keycloak(RESOURCE, url, "demo");
        check(
            config,
            "https://id.example.com/realms/demo",
            &[],
            &["account"],
        );
    }
}

#[test]
fn okta_has_an_audience_per_server() {
    let config =
        ResourceServerConfig::okta(RESOURCE, "example.okta.com", "default", "api://default");
    check(
        config,
        "https://example.okta.com/oauth2/default",
        &["api://default"],
        &["https://example.okta.com"],
    );
}

#[test]
fn descope_issuer_is_one_mcp_server_of_a_project() {
    let config = ResourceServerConfig::descope(RESOURCE, "P2abc", "MS35d1");
    let issuer = "https://api.descope.com/v1/apps/agentic/P2abc/MS35d1";
    check(config, issuer, &["P2abc"], &["MS35d1", "P2xyz"]);

    let server = ResourceServerConfig::descope(RESOURCE, "P2abc", "MS35d1")
        .build()
        .unwrap();
    for other in [
        "https://api.descope.com/v1/apps/agentic/P2abc/MSother",
        "https://api.descope.com/v1/apps/P2abc",
        "https://api.descope.com/P2abc",
    ] {
        assert!(!is_accepted(&server, other, "P2abc"), "{other}");
    }
}

#[test]
fn scalekit_tokens_name_the_resource_or_the_environment_as_issuer() {
    let environment = "https://example.scalekit.com";
    let issuer = "https://example.scalekit.com/resources/res_92";
    for url in [environment, "https://example.scalekit.com/"] {
        let config = ResourceServerConfig::scalekit(RESOURCE, url, "res_92");
        check(config, issuer, &["res_92"], &["res_93", environment]);
        let server = ResourceServerConfig::scalekit(RESOURCE, url, "res_92")
            .build()
            .unwrap();
        assert!(is_accepted(&server, environment, "res_92"));
        assert!(!is_accepted(&server, environment, "res_93"));
        let other = "https://example.scalekit.com/resources/res_93";
        assert!(!is_accepted(&server, other, "res_92"));
    }
}
