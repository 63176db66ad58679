//! A node of the fleet, and requests to it as bytes.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use toolwire_proto::sse::{SseDecoder, SseEvent};
use toolwire_types::{ProtocolVersion, meta_key};

use crate::http1::{ResponseDecoder, Target};
use crate::load::{Connection, Destination, Era};
use crate::process::ServerProcess;

/// The longest event that is accepted.
const LONGEST_EVENT: usize = 1 << 20;

/// A running node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) process: ServerProcess,
    pub(super) target: Target,
}

impl Node {
    /// Starts a node with these arguments. Without an engine it stores everything in memory.
    pub(super) async fn start(program: &Path, arguments: &[&str]) -> io::Result<Self> {
        let mut command = std::process::Command::new(program);
        command.args(arguments);
        let process = ServerProcess::start_command(command).await?;
        let target = Target::parse(process.url());
        let target = target.ok_or_else(|| io::Error::other("the node has no address"))?;
        Ok(Self { process, target })
    }

    /// Opens a session whose client supports elicitation, and returns its id.
    pub(super) async fn open_session(&self) -> io::Result<String> {
        let message = json!({
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": Era::Legacy.version(),
                "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "bench", "version": "1.0.0"},
            },
        });
        let request = self.legacy(None, &message);
        let mut stream = Stream::open(&self.target, &request).await?;
        let session = stream.response.session().map(str::to_owned);
        let session = session.ok_or_else(|| io::Error::other("no session was opened"))?;
        stream.finish().await?;
        let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.post(&session, &message).await?;
        Ok(session)
    }

    /// Posts a message in a session, and reads the complete response.
    pub(super) async fn post(&self, session: &str, message: &Value) -> io::Result<()> {
        let mut stream = self.stream(session, message).await?;
        stream.finish().await
    }

    /// Posts a message in a session, and returns its response while it is sent.
    pub(super) async fn stream(&self, session: &str, message: &Value) -> io::Result<Stream> {
        Stream::open(&self.target, &self.legacy(Some(session), message)).await
    }

    /// Opens the stream of a session, or resumes a stream after an event.
    pub(super) async fn get(&self, session: &str, last_event: Option<&str>) -> io::Result<Stream> {
        let version = Era::Legacy.version();
        let request = self
            .target
            .without_body("GET", version, session, last_event);
        Stream::open(&self.target, &request).await
    }

    /// Ends a session.
    pub(super) async fn delete(&self, session: &str) -> io::Result<()> {
        let version = Era::Legacy.version();
        let request = self.target.without_body("DELETE", version, session, None);
        Stream::open(&self.target, &request).await?.finish().await
    }

    /// Makes a modern call of a tool.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> io::Result<()> {
        self.call_with_fields("", tool, arguments).await
    }

    /// Makes a modern call of a tool with further header fields, each of which ends with a line break.
    pub(super) async fn call_with_fields(
        &self,
        fields: &str,
        tool: &str,
        arguments: Value,
    ) -> io::Result<()> {
        let params = json!({"name": tool, "arguments": arguments});
        let request = self.modern("tools/call", Some(tool), fields, params);
        Stream::open(&self.target, &request).await?.finish().await
    }

    /// Makes the first round of a modern call that asks the user. Returns the parameters of the second round.
    pub(super) async fn first_round(&self) -> io::Result<Value> {
        let mut params = json!({"name": "ask", "arguments": {}});
        let result = self.round(params.clone()).await?;
        let requests = result["inputRequests"].as_object();
        let keys = requests.into_iter().flat_map(|requests| requests.keys());
        let accepted = json!({"action": "accept", "content": {}});
        let responses: Map<String, Value> =
            keys.map(|key| (key.clone(), accepted.clone())).collect();
        if responses.is_empty() {
            return Err(io::Error::other(format!("no input request: {result:.300}")));
        }
        params["inputResponses"] = responses.into();
        params["requestState"] = result["requestState"].clone();
        Ok(params)
    }

    /// Makes the second round of a modern call that asks the user.
    pub(super) async fn second_round(&self, params: Value) -> io::Result<()> {
        let result = self.round(params).await?;
        if result["resultType"] == "complete" && result["isError"] != true {
            Ok(())
        } else {
            Err(io::Error::other(format!("not completed: {result:.300}")))
        }
    }

    async fn round(&self, params: Value) -> io::Result<Value> {
        let request = self.modern("tools/call", Some("ask"), "", params);
        let stream = Stream::open(&self.target, &request).await?;
        let mut response = stream.only_message().await?;
        Ok(response["result"].take())
    }

    /// Opens a `subscriptions/listen` for changes of the list of tools, and waits for its acknowledgement.
    pub(super) async fn listen(&self) -> io::Result<Stream> {
        let params = json!({"notifications": {"toolsListChanged": true}});
        let request = self.modern("subscriptions/listen", None, "", params);
        let mut stream = Stream::open(&self.target, &request).await?;
        stream.message().await?;
        Ok(stream)
    }

    fn legacy(&self, session: Option<&str>, message: &Value) -> Vec<u8> {
        let version = Era::Legacy.version();
        self.target
            .post_in_session(version, session, &message.to_string())
    }

    fn modern(&self, method: &str, name: Option<&str>, fields: &str, mut params: Value) -> Vec<u8> {
        params["_meta"] = json!({
            meta_key::PROTOCOL_VERSION: ProtocolVersion::LATEST.as_str(),
            meta_key::CLIENT_CAPABILITIES: {"elicitation": {"form": {}}},
        });
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let message = message.to_string();
        self.target.post_with_fields(method, name, fields, &message)
    }
}

