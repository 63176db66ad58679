//! Reads HTTP/1.1 messages and the events in them.

use std::io::{self, BufRead, Read};

/// The first line and the headers of a request or a response.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) first_line: String,
    headers: Vec<(String, String)>,
}

impl Head {
    /// Reads a head. Returns `None` at the end of the connection.
    pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut head = Self::default();
        loop {
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let line = line.trim_end();
            if line.is_empty() {
                return Ok(Some(head));
            }
            match line.split_once(':') {
                Some((name, value)) if !head.first_line.is_empty() => {
                    let header = (name.to_ascii_lowercase(), value.trim().to_owned());
                    head.headers.push(header);
                }
                _ => line.clone_into(&mut head.first_line),
            }
        }
    }

    /// Returns the value of a header, given by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(other, _)| other == name)?;
        Some(&found.1)
    }

    /// Returns `true` if the body is a stream of events.
    pub(crate) fn has_events(&self) -> bool {
        let kind = self.header("content-type");
        kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// Reads a body with a length.
    pub(crate) fn read_body(&self, input: &mut impl Read) -> io::Result<String> {
        let length = self.header("content-length");
        let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        input.read_exact(&mut body)?;
        String::from_utf8(body).map_err(io::Error::other)
    }

    /// Calls `on_event` for each event of the body that has data, until it returns `false` or the body ends.
    pub(crate) fn read_events(
        &self,
        input: &mut impl BufRead,
        mut on_event: impl FnMut(String) -> bool,
    ) -> io::Result<()> {
        let is_chunked = self.header("transfer-encoding") == Some("chunked");
        let mut unread = Vec::new();
        let mut data = String::new();
        loop {
            while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = unread.drain(..=end).collect();
                let line = String::from_utf8(line).map_err(io::Error::other)?;
                let line = line.trim_end_matches(['\r', '\n']);
                if let Some(text) = line.strip_prefix("data:") {
                    data.push_str(text.strip_prefix(' ').unwrap_or(text));
                } else if line.is_empty()
                    && !data.is_empty()
                    && !on_event(std::mem::take(&mut data))
                {
                    return Ok(());
                }
            }
            let count = if is_chunked {
                read_chunk(input, &mut unread)?
            } else {
                let bytes = input.fill_buf()?;
                unread.extend_from_slice(bytes);
                let count = bytes.len();
                input.consume(count);
                count
            };
            if count == 0 {
                return Ok(());
            }
        }
    }
}

/// Reads one chunk and returns its length, which is zero at the end.
fn read_chunk(input: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let size = line.split(';').next().unwrap_or_default().trim();
    let size = usize::from_str_radix(size, 16).unwrap_or(0);
    let mut chunk = vec![0; size + 2];
    input.read_exact(&mut chunk)?;
    bytes.extend_from_slice(&chunk[..size]);
    Ok(size)
}
