//! A complete login, and the data that the client, the provider and the handler get.

use serde_json::json;
use toolwire_auth::documents::Secret;
use toolwire_auth::{DocumentFetcher, OAuthProxyConfig, Upstream};
use toolwire_tests::http::request::Request;

use super::browser::{location, sealed_request};
use super::fixture::{ORIGIN, ProxyFixture, REDIRECT, RESOURCE, form_to, parameters};
use super::provider::{CLIENT_ID, CLIENT_SECRET, Provider};

#[tokio::test]
async fn user_logs_in_and_calls_a_tool() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    let page = browser.open(&client.authorize(&[])).await;
    let sealed = sealed_request(&page);
    for shown in ["Demo", &client.id, "<dd>app.example.com</dd>", REDIRECT] {
        assert!(page.text().contains(shown), "{}", page.text());
    }

    let allowed = [("request", sealed.as_str()), ("decision", "allow")];
    let response = browser.submit("/consent", &allowed).await;
    let provider_url = location(&response);
    let upstream_request = parameters(&provider_url);
    assert_eq!(
        upstream_request["redirect_uri"],
        fixture.proxy.callback_url()
    );
    assert_ne!(
        upstream_request["code_challenge"],
        client.verifier.challenge()
    );
    assert_ne!(upstream_request["state"], "the state");

    let redirect = fixture
        .log_in_at_provider(&mut browser, &provider_url)
        .await;
    assert!(
        redirect.starts_with(&format!("{REDIRECT}?code=")),
        "{redirect}"
    );
    let redirect_parameters = parameters(&redirect);
    assert_eq!(redirect_parameters["state"], "the state");
    assert_eq!(redirect_parameters["iss"], ORIGIN);

    let response = fixture
        .token(&client.redeem_form(&redirect_parameters["code"]))
        .await;
    assert_eq!(response.status(), 200, "{}", response.text());
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let tokens = response.message();
    assert_eq!(tokens["token_type"], "Bearer");
    assert_eq!(tokens["expires_in"], 3600);

    // The client gets no data of the provider.
    assert!(
        !response.text().contains("upstream-"),
        "{}",
        response.text()
    );
    let token = tokens["access_token"].as_str().unwrap();
    let text = ProxyFixture::tool_text(&fixture.whoami(token).await);
    assert!(text.starts_with("42 \"ann\" []"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[tokio::test]
async fn provider_token_is_rejected_with_a_challenge() {
    let fixture = ProxyFixture::new().await;
    let rejected = fixture.whoami("upstream-access-1").await;
    assert_eq!(rejected.status(), 401);
    let challenge = rejected.header("www-authenticate").unwrap();
    let metadata = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
    assert!(challenge.contains(metadata), "{challenge}");
}

#[tokio::test]
async fn metadata_contains_all_endpoints() {
    let fixture = ProxyFixture::with(|config| {
        config
            .with_required_scopes(["read"])
            .with_supported_scopes(["write"])
    })
    .await;
    for path in [
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/mcp",
    ] {
        let request = Request::new("GET").with_target(path);
        let document = fixture.endpoint.request(&request).await.message();
        assert_eq!(
            document,
            json!({
                "issuer": ORIGIN,
                "authorization_endpoint": format!("{ORIGIN}/authorize"),
                "token_endpoint": format!("{ORIGIN}/token"),
                "registration_endpoint": format!("{ORIGIN}/register"),
                "revocation_endpoint": format!("{ORIGIN}/revoke"),
                "scopes_supported": ["read", "write"],
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": true,
                "client_id_metadata_document_supported": true,
            })
        );
    }
    let request = Request::new("GET").with_target("/.well-known/oauth-protected-resource/mcp");
    let document = fixture.endpoint.request(&request).await.message();
    assert_eq!(document["resource"], RESOURCE);
    assert_eq!(document["authorization_servers"], json!([ORIGIN]));
}

#[tokio::test]
async fn issuer_with_a_path_is_the_prefix_of_all_endpoints() {
    let fixture =
        ProxyFixture::with(|config| config.with_issuer("https://mcp.example.com/team")).await;
    let get = |path: &str| Request::new("GET").with_target(path);
    let at = "/.well-known/oauth-authorization-server/team";
    let document = fixture.endpoint.request(&get(at)).await.message();
    assert_eq!(document["token_endpoint"], format!("{ORIGIN}/team/token"));
    assert_eq!(
        fixture.proxy.callback_url(),
        "https://mcp.example.com/team/callback"
    );
    assert_eq!(
        fixture.endpoint.request(&get("/authorize")).await.status(),
        404
    );
    assert_eq!(
        fixture
            .endpoint
            .request(&get("/team/authorize"))
            .await
            .status(),
        400
    );
}

#[tokio::test]
async fn granted_scopes_are_limited_to_those_of_the_server() {
    let fixture = ProxyFixture::with(|config| {
        config
            .with_required_scopes(["read"])
            .with_supported_scopes(["write"])
    })
    .await;
    let client = fixture.client().await;
    for (requested, granted) in [("", "read"), ("write read other", "write read")] {
        let mut browser = fixture.browser();
        let target = client.authorize(&[("scope", requested)]);
        let redirect = fixture.consent_and_log_in(&mut browser, &target).await;
        let code = &parameters(&redirect)["code"];
        let tokens = fixture.token(&client.redeem_form(code)).await.message();
        assert_eq!(tokens["scope"], granted);
        let token = tokens["access_token"].as_str().unwrap();
        let text = ProxyFixture::tool_text(&fixture.whoami(token).await);
        assert!(text.contains(&format!("[{granted}]")), "{text}");
    }
    let mut browser = fixture.browser();
    let unknown = client.authorize(&[("scope", "admin")]);
    assert_eq!(browser.open(&unknown).await.status(), 400);
    fixture
        .consent_and_log_in(&mut browser, &client.authorize(&[]))
        .await;
    let rejected = browser.open(&unknown).await;
    assert_eq!(parameters(&location(&rejected))["error"], "invalid_scope");
}

#[tokio::test]
async fn openid_connect_provider_is_discovered_by_its_issuer() {
    let provider = Provider::start().await;
    provider.change(|state| state.announces_iss = true);
    let upstream = Upstream::new(&provider.issuer, CLIENT_ID, Secret::new(CLIENT_SECRET));
    let fixture = ProxyFixture::in_front_of(provider, |_| {
        OAuthProxyConfig::new(RESOURCE, upstream)
            .with_fetcher(DocumentFetcher::with_loopback_allowed())
    })
    .await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    let token = tokens["access_token"].as_str().unwrap();
    let text = ProxyFixture::tool_text(&fixture.whoami(token).await);
    assert!(text.starts_with("ann-by-id-token "), "{text}");

    // If the metadata announces `iss`, a callback without it or with another value is rejected.
    let mut browser = fixture.browser();
    let page = browser.open(&client.authorize(&[])).await;
    let sealed = sealed_request(&page);
    let allowed = [("request", sealed.as_str()), ("decision", "allow")];
    let url = location(&browser.submit("/consent", &allowed).await);
    let callback = fixture.provider.log_in(&url);
    let (without, _) = callback.split_once("&iss=").unwrap();
    for forged in [
        without.to_owned(),
        format!("{without}&iss=https%3A%2F%2Fevil.test"),
    ] {
        let response = browser.open(&forged).await;
        assert_eq!(response.status(), 400, "{}", response.text());
    }
    // The valid callback is still accepted.
    assert!(location(&browser.open(&callback).await).starts_with(REDIRECT));
}

#[tokio::test]
async fn user_that_the_filter_rejects_gets_access_denied() {
    let fixture =
        ProxyFixture::with(|config| config.with_user_filter(|user| user.subject == "43")).await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    let redirect = fixture
        .consent_and_log_in(&mut browser, &client.authorize(&[]))
        .await;
    let redirect_parameters = parameters(&redirect);
    assert_eq!(redirect_parameters["error"], "access_denied");
    assert_eq!(redirect_parameters["iss"], ORIGIN);
    assert!(!redirect_parameters.contains_key("code"));
}

#[tokio::test]
async fn error_description_of_the_provider_is_not_relayed() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    for (error, relayed) in [
        ("access_denied", "access_denied"),
        ("temporarily_unavailable", "temporarily_unavailable"),
        ("invalid_scope", "server_error"),
    ] {
        let response = browser.open(&client.authorize(&[])).await;
        let url = match response.status() {
            303 => location(&response),
            _ => {
                let sealed = sealed_request(&response);
                let allowed = [("request", sealed.as_str()), ("decision", "allow")];
                location(&browser.submit("/consent", &allowed).await)
            }
        };
        let state = &parameters(&url)["state"];
        let callback =
            format!("/callback?error={error}&error_description=hidden+detail&state={state}");
        let redirect = location(&browser.open(&callback).await);
        assert_eq!(parameters(&redirect)["error"], relayed);
        assert_eq!(parameters(&redirect)["state"], "the state");
        assert!(!redirect.contains("hidden"), "{redirect}");
    }
}

#[tokio::test]
async fn failing_provider_redirects_with_an_error() {
    for (status, body, expected) in [
        (
            400,
            json!({"error": "invalid_grant", "error_description": "hidden"}),
            "server_error",
        ),
        // GitHub reports errors with status 200.
        (
            200,
            json!({"error": "bad_verification_code"}),
            "server_error",
        ),
        (500, json!("hidden"), "temporarily_unavailable"),
        (
            200,
            json!({"access_token": "a\nb", "token_type": "bearer"}),
            "server_error",
        ),
        (
            200,
            json!({"access_token": "a", "token_type": "DPoP"}),
            "server_error",
        ),
    ] {
        let fixture = ProxyFixture::new().await;
        fixture
            .provider
            .change(|state| state.token_error = Some((status, body.clone())));
        let client = fixture.client().await;
        let mut browser = fixture.browser();
        let redirect = fixture
            .consent_and_log_in(&mut browser, &client.authorize(&[]))
            .await;
        assert_eq!(parameters(&redirect)["error"], expected, "{body}");
        assert!(!redirect.contains("hidden"), "{redirect}");
    }
    for user in [
        json!({"login": "unknown"}),
        json!({"id": "", "login": "unknown"}),
        json!({"id": " \t", "login": "unknown"}),
    ] {
        let fixture = ProxyFixture::new().await;
        fixture.provider.change(|state| state.user = user.clone());
        let client = fixture.client().await;
        let mut browser = fixture.browser();
        let redirect = fixture
            .consent_and_log_in(&mut browser, &client.authorize(&[]))
            .await;
        assert_eq!(parameters(&redirect)["error"], "server_error", "{user}");
    }
}

#[tokio::test]
async fn upstream_login_has_a_separate_pkce_verifier() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    fixture.tokens(&client).await;
    let forms = fixture.provider.state.lock().unwrap().forms.clone();
    let [form] = &forms[..] else {
        panic!("{forms:?}");
    };
    let own = client.verifier.as_secret().expose();
    assert_ne!(form["code_verifier"], own);
    assert_eq!(form["redirect_uri"], fixture.proxy.callback_url());
    assert!(!form.contains_key("client_secret"));
}

#[tokio::test]
async fn client_can_revoke_its_tokens() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let other = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let revoke = async |token: &str, client_id: &str| {
        let form = form_to("/revoke", &[("token", token), ("client_id", client_id)]);
        fixture.endpoint.request(&form).await.status()
    };
    // The response does not reveal whether a token is valid.
    assert_eq!(revoke(access, &other.id).await, 200);
    assert_eq!(revoke(refresh, &other.id).await, 200);
    assert_eq!(revoke("unknown", &other.id).await, 200);
    assert_eq!(fixture.whoami(access).await.status(), 200);

    assert_eq!(revoke(access, &client.id).await, 200);
    assert_eq!(fixture.whoami(access).await.status(), 401);
    let refreshed = fixture.token(&client.refresh_form(refresh)).await.message();
    let access = refreshed["access_token"].as_str().unwrap();
    let refresh = refreshed["refresh_token"].as_str().unwrap();
    assert_eq!(fixture.whoami(access).await.status(), 200);
    assert_eq!(revoke(refresh, &client.id).await, 200);
    assert_eq!(fixture.whoami(access).await.status(), 401);
    assert_eq!(revoke(refresh, "unknown").await, 401);
}
