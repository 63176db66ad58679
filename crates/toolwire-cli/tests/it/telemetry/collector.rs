//! A collector of OpenTelemetry that decodes the requests of exporters.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::process::Command;

use super::TIMEOUT;

/// A span as the collector received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReceivedSpan {
    pub(super) trace: Vec<u8>,
    pub(super) id: Vec<u8>,
    parent: Vec<u8>,
    pub(super) name: String,
    /// 2 for a server, 3 for a client.
    pub(super) kind: u64,
    /// The attributes whose values are texts.
    attributes: Vec<(String, String)>,
}

impl ReceivedSpan {
    /// Returns the value of an attribute that is a text.
    pub(super) fn attribute(&self, key: &str) -> Option<&str> {
        value_of(&self.attributes, key)
    }
}

/// An HTTP request of an exporter.
#[derive(Debug, Clone)]
pub(super) struct ReceivedExport {
    pub(super) path: String,
    headers: Vec<(String, String)>,
    /// The attributes of the process.
    resource: Vec<(String, String)>,
    /// The names of the metrics.
    pub(super) metrics: Vec<String>,
}

impl ReceivedExport {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        value_of(&self.headers, name)
    }

    pub(super) fn resource(&self, key: &str) -> Option<&str> {
        value_of(&self.resource, key)
    }
}

fn value_of<'a>(pairs: &'a [(String, String)], key: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(found, _)| found == key);
    found.map(|(_, value)| value.as_str())
}

/// What a collector received.
#[derive(Debug, Clone, Default)]
struct Received {
    spans: Vec<ReceivedSpan>,
    exports: Vec<ReceivedExport>,
}

/// A collector that stores what OTLP requests contain.
pub(super) struct Collector {
    pub(super) url: String,
    received: Arc<Mutex<Received>>,
}

