//! Functions that connect a client to a server in the same process.

use toolwire_types::ProtocolVersion;

use crate::client::{Client, ClientBuilder};
use crate::server::Server;

/// Connects a client to a server in the same process, with the newest revision that both support.
///
/// For a client with its own handlers or limits use
/// [`ClientBuilder::in_process`](crate::client::ClientBuilder::in_process).
///
/// # Panics
/// Panics if client and server have no revision in common.
pub async fn client(server: &Server) -> Client {
    connect(ClientBuilder::new("test", "1.0.0"), server).await
}

/// Connects a client that supports only this revision.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use toolwire::{ProtocolVersion, Server, testing};
///
/// let server = Server::new("demo", "1.0.0");
/// let client = testing::client_with_version(&server, ProtocolVersion::V2025_03_26).await;
/// client.ping().await.unwrap();
/// # }
/// ```
///
/// # Panics
/// Panics if the server does not support the revision.
pub async fn client_with_version(server: &Server, version: ProtocolVersion) -> Client {
    let builder = ClientBuilder::new("test", "1.0.0").with_versions([version]);
    connect(builder, server).await
}

async fn connect(builder: ClientBuilder, server: &Server) -> Client {
    match builder.in_process(server).await {
        Ok(client) => client,
        Err(error) => panic!("the test client cannot connect: {error}"),
    }
}
