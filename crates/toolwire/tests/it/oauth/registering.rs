//! How the client comes to be known.

use serde_json::json;
use toolwire::transport::http_client::HttpClient as _;
use toolwire_auth::client::{OAuthConfig, RegisteredClient};

use super::town::{ISSUER, Town, call};

const OTHER: &str = "https://other.example.com";

#[tokio::test]
async fn given_credentials_come_before_documents_and_documents_before_registration() {
    let document = "https://app.example.com/client.json";
    let town = Town::default();
    town.rules().metadata["client_id_metadata_document_supported"] = json!(true);
    let with_document = || town.oauth().with_client_id_document(document);
    assert_eq!(
        town.client(with_document())
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    let given = with_document().with_client("by-hand");
    assert_eq!(
        town.client(given).send(call("add")).await.unwrap().status(),
        200
    );
    town.rules().metadata["client_id_metadata_document_supported"] = json!(false);
    assert_eq!(
        town.client(with_document())
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    let rules = town.rules();
    let ids: Vec<&str> = rules
        .queries
        .iter()
        .map(|query| query["client_id"].as_str())
        .collect();
    assert_eq!(ids[..2], [document, "by-hand"]);
    assert!(ids[2].starts_with("client-"), "{ids:?}");
}

#[tokio::test]
async fn credentials_of_one_authorization_server_are_not_shown_to_another() {
    let town = Town::default();
    let elsewhere = town
        .oauth()
        .with_client(RegisteredClient::new("by-hand").at(OTHER));
    let failure = town.client(elsewhere).send(call("add")).await.unwrap_err();
    let source = std::error::Error::source(&failure).unwrap().to_string();
    assert!(source.contains(OTHER), "{source}");
    assert_eq!(
        (town.count("GET /authorize"), town.count("POST /token")),
        (0, 0)
    );

    // Those without a name belong to the first that was met, and to no other.
    let client = town.client(town.oauth().with_client("by-hand"));
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    {
        let mut rules = town.rules();
        rules.resource["authorization_servers"] = json!([OTHER]);
        rules.metadata["issuer"] = json!(OTHER);
    }
    town.revoke_all(true);
    let asked = town.count("GET /authorize");
    let failure = client.send(call("add")).await.unwrap_err();
    let source = std::error::Error::source(&failure).unwrap().to_string();
    assert!(source.contains("another authorization server"), "{source}");
    assert_eq!(town.count("GET /authorize"), asked);
}

#[tokio::test]
async fn a_client_that_may_not_register_says_what_to_do() {
    let town = Town::default();
    let client = town.client(town.oauth().without_registration());
    let failure = client.send(call("add")).await.unwrap_err();
    let source = std::error::Error::source(&failure).unwrap().to_string();
    assert!(
        source.contains("manually") && source.contains(ISSUER),
        "{source}"
    );
    assert_eq!(town.count("POST /register"), 0);
}

#[tokio::test]
async fn clients_without_users_never_register() {
    let town = Town::default();
    let registered = RegisteredClient::new("machine").with_secret("s3cret");
    let oauth = town.at_home(OAuthConfig::client_credentials(registered));
    assert_eq!(
        town.client(oauth).send(call("add")).await.unwrap().status(),
        200
    );
    assert_eq!(
        (town.count("POST /register"), town.count("GET /authorize")),
        (0, 0)
    );
    let form = town.rules().forms.pop().unwrap();
    assert_eq!(form["grant_type"], "client_credentials");
}

#[tokio::test]
async fn a_native_client_says_that_it_is_one() {
    let town = Town::default();
    let client = town.client(town.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    let query = town.rules().queries.pop().unwrap();
    assert_eq!(query["redirect_uri"], super::town::REDIRECT);
    assert_eq!(query["code_challenge_method"], "S256");
}