impl Collector {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let received = Arc::<Mutex<Received>>::default();
        let stored = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let stored = Arc::clone(&stored);
                // A client that disconnects ends its thread.
                std::thread::spawn(move || drop(receive(stream, &stored)));
            }
        });
        Self { url, received }
    }

    fn received(&self) -> Received {
        self.received.lock().expect("no panic").clone()
    }

    /// Returns the requests of exporters until now.
    pub(super) fn exports(&self) -> Vec<ReceivedExport> {
        self.received().exports
    }

    /// Returns the spans until now.
    pub(super) fn spans(&self) -> Vec<ReceivedSpan> {
        self.received().spans
    }

    /// Adds the variables that make a process export its spans here.
    pub(super) fn observe(&self, command: &mut Command) {
        for (name, value) in self.variables() {
            command.env(name, value);
        }
    }

    fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", self.url.clone()),
            ("OTEL_METRICS_EXPORTER", "none".to_owned()),
            ("OTEL_BSP_SCHEDULE_DELAY", "50".to_owned()),
        ]
    }

    /// Returns the arguments that pass the variables to a server process.
    pub(super) fn arguments(&self) -> Vec<String> {
        let variables = self.variables().into_iter();
        variables
            .flat_map(|(name, value)| ["--env".to_owned(), format!("{name}={value}")])
            .collect()
    }

    /// Waits for this number of spans of a call through a relay, and returns them from the outermost to the innermost.
    pub(super) async fn wait_for_call(&self, count: usize) -> Vec<ReceivedSpan> {
        let start = Instant::now();
        loop {
            let spans = self.received().spans;
            let calls = spans.iter().filter(|span| span.name == "tools/call add");
            let calls: Vec<ReceivedSpan> = calls.cloned().collect();
            if calls.len() >= count {
                return in_order(calls);
            }
            assert!(start.elapsed() < TIMEOUT, "{spans:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Orders spans so that each one is the child of the previous one.
fn in_order(mut spans: Vec<ReceivedSpan>) -> Vec<ReceivedSpan> {
    let mut ordered: Vec<ReceivedSpan> = Vec::new();
    let is_root = |span: &ReceivedSpan| span.parent.is_empty();
    let root = spans.iter().position(is_root).expect("a root");
    ordered.push(spans.remove(root));
    while !spans.is_empty() {
        let parent = ordered.last().expect("the root").id.clone();
        let child = spans.iter().position(|span| span.parent == parent);
        let child = child.unwrap_or_else(|| panic!("no child of {ordered:?} in {spans:?}"));
        ordered.push(spans.remove(child));
    }
    ordered
}

/// Receives the requests of one connection.
fn receive(stream: TcpStream, received: &Mutex<Received>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).expect("a path").to_owned();
        let mut headers = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(':') else {
                break;
            };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let length = value_of(&headers, "content-length").map(str::parse);
        let mut body = vec![0; length.expect("a length").expect("a number")];
        reader.read_exact(&mut body)?;
        store(
            path,
            headers,
            &body,
            &mut received.lock().expect("no panic"),
        );
        writer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
    }
}

fn store(path: String, headers: Vec<(String, String)>, body: &[u8], received: &mut Received) {
    let mut export = ReceivedExport {
        path,
        headers,
        resource: Vec::new(),
        metrics: Vec::new(),
    };
    // `resource_spans` or `resource_metrics`, with `resource` and `scope_spans` or `scope_metrics`.
    for part in messages(body, 1) {
        for resource in messages(part, 1) {
            export.resource.extend(attributes(resource, 1));
        }
        // `spans` or `metrics`.
        for item in messages(part, 2).flat_map(|scope| messages(scope, 2)) {
            match export.path.as_str() {
                "/v1/metrics" => export.metrics.push(text(item, 1)),
                _ => received.spans.push(span(item)),
            }
        }
    }
    received.exports.push(export);
}

fn span(span: &[u8]) -> ReceivedSpan {
    let bytes = |number| messages(span, number).next().unwrap_or_default();
    let kind = fields(span).find_map(|(number, field)| match field {
        Field::Number(value) if number == 6 => Some(value),
        _ => None,
    });
    ReceivedSpan {
        trace: bytes(1).to_vec(),
        id: bytes(2).to_vec(),
        parent: bytes(4).to_vec(),
        name: text(span, 5),
        kind: kind.unwrap_or_default(),
        attributes: attributes(span, 9).collect(),
    }
}

/// Returns the first text of a message with this number.
fn text(message: &[u8], number: u64) -> String {
    let bytes = messages(message, number).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the attributes of a message with this number whose values are texts.
fn attributes(message: &[u8], number: u64) -> impl Iterator<Item = (String, String)> {
    messages(message, number).filter_map(|attribute| {
        let value = messages(attribute, 2).next()?;
        let value = messages(value, 1).next()?;
        let value = String::from_utf8_lossy(value).into_owned();
        Some((text(attribute, 1), value))
    })
}

/// A field of a message in the encoding of Protocol Buffers.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Returns the fields of a message with this number that consist of bytes.
fn messages(message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    fields(message).filter_map(move |(found, field)| match field {
        Field::Bytes(bytes) if found == number => Some(bytes),
        _ => None,
    })
}

fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    std::iter::from_fn(move || {
        let key = (!message.is_empty()).then(|| number(&mut message))?;
        let field = match key & 7 {
            0 => Field::Number(number(&mut message)),
            1 => Field::Bytes(take(&mut message, 8)),
            2 => {
                let length = number(&mut message);
                Field::Bytes(take(&mut message, length))
            }
            5 => Field::Bytes(take(&mut message, 4)),
            other => panic!("wire type {other}"),
        };
        Some((key >> 3, field))
    })
}

/// Takes the next bytes of a message.
fn take<'a>(message: &mut &'a [u8], length: u64) -> &'a [u8] {
    let length = usize::try_from(length).expect("a length");
    let (bytes, rest) = message.split_at(length);
    *message = rest;
    bytes
}

/// Reads a number of variable length.
fn number(message: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = message[0];
        *message = &message[1..];
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}
