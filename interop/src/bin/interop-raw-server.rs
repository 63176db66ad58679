//! The server of the mirror tests as a process: `interop-raw-server REVISION stdio|http`.

use std::io::{self, Write as _};
use std::net::TcpListener;

use toolwire_interop::mirror::{Revision, serve_http, serve_lines};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let revision = arguments.first().and_then(|name| Revision::from_name(name));
    let revision = revision.ok_or_else(|| io::Error::other("the revision is missing"))?;
    if arguments
        .get(1)
        .is_some_and(|transport| transport == "http")
    {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        writeln!(io::stderr(), "listening on http://{address}/mcp")?;
        return serve_http(revision, &listener);
    }
    serve_lines(revision, io::stdin().lock(), io::stdout());
    Ok(())
}
