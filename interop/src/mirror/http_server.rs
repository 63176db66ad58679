//! The server over HTTP. Legacy revisions have sessions with a stream of their own.

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::mirror::http_message::Head;
use crate::mirror::revision::Revision;
use crate::mirror::server::{After, Session, is_request};

const SESSION_HEADER: &str = "mcp-session-id";

const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";

/// A session, and the messages for its stream.
struct HttpSession {
    session: Session,
    stream: Arc<SessionStream>,
}

/// The stream for messages that belong to no request. A new stream ends the one before.
struct SessionStream {
    sender: Mutex<Sender<String>>,
    /// The messages before the first stream is opened.
    first: Mutex<Option<Receiver<String>>>,
}

impl SessionStream {
    fn new() -> Self {
        let (sender, messages) = channel();
        Self {
            sender: Mutex::new(sender),
            first: Mutex::new(Some(messages)),
        }
    }

    fn send(&self, text: &str) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        // The client may have closed the stream.
        let _ = sender.send(text.to_owned());
    }

    fn open(&self) -> Receiver<String> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.take().unwrap_or_else(|| {
            let (sender, messages) = channel();
            *self.sender.lock().unwrap_or_else(PoisonError::into_inner) = sender;
            messages
        })
    }
}

struct HttpServer {
    revision: Revision,
    sessions: Mutex<HashMap<String, Arc<HttpSession>>>,
}

/// Serves over HTTP until the process ends. Each connection has a thread of its own.
///
/// # Errors
/// Returns an error if no connection can be accepted.
pub fn serve_http(revision: Revision, listener: &TcpListener) -> io::Result<()> {
    let server = Arc::new(HttpServer {
        revision,
        sessions: Mutex::default(),
    });
    loop {
        let (socket, _) = listener.accept()?;
        let server = Arc::clone(&server);
        // A client that closes its connection ends the thread.
        std::thread::spawn(move || server.serve(&socket));
    }
}

impl HttpServer {
    fn serve(&self, socket: &TcpStream) -> io::Result<()> {
        socket.set_nodelay(true)?;
        let mut input = BufReader::new(socket);
        while let Some(head) = Head::read(&mut input)? {
            let body = head.read_body(&mut input)?;
            let method = head.first_line.split(' ').next().unwrap_or_default();
            let session = self.session(&head, &body);
            let is_open = match (method, session) {
                ("POST", Some((id, session))) => post(socket, &id, &session, &body)?,
                ("GET", Some((_, session))) if !self.revision.is_modern() => {
                    write!(&mut &*socket, "{EVENTS}\r\n")?;
                    return forward(socket, &session.stream.open());
                }
                ("DELETE", Some((id, _))) => {
                    self.sessions().remove(&id);
                    respond(socket, "200 OK", "", "")?
                }
                ("GET" | "DELETE", _) => respond(socket, "405 Method Not Allowed", "", "")?,
                _ => {
                    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no session"}}"#;
                    respond(socket, "400 Bad Request", "", error)?
                }
            };
            if !is_open {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the session of a request and its id. `initialize` opens one, and modern requests share one.
    fn session(&self, head: &Head, body: &str) -> Option<(String, Arc<HttpSession>)> {
        let mut sessions = self.sessions();
        let is_initialize = body.contains(r#""method":"initialize""#);
        let id = match head.header(SESSION_HEADER) {
            Some(id) => id.to_owned(),
            None if self.revision.is_modern() => String::new(),
            None if is_initialize => format!("raw-{}", sessions.len() + 1),
            None => return None,
        };
        if let Some(session) = sessions.get(&id) {
            return Some((id, Arc::clone(session)));
        }
        if !self.revision.is_modern() && !is_initialize {
            return None;
        }
        let stream = Arc::new(SessionStream::new());
        let outside = Arc::clone(&stream);
        let mut session = Session::new(self.revision, move |text| outside.send(text));
        if self.revision.is_modern() {
            session = session.cancelled_by_disconnection();
        }
        let session = Arc::new(HttpSession { session, stream });
        sessions.insert(id.clone(), Arc::clone(&session));
        Some((id, session))
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<HttpSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Responds to a message: a call gets a stream of events, and other requests get JSON. Returns `true` if the connection
/// stays open.
fn post(mut socket: &TcpStream, id: &str, session: &HttpSession, body: &str) -> io::Result<bool> {
    let session_header = if id.is_empty() {
        String::new()
    } else {
        format!("{SESSION_HEADER}: {id}\r\n")
    };
    if !is_request(body) {
        session.session.handle(body, &|_| {});
        return respond(socket, "202 Accepted", &session_header, "");
    }
    let has_events = ["tools/call", "subscriptions/listen"]
        .iter()
        .any(|method| body.contains(&format!(r#""method":"{method}""#)));
    if has_events {
        write!(socket, "{EVENTS}{session_header}\r\n")?;
        // Before the client knows of its subscription, so that no message goes to an earlier stream.
        let is_subscription = body.contains(r#""method":"subscriptions/listen""#);
        let messages = is_subscription.then(|| session.stream.open());
        let after = session.session.handle(body, &|text| {
            // A client that cancels closes the connection.
            let _ = write_event(socket, text);
        });
        match (after, messages) {
            (After::Subscribed, Some(messages)) => forward(socket, &messages)?,
            (After::WaitsForDisconnection, _) => {
                // An error means that the connection is closed.
                let _ = socket.read(&mut [0]);
                session.session.disconnected();
            }
            _ => {}
        }
        return Ok(false);
    }
    let response = Mutex::new(String::new());
    session.session.handle(body, &|text| {
        let mut response = response.lock().unwrap_or_else(PoisonError::into_inner);
        text.clone_into(&mut response);
    });
    let response = response.into_inner().unwrap_or_default();
    respond(socket, "200 OK", &session_header, &response)
}

/// Writes the messages that belong to no request, until the client closes the connection or opens another stream.
fn forward(socket: &TcpStream, messages: &Receiver<String>) -> io::Result<()> {
    for text in messages {
        write_event(socket, &text)?;
    }
    Ok(())
}

fn write_event(mut socket: &TcpStream, text: &str) -> io::Result<()> {
    socket.write_all(format!("event: message\ndata: {text}\n\n").as_bytes())
}

fn respond(mut socket: &TcpStream, status: &str, headers: &str, body: &str) -> io::Result<bool> {
    let kind = if body.is_empty() {
        ""
    } else {
        "content-type: application/json\r\n"
    };
    let length = body.len();
    let response =
        format!("HTTP/1.1 {status}\r\n{kind}{headers}content-length: {length}\r\n\r\n{body}");
    socket.write_all(response.as_bytes())?;
    Ok(true)
}
