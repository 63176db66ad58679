//! HTTPS with the server of this crate. It uses HTTP/2, so concurrent calls share one connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{CertificateParams, KeyPair};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Barrier, mpsc};
use toolwire::transport::http::{HttpListener, HttpOptions, tls};
use toolwire::transport::http_client::HyperClient;
use toolwire::{ClientBuilder, ProtocolVersion, Server};
use toolwire_tests::peer::{plain, within};

/// Starts a TCP forwarder that counts its connections.
async fn start_counting_forwarder(target: SocketAddr) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let mut upstream = TcpStream::connect(target)
                    .await
                    .expect("a listening server");
                drop(tokio::io::copy_bidirectional(&mut client, &mut upstream).await);
            });
        }
    });
    (address, count)
}

/// Starts a TLS server. Returns an HTTP client that trusts it and connects through the forwarder, and the number of its
/// connections.
async fn start_server(server: Server) -> (Arc<HyperClient>, Arc<AtomicUsize>) {
    let key = KeyPair::generate().expect("a key");
    let names = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = names.self_signed(&key).expect("a certificate");
    let chain = certificate.pem();
    let config = tls::config_from_pem(chain.as_bytes(), key.serialize_pem().as_bytes());
    let config = config.expect("a TLS configuration");
    let options = HttpOptions::new().with_tls(config).without_signals();
    let listener = HttpListener::bind(server, "127.0.0.1:0", options).await;
    let listener = listener.expect("a free port");
    let (address, count) = start_counting_forwarder(listener.local_addr()).await;
    tokio::spawn(listener.run());
    let http = HyperClient::new()
        .without_proxy()
        .without_native_roots()
        .with_root_certificates(chain.as_bytes())
        .expect("a root certificate")
        .with_resolve_override("localhost", address);
    (Arc::new(http), count)
}

#[tokio::test]
async fn concurrent_calls_share_a_connection() {
    const CALLS: usize = 16;
    let together = Arc::new(Barrier::new(CALLS));
    let meet = plain("meet", move |_| {
        let together = Arc::clone(&together);
        async move {
            together.wait().await;
            "met"
        }
    });
    let (http, connections) = start_server(Server::new("demo", "1.0.0").tool(meet)).await;
    for version in [ProtocolVersion::LATEST, ProtocolVersion::V2025_11_25] {
        let before = connections.load(Ordering::Relaxed);
        let builder = ClientBuilder::new("test", "1").with_versions([version]);
        let builder = builder.with_http_client(Arc::clone(&http));
        let client = within(builder.connect("https://localhost/mcp"))
            .await
            .unwrap();
        let calls: Vec<_> = (0..CALLS)
            .map(|_| tokio::spawn(client.call_tool("meet", json!({})).into_future()))
            .collect();
        for call in calls {
            let met = within(call).await.unwrap().unwrap();
            assert_eq!(met.content[0].as_text(), Some("met"));
        }
        within(client.close()).await;
        let made = connections.load(Ordering::Relaxed) - before;
        assert!(made <= 1, "{version}: {made} connections");
    }
}

/// Sends a message when a handler is dropped.
struct DropNotifier(mpsc::UnboundedSender<()>);

impl Drop for DropNotifier {
    fn drop(&mut self) {
        self.0.send(()).ok();
    }
}

#[tokio::test]
async fn dropping_a_call_resets_its_stream_and_not_the_connection() {
    let (started, mut starts) = mpsc::unbounded_channel();
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let wait = plain("wait", move |_| {
        let guard = DropNotifier(dropped.clone());
        let started = started.clone();
        async move {
            started.send(()).expect("an open channel");
            std::future::pending::<()>().await;
            drop(guard);
            "never"
        }
    });
    let (http, connections) = start_server(Server::new("demo", "1.0.0").tool(wait)).await;
    let builder = ClientBuilder::new("test", "1").with_http_client(http);
    let client = within(builder.connect("https://localhost/mcp"))
        .await
        .unwrap();
    let call = tokio::spawn(client.call_tool("wait", json!({})).into_future());
    within(starts.recv()).await.unwrap();
    call.abort();
    within(drops.recv()).await.unwrap();
    within(client.list_tools().into_future()).await.unwrap();
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}
