//! Servers in this process that offer little.

use tokio::task::JoinHandle;
use toolwire::Server;
use toolwire::transport::http::{HttpListener, HttpOptions};

/// A running server, until it is dropped.
pub(crate) struct SmallServer {
    url: String,
    serving: JoinHandle<()>,
}

impl SmallServer {
    pub(crate) async fn start(server: Server) -> Self {
        Self::start_with(server, HttpOptions::new()).await
    }

    pub(crate) async fn start_with(server: Server, options: HttpOptions) -> Self {
        let listener = HttpListener::bind(server, "127.0.0.1:0", options)
            .await
            .expect("a free port");
        let url = listener.url().to_string();
        let serving = tokio::spawn(async move {
            let _ = listener.run().await;
        });
        Self { url, serving }
    }

    /// Stops listening.
    #[cfg(feature = "otel")]
    pub(crate) async fn stop(mut self) {
        self.serving.abort();
        let _ = (&mut self.serving).await;
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for SmallServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
