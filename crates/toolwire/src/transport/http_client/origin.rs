//! One server as the pool sees it: what every request to it needs, and its connections that wait for the next one.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker, ready};
use std::time::Duration;

use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::engine::deadline_after;
use crate::transport::http_client::connection::{Connection, Http2};
use crate::transport::http_client::connector::Connector;
use crate::transport::http_client::http1::Http1;
use crate::transport::http_client::place::Place;
use crate::transport::http_client::{HttpFailure, HttpStep};

/// How long a connection waits, and how many of them do.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleLimits {
    pub(super) time: Duration,
    pub(super) connections: usize,
}

/// A scheme with a host and a port.
pub(super) struct Origin {
    scheme: Option<Scheme>,
    authority: Option<Authority>,
    place: Place,
    /// What `Host` says.
    host: HeaderValue,
    /// What a proxy wants to see in each request that is not tunnelled.
    proxy_credentials: Option<HeaderValue>,
    limits: IdleLimits,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    /// The one that waits longest comes first.
    http1: Vec<(Box<Http1>, Instant)>,
    /// One is enough, because requests share it; with the time of its last request.
    http2: Option<(Http2, Instant)>,
    /// The task that looks after those that wait. It is gone with its runtime, though not all who share the pool may be.
    watching: Option<AbortHandle>,
    /// How to wake it, once it has come round to say so.
    watcher: Option<Waker>,
}

impl Origin {
    pub(super) fn new(
        uri: &Uri,
        connector: &Connector,
        limits: IdleLimits,
    ) -> Result<Self, HttpFailure> {
        let place = Place::of(uri)?;
        let host = host_header(uri).ok_or_else(|| {
            HttpFailure::new(
                HttpStep::Prepare,
                "the URL has a host that HTTP cannot name",
            )
        })?;
        // Through a tunnel they would reach the server.
        let proxy = match uri.scheme() == Some(&Scheme::HTTP) {
            true => connector.proxy_for(uri)?,
            false => None,
        };
        Ok(Self {
            scheme: uri.scheme().cloned(),
            authority: uri.authority().cloned(),
            place,
            host,
            proxy_credentials: proxy.and_then(|proxy| proxy.credentials().cloned()),
            limits,
            idle: Mutex::default(),
        })
    }

    /// Whether a URI leads here. Another way to write the same host counts as another server, at the cost of a connection.
    pub(super) fn is_of(&self, uri: &Uri) -> bool {
        let text = Authority::as_str;
        self.authority.as_ref().map(text) == uri.authority().map(text)
            && self.scheme.as_ref() == uri.scheme()
    }

