//! HTTP/1.1 as bytes: a request to write, and a decoder for responses that arrive in pieces.
//!
//! It supports only what the servers under test send. Everything else is an error.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;

use toolwire_types::ProtocolVersion;

/// The longest line of headers or of chunked framing.
const LONGEST_LINE: usize = 16 * 1024;

/// The header with the session id, in the legacy era.
const SESSION: &str = "Mcp-Session-Id";

/// The address of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) is_tls: bool,
    path: String,
}

impl Target {
    /// Parses `http://127.0.0.1:3000/mcp`, or the same with `https`. Names are not resolved.
    pub(crate) fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (authority, path) = rest.split_once('/')?;
        let is_tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        Some(Self {
            address: authority.parse().ok()?,
            is_tls,
            path: format!("/{path}"),
        })
    }

    /// Returns the URL of plain HTTP.
    pub(crate) fn http_url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    /// Returns the complete `POST` of one MCP request.
    pub(crate) fn post(&self, method: &str, name: Option<&str>, body: &str) -> Vec<u8> {
        self.post_with_fields(method, name, "", body)
    }

    /// Returns the same with further header fields, each of which ends with a line break.
    pub(crate) fn post_with_fields(
        &self,
        method: &str,
        name: Option<&str>,
        further_fields: &str,
        body: &str,
    ) -> Vec<u8> {
        let fields: String = modern_headers(method, name)
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        format!(
            "POST {path} HTTP/1.1\r\n\
             Host: {host}\r\n\
             {fields}\
             {further_fields}\
             Content-Length: {length}\r\n\
             \r\n\
             {body}",
            path = self.path,
            host = self.address,
            length = body.len(),
        )
        .into_bytes()
    }
}

impl Target {
    /// Returns the complete `POST` of one legacy message.
    pub(crate) fn post_in_session(
        &self,
        version: &str,
        session: Option<&str>,
        body: &str,
    ) -> Vec<u8> {
        let session = session_field(session);
        format!(
            "POST {path} HTTP/1.1\r\n\
             Host: {host}\r\n\
             Accept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\n\
             MCP-Protocol-Version: {version}\r\n\
             {session}\
             Content-Length: {length}\r\n\
             \r\n\
             {body}",
            path = self.path,
            host = self.address,
            length = body.len(),
        )
        .into_bytes()
    }
}

#[cfg(unix)]
impl Target {
    /// Returns a complete `GET` or `DELETE` of a legacy session. A `GET` can resume a stream after an event.
    pub(crate) fn without_body(
        &self,
        method: &str,
        version: &str,
        session: &str,
        last_event: Option<&str>,
    ) -> Vec<u8> {
        let session = session_field(Some(session));
        let last_event =
            last_event.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        format!(
            "{method} {path} HTTP/1.1\r\n\
             Host: {host}\r\n\
             Accept: text/event-stream\r\n\
             MCP-Protocol-Version: {version}\r\n\
             {session}\
             {last_event}\
             \r\n",
            path = self.path,
            host = self.address,
        )
        .into_bytes()
    }
}

/// Returns the headers of a modern request that do not depend on the version of HTTP.
pub(crate) fn modern_headers<'a>(
    method: &'a str,
    name: Option<&'a str>,
) -> impl Iterator<Item = (&'static str, &'a str)> {
    let always = [
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
        ("MCP-Protocol-Version", ProtocolVersion::LATEST.as_str()),
        ("Mcp-Method", method),
    ];
    always
        .into_iter()
        .chain(name.map(|name| ("Mcp-Name", name)))
}

fn session_field(session: Option<&str>) -> String {
    session.map_or_else(String::new, |id| format!("{SESSION}: {id}\r\n"))
}

/// An error for a response that is not supported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed(&'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed HTTP: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// A decoder for one response.
#[derive(Debug, Default)]
pub(crate) struct ResponseDecoder {
    state: State,
    status: u16,
    content_type: String,
    session: Option<String>,
    chunked: bool,
    length: u64,
    /// The current line, without its end.
    line: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    StatusLine,
    Fields,
    /// The remaining bytes of a body with a content length.
    Sized(u64),
    ChunkSize,
    /// The remaining bytes of the current chunk.
    Chunk(u64),
    ChunkEnd,
    Trailers,
    Finished,
}

