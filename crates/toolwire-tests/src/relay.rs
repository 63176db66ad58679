//! A relay between a node and an engine. It can fail like a network.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What happens to the bytes between the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Link {
    /// They are forwarded.
    Up,
    /// They are forwarded after a delay.
    Slow(Duration),
    /// They wait until the link is up again, also if a side has closed its connection in the meantime.
    Stalled,
    /// Requests are forwarded, and responses are lost. The connections end with this state.
    OneWay,
    /// All connections are closed, and new ones, too.
    Down,
}

/// A running relay from a TCP port to a Unix socket. It accepts no more connections when this is dropped.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    link: Link,
    /// The Unix socket of the engine.
    target: PathBuf,
    open: Vec<Connection>,
    has_ended: bool,
}

#[derive(Debug)]
struct Connection {
    node: TcpStream,
    engine: UnixStream,
}

impl Relay {
    /// Starts a relay to the engine with this Unix socket.
    ///
    /// # Errors
    /// Returns an error if there is no free port.
    pub fn start(target: PathBuf) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                link: Link::Up,
                target,
                open: Vec::new(),
                has_ended: false,
            }),
            changed: Condvar::new(),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for node in listener.incoming() {
                if serving.lock().has_ended {
                    return;
                }
                // An error means that the engine is away, or that the node closed the connection.
                let _ = node.and_then(|node| serving.connect(node));
            }
        });
        Ok(Self { address, shared })
    }

    /// Returns the address for nodes.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what happens to bytes from now on.
    pub fn set_link(&self, link: Link) {
        let mut state = self.shared.lock();
        // The rest of a connection that lost bytes cannot be understood.
        if link == Link::Down || state.link == Link::OneWay {
            state.close_all();
        }
        state.link = link;
        self.shared.changed.notify_all();
    }

    /// Closes all connections. New ones lead to the engine with this Unix socket.
    pub fn set_target(&self, target: PathBuf) {
        let mut state = self.shared.lock();
        state.target = target;
        state.close_all();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.has_ended = true;
        state.close_all();
        drop(state);
        self.shared.changed.notify_all();
        // The thread notices it at the next connection.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects a node with the engine, and forwards bytes in both directions in the background.
    fn connect(self: &Arc<Self>, node: TcpStream) -> io::Result<()> {
        node.set_nodelay(true)?;
        let mut state = self.lock();
        if state.link == Link::Down {
            return Ok(());
        }
        let engine = UnixStream::connect(&state.target)?;
        state.open.retain(|connection| !connection.is_closed());
        state.open.push(Connection {
            node: node.try_clone()?,
            engine: engine.try_clone()?,
        });
        drop(state);
        let (from_node, to_engine) = (node.try_clone()?, engine.try_clone()?);
        let shared = Arc::clone(self);
        thread::spawn(move || {
            let _ = shared.forward(&from_node, &to_engine, Direction::Request);
            let _ = to_engine.shutdown(Shutdown::Write);
        });
        let shared = Arc::clone(self);
        thread::spawn(move || {
            let _ = shared.forward(&engine, &node, Direction::Response);
            let _ = node.shutdown(Shutdown::Both);
            let _ = engine.shutdown(Shutdown::Both);
        });
        Ok(())
    }

    fn forward(
        &self,
        mut from: impl Read,
        mut to: impl Write,
        direction: Direction,
    ) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        loop {
            let count = from.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            if self.is_forwarded(direction) {
                to.write_all(&buffer[..count])?;
            }
        }
    }

    /// Waits until received bytes are forwarded or lost. Returns `false` if they are lost.
    fn is_forwarded(&self, direction: Direction) -> bool {
        let mut state = self.lock();
        loop {
            match state.link {
                _ if state.has_ended => return false,
                Link::Up => return true,
                Link::Slow(delay) => {
                    drop(state);
                    thread::sleep(delay);
                    return true;
                }
                Link::OneWay => return direction == Direction::Request,
                Link::Down => return false,
                Link::Stalled => {
                    let waited = self.changed.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Request,
    Response,
}

impl State {
    fn close_all(&mut self) {
        for connection in self.open.drain(..) {
            // An error means that it is closed already.
            let _ = connection.node.shutdown(Shutdown::Both);
            let _ = connection.engine.shutdown(Shutdown::Both);
        }
    }
}

impl Connection {
    /// Returns `true` if the relay has shut down the connection to the node.
    fn is_closed(&self) -> bool {
        self.node.peer_addr().is_err()
    }
}
