//! The connection pool: reuse, limits, expiry, and connections that the server closed.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use toolwire::transport::http_client::{HttpClient, HyperClient};

use super::raw::{FINE, RawServer, client, get, news_arrives, post};
use crate::peer::within;

/// Asks and reads the answer to its end.
async fn ask(http: &HyperClient, server: &RawServer) {
    let answer = within(http.send(post(server.url("/"), "{}")))
        .await
        .expect("it answers");
    let body = within(answer.into_body().collect(4))
        .await
        .expect("the body is whole");
    assert_eq!(body, "fine");
}

#[tokio::test]
async fn a_connection_serves_one_request_after_another() {
    let server = RawServer::bind().await;
    let http = client();
    let (_, (_, mut connection)) = tokio::join!(ask(&http, &server), server.answer_once(FINE));
    for _ in 0..3 {
        tokio::join!(ask(&http, &server), connection.answer(FINE));
    }
    assert!(server.is_untouched().await);
}

#[tokio::test]
async fn requests_at_once_have_a_connection_each() {
    let server = RawServer::bind().await;
    let http = client();
    let both = async {
        let (mut one, mut other) = (server.accept().await, server.accept().await);
        one.answer(FINE).await;
        other.answer(FINE).await;
        (one, other)
    };
    tokio::join!(ask(&http, &server), ask(&http, &server), both);
}

#[tokio::test]
async fn no_more_connections_are_kept_than_allowed() {
    let server = RawServer::bind().await;
    let http = client().with_max_idle_per_host(1);
    let both = async {
        let (mut one, mut other) = (server.accept().await, server.accept().await);
        one.answer(FINE).await;
        other.answer(FINE).await;
        (one, other)
    };
    let (_, _, (mut one, mut other)) = tokio::join!(ask(&http, &server), ask(&http, &server), both);
    let mut kept = tokio::select! {
        () = one.closed() => other,
        () = other.closed() => one,
    };
    tokio::join!(ask(&http, &server), kept.answer(FINE));
    assert!(server.is_untouched().await);
}

#[tokio::test]
async fn with_no_idle_connections_none_is_used_twice() {
    let server = RawServer::bind().await;
    let http = client().with_max_idle_per_host(0);
    for _ in 0..2 {
        let (_, (_, mut connection)) = tokio::join!(ask(&http, &server), server.answer_once(FINE));
        connection.closed().await;
    }
}

#[tokio::test]
async fn unused_connections_are_kept_for_a_minute() {
    let server = RawServer::bind().await;
    let http = client();
    let (_, (_, mut connection)) = tokio::join!(ask(&http, &server), server.answer_once(FINE));

    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(59)).await;
    tokio::time::resume();
    tokio::join!(ask(&http, &server), connection.answer(FINE));

    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    tokio::join!(ask(&http, &server), server.answer_once(FINE));
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
            .expect("there are threads");
        let sending = runtime.spawn({
            let (http, server) = (Arc::clone(&http), Arc::clone(&server));
            async move { ask(&http, &server).await }
        });
        let (_, mut connection) = server.answer_once(FINE).await;
        within(sending).await.expect("the server responded");
        tokio::task::block_in_place(|| drop(runtime));
        connection.closed().await;
    }
}

#[tokio::test]
async fn connections_that_the_server_closed_cost_no_request() {
    let server = RawServer::bind().await;
    let http = client();
    let three = async {
        let mut connections = Vec::new();
        for _ in 0..3 {
            connections.push(server.accept().await);
        }
        for connection in &mut connections {
            connection.answer(FINE).await;
        }
        connections
    };
    let (_, _, _, connections) = tokio::join!(
        ask(&http, &server),
        ask(&http, &server),
        ask(&http, &server),
        three
    );
    drop(connections);
    news_arrives().await;
    tokio::join!(ask(&http, &server), server.answer_once(FINE));
}

#[tokio::test]
async fn an_answer_that_says_close_is_the_last_on_its_connection() {
    let server = RawServer::bind().await;
    let http = client();
    let closing = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfine";
    for _ in 0..2 {
        let (_, (_, mut connection)) =
            tokio::join!(ask(&http, &server), server.answer_once(closing));
        connection.closed().await;
    }
}

#[tokio::test]
async fn a_body_read_to_its_end_gives_the_connection_back() {
    let server = RawServer::bind().await;
    let http = client();
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n";
    let (answer, (_, mut connection)) =
        tokio::join!(http.send(get(server.url("/"))), server.answer_once(head));
    let mut body = answer.unwrap().into_body();
    assert_eq!(within(body.chunk()).await.unwrap().unwrap(), "fine");
    connection.write("0\r\n\r\n").await;
    assert!(within(body.chunk()).await.is_none());
    drop(body);
    tokio::join!(ask(&http, &server), connection.answer(FINE));
}

#[tokio::test]
async fn an_answer_that_nobody_reads_costs_its_connection_only_if_more_is_to_come() {
    let server = RawServer::bind().await;
    let http = client();
    let (_, (_, mut connection)) = tokio::join!(ask(&http, &server), server.answer_once(FINE));
    for body in ["0\r\n\r\n", "4\r\nfine\r\n0\r\nX: y\r\n\r\n"] {
        let accepted = format!("HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        let sending = within(http.send(post(server.url("/"), "{}")));
        let (answer, _) = tokio::join!(sending, connection.answer(&accepted));
        drop(answer.unwrap());
        // The pool gets the connection from another task.
        news_arrives().await;
        tokio::join!(ask(&http, &server), connection.answer(FINE));
    }
    assert!(server.is_untouched().await);
    let unfinished = "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n";
    let sending = within(http.send(post(server.url("/"), "{}")));
    let (answer, _) = tokio::join!(sending, connection.answer(unfinished));
    drop(answer.unwrap());
    connection.closed().await;
}
