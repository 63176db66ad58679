//! The transports of the client: lines of a process, and HTTP.

use std::io::{self, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::lines::lines_of;
use crate::mirror::http_message::Head;
use crate::mirror::revision::Revision;
use crate::mirror::server::{Message, is_request};

/// A connection that a script runs on.
pub trait ScriptWire {
    /// Sends a message.
    ///
    /// # Errors
    /// Returns an error if the server does not accept it.
    fn send(&mut self, text: &str) -> io::Result<()>;

    /// Opens the stream for messages that belong to no request, if the transport has one.
    ///
    /// # Errors
    /// Returns an error if the server does not offer it.
    fn open_stream(&mut self) -> io::Result<()>;

    /// Returns `true` if all messages are on one stream, so that only a notification can end a subscription.
    fn has_one_stream(&self) -> bool;

    /// Returns the messages of the server.
    fn messages(&self) -> &Receiver<String>;
}

/// A server process on standard input and output. It is killed on drop.
#[derive(Debug)]
pub struct StdioWire {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<String>,
}

impl StdioWire {
    /// Starts a server.
    ///
    /// # Errors
    /// Returns an error if it does not start.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().expect("stdout is piped");
        Ok(Self {
            input: child.stdin.take(),
            messages: lines_of(output),
            child,
        })
    }

    /// Closes the input, and waits for the server to exit.
    ///
    /// # Errors
    /// Returns an error if the server fails.
    pub fn close(mut self) -> io::Result<()> {
        self.input = None;
        let status = self.child.wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("the server failed: {status}")))
        }
    }
}

impl Drop for StdioWire {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ScriptWire for StdioWire {
    fn send(&mut self, text: &str) -> io::Result<()> {
        let input = self.input.as_mut().expect("the input is open");
        writeln!(input, "{text}")?;
        input.flush()
    }

    fn open_stream(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn has_one_stream(&self) -> bool {
        true
    }

    fn messages(&self) -> &Receiver<String> {
        &self.messages
    }
}

/// A connection over HTTP, with one socket per request.
#[derive(Debug)]
pub struct HttpWire {
    revision: Revision,
    address: String,
    session: Option<String>,
    sender: Sender<String>,
    messages: Receiver<String>,
}

impl HttpWire {
    /// Creates a client of the server at a URL such as `http://127.0.0.1:3000/mcp`.
    #[must_use]
    pub fn new(revision: Revision, url: &str) -> Self {
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
        let (sender, messages) = channel();
        Self {
            revision,
            address: address.to_owned(),
            session: None,
            sender,
            messages,
        }
    }

    /// Deletes the session, if there is one.
    ///
    /// # Errors
    /// Returns an error if the server does not respond.
    pub fn close(mut self) -> io::Result<()> {
        if self.session.is_some() {
            self.request("DELETE", "", "")?;
        }
        Ok(())
    }

    /// Sends a request, and forwards the events or the JSON of the response.
    fn request(&mut self, method: &str, more_headers: &str, body: &str) -> io::Result<()> {
        let mut socket = TcpStream::connect(&self.address)?;
        let session = self.session.as_ref();
        let session = session.map_or_else(String::new, |id| format!("mcp-session-id: {id}\r\n"));
        let (address, version, length) = (&self.address, self.revision.name(), body.len());
        let kind = "content-type: application/json\r\n";
        let accept = "accept: application/json, text/event-stream\r\n";
        let head = format!(
            "{method} /mcp HTTP/1.1\r\nhost: {address}\r\n{accept}{kind}{session}{more_headers}mcp-protocol-version: {version}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        socket.write_all(head.as_bytes())?;
        let (sender, (started, session)) = (self.sender.clone(), channel());
        std::thread::spawn(move || read_response(socket, &sender, &started));
        // A response to a request may come late. The session, and the order of notifications, depend on the others.
        let is_awaited = !is_request(body) || self.session.is_none();
        if is_awaited && !self.revision.is_modern() {
            let id = session.recv().map_err(io::Error::other)?;
            self.session = id.or_else(|| self.session.take());
        }
        Ok(())
    }
}

/// Forwards the events or the JSON of a response. `started` gets the session when the response begins.
fn read_response(
    socket: TcpStream,
    sender: &Sender<String>,
    started: &Sender<Option<String>>,
) -> io::Result<()> {
    let mut input = BufReader::new(socket);
    let head = Head::read(&mut input)?.ok_or_else(|| io::Error::other("no response"))?;
    // The client may not wait for it.
    let _ = started.send(head.header("mcp-session-id").map(str::to_owned));
    if head.has_events() {
        return head.read_events(&mut input, |text| sender.send(text).is_ok());
    }
    let body = head.read_body(&mut input)?;
    if !body.is_empty() {
        let _ = sender.send(body);
    }
    Ok(())
}

impl ScriptWire for HttpWire {
    fn send(&mut self, text: &str) -> io::Result<()> {
        let mut headers = String::new();
        if self.revision.is_modern()
            && let Ok(message) = serde_json::from_str::<Message<'_>>(text)
        {
            headers = format!("mcp-method: {}\r\n", message.method());
            if let Some(name) = message.param("name").or_else(|| message.param("uri")) {
                let name = name.trim_matches('"');
                headers.push_str(&format!("mcp-name: {name}\r\n"));
            }
        }
        self.request("POST", &headers, text)
    }

    fn open_stream(&mut self) -> io::Result<()> {
        if self.revision.is_modern() {
            return Ok(());
        }
        self.request("GET", "", "")
    }

    fn has_one_stream(&self) -> bool {
        false
    }

    fn messages(&self) -> &Receiver<String> {
        &self.messages
    }
}
