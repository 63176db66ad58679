//! Servers on a pair of streams of the author's own.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use toolwire::transport::Limits;
use toolwire_tests::channel_transport::{self, ChannelReader, ChannelWriter};
use toolwire_tests::peer::{complete, modern, plain, server, text, within};

fn call(id: u64) -> Value {
    modern(id, "tools/call", json!({"name": "hello", "arguments": {}}))
}

fn hello_server() -> toolwire::Server {
    server().tool(plain("hello", |_| async { "hello" }))
}

#[tokio::test]
async fn byte_streams_carry_one_message_per_line() {
    let (client, connection) = tokio::io::duplex(1024);
    let (reader, writer) = tokio::io::split(connection);
    let server = hello_server();
    let serving =
        tokio::spawn(async move { server.serve_io(reader, writer, Limits::default()).await });
    let (reader, mut writer) = tokio::io::split(client);
    let mut lines = BufReader::new(reader).lines();
    writer
        .write_all(format!("{}\nnonsense\n", call(1)).as_bytes())
        .await
        .unwrap();
    let response = within(lines.next_line()).await.unwrap().unwrap();
    let response: Value = serde_json::from_str(&response).unwrap();
    assert_eq!(response, complete(1, text("hello")));
    let error = within(lines.next_line()).await.unwrap().unwrap();
    assert!(error.contains("-32700"), "{error}");
    writer.shutdown().await.unwrap();
    assert_eq!(within(lines.next_line()).await.unwrap(), None);
    within(serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn line_over_the_limit_gets_an_error() {
    let (client, connection) = tokio::io::duplex(1024);
    let (reader, writer) = tokio::io::split(connection);
    let mut limits = Limits::default();
    limits.message_bytes = 100;
    let server = hello_server();
    let serving = tokio::spawn(async move { server.serve_io(reader, writer, limits).await });
    let (reader, mut writer) = tokio::io::split(client);
    let mut lines = BufReader::new(reader).lines();
    writer
        .write_all(format!("{}\n", "x".repeat(101)).as_bytes())
        .await
        .unwrap();
    let error = within(lines.next_line()).await.unwrap().unwrap();
    assert!(error.contains("longer than 100 bytes"), "{error}");
    drop((lines, writer));
    within(serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn message_streams_carry_messages_with_line_breaks() {
    let (ChannelReader(mut from_server), ChannelWriter(to_server), serving) =
        channel_transport::serve(hello_server());
    let pretty = serde_json::to_vec_pretty(&call(1)).unwrap();
    to_server.send(pretty).await.unwrap();
    let response = within(from_server.recv()).await.unwrap();
    let response: Value = serde_json::from_slice(&response).unwrap();
    assert_eq!(response, complete(1, text("hello")));
    drop(to_server);
    within(serving).await.unwrap().unwrap();
    assert_eq!(within(from_server.recv()).await, None);
}

#[tokio::test]
async fn failed_write_ends_the_connection_with_an_error() {
    let (from_server, ChannelWriter(to_server), serving) = channel_transport::serve(hello_server());
    drop(from_server);
    to_server
        .send(call(1).to_string().into_bytes())
        .await
        .unwrap();
    let error = within(serving).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("cannot be written"), "{error}");
}

#[tokio::test]
async fn shutdown_of_the_server_ends_the_connection() {
    let (_client, connection) = tokio::io::duplex(1024);
    let (reader, writer) = tokio::io::split(connection);
    let server = hello_server();
    let handle = server.clone();
    let serving =
        tokio::spawn(async move { server.serve_io(reader, writer, Limits::default()).await });
    handle.shutdown();
    within(serving).await.unwrap().unwrap();
}
