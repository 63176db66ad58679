//! The start of every login with HTTP clients that are not ours: a request is rejected with 401 before its body was read,
//! the client reads the metadata, and sends the request again with a token.

use std::time::Duration;

use tokio::net::TcpListener;
use tokio::process::Command;
use toolwire::auth::{ResourceServerConfig, StaticTokens};
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{Server, tool};
use toolwire_interop::Peer;

const SEQUENCES: usize = 2000;

/// Longer than all sequences take on a busy machine.
const HANG: Duration = Duration::from_secs(180);

/// Says that it was called.
#[tool]
async fn who_calls() -> String {
    "ann".to_owned()
}

/// Serves until the test ends; returns the URL.
async fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let url = format!("http://{address}/mcp");
    let tokens = StaticTokens::new().with_token("token-of-ann", "ann", "");
    let config = ResourceServerConfig::new(&url, ["https://auth.example.com"]);
    let resource_server = config.with_verifier(tokens).build();
    let options = HttpOptions::new()
        .with_authorizer(resource_server.expect("it is a configuration"))
        .without_signals();
    let server = Server::new("guarded", "1.0.0").tool(who_calls);
    let listener = HttpListener::from_listener(server, listener, options);
    let listener = listener.expect("it is bound");
    tokio::spawn(async move { listener.run().await.expect("it serves") });
    url
}

/// `most` is how many connections the client may open.
async fn check(peer: Peer, most: usize) {
    let url = serve().await;
    let command = peer.rejected_requests(&url, "token-of-ann", SEQUENCES);
    let mut command = Command::from(command.expect("the peers are installed"));
    let output = command.kill_on_drop(true).output();
    let output = tokio::time::timeout(HANG, output).await;
    let output = output.expect("it ends in time").expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let connections = said
        .strip_prefix(&format!("sequences {SEQUENCES}, connections "))
        .unwrap_or_else(|| panic!("{said}{errors}"));
    let connections: usize = connections.trim_end().parse().expect("it is a number");
    assert!((1..=most).contains(&connections), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn httpx_comes_back_on_the_same_connection() {
    check(Peer::Python, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_fetch_comes_back_on_the_same_connections() {
    // Its pool opens a second one for the first GET, because the POST before it has only just ended.
    check(Peer::TypeScript2, 2).await;
}
