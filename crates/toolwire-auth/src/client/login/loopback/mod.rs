//! A login through the user's browser, with a listener on the loopback interface for the redirect (RFC 8252).
//!
//! A browser on another machine cannot reach the listener. In this case, the user can paste the redirect URL.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use toolwire::BoxFuture;

use crate::client::AuthError;
use crate::client::login::callback_request::CallbackRequest;
use crate::client::login::{CallbackOutcome, CheckCallback, Login, PendingLogin, browser, pasted};
use crate::rules::endpoints;

/// The default time limit for a user login.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// The maximum number of callback connections that are read at once. One more drops the oldest. Browsers send their
/// request at once, so an old connection is not the expected redirect.
const MAX_CONNECTIONS: usize = 32;

/// The path of the redirect URI.
const PATH: &str = "/callback";

type DisplayUrl = dyn Fn(&str) + Send + Sync;
type OpenBrowser = dyn Fn(&str) -> bool + Send + Sync;
type PastePrompt = dyn Fn(Option<&'static str>) -> BoxFuture<'static, Option<String>> + Send + Sync;

/// A login that opens the user's browser and waits for the redirect to a port of this machine.
///
/// The URL is also displayed; see [`with_url_display`](Self::with_url_display). If the browser is on another machine,
/// the user can paste the redirect URL; see [`with_paste_prompt`](Self::with_paste_prompt).
#[derive(Clone)]
pub struct LoopbackLogin {
    port: u16,
    open_browser: Option<Arc<OpenBrowser>>,
    display_url: Arc<DisplayUrl>,
    paste_prompt: Option<Arc<PastePrompt>>,
    timeout: Duration,
}

impl LoopbackLogin {
    /// Creates a login with a free port and the user's browser that prints the URL to standard error.
    #[must_use]
    pub fn new() -> Self {
        Self {
            port: 0,
            open_browser: Some(Arc::new(browser::open)),
            display_url: Arc::new(|url| eprintln!("Log in at:\n\n  {url}\n")),
            paste_prompt: None,
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Listens on a fixed port, for authorization servers that require an exact redirect URI.
    #[must_use]
    pub fn with_port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Does not open a browser. The user opens the URL.
    #[must_use]
    pub fn without_browser(mut self) -> Self {
        self.open_browser = None;
        self
    }

    /// Sets a function that opens the URL instead of the system's browser. `open` returns whether it succeeded. It
    /// receives only `https` URLs, and `http` URLs of this machine.
    #[must_use]
    pub fn with_browser_opener(
        mut self,
        open: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.open_browser = Some(Arc::new(open));
        self
    }

    /// Sets a function that displays the URL. Default: standard error.
    #[must_use]
    pub fn with_url_display(mut self, display: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.display_url = Arc::new(display);
        self
    }

    /// Lets the user paste the redirect URL or its query, while the listener also waits for the redirect.
    ///
    /// `prompt` is called until a pasted text is valid. Its argument is the error of the previous text. It returns
    /// `None` if there is no further text.
    #[must_use]
    pub fn with_paste_prompt<F>(
        mut self,
        prompt: impl Fn(Option<&'static str>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        self.paste_prompt = Some(Arc::new(move |error| Box::pin(prompt(error))));
        self
    }

    /// Sets the time limit of a login. Default: 5 min.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
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
                0 => bind_registered(registered).await,
                _ => None,
            };
            let listener = match listener {
                Some(listener) => Ok(listener),
                None => TcpListener::bind(address).await,
            };
            let listener = listener.map_err(|error| cannot_listen(address, error))?;
            let address = listener
                .local_addr()
                .map_err(|error| cannot_listen(address, error))?;
            Ok(Box::new(PendingLoopback {
                settings: self.clone(),
                listener,
                host: address.to_string(),
                redirect_uri: format!("http://{address}{PATH}"),
            }) as Box<dyn PendingLogin>)
        })
    }
}

