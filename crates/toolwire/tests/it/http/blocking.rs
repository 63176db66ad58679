//! Handlers that block. The client is not on the runtime of the server: it would wake its threads.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::json;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{JsonSchema, RequestContext, Server, ToolHandler};

use super::request::Request;
use crate::peer::call;

/// Longer than anybody should be held up, and shorter than the handler holds its thread.
const PATIENCE: Duration = Duration::from_secs(5);

/// One that is held up by chance only might pass once.
const TIMES: usize = 3;

#[derive(serde::Deserialize, JsonSchema)]
struct Nothing {}

fn send(connection: &mut TcpStream, tool: &str) {
    let request = Request::modern(&call(1, tool, json!({})));
    connection.write_all(request.bytes().as_ref()).unwrap();
}

/// The beginning of the answer.
fn receive(connection: &mut TcpStream) -> String {
    let mut bytes = [0; 4096];
    let count = connection.read(&mut bytes).expect("held up");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

fn connect(address: SocketAddr) -> TcpStream {
    let connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    connection
}

#[test]
fn blocking_handler_delays_no_other_connection() {
    // Dropped last: it waits for handlers, which end with the test at the latest.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let (tell, started) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let hold = ToolHandler::blocking("hold", move |_: RequestContext, _: Nothing| {
        tell.send(()).unwrap();
        // An error means that the test is over.
        let _ = released.lock().unwrap().recv();
        "released"
    });
    let quick = ToolHandler::typed("quick", |_: RequestContext, _: Nothing| async { "quick" });
    let server = Server::new("demo", "1.0.0").tool(hold).tool(quick);
    let bound = HttpListener::bind(
        server.clone(),
        "127.0.0.1:0",
        HttpOptions::new().without_signals(),
    );
    let listener = runtime.block_on(bound).unwrap();
    let address = listener.local_addr();
    let serving = runtime.spawn(listener.run());

    let (mut holding, mut other) = (connect(address), connect(address));
    for _ in 0..TIMES {
        send(&mut other, "quick");
        assert!(receive(&mut other).starts_with("HTTP/1.1 200 OK\r\n"));
        send(&mut holding, "hold");
        started.recv_timeout(PATIENCE).unwrap();
        send(&mut other, "quick");
        let answer = receive(&mut other);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        release.send(()).unwrap();
        assert!(receive(&mut holding).contains("released"));
    }
    server.shutdown();
    runtime.block_on(serving).unwrap().unwrap();
}
