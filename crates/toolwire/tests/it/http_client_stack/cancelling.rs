//! Whoever stops waiting ends the exchange on the wire.

use toolwire::transport::http_client::HttpClient;

use super::raw::{RawServer, client, get, post};
use crate::peer::within;

#[tokio::test]
async fn dropping_a_body_closes_its_connection() {
    let server = RawServer::bind().await;
    let http = client();
    let stream =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (answer, (_, mut connection)) =
        tokio::join!(http.send(get(server.url("/"))), server.answer_once(stream));
    let mut body = answer.unwrap().into_body();
    connection.write("3\r\none\r\n").await;
    assert_eq!(within(body.chunk()).await.unwrap().unwrap(), "one");
    drop(body);
    connection.closed().await;
}

#[tokio::test]
async fn dropping_a_body_that_nobody_read_closes_its_connection() {
    let server = RawServer::bind().await;
    let http = client();
    let stream = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n";
    let (answer, (_, mut connection)) =
        tokio::join!(http.send(get(server.url("/"))), server.answer_once(stream));
    drop(answer);
    connection.closed().await;
}

#[tokio::test]
async fn a_dropped_request_closes_its_connection() {
    let server = RawServer::bind().await;
    let http = client();
    let mut asking = http.send(post(server.url("/"), "{}"));
    let mut connection = tokio::select! {
        biased;
        _ = &mut asking => panic!("nobody answers"),
        connection = async {
            let mut connection = server.accept().await;
            connection.request().await;
            connection
        } => connection,
    };
    drop(asking);
    connection.closed().await;
}

#[tokio::test]
async fn dropping_a_chunk_that_has_not_come_loses_nothing() {
    let server = RawServer::bind().await;
    let http = client();
    let stream = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (answer, (_, mut connection)) =
        tokio::join!(http.send(get(server.url("/"))), server.answer_once(stream));
    let mut body = answer.unwrap().into_body();
    tokio::select! {
        biased;
        _ = body.chunk() => panic!("there is none"),
        () = std::future::ready(()) => {}
    }
    connection.write("3\r\none\r\n0\r\n\r\n").await;
    assert_eq!(within(body.chunk()).await.unwrap().unwrap(), "one");
    assert!(within(body.chunk()).await.is_none());
}
