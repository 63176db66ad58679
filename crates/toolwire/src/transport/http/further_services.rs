//! The services at other paths that one service also serves.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sync::lock;

/// Services `S` by their paths. Most services have no further ones, so a request only reads a flag.
#[derive(Debug)]
pub(crate) struct FurtherServices<S> {
    has_some: AtomicBool,
    by_path: Mutex<HashMap<String, S>>,
}

impl<S: Clone> FurtherServices<S> {
    pub(crate) fn new() -> Self {
        Self {
            has_some: AtomicBool::new(false),
            by_path: Mutex::new(HashMap::new()),
        }
    }

    pub(crate) fn add(&self, path: String, service: S) {
        let mut services = lock(&self.by_path);
        services.insert(path, service);
        self.has_some.store(true, Ordering::Release);
    }

    pub(crate) fn remove(&self, path: &str) -> bool {
        let mut services = lock(&self.by_path);
        let removed = services.remove(path).is_some();
        self.has_some.store(!services.is_empty(), Ordering::Release);
        removed
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_some.load(Ordering::Acquire)
    }

    pub(crate) fn find(&self, path: &str) -> Option<S> {
        lock(&self.by_path).get(path).cloned()
    }

    pub(crate) fn all(&self) -> Vec<S> {
        lock(&self.by_path).values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, StatusCode};
    use http_body_util::{BodyExt as _, Full};

    use crate::server::Server;
    use crate::transport::http::{HttpOptions, HttpService};

    /// Returns the status of an `initialize` request at a path, and its body.
    async fn initialize(service: &HttpService, path: &str) -> (StatusCode, String) {
        let message = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
        let request = Request::post(path)
            .header("Host", "localhost")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body(Full::new(bytes::Bytes::from_static(message.as_bytes())))
            .expect("the request is valid");
        let (head, body) = service.respond(request).await.into_parts();
        let body = body
            .collect()
            .await
            .expect("the body is complete")
            .to_bytes();
        (head.status, String::from_utf8_lossy(&body).into_owned())
    }

    #[tokio::test]
    async fn further_service_is_served_at_its_path_until_it_is_removed() {
        let service = |name: &str, path: &str| {
            let options = HttpOptions::new().with_path(path);
            HttpService::new(Server::new(name, "1.0.0"), options)
        };
        let main = service("all", "/mcp");
        // A clone has the same further services.
        main.clone().add_service(service("notes", "/mcp/notes"));
        for (path, name) in [("/mcp", "\"all\""), ("/mcp/notes", "\"notes\"")] {
            let (status, body) = initialize(&main, path).await;
            assert_eq!(status, StatusCode::OK, "{body}");
            assert!(body.contains(name), "{body}");
        }
        assert_eq!(
            initialize(&main, "/mcp/other").await.0,
            StatusCode::NOT_FOUND
        );
        assert!(main.remove_service("/mcp/notes"));
        assert!(!main.remove_service("/mcp/notes"));
        assert_eq!(
            initialize(&main, "/mcp/notes").await.0,
            StatusCode::NOT_FOUND
        );
    }
}
