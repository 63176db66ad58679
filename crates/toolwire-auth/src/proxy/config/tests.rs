use super::super::ProxyRoute;
use super::*;

fn config(resource: &str) -> OAuthProxyConfig {
    OAuthProxyConfig::new(resource, Upstream::github("id", "hidden"))
}

#[test]
fn endpoints_are_at_the_root_of_the_resource() {
    let proxy = config("https://mcp.example.com:8443/a/mcp?tenant=1")
        .build()
        .unwrap();
    assert_eq!(proxy.issuer(), "https://mcp.example.com:8443");
    let callback = "https://mcp.example.com:8443/callback";
    assert_eq!(proxy.callback_url(), callback);
    let paths = &proxy.state.paths;
    assert_eq!(paths.route("/authorize"), Some(ProxyRoute::Authorize));
    assert_eq!(paths.route("/authorize/"), None);
    assert_eq!(
        paths.metadata,
        [
            "/.well-known/oauth-authorization-server",
            "/.well-known/oauth-authorization-server/a/mcp"
        ]
    );
}

#[test]
fn issuer_may_have_a_path() {
    let proxy = config("https://a.example/mcp")
        .with_issuer("https://a.example/team/")
        .build()
        .unwrap();
    assert_eq!(proxy.callback_url(), "https://a.example/team/callback");
    let paths = &proxy.state.paths;
    assert_eq!(paths.route("/team/token"), Some(ProxyRoute::Token));
    assert_eq!(paths.route("/token"), None);
    let path = "/.well-known/oauth-authorization-server/team";
    assert_eq!(paths.metadata, [path]);
}

#[test]
fn invalid_configuration_fails_at_build() {
    let error = |config: OAuthProxyConfig| config.build().unwrap_err();
    for resource in ["", "http://mcp.example.com/mcp", "https://a/#b"] {
        assert!(
            matches!(error(config(resource)), OAuthProxyConfigError::Url(_)),
            "{resource}"
        );
    }
    let conflict = error(config("https://a.example/token"));
    assert!(matches!(conflict, OAuthProxyConfigError::PathConflict(path) if path == "/token"));
    let too_short = Duration::from_millis(999);
    let config_of = || config("https://a.example/mcp");
    for config in [
        config_of().with_access_token_ttl(too_short),
        config_of().with_session_ttl(too_short),
    ] {
        assert!(matches!(
            error(config),
            OAuthProxyConfigError::LifetimeTooShort
        ));
    }
    let second = Duration::from_secs(1);
    let shortest = config_of()
        .with_access_token_ttl(second)
        .with_session_ttl(second);
    assert!(shortest.build().is_ok());
    let scope = config("https://a.example/mcp").with_required_scopes(["\""]);
    assert!(matches!(error(scope), OAuthProxyConfigError::Scope(_)));
    let issuer = config("https://a.example/mcp").with_issuer("https://a.example?b");
    assert!(matches!(error(issuer), OAuthProxyConfigError::Url(_)));
    for upstream in [
        Upstream::new("http://idp.example", "id", "s"),
        Upstream::new("https://idp.example", "id", "s")
            .with_endpoints("http://idp.example/a", "https://idp.example/t"),
        Upstream::new("https://idp.example", "id", "s")
            .with_endpoints("https://idp.example/a", "ftp://idp.example/t"),
        Upstream::new("https://idp.example", "id", "s")
            .with_user_info("http://idp.example/user", "sub"),
    ] {
        let config = OAuthProxyConfig::new("https://a.example/mcp", upstream);
        assert!(matches!(error(config), OAuthProxyConfigError::Url(_)));
    }
    let upstream = Upstream::new("https://idp.example", "id", "s").with_parameter("state", "fixed");
    let config = OAuthProxyConfig::new("https://a.example/mcp", upstream);
    assert!(matches!(error(config), OAuthProxyConfigError::Parameter(name) if name == "state"));
}

#[test]
fn debug_output_contains_no_secret() {
    let config = config("https://a.example/mcp");
    assert!(!format!("{config:?}").contains("hidden"));
    let printed = format!("{:?}", config.build().unwrap());
    assert!(!printed.contains("hidden"), "{printed}");
}
