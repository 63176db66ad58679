//! Handlers that block their thread. The client does not use the server's runtime, because it would wake its threads.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::json;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{JsonSchema, RequestContext, Server, ToolHandler};
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::call;

/// The read timeout: longer than any response takes, and shorter than the handler blocks its thread.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of repetitions, because a delayed request may pass once by chance.
const REPETITIONS: usize = 3;

#[derive(serde::Deserialize, JsonSchema)]
struct Nothing {}

fn send(connection: &mut TcpStream, tool: &str) {
    let request = Request::modern(&call(1, tool, json!({})));
    connection.write_all(request.bytes().as_ref()).unwrap();
}

/// Returns the first bytes of the response.
fn receive(connection: &mut TcpStream) -> String {
    let mut bytes = [0; 4096];
    let count = connection
        .read(&mut bytes)
        .expect("the response was delayed");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

fn connect(address: SocketAddr) -> TcpStream {
    let connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
    connection
}

#[test]
fn blocking_handler_delays_no_other_connection() {
    // The runtime is dropped last, because it waits for handlers, which end with the test at the latest.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let (sender, started) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let block = ToolHandler::blocking("block", move |_: RequestContext, _: Nothing| {
        sender.send(()).unwrap();
        // An error means that the test has ended.
        let _ = released.lock().unwrap().recv();
        "released"
    });
    let quick = ToolHandler::typed("quick", |_: RequestContext, _: Nothing| async { "quick" });
    let server = Server::new("demo", "1.0.0").tool(block).tool(quick);
    let bound = HttpListener::bind(
        server.clone(),
        "127.0.0.1:0",
        HttpOptions::new().without_signals(),
    );
    let listener = runtime.block_on(bound).unwrap();
    let address = listener.local_addr();
    let serving = runtime.spawn(listener.run());

    let (mut blocking, mut other) = (connect(address), connect(address));
    for _ in 0..REPETITIONS {
        send(&mut other, "quick");
        assert!(receive(&mut other).starts_with("HTTP/1.1 200 OK\r\n"));
        send(&mut blocking, "block");
        started.recv_timeout(READ_TIMEOUT).unwrap();
        send(&mut other, "quick");
        let response = receive(&mut other);
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        release.send(()).unwrap();
        assert!(receive(&mut blocking).contains("released"));
    }
    server.shutdown();
    runtime.block_on(serving).unwrap().unwrap();
}
