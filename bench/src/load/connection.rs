//! One persistent connection, with one request in flight at a time.

use std::io;
use std::path::Path;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::workload::{Era, REQUEST_ID, Workload};
use crate::certificate;
use crate::http1::{ResponseDecoder, Target};

/// The size of one read, so that large responses need few reads.
const READ_BUFFER: usize = 64 * 1024;

/// The relevant headers of a response, and its body.
#[derive(Debug)]
pub(crate) struct Response<'a> {
    pub(crate) status: u16,
    pub(crate) is_event_stream: bool,
    pub(crate) body: &'a [u8],
}

/// A server, and how connections to it are opened.
#[derive(Clone)]
pub(crate) struct Destination {
    pub(crate) target: Target,
    tls: Option<TlsConnector>,
}

impl Destination {
    /// Parses a URL. A server with TLS has to have the trusted certificate, a PEM file.
    pub(crate) fn new(url: &str, trusted: Option<&Path>) -> io::Result<Self> {
        let target = Target::parse(url)
            .ok_or_else(|| io::Error::other(format!("not a URL with an address: `{url}`")))?;
        let tls = match trusted {
            _ if !target.is_tls => None,
            Some(trusted) => Some(certificate::connector(trusted)?),
            None => return Err(io::Error::other("https needs a trusted certificate")),
        };
        Ok(Self { target, tls })
    }

    pub(super) async fn connect(&self) -> io::Result<Box<dyn Socket>> {
        let socket = TcpStream::connect(self.target.address).await?;
        socket.set_nodelay(true)?;
        Ok(match &self.tls {
            None => Box::new(socket),
            Some(tls) => {
                let name = ServerName::from(self.target.address.ip());
                Box::new(tls.connect(name, socket).await?)
            }
        })
    }
}

/// A socket with or without TLS.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

/// A connection and its repeated request.
pub(crate) struct Connection {
    socket: Box<dyn Socket>,
    request: Vec<u8>,
    buffer: Vec<u8>,
    body: Vec<u8>,
}

impl Connection {
    /// Connects without sending a request.
    pub(crate) async fn connect(destination: &Destination) -> io::Result<Self> {
        Ok(Self {
            socket: destination.connect().await?,
            request: Vec::new(),
            buffer: vec![0; READ_BUFFER],
            body: Vec::new(),
        })
    }

    /// Connects. In the legacy era it opens a session.
    pub(crate) async fn open(destination: &Destination, workload: &Workload) -> io::Result<Self> {
        let mut connection = Self::connect(destination).await?;
        let target = &destination.target;
        let session = match workload.era {
            Era::Modern => None,
            Era::Legacy => connection.begin_session(target).await?,
        };
        connection.request = workload.request(target, session.as_deref(), REQUEST_ID);
        Ok(connection)
    }

    /// Connects, and uses a session that is already open, if the server has sessions.
    pub(crate) async fn open_in(
        session: Option<&str>,
        destination: &Destination,
        workload: &Workload,
        request_id: i64,
    ) -> io::Result<Self> {
        let mut connection = Self::connect(destination).await?;
        connection.request = workload.request(&destination.target, session, request_id);
        Ok(connection)
    }

    /// Sets the request that the next exchange sends.
    pub(crate) fn set_request(&mut self, request: &[u8]) {
        self.request.clear();
        self.request.extend_from_slice(request);
    }

    /// Closes the connection and opens another one. The request stays the same.
    pub(crate) async fn reconnect(&mut self, destination: &Destination) -> io::Result<()> {
        self.socket = destination.connect().await?;
        Ok(())
    }

    /// Does the handshake and returns the session id, if the server has sessions.
    pub(crate) async fn begin_session(&mut self, target: &Target) -> io::Result<Option<String>> {
        self.request = Workload::initialize(target);
        let response = self.round_trip().await?;
        if response.status() != Some(200) {
            let body = String::from_utf8_lossy(&self.body);
            return Err(io::Error::other(format!("no session: {body:.300}")));
        }
        let session = response.session().map(str::to_owned);
        self.request = Workload::initialized(target, session.as_deref());
        let response = self.round_trip().await?;
        match response.status() {
            Some(200..=299) => Ok(session),
            status => Err(io::Error::other(format!(
                "`notifications/initialized` got the response {status:?}"
            ))),
        }
    }

    /// Sends the request and waits for the complete response.
    pub(crate) async fn exchange(&mut self) -> io::Result<Response<'_>> {
        let response = self.round_trip().await?;
        Ok(Response {
            status: response.status().unwrap_or_default(),
            is_event_stream: response.is_event_stream(),
            body: &self.body,
        })
    }

    async fn round_trip(&mut self) -> io::Result<ResponseDecoder> {
        self.socket.write_all(&self.request).await?;
        let mut response = ResponseDecoder::default();
        self.body.clear();
        while !response.is_finished() {
            let length = self.socket.read(&mut self.buffer).await?;
            let Some(bytes @ [_, ..]) = self.buffer.get(..length) else {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the server closed the connection",
                ));
            };
            response
                .decode(bytes, &mut self.body)
                .map_err(io::Error::other)?;
        }
        Ok(response)
    }
}
