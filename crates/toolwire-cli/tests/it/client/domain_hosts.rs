//! `toolwire discover DOMAIN` with cards on the host of the catalog and on other hosts.
//!
//! The catalog is on another machine for `toolwire`: it reaches the host through a proxy, which is part of the test.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use toolwire::transport::http::HttpOptions;

use crate::client::domains::domain_of;
use crate::client::{CommandOutput, TempDirectory, run_command, tls};
use crate::process::toolwire;

const HOST: &str = "catalog.example";

/// A proxy whose tunnels all lead to one server.
struct Proxy {
    url: String,
    /// The hosts and ports that the client asked for.
    hosts: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Proxy {
    async fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("the listener is bound");
        let hosts = Arc::new(Mutex::new(Vec::new()));
        let (recorded, server) = (Arc::clone(&hosts), server.to_owned());
        let serving = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(tunnel(client, server.clone(), Arc::clone(&recorded)));
            }
        });
        Self {
            url: format!("http://{address}"),
            hosts,
            serving,
        }
    }

    fn hosts(&self) -> Vec<String> {
        let hosts = self.hosts.lock();
        hosts.expect("no thread panics with the lock").clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn tunnel(mut client: TcpStream, server: String, hosts: Arc<Mutex<Vec<String>>>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match client.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let host = request.split(' ').nth(1).unwrap_or_default();
    hosts
        .lock()
        .expect("no thread panics with the lock")
        .push(host.to_owned());
    let Ok(mut server) = TcpStream::connect(server).await else {
        return;
    };
    let established = b"HTTP/1.1 200 Connection established\r\n\r\n";
    if client.write_all(established).await.is_ok() {
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

/// Discovers the servers of a host whose catalog names a card below this URL. Also returns the hosts that the proxy saw.
async fn discover(url: &str) -> (CommandOutput, Vec<String>) {
    let options = HttpOptions::new()
        .with_public_hosts([HOST])
        .with_public_url(url);
    let (server, pem) = tls::start_with(HOST, options).await;
    let proxy = Proxy::to(domain_of(server.url())).await;
    let directory = TempDirectory::new("domain-hosts");
    let file = directory.write("ca.pem", &pem);
    let mut command = toolwire(&["discover", HOST, "--cacert", &file, "--json"]);
    for name in ["NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    command.env("HTTPS_PROXY", &proxy.url);
    let ran = run_command(command).await;
    (ran, proxy.hosts())
}

#[tokio::test]
async fn card_on_the_host_of_the_catalog_is_fetched_like_the_catalog() {
    let url = format!("https://{HOST}/mcp");
    let (ran, _) = discover(&url).await;
    let found: Value = ran.json();
    assert_eq!(found["faults"], serde_json::json!([]));
    assert_eq!(
        found["servers"][0]["cardUrl"],
        format!("{url}/server-card"),
        "{found}"
    );
}

#[tokio::test]
async fn card_on_another_host_is_not_fetched_from_a_private_address() {
    let (ran, hosts) = discover("https://10.255.255.1/mcp").await;
    let text = ran.failed(4);
    assert!(
        text.contains("the address policy rejects 10.255.255.1"),
        "{text}"
    );
    // The proxy would resolve the host itself, so it is not asked either.
    assert_eq!(hosts, [format!("{HOST}:443")]);
}