/// Opens sessions that stay idle.
pub(super) async fn open_idle_sessions(node: &Node, sessions: usize) -> io::Result<()> {
    let destination = Destination::new(node.process.url(), None)?;
    let mut connection = Connection::connect(&destination).await?;
    for _ in 0..sessions {
        connection.begin_session(&destination.target).await?;
    }
    Ok(())
}

/// Returns a call of a tool in a session.
pub(super) fn tool_call(id: u32, tool: &str, arguments: Value) -> Value {
    let params = json!({
        "name": tool,
        "arguments": arguments,
        "_meta": {"progressToken": id},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// A response while it is received.
#[derive(Debug)]
pub(super) struct Stream {
    socket: TcpStream,
    response: ResponseDecoder,
    events: SseDecoder,
    received: VecDeque<SseEvent>,
    body: Vec<u8>,
}

impl Stream {
    /// Sends a request, and waits for the headers of a successful response.
    async fn open(target: &Target, request: &[u8]) -> io::Result<Self> {
        let mut socket = TcpStream::connect(target.address).await?;
        socket.set_nodelay(true)?;
        socket.write_all(request).await?;
        let mut stream = Self {
            socket,
            response: ResponseDecoder::default(),
            events: SseDecoder::new(LONGEST_EVENT),
            received: VecDeque::new(),
            body: Vec::new(),
        };
        while stream.response.status().is_none() {
            stream.receive().await?;
        }
        match stream.response.status() {
            Some(200..=299) => Ok(stream),
            status => {
                stream.finish().await?;
                let body = String::from_utf8_lossy(&stream.body);
                Err(io::Error::other(format!("status {status:?}: {body:.300}")))
            }
        }
    }

    /// Reads the rest of the response.
    pub(super) async fn finish(&mut self) -> io::Result<()> {
        while !self.response.is_finished() {
            self.receive().await?;
        }
        Ok(())
    }

    /// Returns the next event with a message, and its id.
    pub(super) async fn message(&mut self) -> io::Result<(Value, Option<String>)> {
        loop {
            while let Some(event) = self.received.pop_front() {
                if !event.data.is_empty() {
                    let message = serde_json::from_str(&event.data).map_err(io::Error::other)?;
                    return Ok((message, event.id));
                }
            }
            if self.response.is_finished() {
                return Err(io::Error::other("the stream has ended"));
            }
            self.receive().await?;
        }
    }

    /// Reads the rest of the response, and returns its only message.
    async fn only_message(mut self) -> io::Result<Value> {
        self.finish().await?;
        if self.response.is_event_stream() {
            let (message, _) = self.message().await?;
            return Ok(message);
        }
        serde_json::from_slice(&self.body).map_err(io::Error::other)
    }

    async fn receive(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        let length = self.socket.read(&mut buffer).await?;
        if length == 0 {
            let problem = "the server closed the connection";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem));
        }
        let mut body = Vec::new();
        let decoded = self.response.decode(&buffer[..length], &mut body);
        decoded.map_err(io::Error::other)?;
        if self.response.is_event_stream() {
            let mut rest = body.as_slice();
            while let Some(event) = self.events.next_event(&mut rest) {
                self.received.push_back(event.map_err(io::Error::other)?);
            }
        } else {
            self.body.extend(body);
        }
        Ok(())
    }
}
