//! The connection pool: reuse, limits, expiry, and connections that the server closed.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use toolwire::transport::http_client::{HttpClient, HyperClient};
use toolwire_tests::http_client_stack::raw::{
    FINE, RawServer, client, get, post, process_socket_events,
};
use toolwire_tests::peer::within;

/// Sends a request and reads the whole response body.
async fn exchange(http: &HyperClient, server: &RawServer) {
    let response = within(http.send(post(server.url("/"), "{}")))
        .await
        .expect("a response");
    let body = within(response.into_body().collect(4))
        .await
        .expect("a complete body");
    assert_eq!(body, "fine");
}

#[tokio::test]
async fn connection_is_reused_for_consecutive_requests() {
    let server = RawServer::bind().await;
    let http = client();
    let (_, (_, mut connection)) =
        tokio::join!(exchange(&http, &server), server.respond_once(FINE));
    for _ in 0..3 {
        tokio::join!(exchange(&http, &server), connection.respond(FINE));
    }
    assert!(server.has_no_connection().await);
}

#[tokio::test]
async fn concurrent_requests_use_separate_connections() {
    let server = RawServer::bind().await;
    let http = client();
    let both = async {
        let (mut one, mut other) = (server.accept().await, server.accept().await);
        one.respond(FINE).await;
        other.respond(FINE).await;
        (one, other)
    };
    tokio::join!(exchange(&http, &server), exchange(&http, &server), both);
}

#[tokio::test]
async fn idle_connections_over_the_limit_are_closed() {
    let server = RawServer::bind().await;
    let http = client().with_max_idle_per_host(1);
    let both = async {
        let (mut one, mut other) = (server.accept().await, server.accept().await);
        one.respond(FINE).await;
        other.respond(FINE).await;
        (one, other)
    };
    let (_, _, (mut one, mut other)) =
        tokio::join!(exchange(&http, &server), exchange(&http, &server), both);
    let mut idle = tokio::select! {
        () = one.closed() => other,
        () = other.closed() => one,
    };
    tokio::join!(exchange(&http, &server), idle.respond(FINE));
    assert!(server.has_no_connection().await);
}

#[tokio::test]
async fn connections_are_not_reused_with_an_idle_limit_of_zero() {
    let server = RawServer::bind().await;
    let http = client().with_max_idle_per_host(0);
    for _ in 0..2 {
        let (_, (_, mut connection)) =
            tokio::join!(exchange(&http, &server), server.respond_once(FINE));
        connection.closed().await;
    }
}

#[tokio::test]
async fn idle_connection_expires_after_60_seconds() {
    let server = RawServer::bind().await;
    let http = client();
    let (_, (_, mut connection)) =
        tokio::join!(exchange(&http, &server), server.respond_once(FINE));

    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(59)).await;
    tokio::time::resume();
    tokio::join!(exchange(&http, &server), connection.respond(FINE));

    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    tokio::join!(exchange(&http, &server), server.respond_once(FINE));
    connection.closed().await;
}

/// A connection belongs to the runtime that opened it. A client that outlives the runtime opens another connection.
#[tokio::test(flavor = "multi_thread")]
async fn connections_close_with_the_runtime_that_opened_them() {
    let server = Arc::new(RawServer::bind().await);
    let http = Arc::new(client());
    for _ in 0..2 {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let sending = runtime.spawn({
            let (http, server) = (Arc::clone(&http), Arc::clone(&server));
            async move { exchange(&http, &server).await }
        });
        let (_, mut connection) = server.respond_once(FINE).await;
        within(sending).await.expect("the server responded");
        tokio::task::block_in_place(|| drop(runtime));
        connection.closed().await;
    }
}

#[tokio::test]
async fn no_request_fails_because_of_idle_connections_that_the_server_closed() {
    let server = RawServer::bind().await;
    let http = client();
    let three = async {
        let mut connections = Vec::new();
        for _ in 0..3 {
            connections.push(server.accept().await);
        }
        for connection in &mut connections {
            connection.respond(FINE).await;
        }
        connections
    };
    let (_, _, _, connections) = tokio::join!(
        exchange(&http, &server),
        exchange(&http, &server),
        exchange(&http, &server),
        three
    );
    drop(connections);
    process_socket_events().await;
    tokio::join!(exchange(&http, &server), server.respond_once(FINE));
}

#[tokio::test]
async fn connection_is_closed_after_a_response_with_connection_close() {
    let server = RawServer::bind().await;
    let http = client();
    let closing = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfine";
    for _ in 0..2 {
        let (_, (_, mut connection)) =
            tokio::join!(exchange(&http, &server), server.respond_once(closing));
        connection.closed().await;
    }
}

#[tokio::test]
async fn connection_is_reused_after_its_body_is_read_to_the_end() {
    let server = RawServer::bind().await;
    let http = client();
    let start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n";
    let (response, (_, mut connection)) =
        tokio::join!(http.send(get(server.url("/"))), server.respond_once(start));
    let mut body = response.unwrap().into_body();
    assert_eq!(within(body.chunk()).await.unwrap().unwrap(), "fine");
    connection.write("0\r\n\r\n").await;
    assert!(within(body.chunk()).await.is_none());
    drop(body);
    tokio::join!(exchange(&http, &server), connection.respond(FINE));
}

#[tokio::test]
async fn dropping_an_unread_body_closes_the_connection_only_if_the_body_is_incomplete() {
    let server = RawServer::bind().await;
    let http = client();
    let (_, (_, mut connection)) =
        tokio::join!(exchange(&http, &server), server.respond_once(FINE));
    for body in ["0\r\n\r\n", "4\r\nfine\r\n0\r\nX: y\r\n\r\n"] {
        let accepted = format!("HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        let sending = within(http.send(post(server.url("/"), "{}")));
        let (response, _) = tokio::join!(sending, connection.respond(&accepted));
        drop(response.unwrap());
        // Another task returns the connection to the pool.
        process_socket_events().await;
        tokio::join!(exchange(&http, &server), connection.respond(FINE));
    }
    assert!(server.has_no_connection().await);
    let unfinished = "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n";
    let sending = within(http.send(post(server.url("/"), "{}")));
    let (response, _) = tokio::join!(sending, connection.respond(unfinished));
    drop(response.unwrap());
    connection.closed().await;
}
