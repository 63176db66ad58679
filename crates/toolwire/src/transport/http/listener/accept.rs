//! Accepting connections, whatever happens.
//!
//! Out of descriptors, out of memory, a client that left while it queued: none of these may end the server.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long to pause after failures: longer after each one in a row.
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
    /// How long to wait after this failure; `None` when the failure was of one connection only.
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

/// The next connection, and the address it came in on.
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
    // Messages are written whole, so waiting for more to put into a packet only costs time.
    socket.set_nodelay(true)?;
    let local_address = socket.local_addr()?;
    Ok((socket, local_address))
}

/// Prepares what was accepted. Pauses when nothing could be; a socket that cannot be prepared costs nobody else a pause.
async fn admit<S, P>(
    accepted: io::Result<S>,
    prepare: impl FnOnce(S) -> io::Result<P>,
    backoff: &mut Backoff,
) -> Option<P> {
    let lost = match accepted {
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
                tracing::warn!(%error, ?pause, "no connection can be accepted at the moment");
                tokio::time::sleep(pause).await;
                return None;
            }
        },
    };
    tracing::debug!(error = %lost, "a connection was lost before it was served");
    None
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn accepted_sockets_do_not_wait_to_fill_packets() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).await.unwrap();
        let (socket, local_address) = accept(&listener, &mut Backoff::default()).await;
        assert!(socket.nodelay().unwrap());
        assert_eq!(local_address, address);
    }

    #[tokio::test(start_paused = true)]
    async fn a_socket_that_cannot_be_prepared_is_no_reason_to_pause() {
        let mut backoff = Backoff::default();
        let began = Instant::now();
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let admitted = admit(Ok(()), |()| Err::<(), _>(invalid()), &mut backoff).await;
        assert_eq!(admitted, None);
        assert_eq!(began.elapsed(), Duration::ZERO);
        let admitted = admit(Err::<(), _>(invalid()), Ok, &mut backoff).await;
        assert_eq!(admitted, None);
        assert_eq!(began.elapsed(), SHORTEST_PAUSE);
        assert_eq!(admit(Ok(()), Ok, &mut backoff).await, Some(()));
    }

    #[test]
    fn pauses_grow_to_a_second() {
        let mut backoff = Backoff::default();
        let error = io::Error::other("too many open files");
        let pauses: Vec<_> = (0..7)
            .map(|_| backoff.pause_after(&error).unwrap().as_millis())
            .collect();
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1000, 1000]);
    }

    #[test]
    fn a_lost_connection_is_no_reason_to_pause() {
        let mut backoff = Backoff::default();
        let lost = io::Error::from(io::ErrorKind::ConnectionAborted);
        assert_eq!(backoff.pause_after(&lost), None);
        let other = io::Error::other("too many open files");
        assert_eq!(backoff.pause_after(&other), Some(SHORTEST_PAUSE));
    }
}
