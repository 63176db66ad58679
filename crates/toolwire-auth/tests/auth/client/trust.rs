//! Validation of redirects and metadata, and the servers that receive tokens.

use bytes::Bytes;
use http::{Request, Response, Uri};
use serde_json::json;
use tokio::net::TcpListener;
use toolwire::BoxFuture;
use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError, HttpPhase};
use toolwire_auth::client::{CallbackOutcome, OAuthConfig, OAuthHttpClient};
use toolwire_auth::testing::form;

use super::fake_servers::{FakeServers, ISSUER, SERVER, User, call};

/// Asserts that a request fails for this reason, without a token request.
async fn assert_rejected(servers: &FakeServers, oauth: OAuthConfig, reason: &str) {
    let failure = servers.client(oauth).send(call("add")).await.unwrap_err();
    assert_eq!(failure.phase(), HttpPhase::Authorize);
    let source = std::error::Error::source(&failure).unwrap().to_string();
    assert!(source.contains(reason), "{source}");
    assert_eq!(servers.request_count("POST /token"), 0, "{reason}");
}

#[tokio::test]
async fn code_of_another_issuer_is_not_redeemed() {
    for (redirect, reason) in [
        ("code=stolen&iss=https%3A%2F%2Fevil.example.com", "`iss`"),
        ("code=stolen", "`iss`"),
        // The error text of another issuer is not shown.
        (
            "error=evil_words&iss=https%3A%2F%2Fevil.example.com",
            "`iss` of the redirect is another authorization server",
        ),
    ] {
        let servers = FakeServers::default();
        servers.state().redirect_query = Some(redirect.to_owned());
        assert_rejected(&servers, servers.oauth(), reason).await;
        assert_eq!(
            servers.state().verdicts,
            [CallbackOutcome::Failure],
            "{redirect}"
        );
    }
}

