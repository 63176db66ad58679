//! HTTPS: which certificates are trusted, and the errors of failed handshakes.

use std::sync::Arc;
use std::time::Duration;

use rcgen::{KeyPair, date_time_ymd};
use tokio_rustls::TlsAcceptor;
use toolwire::transport::http_client::{HttpClient, HttpError, HttpPhase, HyperClient};
use toolwire_tests::http_client_stack::raw::{FINE, RawServer, client, get};
use toolwire_tests::http_client_stack::tls::{Authority, accept_tls};
use toolwire_tests::peer::within;

#[tokio::test]
async fn server_with_a_trusted_certificate_gets_the_request() {
    let (authority, server) = (Authority::new(), RawServer::bind().await);
    let acceptor = authority.acceptor("server.invalid", &[]);
    let http = authority
        .trusted_by(client())
        .with_resolve_override("server.invalid", server.address);
    let scripted = async {
        let mut connection = accept_tls(&acceptor, server.accept().await).await.unwrap();
        (connection.respond(FINE).await, connection)
    };
    let request = get("https://server.invalid/mcp");
    let (response, (received, _connection)) = tokio::join!(http.send(request), scripted);
    let response = response.unwrap();
    assert_eq!(response.version(), http::Version::HTTP_11);
    assert_eq!(
        received,
        "GET /mcp HTTP/1.1\r\nhost: server.invalid\r\n\r\n"
    );
    assert_eq!(response.into_body().collect(4).await.unwrap(), "fine");
}

/// Returns the error of a request to `server.invalid` if the server uses this certificate.
async fn handshake_failure(http: HyperClient, acceptor: &TlsAcceptor) -> HttpError {
    let server = RawServer::bind().await;
    let http = http.with_resolve_override("server.invalid", server.address);
    let scripted = async { accept_tls(acceptor, server.accept().await).await.is_some() };
    let (response, _) = tokio::join!(within(http.send(get("https://server.invalid/"))), scripted);
    let failure = response.expect_err("an untrusted certificate");
    assert_eq!(failure.phase(), HttpPhase::Tls);
    assert!(!failure.may_have_arrived());
    failure
}

#[tokio::test]
async fn error_for_an_invalid_certificate_names_the_reason() {
    let authority = Authority::new();
    let check = async |http: HyperClient, acceptor: TlsAcceptor, expected: &str| {
        let failure = handshake_failure(http, &acceptor).await;
        let expected = format!("the certificate of server.invalid:443 {expected}");
        assert_eq!(failure.to_string(), expected);
    };
    check(
        authority.trusted_by(client()),
        authority.acceptor_with("server.invalid", &[], |params| {
            params.not_after = date_time_ymd(2020, 1, 1);
        }),
        "has expired; renew it, or correct the clock of this machine",
    )
    .await;
    check(
        authority.trusted_by(client()),
        authority.acceptor_with("server.invalid", &[], |params| {
            params.not_before = date_time_ymd(4000, 1, 1);
            params.not_after = date_time_ymd(4001, 1, 1);
        }),
        "is not valid yet; correct the clock of this machine or of the server",
    )
    .await;
    check(
        authority.trusted_by(client()),
        authority.acceptor("other.invalid", &[]),
        "is for another name; use the name that the certificate was made for",
    )
    .await;
    check(
        Authority::named("another authority").trusted_by(client()),
        authority.acceptor("server.invalid", &[]),
        "comes from an issuer that this machine does not trust; \
         give the issuer's certificate with `with_root_certificates` or in SSL_CERT_FILE",
    )
    .await;
}

#[tokio::test]
async fn server_without_tls_has_its_own_error() {
    let (authority, server) = (Authority::new(), RawServer::bind().await);
    let http = authority.trusted_by(client());
    let url = format!("https://{}/", server.address);
    let scripted = async {
        let mut connection = server.accept().await;
        connection.write("HTTP/1.1 400 Bad Request\r\n\r\n").await;
        connection
    };
    let (response, _connection) = tokio::join!(within(http.send(get(&url))), scripted);
    let failure = response.expect_err("a server without TLS");
    assert_eq!(failure.phase(), HttpPhase::Tls);
    assert_eq!(
        failure.message(),
        format!("{} does not use TLS", server.address)
    );
    let advice = failure.advice().unwrap();
    assert!(advice.contains("http://"), "{advice}");

    let (response, _) = tokio::join!(within(http.send(get(&url))), async {
        drop(server.accept().await);
    });
    let failure = response.expect_err("a closed connection");
    assert_eq!(failure.phase(), HttpPhase::Tls);
    let expected = format!(
        "the connection to {} failed during the TLS handshake",
        server.address
    );
    assert_eq!(failure.message(), expected);
}

#[tokio::test]
async fn client_without_root_certificates_trusts_no_server() {
    let acceptor = Authority::new().acceptor("server.invalid", &[]);
    let failure = handshake_failure(client().without_native_roots(), &acceptor).await;
    let printed = failure.to_string();
    assert!(
        printed.starts_with("this machine has no root certificates"),
        "{printed}"
    );
    assert!(printed.contains("with_root_certificates"), "{printed}");
}

#[tokio::test]
async fn connecting_times_out_after_ten_seconds() {
    let (authority, server) = (Authority::new(), RawServer::bind().await);
    let http = authority.trusted_by(client());
    let url = format!("https://{}/", server.address);
    let sending = tokio::spawn(async move { http.send(get(url)).await });
    // The server accepts the connection and sends nothing in the handshake.
    let _silent = server.accept().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(5)).await;
    assert!(!sending.is_finished());
    tokio::time::advance(Duration::from_secs(5)).await;
    let failure = within(sending).await.unwrap().expect_err("a timeout");
    assert_eq!(failure.phase(), HttpPhase::Tls);
    assert_eq!(
        failure.message(),
        format!(
            "the TLS handshake with {} was not complete within 10s",
            server.address
        )
    );
}

#[test]
fn invalid_root_certificates_are_rejected() {
    let check = |pem: &str, expected: &str| {
        let failure = client().with_root_certificates(pem.as_bytes()).unwrap_err();
        assert_eq!(failure.phase(), HttpPhase::Prepare);
        assert_eq!(failure.message(), expected);
    };
    let none = "there is no certificate among the root certificates";
    check("", none);
    check("nonsense", none);
    check(&KeyPair::generate().unwrap().serialize_pem(), none);
    check(
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "a root certificate cannot be used",
    );
    check(
        "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
        "the root certificates are not readable PEM",
    );
}

#[tokio::test]
async fn custom_tls_configuration_replaces_the_root_certificates() {
    let (authority, server) = (Authority::new(), RawServer::bind().await);
    let acceptor = authority.acceptor("server.invalid", &["http/1.1"]);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.certificate().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let http = client()
        .with_tls(Arc::new(config))
        .with_resolve_override("server.invalid", server.address);
    let scripted = async {
        let mut connection = accept_tls(&acceptor, server.accept().await).await.unwrap();
        connection.respond(FINE).await;
        connection
    };
    let request = get("https://server.invalid/mcp");
    let (response, connection) = tokio::join!(http.send(request), scripted);
    assert_eq!(response.unwrap().status(), 200);
    let chosen = connection.stream.get_ref().1.alpn_protocol();
    assert_eq!(chosen, Some(&b"http/1.1"[..]));
}
