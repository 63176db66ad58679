//! The gateway: connects to both servers and offers their tools under a prefix.

use std::error::Error;
use std::io;

use toolwire::relay::{Upstream, UpstreamSource};
use toolwire::transport::http::HttpOptions;
use toolwire::{Mount, Server, ServerCommand};
use toolwire_examples::job;

/// The argument that starts the server of orders, and the prefix of its tools.
pub(crate) const ORDERS: &str = "orders";

/// The argument that starts the server of trains, and the prefix of its tools.
pub(crate) const TRAINS: &str = "trains";

/// Returns a server that is this program with an argument. A server at a URL uses `builder.connect(url)` instead.
fn upstream(name: &str) -> io::Result<UpstreamSource> {
    let command = ServerCommand::new(std::env::current_exe()?).arg(name);
    let upstream = Upstream::new(move |builder| builder.spawn(command.clone()));
    Ok(upstream.with_name(name).source())
}

pub(crate) async fn run(address: Option<String>) -> Result<(), Box<dyn Error>> {
    let orders = upstream(ORDERS)?;
    let trains = upstream(TRAINS)?;
    // Without these calls, the gateway also starts: a mounted source connects in the background until it succeeds.
    orders.connect().await?;
    trains.connect().await?;
    let gateway = Server::new("gateway", "1.0.0")
        .mount_with(Mount::new(ORDERS, orders.clone()).without_tools("convert"))
        .mount_with(Mount::new(TRAINS, trains.clone()).retitle_tool("book", "Book a train"));
    job::serve(gateway, address, HttpOptions::new()).await?;
    orders.close().await;
    trains.close().await;
    Ok(())
}