#[tokio::test]
async fn redirect_with_a_code_is_a_success_and_redirect_with_an_error_is_a_failure() {
    let servers = FakeServers::default();
    let client = servers.client(servers.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(servers.state().verdicts, [CallbackOutcome::Success]);
    let servers = FakeServers::default();
    let issuer = form::encode([("iss", ISSUER)]);
    servers.state().redirect_query = Some(format!("error=access_denied&{issuer}"));
    assert_rejected(&servers, servers.oauth(), "access_denied").await;
    assert_eq!(servers.state().verdicts, [CallbackOutcome::Failure]);
}

#[tokio::test]
async fn authorization_server_without_s256_is_rejected() {
    for methods in [json!(null), json!(["plain"]), json!([])] {
        let servers = FakeServers::default();
        servers.state().metadata["code_challenge_methods_supported"] = methods;
        assert_rejected(&servers, servers.oauth(), "PKCE").await;
        assert_eq!(servers.request_count("GET /authorize"), 0);
        assert_eq!(servers.request_count("POST /register"), 0);
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_is_rejected_without_an_exception() {
    let servers = FakeServers::default();
    servers.state().metadata["issuer"] = json!("https://auth.example.com/");
    assert_rejected(&servers, servers.oauth(), "issuer").await;
    // With the exception, the metadata is accepted.
    servers.state().redirect_query = None;
    servers.state().metadata["authorization_response_iss_parameter_supported"] = json!(false);
    let with_exception = servers
        .oauth()
        .with_issuer_exception(ISSUER, "https://auth.example.com/");
    let failure = servers
        .client(with_exception)
        .send(call("add"))
        .await
        .unwrap_err();
    // The `iss` of the redirect has the other spelling, and is compared character by character.
    let source = std::error::Error::source(&failure).unwrap().to_string();
    assert!(source.contains("`iss`"), "{source}");
    assert_eq!(servers.request_count("GET /authorize"), 1);
}

#[tokio::test]
async fn metadata_of_another_resource_is_rejected() {
    let servers = FakeServers::default();
    servers.state().resource_metadata["resource"] = json!("https://bank.example.com/mcp");
    assert_rejected(&servers, servers.oauth(), "bank.example.com").await;
    assert_eq!(servers.request_count("GET /authorize"), 0);
}

#[tokio::test]
async fn authorization_endpoint_that_is_not_https_is_not_opened() {
    for url in [
        "javascript:alert(1)",
        "http://auth.example.com/authorize",
        "file:///etc/passwd",
    ] {
        let servers = FakeServers::default();
        servers.state().metadata["authorization_endpoint"] = json!(url);
        let failure = servers
            .client(servers.oauth())
            .send(call("add"))
            .await
            .unwrap_err();
        assert_eq!(failure.phase(), HttpPhase::Authorize);
        assert_eq!(servers.request_count("GET /authorize"), 0, "{url}");
    }
}

#[tokio::test]
async fn token_is_sent_only_to_the_origin_of_its_server() {
    let servers = FakeServers::default();
    let client = servers.client(servers.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    for url in [
        "https://other.example.com/mcp",
        "https://mcp.example.com:8443/mcp",
        "http://mcp.example.com/mcp",
    ] {
        let request = Request::post(url).body(Bytes::from("{}")).unwrap();
        // The servers accept the token at every origin, so a 401 shows that none was sent.
        assert_eq!(client.send(request).await.unwrap().status(), 401, "{url}");
    }
    assert_eq!(servers.request_count("GET /authorize"), 1);
}

#[tokio::test]
async fn token_is_not_sent_over_plain_http() {
    let servers = FakeServers::default();
    let oauth = servers.oauth();
    let endpoint = Uri::from_static("http://mcp.example.com/mcp");
    let client = OAuthHttpClient::new(servers.clone(), oauth, &endpoint);
    let request = Request::post(&endpoint).body(Bytes::from("{}")).unwrap();
    client.send(request).await.unwrap_err();
    assert_eq!(servers.request_count("POST /token"), 0);
}

/// A server whose challenge names this metadata URL.
#[derive(Debug)]
struct ChallengingServer(String);

impl HttpClient for ChallengingServer {
    fn send(&self, _: Request<Bytes>) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        Box::pin(async {
            let challenge = format!("Bearer resource_metadata=\"{}\"", self.0);
            let response = Response::builder()
                .status(401)
                .header("www-authenticate", challenge);
            Ok(response.body(ClientBody::full("")).unwrap())
        })
    }
}

#[tokio::test]
async fn challenge_with_an_internal_metadata_url_causes_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    for url in [
        format!("https://127.0.0.1:{port}/m"),
        format!("https://localhost:{port}/m"),
        format!("https://[::ffff:127.0.0.1]:{port}/m"),
        format!("http://127.0.0.1:{port}/m"),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://10.0.0.1/m".to_owned(),
    ] {
        // Without the fallback, the well-known URLs of the server are not fetched either.
        let oauth =
            OAuthConfig::login("test", User(FakeServers::default())).without_origin_fallback();
        let endpoint = Uri::from_static("https://192.0.2.1/mcp");
        let client = OAuthHttpClient::new(ChallengingServer(url.clone()), oauth, &endpoint);
        let request = Request::post(&endpoint).body(Bytes::from("{}")).unwrap();
        let failure = client.send(request).await.unwrap_err();
        assert_eq!(failure.phase(), HttpPhase::Authorize, "{url}");
    }
    let accepted = tokio::time::timeout(std::time::Duration::ZERO, listener.accept()).await;
    assert!(
        accepted.is_err(),
        "the client connected to an internal address"
    );
}

#[tokio::test]
async fn debug_output_contains_no_secret() {
    let servers = FakeServers::default();
    let client = servers.client(servers.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    let printed = format!("{client:?}");
    for secret in ["token-", "refresh-", "code-"] {
        assert!(!printed.contains(secret), "{printed}");
    }
    assert!(printed.contains(SERVER), "{printed}");
}
