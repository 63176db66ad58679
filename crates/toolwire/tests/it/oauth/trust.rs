//! Whom the client believes, and where its tokens go.

use bytes::Bytes;
use http::{Request, Response, Uri};
use serde_json::json;
use tokio::net::TcpListener;
use toolwire::BoxFuture;
use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError, HttpPhase};
use toolwire_auth::client::{CallbackVerdict, OAuthConfig, OAuthHttpClient};
use toolwire_auth::testing::form;

use super::town::{ISSUER, SERVER, Town, User, call};

/// The request fails before anybody is sent anywhere, for this reason.
async fn is_refused(town: &Town, oauth: OAuthConfig, reason: &str) {
    let failure = town.client(oauth).send(call("add")).await.unwrap_err();
    assert_eq!(failure.step(), HttpPhase::Authorize);
    let source = std::error::Error::source(&failure).unwrap().to_string();
    assert!(source.contains(reason), "{source}");
    assert_eq!(town.count("POST /token"), 0, "{reason}");
}

#[tokio::test]
async fn a_code_of_somebody_else_is_not_redeemed() {
    for (says, reason) in [
        ("code=stolen&iss=https%3A%2F%2Fevil.example.com", "`iss`"),
        ("code=stolen", "`iss`"),
        // What it says is not even shown.
        (
            "error=evil_words&iss=https%3A%2F%2Fevil.example.com",
            "`iss` of the redirect is another authorization server",
        ),
    ] {
        let town = Town::default();
        town.rules().user_says = Some(says.to_owned());
        is_refused(&town, town.oauth(), reason).await;
        assert_eq!(town.rules().verdicts, [CallbackVerdict::Failure], "{says}");
    }
}

#[tokio::test]
async fn only_a_code_of_the_right_issuer_is_a_success() {
    let town = Town::default();
    let client = town.client(town.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(town.rules().verdicts, [CallbackVerdict::Success]);
    let town = Town::default();
    let issuer = form::encode([("iss", ISSUER)]);
    town.rules().user_says = Some(format!("error=access_denied&{issuer}"));
    is_refused(&town, town.oauth(), "access_denied").await;
    assert_eq!(town.rules().verdicts, [CallbackVerdict::Failure]);
}

#[tokio::test]
async fn an_authorization_server_without_s256_is_not_used() {
    for methods in [json!(null), json!(["plain"]), json!([])] {
        let town = Town::default();
        town.rules().metadata["code_challenge_methods_supported"] = methods;
        is_refused(&town, town.oauth(), "PKCE").await;
        assert_eq!(town.count("GET /authorize"), 0);
        assert_eq!(town.count("POST /register"), 0);
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_is_refused_unless_it_is_known_to_be_so() {
    let town = Town::default();
    town.rules().metadata["issuer"] = json!("https://auth.example.com/");
    is_refused(&town, town.oauth(), "issuer").await;
    // The redirect names the issuer as it calls itself.
    town.rules().user_says = None;
    town.rules().metadata["authorization_response_iss_parameter_supported"] = json!(false);
    let knowing = town
        .oauth()
        .with_issuer_exception(ISSUER, "https://auth.example.com/");
    let failure = town.client(knowing).send(call("add")).await.unwrap_err();
    // The town's redirect names the other spelling, which is compared character by character.
    let source = std::error::Error::source(&failure).unwrap().to_string();
    assert!(source.contains("`iss`"), "{source}");
    assert_eq!(town.count("GET /authorize"), 1);
}

#[tokio::test]
async fn metadata_about_another_server_is_refused() {
    let town = Town::default();
    town.rules().resource["resource"] = json!("https://bank.example.com/mcp");
    is_refused(&town, town.oauth(), "bank.example.com").await;
    assert_eq!(town.count("GET /authorize"), 0);
}

#[tokio::test]
async fn an_endpoint_that_is_no_web_page_is_never_opened() {
    for url in [
        "javascript:alert(1)",
        "http://auth.example.com/authorize",
        "file:///etc/passwd",
    ] {
        let town = Town::default();
        town.rules().metadata["authorization_endpoint"] = json!(url);
        let failure = town
            .client(town.oauth())
            .send(call("add"))
            .await
            .unwrap_err();
        assert_eq!(failure.step(), HttpPhase::Authorize);
        assert_eq!(town.count("GET /authorize"), 0, "{url}");
    }
}

#[tokio::test]
async fn tokens_go_to_their_server_and_nowhere_else() {
    let town = Town::default();
    let client = town.client(town.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    for url in [
        "https://other.example.com/mcp",
        "https://mcp.example.com:8443/mcp",
        "http://mcp.example.com/mcp",
    ] {
        let request = Request::post(url).body(Bytes::from("{}")).unwrap();
        // The town knows the token wherever it comes along; here none comes.
        assert_eq!(client.send(request).await.unwrap().status(), 401, "{url}");
    }
    assert_eq!(town.count("GET /authorize"), 1);
}

#[tokio::test]
async fn tokens_do_not_go_over_plain_http() {
    let town = Town::default();
    let oauth = town.oauth();
    let endpoint = Uri::from_static("http://mcp.example.com/mcp");
    let client = OAuthHttpClient::new(town.clone(), oauth, &endpoint);
    let request = Request::post(&endpoint).body(Bytes::from("{}")).unwrap();
    client.send(request).await.unwrap_err();
    assert_eq!(town.count("POST /token"), 0);
}

/// A server in the internet that points somewhere else.
#[derive(Debug)]
struct Pointing(String);

impl HttpClient for Pointing {
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
async fn a_server_in_the_internet_cannot_point_into_this_network() {
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
        // The usual places are not fetched either: nobody is at that address.
        let oauth = OAuthConfig::login("test", User(Town::default())).without_origin_fallback();
        let endpoint = Uri::from_static("https://192.0.2.1/mcp");
        let client = OAuthHttpClient::new(Pointing(url.clone()), oauth, &endpoint);
        let request = Request::post(&endpoint).body(Bytes::from("{}")).unwrap();
        let failure = client.send(request).await.unwrap_err();
        assert_eq!(failure.step(), HttpPhase::Authorize, "{url}");
    }
    let nobody = tokio::time::timeout(std::time::Duration::ZERO, listener.accept()).await;
    assert!(nobody.is_err(), "somebody came");
}

#[tokio::test]
async fn what_is_printed_holds_no_secret() {
    let town = Town::default();
    let client = town.client(town.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    let printed = format!("{client:?}");
    for secret in ["token-", "refresh-", "code-"] {
        assert!(!printed.contains(secret), "{printed}");
    }
    assert!(printed.contains(SERVER), "{printed}");
}
