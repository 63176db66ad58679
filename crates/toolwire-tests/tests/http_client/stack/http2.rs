//! HTTP/2, which a server chooses in the TLS handshake.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use toolwire::transport::http_client::{HttpClient, HttpPhase, HyperClient};
use toolwire_tests::http_client_stack::raw::{RawServer, client, get};
use toolwire_tests::http_client_stack::tls::{Authority, accept_tls};
use toolwire_tests::peer::within;

/// A body with one event that never ends. Sends a message when it is dropped.
struct Endless {
    event: Option<Bytes>,
    dropped: mpsc::UnboundedSender<()>,
}

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.event.take() {
            Some(event) => Poll::Ready(Some(Ok(Frame::data(event)))),
            None => Poll::Pending,
        }
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        let _ = self.dropped.send(());
    }
}

/// Serves one connection with streams that never end.
async fn serve(server: &RawServer, acceptor: &TlsAcceptor, dropped: mpsc::UnboundedSender<()>) {
    let connection = accept_tls(acceptor, server.accept().await)
        .await
        .expect("a trusted certificate");
    let service = service_fn(move |_request: Request<Incoming>| {
        let event = Some(Bytes::from_static(b"event"));
        let dropped = dropped.clone();
        async move { Ok::<_, Infallible>(Response::new(Endless { event, dropped })) }
    });
    hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(connection.stream), service)
        .await
        .expect("an open connection");
}

fn trusting(authority: &Authority, server: &RawServer) -> HyperClient {
    authority
        .trusted_by(client())
        .with_resolve_override("server.invalid", server.address)
}

#[tokio::test]
async fn dropped_body_resets_only_its_stream_of_a_shared_connection() {
    let (authority, server) = (Authority::new(), RawServer::bind().await);
    let acceptor = authority.acceptor("server.invalid", &["h2", "http/1.1"]);
    let http = trusting(&authority, &server);
    let (sender, mut dropped) = mpsc::unbounded_channel();
    let script = async {
        let mut bodies = Vec::new();
        for _ in 0..10 {
            let response = within(http.send(get("https://server.invalid/mcp")))
                .await
                .unwrap();
            assert_eq!(response.version(), Version::HTTP_2);
            let mut body = response.into_body();
            assert_eq!(within(body.chunk()).await.unwrap().unwrap(), "event");
            bodies.push(body);
        }
        bodies.pop();
        within(dropped.recv()).await.expect("a stream was reset");
        // The other streams stay open.
        assert!(dropped.try_recv().is_err());
        bodies.clear();
        for _ in 0..9 {
            within(dropped.recv()).await.expect("a stream was reset");
        }
    };
    tokio::select! {
        () = serve(&server, &acceptor, sender) => panic!("the connection ended"),
        () = script => {}
    }
    assert!(server.has_no_connection().await);
}

#[tokio::test]
async fn unresponsive_server_ends_the_response_body_with_an_error() {
    let (authority, server) = (Authority::new(), RawServer::bind().await);
    let acceptor = authority.acceptor("server.invalid", &["h2"]);
    let http = trusting(&authority, &server);
    let (sender, _dropped) = mpsc::unbounded_channel();
    let mut serving = Box::pin(serve(&server, &acceptor, sender));
    let sending = async {
        let response = within(http.send(get("https://server.invalid/mcp"))).await;
        let mut body = response.unwrap().into_body();
        assert_eq!(within(body.chunk()).await.unwrap().unwrap(), "event");
        body
    };
    let mut body = tokio::select! {
        () = &mut serving => panic!("the connection ended"),
        body = sending => body,
    };
    // From here on the server does nothing with the open connection. The client sends a ping after 30 seconds, and
    // closes the connection 20 seconds later.
    tokio::time::pause();
    let failure = within(body.chunk()).await.unwrap().unwrap_err();
    assert_eq!(failure.phase(), HttpPhase::Receive);
    drop(serving);
}

#[tokio::test]
async fn concurrent_first_requests_all_get_a_response() {
    let (authority, server) = (Authority::new(), RawServer::bind().await);
    let acceptor = authority.acceptor("server.invalid", &["h2"]);
    let http = trusting(&authority, &server);
    let (sender, _dropped) = mpsc::unbounded_channel();
    let serving = async {
        // Before the first handshake the client does not know that one connection is enough.
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let connection = server.accept().await;
            let (acceptor, sender) = (acceptor.clone(), sender.clone());
            connections.spawn(async move {
                let Some(connection) = accept_tls(&acceptor, connection).await else {
                    return;
                };
                let service = service_fn(move |_request: Request<Incoming>| {
                    let event = Some(Bytes::from_static(b"event"));
                    let dropped = sender.clone();
                    async move { Ok::<_, Infallible>(Response::new(Endless { event, dropped })) }
                });
                let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(connection.stream), service);
                // The client closes superfluous connections before it uses them.
                let _ = serving.await;
            });
        }
    };
    let script = async {
        let mut sending = Vec::new();
        for _ in 0..64 {
            sending.push(http.send(get("https://server.invalid/mcp")));
        }
        let mut bodies = Vec::new();
        for response in join_all(sending).await {
            let mut body = response.unwrap().into_body();
            assert_eq!(within(body.chunk()).await.unwrap().unwrap(), "event");
            bodies.push(body);
        }
        bodies.len()
    };
    tokio::select! {
        () = serving => {}
        responses = script => assert_eq!(responses, 64),
    }
}

/// Polls all futures concurrently and returns their outputs.
async fn join_all<T>(futures: Vec<toolwire::BoxFuture<'_, T>>) -> Vec<T> {
    let mut running: Vec<_> = futures.into_iter().map(Some).collect();
    let mut outcomes: Vec<_> = running.iter().map(|_| None).collect();
    std::future::poll_fn(move |context| {
        for (future, outcome) in running.iter_mut().zip(&mut outcomes) {
            if let Some(pending) = future
                && let Poll::Ready(value) = pending.as_mut().poll(context)
            {
                *outcome = Some(value);
                *future = None;
            }
        }
        if running.iter().any(Option::is_some) {
            return Poll::Pending;
        }
        Poll::Ready(outcomes.iter_mut().filter_map(Option::take).collect())
    })
    .await
}
