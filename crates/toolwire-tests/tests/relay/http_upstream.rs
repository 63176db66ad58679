//! An upstream server over HTTP that loses its sessions.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use serde_json::json;
use toolwire::relay::Upstream;
use toolwire::transport::http::{HttpOptions, HttpService};
use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError};
use toolwire::{BoxFuture, Server};
use toolwire_tests::peer::{Peer, legacy, notification, plain, text};

use crate::raw_http::raw_http;

/// An HTTP client without a network, whose server can be replaced.
#[derive(Debug, Clone)]
struct ReplaceableServer(Arc<Mutex<HttpService>>);

impl ReplaceableServer {
    fn new(server: &Server) -> Self {
        Self(Arc::new(Mutex::new(service(server))))
    }

    /// Replaces the server by one without sessions.
    fn restart(&self, server: &Server) {
        *self.0.lock().expect("no test panicked") = service(server);
    }
}

fn service(server: &Server) -> HttpService {
    HttpService::new(server.clone(), HttpOptions::new())
}

impl HttpClient for ReplaceableServer {
    fn send(
        &self,
        mut request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        let service = self.0.lock().expect("no test panicked").clone();
        let host = HeaderValue::from_static("localhost");
        request.headers_mut().insert("host", host);
        Box::pin(async move {
            let response = service.respond(request.map(Full::new)).await;
            Ok(response.map(ClientBody::new))
        })
    }
}

#[tokio::test]
async fn subscriptions_are_requested_again_after_404() {
    let (upstream, mut posts) = raw_http();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "peer", "version": "9"},
    });
    client.send(legacy(1, "initialize", params)).await;
    tokio::join!(posts.accept_legacy("one"), async {
        client.receive().await;
        let initialized = notification("notifications/initialized", json!({}));
        client.send(initialized).await;
    });
    let subscribe = json!({"uri": "file:///a"});
    client
        .send(legacy(2, "resources/subscribe", subscribe.clone()))
        .await;
    let request = posts.expect("resources/subscribe").await;
    request.respond(json!({}));
    client.receive().await;
    client.send(legacy(3, "ping", json!({}))).await;
    let lost = posts.expect("ping").await;
    lost.finish(StatusCode::NOT_FOUND);
    posts.accept_legacy("two").await;
    let mut has_subscribed = false;
    for _ in 0..2 {
        let post = posts.next().await;
        assert_eq!(post.session.as_deref(), Some("two"));
        if post.message["method"] == "resources/subscribe" {
            assert_eq!(post.message["params"], subscribe);
            has_subscribed = true;
        }
        post.respond(json!({}));
    }
    assert!(has_subscribed);
    // Only the list is announced whose changes the server announces.
    let method = "notifications/tools/list_changed";
    client
        .expect(json!({"jsonrpc": "2.0", "method": method}))
        .await;
    assert_eq!(client.receive().await["id"], 3);
}

#[tokio::test]
async fn request_is_sent_again_in_a_new_session_after_404() {
    let server = Server::new("files", "1").tool(plain("count", |_| async { "1" }));
    let http = ReplaceableServer::new(&server);
    let upstream = {
        let http = http.clone();
        Upstream::new(move |builder| {
            let builder = builder.with_http_client(http.clone());
            builder.connect("http://localhost/mcp")
        })
    };
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.initialize("2025-11-25").await;
    let call = |id: i64| legacy(id, "tools/call", json!({"name": "count"}));
    let expected = text("1")["content"].clone();
    assert_eq!(client.result_of(call(2)).await["content"], expected);
    http.restart(&server);
    client.send(call(3)).await;
    let mut has_changed = false;
    let response = loop {
        let message = client.receive().await;
        if message.get("id").is_some() {
            break message;
        }
        has_changed |= message["method"] == "notifications/tools/list_changed";
    };
    assert_eq!(response["result"]["content"], expected, "{response}");
    assert!(has_changed, "the tools may differ");
}
