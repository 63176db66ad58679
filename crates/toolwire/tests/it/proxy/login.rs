//! A whole login: what each side sees, and what it does not.

use serde_json::json;
use toolwire_auth::documents::Secret;
use toolwire_auth::{DocumentFetcher, OAuthProxyConfig, Upstream};

use super::browser::{location, sealed_request};
use super::provider::{CLIENT_ID, CLIENT_SECRET, Provider};
use super::stage::{ORIGIN, REDIRECT, RESOURCE, Stage, form_to, parameters};
use crate::http::request::Request;

#[tokio::test]
async fn a_user_logs_in_and_calls_a_tool() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
    let page = browser.open(&client.authorize(&[])).await;
    let sealed = sealed_request(&page);
    for shown in ["Demo", &client.id, "<dd>app.example.com</dd>", REDIRECT] {
        assert!(page.text().contains(shown), "{}", page.text());
    }

    let allowed = [("request", sealed.as_str()), ("decision", "allow")];
    let answer = browser.submit("/consent", &allowed).await;
    let provider_url = location(&answer);
    let asked = parameters(&provider_url);
    assert_eq!(asked["redirect_uri"], stage.proxy.callback_url());
    assert_ne!(asked["code_challenge"], client.verifier.challenge());
    assert_ne!(asked["state"], "the state");

    let back = stage.come_back(&mut browser, &provider_url).await;
    assert!(back.starts_with(&format!("{REDIRECT}?code=")), "{back}");
    let brought = parameters(&back);
    assert_eq!(brought["state"], "the state");
    assert_eq!(brought["iss"], ORIGIN);

    let answer = stage.token(&client.redeeming(&brought["code"])).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let tokens = answer.message();
    assert_eq!(tokens["token_type"], "Bearer");
    assert_eq!(tokens["expires_in"], 3600);

    // Nothing of the provider's reaches the client.
    assert!(!answer.text().contains("upstream-"), "{}", answer.text());
    let token = tokens["access_token"].as_str().unwrap();
    let said = Stage::says(&stage.whoami(token).await);
    assert!(said.starts_with("42 \"ann\" []"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}

#[tokio::test]
async fn without_a_token_of_the_proxy_nobody_comes_in() {
    let stage = Stage::new().await;
    let refused = stage.whoami("upstream-access-1").await;
    assert_eq!(refused.status(), 401);
    let challenge = refused.header("www-authenticate").unwrap();
    let metadata = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
    assert!(challenge.contains(metadata), "{challenge}");
}

#[tokio::test]
async fn the_metadata_says_where_everything_is() {
    let stage = Stage::with(|config| {
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
        let document = stage.endpoint.ask(&request).await.message();
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
    let document = stage.endpoint.ask(&request).await.message();
    assert_eq!(document["resource"], RESOURCE);
    assert_eq!(document["authorization_servers"], json!([ORIGIN]));
}

#[tokio::test]
async fn a_proxy_below_a_path_is_found_there() {
    let stage = Stage::with(|config| config.with_issuer("https://mcp.example.com/team")).await;
    let get = |path: &str| Request::new("GET").with_target(path);
    let at = "/.well-known/oauth-authorization-server/team";
    let document = stage.endpoint.ask(&get(at)).await.message();
    assert_eq!(document["token_endpoint"], format!("{ORIGIN}/team/token"));
    assert_eq!(
        stage.proxy.callback_url(),
        "https://mcp.example.com/team/callback"
    );
    assert_eq!(stage.endpoint.ask(&get("/authorize")).await.status(), 404);
    assert_eq!(
        stage.endpoint.ask(&get("/team/authorize")).await.status(),
        400
    );
}

#[tokio::test]
async fn scopes_are_those_of_this_server() {
    let stage = Stage::with(|config| {
        config
            .with_required_scopes(["read"])
            .with_supported_scopes(["write"])
    })
    .await;
    let client = stage.client().await;
    for (asked, granted) in [("", "read"), ("write read other", "write read")] {
        let mut browser = stage.browser();
        let target = client.authorize(&[("scope", asked)]);
        let back = stage.agree(&mut browser, &target).await;
        let code = &parameters(&back)["code"];
        let tokens = stage.token(&client.redeeming(code)).await.message();
        assert_eq!(tokens["scope"], granted);
        let token = tokens["access_token"].as_str().unwrap();
        let said = Stage::says(&stage.whoami(token).await);
        assert!(said.contains(&format!("[{granted}]")), "{said}");
    }
    let mut browser = stage.browser();
    let unknown = client.authorize(&[("scope", "admin")]);
    assert_eq!(browser.open(&unknown).await.status(), 400);
    stage.agree(&mut browser, &client.authorize(&[])).await;
    let refused = browser.open(&unknown).await;
    assert_eq!(parameters(&location(&refused))["error"], "invalid_scope");
}

#[tokio::test]
async fn a_provider_of_openid_connect_is_found_by_its_issuer() {
    let provider = Provider::start().await;
    provider.change(|behaviour| behaviour.announces_iss = true);
    let upstream = Upstream::new(&provider.issuer, CLIENT_ID, Secret::new(CLIENT_SECRET));
    let stage = Stage::in_front_of(provider, |_| {
        OAuthProxyConfig::new(RESOURCE, upstream)
            .with_fetcher(DocumentFetcher::with_loopback_allowed())
    })
    .await;
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    let token = tokens["access_token"].as_str().unwrap();
    let said = Stage::says(&stage.whoami(token).await);
    assert!(said.starts_with("ann-by-id-token "), "{said}");

    // Where `iss` is promised, a redirect without it or with another is not the provider's.
    let mut browser = stage.browser();
    let page = browser.open(&client.authorize(&[])).await;
    let sealed = sealed_request(&page);
    let allowed = [("request", sealed.as_str()), ("decision", "allow")];
    let url = location(&browser.submit("/consent", &allowed).await);
    let back = stage.provider.log_in(&url);
    let (without, _) = back.split_once("&iss=").unwrap();
    for forged in [
        without.to_owned(),
        format!("{without}&iss=https%3A%2F%2Fevil.test"),
    ] {
        let answer = browser.open(&forged).await;
        assert_eq!(answer.status(), 400, "{}", answer.text());
    }
    // The true answer still counts.
    assert!(location(&browser.open(&back).await).starts_with(REDIRECT));
}

#[tokio::test]
async fn users_who_are_not_admitted_hear_so() {
    let stage = Stage::with(|config| config.with_user_filter(|user| user.subject == "43")).await;
    let client = stage.client().await;
    let mut browser = stage.browser();
    let back = stage.agree(&mut browser, &client.authorize(&[])).await;
    let brought = parameters(&back);
    assert_eq!(brought["error"], "access_denied");
    assert_eq!(brought["iss"], ORIGIN);
    assert!(!brought.contains_key("code"));
}

#[tokio::test]
async fn what_the_provider_says_when_it_refuses_stays_here() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
    for (error, relayed) in [
        ("access_denied", "access_denied"),
        ("temporarily_unavailable", "temporarily_unavailable"),
        ("invalid_scope", "server_error"),
    ] {
        let answer = browser.open(&client.authorize(&[])).await;
        let url = match answer.status() {
            303 => location(&answer),
            _ => {
                let sealed = sealed_request(&answer);
                let allowed = [("request", sealed.as_str()), ("decision", "allow")];
                location(&browser.submit("/consent", &allowed).await)
            }
        };
        let state = &parameters(&url)["state"];
        let refusal =
            format!("/callback?error={error}&error_description=hidden+detail&state={state}");
        let back = location(&browser.open(&refusal).await);
        assert_eq!(parameters(&back)["error"], relayed);
        assert_eq!(parameters(&back)["state"], "the state");
        assert!(!back.contains("hidden"), "{back}");
    }
}

#[tokio::test]
async fn a_provider_that_gives_no_token_lets_nobody_in() {
    for (status, body, expected) in [
        (
            400,
            json!({"error": "invalid_grant", "error_description": "hidden"}),
            "server_error",
        ),
        // GitHub's way to refuse.
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
        let stage = Stage::new().await;
        stage
            .provider
            .change(|behaviour| behaviour.refusal = Some((status, body.clone())));
        let client = stage.client().await;
        let mut browser = stage.browser();
        let back = stage.agree(&mut browser, &client.authorize(&[])).await;
        assert_eq!(parameters(&back)["error"], expected, "{body}");
        assert!(!back.contains("hidden"), "{back}");
    }
    for user in [
        json!({"login": "nobody"}),
        json!({"id": "", "login": "nobody"}),
        json!({"id": " \t", "login": "nobody"}),
    ] {
        let stage = Stage::new().await;
        stage
            .provider
            .change(|behaviour| behaviour.user = user.clone());
        let client = stage.client().await;
        let mut browser = stage.browser();
        let back = stage.agree(&mut browser, &client.authorize(&[])).await;
        assert_eq!(parameters(&back)["error"], "server_error", "{user}");
    }
}

#[tokio::test]
async fn both_legs_have_a_challenge_of_their_own() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    stage.tokens(&client).await;
    let forms = stage.provider.behaviour.lock().unwrap().forms.clone();
    let [form] = &forms[..] else {
        panic!("{forms:?}");
    };
    let own = client.verifier.as_secret().expose();
    assert_ne!(form["code_verifier"], own);
    assert_eq!(form["redirect_uri"], stage.proxy.callback_url());
    assert!(!form.contains_key("client_secret"));
}

#[tokio::test]
async fn a_token_can_be_given_back() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let other = stage.client().await;
    let tokens = stage.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let give_back = async |token: &str, client_id: &str| {
        let form = form_to("/revoke", &[("token", token), ("client_id", client_id)]);
        stage.endpoint.ask(&form).await.status()
    };
    // Nobody learns whether a token is good by giving it back.
    assert_eq!(give_back(access, &other.id).await, 200);
    assert_eq!(give_back(refresh, &other.id).await, 200);
    assert_eq!(give_back("unknown", &other.id).await, 200);
    assert_eq!(stage.whoami(access).await.status(), 200);

    assert_eq!(give_back(access, &client.id).await, 200);
    assert_eq!(stage.whoami(access).await.status(), 401);
    let refreshed = stage.token(&client.refreshing(refresh)).await.message();
    let access = refreshed["access_token"].as_str().unwrap();
    let refresh = refreshed["refresh_token"].as_str().unwrap();
    assert_eq!(stage.whoami(access).await.status(), 200);
    assert_eq!(give_back(refresh, &client.id).await, 200);
    assert_eq!(stage.whoami(access).await.status(), 401);
    assert_eq!(give_back(refresh, "unknown").await, 401);
}
