//! A login on the user's own machine: a page in the browser, and a listener that the browser comes back to (RFC 8252).
//!
//! Where the browser is on another machine it does not get back to the listener, and its user can bring the address by
//! hand.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use toolwire_proto::auth::endpoints;

use crate::auth::client::AuthError;
use crate::auth::client::login::callback_request::CallbackRequest;
use crate::auth::client::login::{
    CallbackVerdict, CheckCallback, Login, PendingLogin, browser, pasted,
};
use crate::engine::BoxFuture;

/// How long a user may take, unless told otherwise.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(300);

/// How many visitors are listened to at once; when there is one more, the one who has been there longest goes. Browsers
/// are quick, so those who stay are not the one that is waited for.
const VISITORS: usize = 32;

/// The path of the redirect.
const PATH: &str = "/callback";

type Show = dyn Fn(&str) + Send + Sync;
type Open = dyn Fn(&str) -> bool + Send + Sync;
type Ask = dyn Fn(Option<&'static str>) -> BoxFuture<'static, Option<String>> + Send + Sync;

/// Opens the user's browser and waits for it to come back to a port of this machine.
///
/// The user is shown the URL, too; see [`with_url_display`](Self::with_url_display). Where the browser is on another
/// machine, let the user bring back where it ended: [`with_paste_prompt`](Self::with_paste_prompt).
#[derive(Clone)]
pub struct LoopbackLogin {
    port: u16,
    open: Option<Arc<Open>>,
    show: Arc<Show>,
    ask: Option<Arc<Ask>>,
    patience: Duration,
}

impl LoopbackLogin {
    /// A free port, the user's browser, and the URL on standard error.
    #[must_use]
    pub fn new() -> Self {
        Self {
            port: 0,
            open: Some(Arc::new(browser::open)),
            show: Arc::new(|url| eprintln!("Log in at:\n\n  {url}\n")),
            ask: None,
            patience: DEFAULT_PATIENCE,
        }
    }

    /// Listens on one port, for authorization servers that want to know it beforehand.
    #[must_use]
    pub fn with_port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Leaves it to the user to open the URL.
    #[must_use]
    pub fn without_browser(mut self) -> Self {
        self.open = None;
        self
    }

    /// Opens the URL in another way than with the browser of the system; `open` says whether it could. Only `https` URLs,
    /// and `http` ones of this machine, get there.
    #[must_use]
    pub fn with_browser_opener(
        mut self,
        open: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.open = Some(Arc::new(open));
        self
    }

    /// Shows the URL in another way than on standard error.
    #[must_use]
    pub fn with_url_display(mut self, show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.show = Arc::new(show);
        self
    }

    /// Lets users paste the address that their browser ended up at, or its query, while it is also waited for at the port.
    ///
    /// `ask` is called for one text after the other until one fits, with what was wrong with the last one. It gives `None`
    /// when there will be no more.
    #[must_use]
    pub fn with_paste_prompt<F>(
        mut self,
        ask: impl Fn(Option<&'static str>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        self.ask = Some(Arc::new(move |problem| Box::pin(ask(problem))));
        self
    }

    /// How long the user may take: five minutes by default.
    #[must_use]
    pub fn with_timeout(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

impl Default for LoopbackLogin {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LoopbackLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopbackLogin")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

impl Login for LoopbackLogin {
    fn begin<'a>(
        &'a self,
        registered: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        Box::pin(async move {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
            let listener = match self.port {
                0 => bind_again(registered).await,
                _ => None,
            };
            let listener = match listener {
                Some(listener) => Ok(listener),
                None => TcpListener::bind(address).await,
            };
            let listener = listener.map_err(|error| cannot_listen(address, error))?;
            let port = listener
                .local_addr()
                .map_err(|error| cannot_listen(address, error))?;
            Ok(Box::new(PendingLoopback {
                settings: self.clone(),
                listener,
                host: port.to_string(),
                redirect_uri: format!("http://{port}{PATH}"),
            }) as Box<dyn PendingLogin>)
        })
    }
}

/// Listens where users came back to before, if that place is ours and free.
async fn bind_again(registered: Option<&str>) -> Option<TcpListener> {
    let authority = registered?.strip_prefix("http://")?.strip_suffix(PATH)?;
    let address: SocketAddr = authority.parse().ok()?;
    if address.ip() != Ipv4Addr::LOCALHOST {
        return None;
    }
    TcpListener::bind(address).await.ok()
}

fn cannot_listen(address: SocketAddr, error: io::Error) -> AuthError {
    let is_taken = error.kind() == io::ErrorKind::AddrInUse;
    let failed =
        AuthError::new(format!("cannot listen on {address} for the login")).with_source(error);
    match is_taken {
        true => failed
            .with_advice("another login may be using that port: finish it, or take another port"),
        false => failed,
    }
}

struct PendingLoopback {
    settings: LoopbackLogin,
    listener: TcpListener,
    host: String,
    redirect_uri: String,
}

impl fmt::Debug for PendingLoopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting")
            .field("redirect_uri", &self.redirect_uri)
            .finish_non_exhaustive()
    }
}

impl PendingLogin for PendingLoopback {
    fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    fn finish<'a>(
        self: Box<Self>,
        url: &'a str,
        check: CheckCallback<'a>,
    ) -> BoxFuture<'a, Result<String, AuthError>> {
        Box::pin(async move {
            // What a server calls its login page may be anything, and users open what they are shown.
            endpoints::check(url).map_err(AuthError::of)?;
            (self.settings.show)(url);
            if let Some(open) = &self.settings.open
                && !open(url)
            {
                tracing::info!("there is no browser to open; the user has to open the URL");
            }
            let returning = async {
                tokio::select! {
                    query = self.visited(check) => query,
                    query = self.pasted(check) => Ok(query),
                }
            };
            let returned = tokio::time::timeout(self.settings.patience, returning).await;
            returned.unwrap_or_else(|_| {
                let seconds = self.settings.patience.as_secs_f64();
                Err(AuthError::new(format!(
                    "nobody came back from the login within {seconds} s"
                )))
            })
        })
    }
}