impl ResponseDecoder {
    /// Appends the decoded bytes to `body`. Bytes after the response are an error, because there was no other request.
    pub(crate) fn decode(&mut self, mut bytes: &[u8], body: &mut Vec<u8>) -> Result<(), Malformed> {
        while !bytes.is_empty() {
            match self.state {
                State::Sized(left) => {
                    let left = take(&mut bytes, left, body);
                    self.state = if left == 0 {
                        State::Finished
                    } else {
                        State::Sized(left)
                    };
                }
                State::Chunk(left) => {
                    let left = take(&mut bytes, left, body);
                    self.state = if left == 0 {
                        State::ChunkEnd
                    } else {
                        State::Chunk(left)
                    };
                }
                State::Finished => return Err(Malformed("bytes after the end")),
                _ => {
                    if let Some(line) = self.take_line(&mut bytes)? {
                        self.state = self.after_line(&line)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the status, if the headers are complete.
    pub(crate) fn status(&self) -> Option<u16> {
        let in_head = matches!(self.state, State::StatusLine | State::Fields);
        (!in_head).then_some(self.status)
    }

    /// Returns `true` if the headers so far announce an event stream.
    pub(crate) fn is_event_stream(&self) -> bool {
        let media_type = self.content_type.split(';').next().unwrap_or_default();
        media_type.trim().eq_ignore_ascii_case("text/event-stream")
    }

    /// Returns the session id in the headers so far.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.state == State::Finished
    }

    /// Returns the next line, if it is complete.
    fn take_line(&mut self, bytes: &mut &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
        let end = memchr::memchr(b'\n', bytes);
        let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        self.line.extend_from_slice(part);
        if self.line.len() > LONGEST_LINE {
            return Err(Malformed("endless line"));
        }
        *bytes = rest.strip_prefix(b"\n").unwrap_or(rest);
        if end.is_none() {
            return Ok(None);
        }
        let mut line = std::mem::take(&mut self.line);
        if line.pop_if(|byte| *byte == b'\r').is_none() {
            return Err(Malformed("line without a carriage return"));
        }
        Ok(Some(line))
    }

    fn after_line(&mut self, line: &[u8]) -> Result<State, Malformed> {
        let line = std::str::from_utf8(line).map_err(|_| Malformed("line that is not text"))?;
        match self.state {
            State::StatusLine => {
                self.status = line
                    .strip_prefix("HTTP/1.1 ")
                    .and_then(|rest| rest.get(..3)?.parse().ok())
                    .ok_or(Malformed("status line"))?;
                Ok(State::Fields)
            }
            State::Fields if line.is_empty() => Ok(match (self.chunked, self.length) {
                (true, _) => State::ChunkSize,
                (false, 0) => State::Finished,
                (false, length) => State::Sized(length),
            }),
            State::Fields => {
                self.read_field(line)?;
                Ok(State::Fields)
            }
            State::ChunkSize => {
                let size = line.split(';').next().unwrap_or_default().trim();
                match u64::from_str_radix(size, 16) {
                    Ok(0) => Ok(State::Trailers),
                    Ok(size) => Ok(State::Chunk(size)),
                    Err(_) => Err(Malformed("size of a chunk")),
                }
            }
            State::ChunkEnd if line.is_empty() => Ok(State::ChunkSize),
            State::ChunkEnd => Err(Malformed("chunk longer than its size")),
            State::Trailers if line.is_empty() => Ok(State::Finished),
            State::Trailers => Ok(State::Trailers),
            State::Sized(_) | State::Chunk(_) | State::Finished => {
                unreachable!("these are not made of lines")
            }
        }
    }

    fn read_field(&mut self, line: &str) -> Result<(), Malformed> {
        let (name, value) = line.split_once(':').ok_or(Malformed("header field"))?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-type") {
            value.clone_into(&mut self.content_type);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            self.chunked = value.eq_ignore_ascii_case("chunked");
        } else if name.eq_ignore_ascii_case(SESSION) {
            self.session = Some(value.to_owned());
        } else if name.eq_ignore_ascii_case("content-length") {
            self.length = value.parse().map_err(|_| Malformed("length"))?;
        }
        Ok(())
    }
}

/// Moves at most `left` bytes into the body and returns the remaining number.
fn take(bytes: &mut &[u8], left: u64, body: &mut Vec<u8>) -> u64 {
    let length = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    let (taken, rest) = bytes.split_at(length);
    body.extend_from_slice(taken);
    *bytes = rest;
    left - length as u64
}
