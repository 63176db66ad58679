//! A server over a real socket whose responses come from a script, byte for byte.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use toolwire::transport::http_client::HyperClient;
use toolwire::{Client, ClientBuilder, Error, ProtocolVersion};
use toolwire_tests::peer::within;

use super::script::{Ending, Piece, Record, RecordedRequest, Reply, Script};

/// A scripted server. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    pub(crate) record: Record,
    /// The number of connections that a client closed before the response was complete.
    disconnects: watch::Sender<usize>,
    task: JoinHandle<()>,
}

impl Fake {
    pub(crate) async fn start(
        script: impl Fn(&RecordedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let record = Record::new();
        let disconnects = watch::Sender::new(0);
        let shared = (
            Arc::new(script) as Script,
            record.clone(),
            disconnects.clone(),
        );
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            let mut number = 0;
            while let Ok((stream, _)) = listener.accept().await {
                number += 1;
                let (script, record, disconnects) = shared.clone();
                connections.spawn(async move {
                    // A client may disconnect at any time.
                    drop(serve(stream, number, &script, &record, &disconnects).await);
                });
            }
        });
        Self {
            address,
            record,
            disconnects,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Connects a client with default settings.
    pub(crate) async fn connect(&self) -> Result<Client, Error> {
        self.connect_with(builder()).await
    }

    /// Connects a client that supports only this protocol version.
    pub(crate) async fn connect_as(&self, version: ProtocolVersion) -> Client {
        let connecting = self.connect_with(builder().with_versions([version]));
        connecting.await.expect("a connection")
    }

    pub(crate) async fn connect_with(&self, builder: ClientBuilder) -> Result<Client, Error> {
        within(builder.connect(self.url())).await
    }

    /// Returns the number of accepted connections with at least one request.
    pub(crate) fn connections(&self) -> usize {
        let all = self.record.all();
        all.iter()
            .map(|request| request.connection)
            .max()
            .unwrap_or(0)
    }

    /// Drops a call, closes the client and waits until it is closed. The script must send its response to the cancellation
    /// only after `accept`, and the client must wait for this response. Until then, `before_accept` can check the record.
    pub(crate) async fn close_after_dropped_call(
        &self,
        client: &Client,
        accept: &Notify,
        before_accept: impl FnOnce(&Record),
    ) {
        // The call is dropped and the client closed without a point at which another task could run.
        let mut call = Box::pin(client.call_tool("act", json!({})).into_future());
        tokio::select! {
            biased;
            result = &mut call => panic!("{result:?}"),
            _ = self.record.nth("POST", "tools/call", 0) => {}
        }
        drop(call);
        let mut closing = Box::pin(client.close());
        tokio::select! {
            biased;
            () = &mut closing => panic!("closed before the server accepted the cancellation"),
            _ = self.record.nth("POST", "notifications/cancelled", 0) => {}
        }
        before_accept(&self.record);
        accept.notify_one();
        within(closing).await;
    }

    /// Waits until clients closed this many connections before the response was complete.
    pub(crate) async fn wait_for_disconnects(&self, count: usize) {
        let mut receiver = self.disconnects.subscribe();
        let reached = within(receiver.wait_for(|disconnects| *disconnects >= count))
            .await
            .map(drop);
        reached.expect("a running server");
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns the builder of a client that ignores the proxy variables of the environment.
pub(crate) fn builder() -> ClientBuilder {
    ClientBuilder::new("test", "1").with_http_client(HyperClient::new().without_proxy())
}

async fn serve(
    mut stream: TcpStream,
    number: usize,
    script: &Script,
    record: &Record,
    disconnects: &watch::Sender<usize>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        let (head, body) = read_request(&mut stream).await?;
        let mut lines = head.split("\r\n");
        let mut start = lines.next().unwrap_or_default().split(' ');
        let http_method = start.next().unwrap_or_default();
        let target = start.next().unwrap_or_default();
        let request = record.note(number, http_method, target, headers(lines), &body);
        let reply = script(&request);
        if reply.ending == Ending::NoResponse {
            return Ok(());
        }
        if let Err(error) = write_reply(&mut stream, &reply).await {
            disconnects.send_modify(|count| *count += 1);
            return Err(error);
        }
        match reply.ending {
            Ending::Complete => {}
            Ending::Cut | Ending::NoResponse => return Ok(()),
            Ending::Reset => return SockRef::from(&stream).set_linger(Some(Duration::ZERO)),
            Ending::Open => {
                wait_for_gate(&mut stream, &Notify::new()).await.ok();
                disconnects.send_modify(|count| *count += 1);
                return Ok(());
            }
        }
    }
}

fn headers<'a>(lines: impl Iterator<Item = &'a str>) -> HashMap<String, String> {
    let pairs = lines.filter_map(|line| line.split_once(": "));
    pairs
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect()
}

async fn read_request(stream: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = headers(head.split("\r\n"))
        .get("content-length")
        .map_or(0, |length| length.parse().expect("a number"));
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok((head, body))
}

async fn write_reply(stream: &mut TcpStream, reply: &Reply) -> io::Result<()> {
    if let Some(gate) = &reply.gate {
        wait_for_gate(stream, gate).await?;
    }
    let mut head = format!("HTTP/1.1 {} Whatever\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let is_empty = reply.pieces.is_empty() && reply.ending == Ending::Complete;
    head.push_str(if is_empty {
        "content-length: 0\r\n\r\n"
    } else {
        "transfer-encoding: chunked\r\n\r\n"
    });
    stream.write_all(head.as_bytes()).await?;
    if is_empty {
        return Ok(());
    }
    for piece in &reply.pieces {
        match piece {
            Piece::Bytes(bytes) => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend_from_slice(bytes);
                chunk.extend_from_slice(b"\r\n");
                stream.write_all(&chunk).await?;
            }
            Piece::Wait(gate) => wait_for_gate(stream, gate).await?,
        }
    }
    if reply.ending == Ending::Complete {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    Ok(())
}

/// Waits for the gate. Returns an error if the client disconnects before that.
async fn wait_for_gate(stream: &mut TcpStream, gate: &Notify) -> io::Result<()> {
    tokio::select! {
        biased;
        // The client sends no other request before this response, so a finished read means that it disconnected.
        _ = stream.read_u8() => Err(io::ErrorKind::ConnectionAborted.into()),
        () = gate.notified() => Ok(()),
    }
}
