//! Accepts connections and continues after errors.
//!
//! A lack of descriptors or memory, or a client that disconnects before it is accepted, must not end the server.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The pause after failures. It doubles with each consecutive failure.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            next: SHORTEST_PAUSE,
        }
    }
}

impl Backoff {
    /// Returns the pause after this failure, or `None` if it affects only one connection.
    fn pause_after(&mut self, error: &io::Error) -> Option<Duration> {
        if matches!(
            error.kind(),
            io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionRefused
                | io::ErrorKind::Interrupted
        ) {
            return None;
        }
        let pause = self.next;
        self.next = LONGEST_PAUSE.min(self.next * 2);
        Some(pause)
    }
}

/// Returns the next connection and its local address.
///
/// # Cancellation
/// Dropping the future loses no connection.
pub(super) async fn accept(
    listener: &TcpListener,
    backoff: &mut Backoff,
) -> (TcpStream, SocketAddr) {
    loop {
        let accepted = listener.accept().await.map(|(socket, _)| socket);
        if let Some(ready) = admit(accepted, prepare, backoff).await {
            return ready;
        }
    }
}

fn prepare(socket: TcpStream) -> io::Result<(TcpStream, SocketAddr)> {
    // Messages are written at once, so delaying packets (Nagle's algorithm) would only add latency.
    socket.set_nodelay(true)?;
    let local_address = socket.local_addr()?;
    Ok((socket, local_address))
}

/// Prepares an accepted socket. Pauses if no socket could be accepted, but not if a socket could not be prepared.
async fn admit<S, P>(
    accepted: io::Result<S>,
    prepare: impl FnOnce(S) -> io::Result<P>,
    backoff: &mut Backoff,
) -> Option<P> {
    let error = match accepted {
        Ok(socket) => {
            *backoff = Backoff::default();
            match prepare(socket) {
                Ok(prepared) => return Some(prepared),
                Err(error) => error,
            }
        }
        Err(error) => match backoff.pause_after(&error) {
            None => error,
            Some(pause) => {
                tracing::warn!(%error, ?pause, "cannot accept connections");
                tokio::time::sleep(pause).await;
                return None;
            }
        },
    };
    tracing::debug!(%error, "a connection failed before it was served");
    None
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn accepted_socket_has_nodelay_set() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).await.unwrap();
        let (socket, local_address) = accept(&listener, &mut Backoff::default()).await;
        assert!(socket.nodelay().unwrap());
        assert_eq!(local_address, address);
    }

    #[tokio::test(start_paused = true)]
    async fn failed_preparation_causes_no_pause() {
        let mut backoff = Backoff::default();
        let start = Instant::now();
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let admitted = admit(Ok(()), |()| Err::<(), _>(invalid()), &mut backoff).await;
        assert_eq!(admitted, None);
        assert_eq!(start.elapsed(), Duration::ZERO);
        let admitted = admit(Err::<(), _>(invalid()), Ok, &mut backoff).await;
        assert_eq!(admitted, None);
        assert_eq!(start.elapsed(), SHORTEST_PAUSE);
        assert_eq!(admit(Ok(()), Ok, &mut backoff).await, Some(()));
    }

    #[test]
    fn pause_grows_to_one_second() {
        let mut backoff = Backoff::default();
        let error = io::Error::other("too many open files");
        let pauses: Vec<_> = (0..7)
            .map(|_| backoff.pause_after(&error).unwrap().as_millis())
            .collect();
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1000, 1000]);
    }

    #[test]
    fn lost_connection_causes_no_pause() {
        let mut backoff = Backoff::default();
        let lost = io::Error::from(io::ErrorKind::ConnectionAborted);
        assert_eq!(backoff.pause_after(&lost), None);
        let other = io::Error::other("too many open files");
        assert_eq!(backoff.pause_after(&other), Some(SHORTEST_PAUSE));
    }
}
