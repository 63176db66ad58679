//! A balancer that sends each request to the next node: no affinity, and no repetition of requests.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::problem::Problem;

/// The maximum size of the headers of a request.
const MAX_HEADERS: usize = 64 * 1024;

/// A running balancer. It accepts no more connections when this is dropped.
#[derive(Debug)]
pub(crate) struct Balancer {
    address: SocketAddr,
    nodes: Arc<Nodes>,
    has_ended: Arc<AtomicBool>,
}

/// The addresses of the nodes that get requests.
#[derive(Debug)]
pub struct Nodes {
    addresses: Mutex<Vec<String>>,
    next: AtomicUsize,
}

impl Balancer {
    /// Starts a balancer in front of the nodes at these addresses.
    pub(crate) fn start(addresses: Vec<String>) -> Result<Self, Problem> {
        let problem = |error: io::Error| Problem::new(format!("no balancer: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").map_err(problem)?;
        let address = listener.local_addr().map_err(problem)?;
        let nodes = Arc::new(Nodes {
            addresses: Mutex::new(addresses),
            next: AtomicUsize::new(0),
        });
        let has_ended = Arc::new(AtomicBool::new(false));
        let (serving, is_over) = (Arc::clone(&nodes), Arc::clone(&has_ended));
        thread::spawn(move || {
            for client in listener.incoming() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(client) = client else { continue };
                let nodes = Arc::clone(&serving);
                // An error means that one of the two sides closed its connection.
                thread::spawn(move || drop(nodes.forward(client)));
            }
        });
        Ok(Self {
            address,
            nodes,
            has_ended,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the nodes that get requests.
    pub(crate) fn nodes(&self) -> &Arc<Nodes> {
        &self.nodes
    }

    /// Adds a node.
    pub(crate) fn add(&self, address: String) {
        self.nodes.lock().push(address);
    }

    /// Removes a node. Its running requests go on.
    pub(crate) fn remove(&self, address: &str) {
        self.nodes.lock().retain(|other| other != address);
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Relaxed);
        // The thread notices it at the next connection.
        let _ = TcpStream::connect(self.address);
    }
}

impl Nodes {
    /// Returns the addresses of all nodes, the next one first. The one after it comes next.
    #[must_use]
    pub fn in_turn(&self) -> Vec<String> {
        let mut addresses = self.lock().clone();
        if !addresses.is_empty() {
            let next = self.next.fetch_add(1, Ordering::Relaxed) % addresses.len();
            addresses.rotate_left(next);
        }
        addresses
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Forwards the first request of a connection to the next node. The connection ends with the response, so that the
    /// next request comes on another one.
    fn forward(&self, mut client: TcpStream) -> io::Result<()> {
        let Some(request) = read_headers(&mut client)? else {
            return Ok(());
        };
        let mut node = self.connect()?;
        node.write_all(&request)?;
        let (mut upload_from, mut upload_to) = (client.try_clone()?, node.try_clone()?);
        let upload = thread::spawn(move || {
            let _ = io::copy(&mut upload_from, &mut upload_to);
            // The client closed its connection, which cancels the request.
            let _ = upload_to.shutdown(Shutdown::Both);
        });
        let _ = io::copy(&mut node, &mut client);
        let _ = client.shutdown(Shutdown::Both);
        let _ = node.shutdown(Shutdown::Both);
        let _ = upload.join();
        Ok(())
    }

    /// Connects to the next node that accepts connections.
    fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in self.in_turn() {
            match TcpStream::connect(address) {
                Ok(node) => return Ok(node),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Reads the headers of a request, and what came with them, and asks for the end of the connection. Returns `None` if
/// the client sends no request.
fn read_headers(client: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut received = Vec::new();
    let end = loop {
        let mut buffer = [0; 4096];
        let count = client.read(&mut buffer)?;
        received.extend_from_slice(&buffer[..count]);
        if count == 0 || received.len() > MAX_HEADERS {
            return Ok(None);
        }
        if let Some(end) = received.windows(4).position(|part| part == b"\r\n\r\n") {
            break end;
        }
    };
    let body = received.split_off(end + 2);
    let headers = String::from_utf8_lossy(&received);
    let lines = headers.split_inclusive("\r\n");
    let is_kept = |line: &&str| !line.to_ascii_lowercase().starts_with("connection:");
    let mut request: String = lines.filter(is_kept).collect();
    request.push_str("Connection: close\r\n");
    let mut request = request.into_bytes();
    request.extend(body);
    Ok(Some(request))
}
