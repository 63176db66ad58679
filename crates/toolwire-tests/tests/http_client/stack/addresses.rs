//! Configured addresses, and addresses that a policy rejects.

use std::sync::{Arc, Mutex};

use toolwire::transport::http_client::{HttpClient, HttpPhase, ProxySettings};
use toolwire_tests::http_client_stack::raw::{FINE, RawServer, client, get};
use toolwire_tests::peer::within;

#[tokio::test]
async fn configured_address_replaces_the_resolver_and_keeps_the_host_header() {
    let server = RawServer::bind().await;
    let http = client().with_resolve_override("Pinned.invalid", server.address);
    let request = get("http://pinned.invalid:8080/mcp");
    let (response, (received, _)) = tokio::join!(http.send(request), server.respond_once(FINE));
    assert_eq!(response.unwrap().status(), 200);
    assert!(
        received.contains("host: pinned.invalid:8080\r\n"),
        "{received}"
    );
}

#[tokio::test]
async fn rejected_address_is_never_connected_to() {
    let server = RawServer::bind().await;
    let port = server.address.port();
    let pinned = client().with_resolve_override("pinned.invalid", server.address);
    let through_proxy = client().with_proxies(ProxySettings::none().with_http(server.url("/")));
    let cases = [
        (client(), server.url("/"), format!("127.0.0.1:{port}")),
        (
            pinned,
            "http://pinned.invalid/".to_owned(),
            "pinned.invalid:80".to_owned(),
        ),
        (
            through_proxy,
            "http://elsewhere.invalid/".to_owned(),
            format!("127.0.0.1:{port}"),
        ),
    ];
    for (http, url, host) in cases {
        let http = http.with_address_policy(|address| !address.ip().is_loopback());
        let failure = within(http.send(get(url)))
            .await
            .expect_err("a rejected address");
        assert_eq!(failure.phase(), HttpPhase::Connect);
        assert_eq!(
            failure.message(),
            format!("the address policy rejects {host}, whose address is 127.0.0.1:{port}")
        );
        assert!(!failure.may_have_arrived());
    }
    assert!(server.has_no_connection().await);
}

#[tokio::test]
async fn policy_checks_the_resolved_addresses() {
    let server = RawServer::bind().await;
    let port = server.address.port();
    let checked = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&checked);
    let http = client().with_address_policy(move |address| {
        record.lock().expect("no panic").push(address);
        address.is_ipv4()
    });
    let request = get(format!("http://localhost:{port}/"));
    let (response, _) = tokio::join!(within(http.send(request)), server.respond_once(FINE));
    assert_eq!(response.unwrap().status(), 200);
    let checked = checked.lock().expect("no panic");
    assert!(checked.contains(&server.address), "{checked:?}");
}