impl PendingLoopback {
    /// Waits for the browser. All visitors are listened to at once, so that nobody keeps it out by being slow.
    async fn visited(&self, check: CheckCallback<'_>) -> Result<String, AuthError> {
        let (arrived, mut arrivals) = mpsc::channel(1);
        let mut visits = CallbackTasks::default();
        loop {
            let visitor: CallbackRequest = tokio::select! {
                accepted = self.listener.accept() => {
                    match accepted {
                        Ok((stream, _)) => visits.begin(stream, self.host.clone(), arrived.clone()),
                        // A visitor who left before being let in says nothing about the next one.
                        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                        Err(error) => {
                            let failed = AuthError::new("the login cannot be waited for");
                            return Err(failed.with_source(error));
                        }
                    }
                    continue;
                }
                arrival = arrivals.recv() => arrival.expect("a sender is kept here"),
            };
            let query = visitor.query.clone();
            match check(&query) {
                CallbackVerdict::Unrelated => {
                    visits.spawn(visitor.respond_not_found());
                    continue;
                }
                CallbackVerdict::Failure => visitor.respond_failed().await,
                CallbackVerdict::Success => visitor.respond_ok().await,
            }
            return Ok(query);
        }
    }

    /// Waits for somebody to paste where the browser ended.
    async fn pasted(&self, check: CheckCallback<'_>) -> String {
        let Some(ask) = &self.settings.ask else {
            return std::future::pending().await;
        };
        let mut problem = None;
        while let Some(text) = ask(problem).await {
            problem = match pasted::query_of(&text) {
                Some(query) if check(query) != CallbackVerdict::Unrelated => {
                    return query.to_owned();
                }
                Some(_) => Some(pasted::NOT_OURS),
                None => Some(pasted::NO_QUERY),
            };
        }
        std::future::pending().await
    }
}

/// Whoever is being listened to; they all end with this.
#[derive(Default)]
struct CallbackTasks {
    tasks: JoinSet<()>,
    oldest_first: VecDeque<AbortHandle>,
}

impl CallbackTasks {
    fn begin(&mut self, stream: TcpStream, host: String, arrived: mpsc::Sender<CallbackRequest>) {
        self.spawn(async move {
            if let Some(visitor) = CallbackRequest::receive(stream, &host, PATH).await {
                // Nobody waits any more when the login is over.
                let _ = arrived.send(visitor).await;
            }
        });
    }

    fn spawn(&mut self, visit: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.oldest_first.retain(|visit| !visit.is_finished());
        if self.oldest_first.len() >= VISITORS
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            oldest.abort();
        }
        self.oldest_first.push_back(self.tasks.spawn(visit));
    }
}

#[cfg(test)]
mod tests;
