//! The start of every login with independent HTTP clients. A request is rejected with 401 before its body is read, the
//! client reads the metadata, and sends the request again with a token.

use std::time::Duration;

use tokio::net::TcpListener;
use tokio::process::Command;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{Server, tool};
use toolwire_auth::{ResourceServerConfig, StaticTokens};
use toolwire_interop::Peer;

const SEQUENCES: usize = 2000;

/// Longer than all sequences take on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Returns a constant text.
#[tool]
async fn who_calls() -> String {
    "ann".to_owned()
}

/// Serves until the test ends, and returns the URL.
async fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a free port");
    let address = listener.local_addr().expect("the listener is bound");
    let url = format!("http://{address}/mcp");
    let tokens = StaticTokens::new().with_token("token-of-ann", "ann", "");
    let config = ResourceServerConfig::new(&url, ["https://auth.example.com"]);
    let resource_server = config.with_verifier(tokens).build();
    let options = HttpOptions::new()
        .with_authorizer(resource_server.expect("the configuration is valid"))
        .without_signals();
    let server = Server::new("protected", "1.0.0").tool(who_calls);
    let listener = HttpListener::from_listener(server, listener, options);
    let listener = listener.expect("the listener is bound");
    tokio::spawn(async move { listener.run().await.expect("the server runs") });
    url
}

/// Runs the sequences. `most` is the number of connections that the client may open.
async fn check(peer: Peer, most: usize) {
    let url = serve().await;
    let command = peer.rejected_requests(&url, "token-of-ann", SEQUENCES);
    let mut command = Command::from(command.expect("the peers are installed"));
    let output = command.kill_on_drop(true).output();
    let output = tokio::time::timeout(TIMEOUT, output).await;
    let output = output
        .expect("the client exits in time")
        .expect("the client starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let connections = stdout
        .strip_prefix(&format!("sequences {SEQUENCES}, connections "))
        .unwrap_or_else(|| panic!("{stdout}{stderr}"));
    let connections: usize = connections
        .trim_end()
        .parse()
        .expect("the count is a number");
    assert!((1..=most).contains(&connections), "{stdout}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn httpx_reuses_its_connection() {
    check(Peer::Python, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_fetch_reuses_its_connections() {
    // Its pool opens a second connection for the first GET, because the POST has only just ended.
    check(Peer::TypeScript2, 2).await;
}