    /// Its name in messages.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn host(&self) -> &HeaderValue {
        &self.host
    }

    pub(super) fn proxy_credentials(&self) -> Option<&HeaderValue> {
        self.proxy_credentials.as_ref()
    }

    pub(super) fn has_idle(&self) -> bool {
        !self.idle().is_empty()
    }

    /// A connection that can be used at once; of several the one that was used last, so that the others grow old.
    pub(super) fn take(&self) -> Option<Connection> {
        let mut idle = self.idle();
        if let Some(shared) = idle.shared() {
            return Some(Connection::Http2(shared));
        }
        if idle.http1.is_empty() {
            return None;
        }
        let now = Instant::now();
        while let Some((mut connection, since)) = idle.http1.pop() {
            // From here on what happens to it is the business of the request.
            if !self.has_expired(since, now) && connection.is_idle(Waker::noop()) {
                return Some(Connection::Http1(connection));
            }
        }
        None
    }

    /// Takes a connection back after its answer, if the next request can use it.
    pub(super) fn give_back(self: &Arc<Self>, mut connection: Box<Http1>) {
        let mut idle = self.idle();
        let watcher = idle.watcher.as_ref().unwrap_or(Waker::noop());
        if connection.is_idle(watcher) && idle.http1.len() < self.limits.connections {
            idle.http1.push((connection, Instant::now()));
            self.watch(&mut idle);
        }
    }

    /// Lets other requests use a connection, too. Of two that were opened at once only one is used from then on.
    pub(super) fn share(self: &Arc<Self>, connection: Http2) -> Http2 {
        let mut idle = self.idle();
        if let Some(shared) = idle.shared() {
            return shared;
        }
        if self.limits.connections > 0 {
            idle.http2 = Some((connection.clone(), Instant::now()));
            self.watch(&mut idle);
        }
        connection
    }

    /// Makes sure that somebody looks after connections that wait.
    fn watch(self: &Arc<Self>, idle: &mut Idle) {
        let is_watched = idle
            .watching
            .as_ref()
            .is_some_and(|task| !task.is_finished());
        if !is_watched && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let task = runtime.spawn(look_after(Arc::downgrade(self)));
            idle.watching = Some(task.abort_handle());
        }
    }

    /// Closes what has waited too long or was closed by the server; says when to look again, though nothing happens.
    fn tidy(&self, waker: &Waker, now: Instant) -> Option<Instant> {
        let mut idle = self.idle();
        idle.http1.retain_mut(|(connection, since)| {
            !self.has_expired(*since, now) && connection.is_idle(waker)
        });
        let unused = |(_, since): &mut (Http2, Instant)| self.has_expired(*since, now);
        drop(idle.http2.take_if(unused));
        let next = self.next_expiry(&idle);
        if next.is_none() {
            idle.watching = None;
        }
        idle.watcher = next.map(|_| waker.clone());
        next
    }

    fn has_expired(&self, since: Instant, now: Instant) -> bool {
        now.saturating_duration_since(since) >= self.limits.time
    }

    /// When the next connection has waited too long; `None` when nothing waits.
    fn next_expiry(&self, idle: &Idle) -> Option<Instant> {
        let oldest = idle.http1.first().map(|(_, since)| *since);
        let shared = idle.http2.as_ref().map(|(_, since)| *since);
        let since = oldest.into_iter().chain(shared).min()?;
        Some(deadline_after(since, self.limits.time))
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    fn is_empty(&self) -> bool {
        self.http1.is_empty() && self.http2.is_none()
    }

    /// The connection that requests share, if it can still be used.
    fn shared(&mut self) -> Option<Http2> {
        let (connection, used) = self.http2.as_mut()?;
        if connection.is_closed() {
            self.http2 = None;
            return None;
        }
        *used = Instant::now();
        Some(connection.clone())
    }
}

/// Runs for as long as connections wait: woken when something happens to one of them, or when one has waited too long.
async fn look_after(origin: Weak<Origin>) {
    let mut expiry = pin!(tokio::time::sleep(Duration::ZERO));
    poll_fn(|context| {
        loop {
            let next = origin
                .upgrade()
                .and_then(|origin| origin.tidy(context.waker(), Instant::now()));
            let Some(next) = next else {
                return Poll::Ready(());
            };
            expiry.as_mut().reset(next);
            ready!(expiry.as_mut().poll(context));
        }
    })
    .await;
}

/// What `Host` says: the host, and the port unless it is the usual one.
fn host_header(uri: &Uri) -> Option<HeaderValue> {
    let host = uri.host()?;
    let usual = match uri.scheme() == Some(&Scheme::HTTPS) {
        true => 443,
        false => 80,
    };
    match uri.port_u16().filter(|port| *port != usual) {
        Some(port) => HeaderValue::try_from(format!("{host}:{port}")).ok(),
        None => HeaderValue::from_str(host).ok(),
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Origin").field(&self.place).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_port_is_not_named() {
        let check = |url: &str, expected: &str| {
            let host = host_header(&Uri::try_from(url).unwrap()).unwrap();
            assert_eq!(host.to_str().unwrap(), expected, "{url}");
        };
        check("http://Example.com/mcp", "Example.com");
        check("http://example.com:80/", "example.com");
        check("http://example.com:443/", "example.com:443");
        check("https://example.com:443/", "example.com");
        check("https://example.com:80/", "example.com:80");
        check("http://[::1]:9/", "[::1]:9");
        check("https://user:secret@example.com/", "example.com");
    }
}
