//! A balancer that sends each request to the next node: no affinity, and no repetition of requests.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

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
    state: Mutex<NodesState>,
    /// Notifies when the last request of a node has arrived there.
    arrived: Condvar,
    next: AtomicUsize,
}

#[derive(Debug)]
struct NodesState {
    addresses: Vec<String>,
    /// The number of requests that each node has not begun to respond to.
    on_the_way: HashMap<String, usize>,
}

/// A request on its way to a node. Drop it when the response begins: then the request has arrived.
#[derive(Debug)]
pub struct RequestOnTheWay {
    nodes: Arc<Nodes>,
    address: String,
}

impl Drop for RequestOnTheWay {
    fn drop(&mut self) {
        let mut state = self.nodes.lock();
        if let Some(count) = state.on_the_way.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                state.on_the_way.remove(&self.address);
            }
        }
        self.nodes.arrived.notify_all();
    }
}

impl Balancer {
    /// Starts a balancer in front of the nodes at these addresses.
    pub(crate) fn start(addresses: Vec<String>) -> Result<Self, Problem> {
        let problem = |error: io::Error| Problem::new(format!("no balancer: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").map_err(problem)?;
        let address = listener.local_addr().map_err(problem)?;
        let nodes = Arc::new(Nodes {
            state: Mutex::new(NodesState {
                addresses,
                on_the_way: HashMap::new(),
            }),
            arrived: Condvar::new(),
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
        self.nodes.lock().addresses.push(address);
    }

    /// Removes a node. Its running requests go on.
    pub(crate) fn remove(&self, address: &str) {
        let mut state = self.nodes.lock();
        state.addresses.retain(|other| other != address);
    }

    /// Waits until all requests to a removed node have arrived there, or until the timeout: a response may take long.
    pub(crate) fn wait_until_arrived(&self, address: &str, timeout: Duration) {
        let state = self.nodes.lock();
        let waited = self
            .nodes
            .arrived
            .wait_timeout_while(state, timeout, |state| {
                state.on_the_way.contains_key(address)
            });
        drop(waited);
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
        let mut addresses = self.lock().addresses.clone();
        if !addresses.is_empty() {
            let next = self.next.fetch_add(1, Ordering::Relaxed) % addresses.len();
            addresses.rotate_left(next);
        }
        addresses
    }

    /// Starts a request to a node. Returns `None` if the node gets no more requests.
    #[must_use]
    pub fn start_request(self: &Arc<Self>, address: &str) -> Option<RequestOnTheWay> {
        let mut state = self.lock();
        if !state.addresses.iter().any(|other| other == address) {
            return None;
        }
        *state.on_the_way.entry(address.to_owned()).or_default() += 1;
        Some(RequestOnTheWay {
            nodes: Arc::clone(self),
            address: address.to_owned(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, NodesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forwards the first request of a connection to the next node. The connection ends with the response, so that the
    /// next request comes on another one.
    fn forward(self: &Arc<Self>, mut client: TcpStream) -> io::Result<()> {
        let Some(request) = read_headers(&mut client)? else {
            return Ok(());
        };
        let (mut node, on_the_way) = self.connect()?;
        node.write_all(&request)?;
        let (mut upload_from, mut upload_to) = (client.try_clone()?, node.try_clone()?);
        let upload = thread::spawn(move || {
            let _ = io::copy(&mut upload_from, &mut upload_to);
            // The client closed its connection, which cancels the request.
            let _ = upload_to.shutdown(Shutdown::Both);
        });
        let mut first = [0; 4096];
        if let Ok(count) = node.read(&mut first) {
            drop(on_the_way);
            let _ = client.write_all(&first[..count]);
            let _ = io::copy(&mut node, &mut client);
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = node.shutdown(Shutdown::Both);
        let _ = upload.join();
        Ok(())
    }

    /// Connects to the next node that accepts connections.
    fn connect(self: &Arc<Self>) -> io::Result<(TcpStream, RequestOnTheWay)> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in self.in_turn() {
            let Some(on_the_way) = self.start_request(&address) else {
                continue;
            };
            match TcpStream::connect(address) {
                Ok(node) => return Ok((node, on_the_way)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_node_gets_the_requests_on_the_way_and_no_others() {
        let balancer = Balancer::start(vec!["a".to_owned(), "b".to_owned()]).unwrap();
        let first = balancer.nodes().start_request("a").unwrap();
        let second = balancer.nodes().start_request("a").unwrap();
        balancer.remove("a");
        assert!(balancer.nodes().start_request("a").is_none());
        assert!(balancer.nodes().start_request("b").is_some());
        // The timeout of a request without a response.
        balancer.wait_until_arrived("a", Duration::from_millis(1));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| balancer.wait_until_arrived("a", Duration::MAX));
            drop(first);
            thread::yield_now();
            assert!(!waiting.is_finished(), "one request is on the way");
            drop(second);
        });
    }
}
