//! From a place to a TCP connection: which addresses it has, which of them may be reached, and who answers first.
//!
//! Addresses are tried one after another, both families in turn, and the next one starts when the one before failed or
//! has been silent for a quarter of a second: the idea of RFC 8305 without its bookkeeping.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::transport::http_client::deadline::Deadline;
use crate::transport::http_client::place::Place;
use crate::transport::http_client::{HttpFailure, HttpStep};

/// How long an attempt may be silent before the next address is tried beside it.
const HEAD_START: Duration = Duration::from_millis(250);

/// When and how often to ask a silent peer whether it is still there. Streams may be silent for hours, and a peer that
/// vanished without a word must not keep one open for ever.
const SILENCE: Duration = Duration::from_secs(60);
const ASKING_AGAIN: Duration = Duration::from_secs(15);

type Policy = Arc<dyn Fn(SocketAddr) -> bool + Send + Sync>;

/// What decides which addresses a connection may go to.
#[derive(Clone, Default)]
pub(super) struct Addresses {
    pinned: BTreeMap<String, SocketAddr>,
    policy: Option<Policy>,
}

impl Addresses {
    pub(super) fn pin(&mut self, host: &str, address: SocketAddr) {
        self.pinned.insert(host.to_ascii_lowercase(), address);
    }

    pub(super) fn judge_by(&mut self, policy: impl Fn(SocketAddr) -> bool + Send + Sync + 'static) {
        self.policy = Some(Arc::new(policy));
    }

    /// Connects to the place.
    pub(super) async fn connect(
        &self,
        place: &Place,
        deadline: Deadline,
    ) -> Result<TcpStream, HttpFailure> {
        let resolving = || format!("finding the address of {}", place.name());
        let found = deadline
            .bound(HttpStep::Resolve, resolving, self.find(place))
            .await??;
        let allowed = self.allowed(place, found)?;
        let connecting = || format!("connecting to {place}");
        let stream = deadline
            .bound(HttpStep::Connect, connecting, first(in_turn(allowed)))
            .await?
            .map_err(|error| unreachable(place, error))?;
        prepare(&stream).map_err(|error| unreachable(place, error))?;
        Ok(stream)
    }

    async fn find(&self, place: &Place) -> Result<Vec<SocketAddr>, HttpFailure> {
        if let Some(pinned) = self.pinned.get(place.name()) {
            return Ok(vec![*pinned]);
        }
        if let Some(address) = place.address() {
            return Ok(vec![SocketAddr::new(address, place.port())]);
        }
        match lookup_host((place.name(), place.port())).await {
            Ok(found) => {
                let found: Vec<_> = found.collect();
                if found.is_empty() {
                    return Err(unknown(place));
                }
                Ok(found)
            }
            Err(error) => Err(unknown(place).with_source(error)),
        }
    }

    fn allowed(
        &self,
        place: &Place,
        found: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, HttpFailure> {
        let Some(policy) = &self.policy else {
            return Ok(found);
        };
        // A name that also leads to a place behind the fence is not to be trusted with the others either.
        let refused: Vec<_> = found.iter().filter(|address| !policy(**address)).collect();
        if !refused.is_empty() {
            let refused: Vec<_> = refused.into_iter().map(SocketAddr::to_string).collect();
            let refused = refused.join(", ");
            let what = format!("the address policy refuses {place}, which is at {refused}");
            return Err(HttpFailure::new(HttpStep::Connect, what)
                .with_advice("ask a server at another address, or let the policy allow this one"));
        }
        Ok(found)
    }
}

fn unknown(place: &Place) -> HttpFailure {
    let what = format!("no address is known for the name {}", place.name());
    HttpFailure::new(HttpStep::Resolve, what)
        .with_advice("check its spelling, and that this machine can ask a name server")
}

fn unreachable(place: &Place, error: io::Error) -> HttpFailure {
    let (what, advice) = match error.kind() {
        io::ErrorKind::ConnectionRefused => (
            format!("{place} refused the connection"),
            "check that the server runs and listens on that port",
        ),
        _ => (
            format!("{place} cannot be reached"),
            "check the address, the network and its firewalls",
        ),
    };
    HttpFailure::new(HttpStep::Connect, what)
        .with_advice(advice)
        .with_source(error)
}

/// Both families in turn, beginning with the one that the machine's own order prefers.
fn in_turn(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_ipv4 = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let count = addresses.len();
    let (preferred, other): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv4() == first_is_ipv4);
    let (mut preferred, mut other) = (preferred.into_iter(), other.into_iter());
    let mut order = Vec::with_capacity(count);
    while order.len() < count {
        order.extend(preferred.next());
        order.extend(other.next());
    }
    order
}

/// The first address that answers; the error of the last one when none does.
async fn first(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    // Attempts that are still under way end with the set.
    let mut attempts = JoinSet::new();
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    while let Some(address) = waiting.next() {
        attempts.spawn(TcpStream::connect(address));
        tokio::select! {
            Some(ended) = attempts.join_next() => match outcome(ended) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            },
            () = sleep(HEAD_START), if waiting.len() > 0 => {}
        }
    }
    while let Some(ended) = attempts.join_next().await {
        match outcome(ended) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn outcome(ended: Result<io::Result<TcpStream>, tokio::task::JoinError>) -> io::Result<TcpStream> {
    ended.unwrap_or_else(|stopped| Err(io::Error::other(stopped)))
}

/// Small messages leave at once, and a peer that vanished is noticed.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let asking = TcpKeepalive::new()
        .with_time(SILENCE)
        .with_interval(ASKING_AGAIN);
    SockRef::from(stream).set_tcp_keepalive(&asking)
}

impl fmt::Debug for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Addresses")
            .field("pinned", &self.pinned)
            .field("judged", &self.policy.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns_and_each_keeps_its_order() {
        let check = |given: &[&str], expected: &[&str]| {
            let addresses = given.iter().map(|text| text.parse().unwrap()).collect();
            let order: Vec<_> = in_turn(addresses).iter().map(ToString::to_string).collect();
            assert_eq!(order, expected);
        };
        check(
            &["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1"],
            &["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"],
        );
        check(&["1.1.1.1:1", "[::1]:1"], &["1.1.1.1:1", "[::1]:1"]);
        check(&["1.1.1.1:1"], &["1.1.1.1:1"]);
    }

    #[tokio::test]
    async fn the_next_address_is_tried_when_one_fails() {
        let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let closed = free.local_addr().unwrap();
        drop(free);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap();

        let stream = first(vec![closed, open, closed]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), open);
        let error = first(vec![closed, closed]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
