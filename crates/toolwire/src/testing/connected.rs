//! Clients that are connected in one line.

use toolwire_types::ProtocolVersion;

use crate::client::{Client, ClientBuilder};
use crate::server::Server;

/// A client of a server in the same process, in the newest revision both speak.
///
/// For a client with handlers or limits of your own use
/// [`ClientBuilder::in_process`](crate::client::ClientBuilder::in_process).
///
/// # Panics
/// When the two have no revision in common.
pub async fn client(server: &Server) -> Client {
    connect(ClientBuilder::new("test", "1.0.0"), server).await
}

/// A client that speaks this one revision.
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
/// When the server does not speak it.
pub async fn client_with_version(server: &Server, version: ProtocolVersion) -> Client {
    let builder = ClientBuilder::new("test", "1.0.0").with_versions([version]);
    connect(builder, server).await
}

async fn connect(builder: ClientBuilder, server: &Server) -> Client {
    match builder.in_process(server).await {
        Ok(client) => client,
        Err(error) => panic!("the test's client cannot connect: {error}"),
    }
}
