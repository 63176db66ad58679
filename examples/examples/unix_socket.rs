//! A transport of your own: a server on a Unix socket, and a client of it.
//!
//! `serve_io` and `connect_io` take any pair of byte streams, here the two halves of a socket. For transports that
//! deliver whole messages, such as a WebSocket, `serve_messages` and `connect_messages` take a pair of message streams.
//! Run it with `cargo run -p toolwire-examples --example unix_socket`.

use std::error::Error;

#[cfg(unix)]
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    use serde_json::json;
    use tokio::net::{UnixListener, UnixStream};
    use toolwire::transport::Limits;
    use toolwire::{Client, RequestContext, Server, tool};

    /// Greets a person.
    #[tool]
    async fn greet(ctx: &RequestContext, name: String) -> String {
        format!("Hello, {name}! This is {}.", ctx.version())
    }

    let directory = std::env::temp_dir().join(format!("toolwire-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let path = directory.join("mcp.sock");
    let listener = UnixListener::bind(&path)?;
    let server = Server::new("greeter", "1.0.0").tool(greet);
    let serving = tokio::spawn(async move {
        // A server for many clients accepts in a loop, and serves each connection in its own task.
        let (connection, _) = listener.accept().await?;
        let (reader, writer) = connection.into_split();
        let served = server.serve_io(reader, writer, Limits::default()).await;
        served.map_err(std::io::Error::other)
    });

    let (reader, writer) = UnixStream::connect(&path).await?.into_split();
    let client = Client::connect_io(reader, writer).await?;
    let result = client.call_tool("greet", json!({"name": "Ada"})).await?;
    eprintln!("{}", result.all_text());
    client.close().await;
    serving.await??;
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

#[cfg(not(unix))]
fn main() -> Result<(), Box<dyn Error>> {
    Err("this system has no Unix sockets".into())
}
