//! Dropping a request or a response body ends the exchange on the wire.

use toolwire::transport::http_client::HttpClient;
use toolwire_tests::http_client_stack::raw::{RawServer, client, get, post};
use toolwire_tests::peer::within;

#[tokio::test]
async fn dropping_a_partly_read_body_closes_its_connection() {
    let server = RawServer::bind().await;
    let http = client();
    let stream =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (response, (_, mut connection)) =
        tokio::join!(http.send(get(server.url("/"))), server.respond_once(stream));
    let mut body = response.unwrap().into_body();
    connection.write("3\r\none\r\n").await;
    assert_eq!(within(body.chunk()).await.unwrap().unwrap(), "one");
    drop(body);
    connection.closed().await;
}

#[tokio::test]
async fn dropping_an_unread_body_closes_its_connection() {
    let server = RawServer::bind().await;
    let http = client();
    let stream = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n";
    let (response, (_, mut connection)) =
        tokio::join!(http.send(get(server.url("/"))), server.respond_once(stream));
    drop(response);
    connection.closed().await;
}

#[tokio::test]
async fn dropping_a_request_closes_its_connection() {
    let server = RawServer::bind().await;
    let http = client();
    let mut sending = http.send(post(server.url("/"), "{}"));
    let mut connection = tokio::select! {
        biased;
        _ = &mut sending => panic!("the server does not respond"),
        connection = async {
            let mut connection = server.accept().await;
            connection.request().await;
            connection
        } => connection,
    };
    drop(sending);
    connection.closed().await;
}

#[tokio::test]
async fn dropping_the_future_of_a_chunk_loses_no_bytes() {
    let server = RawServer::bind().await;
    let http = client();
    let stream = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (response, (_, mut connection)) =
        tokio::join!(http.send(get(server.url("/"))), server.respond_once(stream));
    let mut body = response.unwrap().into_body();
    tokio::select! {
        biased;
        _ = body.chunk() => panic!("no chunk was sent"),
        () = std::future::ready(()) => {}
    }
    connection.write("3\r\none\r\n0\r\n\r\n").await;
    assert_eq!(within(body.chunk()).await.unwrap().unwrap(), "one");
    assert!(within(body.chunk()).await.is_none());
}
