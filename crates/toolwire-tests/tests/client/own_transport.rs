//! Clients on a pair of streams of the author's own.

use serde_json::json;
use toolwire::transport::Limits;
use toolwire::{Client, ClientBuilder, ClientLimits, Era};
use toolwire_tests::channel_transport;
use toolwire_tests::peer::{plain, server, within};

fn hello_server() -> toolwire::Server {
    server()
        .tool(plain("hello", |_| async { "hello" }))
        .tool(plain("long", |_| async { "x".repeat(2000) }))
}

#[tokio::test]
async fn client_and_server_talk_over_byte_streams_in_both_eras() {
    for era in [Era::Modern, Era::Legacy] {
        let (client_end, server_end) = tokio::io::duplex(64);
        let (reader, writer) = tokio::io::split(server_end);
        let server = hello_server();
        let serving =
            tokio::spawn(async move { server.serve_io(reader, writer, Limits::default()).await });
        let (reader, writer) = tokio::io::split(client_end);
        let builder = ClientBuilder::new("test", "1").with_era(era);
        let client = within(builder.connect_io(reader, writer)).await.unwrap();
        let result = within(client.call_tool("hello", json!({})).into_future())
            .await
            .unwrap();
        assert_eq!(result.all_text(), "hello");
        within(client.close()).await;
        within(serving).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn client_and_server_talk_over_message_streams() {
    let (reader, writer, serving) = channel_transport::serve(hello_server());
    let connecting = Client::connect_messages(reader, writer);
    let client = within(connecting).await.unwrap();
    let result = within(client.call_tool("hello", json!({})).into_future())
        .await
        .unwrap();
    assert_eq!(result.all_text(), "hello");
    drop(client);
    within(serving).await.unwrap().unwrap();
}

fn builder_with_small_messages() -> ClientBuilder {
    let mut limits = ClientLimits::default();
    limits.message_bytes = 1000;
    ClientBuilder::new("test", "1").with_limits(limits)
}

/// Checks that a response over the limit fails its call, and that the next call succeeds.
async fn check_limit(client: Client) {
    let failed = within(client.call_tool("long", json!({})).into_future()).await;
    let error = failed.expect_err("the response is too long");
    assert!(error.is_limit(), "{error}");
    let called = within(client.call_tool("hello", json!({})).into_future()).await;
    let result = called.expect("a response");
    assert_eq!(result.all_text(), "hello");
}

#[tokio::test]
async fn response_over_the_limit_fails_only_its_call_on_byte_streams() {
    let (client_end, server_end) = tokio::io::duplex(64);
    let (reader, writer) = tokio::io::split(server_end);
    let server = hello_server();
    tokio::spawn(async move { server.serve_io(reader, writer, Limits::default()).await });
    let (reader, writer) = tokio::io::split(client_end);
    let connecting = builder_with_small_messages().connect_io(reader, writer);
    check_limit(within(connecting).await.unwrap()).await;
}

#[tokio::test]
async fn response_over_the_limit_fails_only_its_call_on_message_streams() {
    let (reader, writer, _serving) = channel_transport::serve(hello_server());
    let connecting = builder_with_small_messages().connect_messages(reader, writer);
    check_limit(within(connecting).await.unwrap()).await;
}

#[tokio::test]
async fn end_of_the_stream_fails_the_call_with_its_reason() {
    let (client_end, server_end) = tokio::io::duplex(1024);
    drop(server_end);
    let (reader, writer) = tokio::io::split(client_end);
    let error = within(Client::connect_io(reader, writer))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("ended the connection"),
        "{error}"
    );
}