/// Listens on the previously registered address, if it is a loopback address and free.
async fn bind_registered(registered: Option<&str>) -> Option<TcpListener> {
    let authority = registered?.strip_prefix("http://")?.strip_suffix(PATH)?;
    let address: SocketAddr = authority.parse().ok()?;
    if address.ip() != Ipv4Addr::LOCALHOST {
        return None;
    }
    TcpListener::bind(address).await.ok()
}

fn cannot_listen(address: SocketAddr, error: io::Error) -> AuthError {
    let is_in_use = error.kind() == io::ErrorKind::AddrInUse;
    let error =
        AuthError::new(format!("cannot listen on {address} for the login")).with_source(error);
    if is_in_use {
        error.with_advice("another login may be using that port; finish it, or use another port")
    } else {
        error
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
        f.debug_struct("PendingLoopback")
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
            // The authorization endpoint is untrusted, and users open the URL that they see.
            endpoints::check(url).map_err(AuthError::of)?;
            (self.settings.display_url)(url);
            if let Some(open) = &self.settings.open_browser
                && !open(url)
            {
                tracing::info!("no browser is available; the user has to open the URL");
            }
            let redirect = async {
                tokio::select! {
                    query = self.wait_for_redirect(check) => query,
                    query = self.wait_for_paste(check) => Ok(query),
                }
            };
            let query = tokio::time::timeout(self.settings.timeout, redirect).await;
            query.unwrap_or_else(|_| {
                let seconds = self.settings.timeout.as_secs_f64();
                Err(AuthError::new(format!(
                    "the login was not completed within {seconds} s"
                )))
            })
        })
    }
}

impl PendingLoopback {
    /// Waits for the redirect. Connections are read concurrently, so that a slow one does not block the browser.
    async fn wait_for_redirect(&self, check: CheckCallback<'_>) -> Result<String, AuthError> {
        let (sender, mut receiver) = mpsc::channel(1);
        let mut tasks = CallbackTasks::default();
        loop {
            let request: CallbackRequest = tokio::select! {
                accepted = self.listener.accept() => {
                    match accepted {
                        Ok((stream, _)) => tasks.receive(stream, self.host.clone(), sender.clone()),
                        // A connection that was aborted before it was accepted does not affect the next one.
                        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                        Err(error) => {
                            let message = "cannot accept connections for the login";
                            return Err(AuthError::new(message).with_source(error));
                        }
                    }
                    continue;
                }
                received = receiver.recv() => received.expect("this function holds a sender"),
            };
            let query = request.query.clone();
            match check(&query) {
                CallbackOutcome::Unrelated => {
                    tasks.spawn(request.respond_not_found());
                    continue;
                }
                CallbackOutcome::Failure => request.respond_failed().await,
                CallbackOutcome::Success => request.respond_ok().await,
            }
            return Ok(query);
        }
    }

    /// Waits for a valid pasted redirect URL.
    async fn wait_for_paste(&self, check: CheckCallback<'_>) -> String {
        let Some(prompt) = &self.settings.paste_prompt else {
            return std::future::pending().await;
        };
        let mut error = None;
        while let Some(text) = prompt(error).await {
            error = match pasted::query_of(&text) {
                Some(query) if check(query) != CallbackOutcome::Unrelated => {
                    return query.to_owned();
                }
                Some(_) => Some(pasted::OTHER_LOGIN),
                None => Some(pasted::NO_QUERY),
            };
        }
        std::future::pending().await
    }
}

/// The tasks that read callback connections. Dropping this aborts them.
#[derive(Default)]
struct CallbackTasks {
    tasks: JoinSet<()>,
    oldest_first: VecDeque<AbortHandle>,
}

impl CallbackTasks {
    fn receive(&mut self, stream: TcpStream, host: String, sender: mpsc::Sender<CallbackRequest>) {
        self.spawn(async move {
            if let Some(request) = CallbackRequest::receive(stream, &host, PATH).await {
                // The receiver is closed if the login has ended.
                let _ = sender.send(request).await;
            }
        });
    }

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.oldest_first.retain(|task| !task.is_finished());
        if self.oldest_first.len() >= MAX_CONNECTIONS
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            oldest.abort();
        }
        self.oldest_first.push_back(self.tasks.spawn(task));
    }
}

#[cfg(test)]
mod tests;
