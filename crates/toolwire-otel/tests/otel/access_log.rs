//! The access log of an HTTP server, which is independent of spans.

use std::sync::{Arc, Mutex};

use toolwire::transport::http::{AccessRecord, HttpListener, HttpOptions, HttpService};
use toolwire::types::SubscriptionFilter;
use toolwire::{Client, Era};

use super::*;

type Records = Arc<Mutex<Vec<AccessRecord>>>;

/// Serves with an access log, and connects a client with these headers.
async fn connect_over_http(era: Era, proxies: usize, forwarded: &str) -> (Client, Server, Records) {
    let records = Records::default();
    let sink = Arc::clone(&records);
    let options = HttpOptions::new()
        .with_trusted_proxies(proxies)
        .with_access_log(move |record| sink.lock().expect("no panic").push(record.clone()))
        .without_signals()
        .without_start_message();
    let server = server();
    let listener = HttpListener::bind(server.clone(), "127.0.0.1:0", options).await;
    let listener = listener.expect("a listener");
    let url = format!("{}?key=secret", listener.url());
    tokio::spawn(listener.run());
    let builder = Client::builder("agent", "1.0.0")
        .with_era(era)
        .with_header("x-forwarded-for", forwarded)
        .expect("a header");
    let client = builder.connect(&url).await.expect("a connection");
    (client, server, records)
}

fn find(records: &Records, method: &str) -> Vec<AccessRecord> {
    let records = records.lock().expect("no panic");
    let found = records
        .iter()
        .filter(|record| record.method.as_deref() == Some(method));
    found.cloned().collect()
}

#[tokio::test]
async fn each_request_has_a_record() {
    for era in [Era::Modern, Era::Legacy] {
        for (proxies, address) in [(0, "127.0.0.1"), (1, "192.0.2.7")] {
            let (client, server, records) =
                connect_over_http(era, proxies, "6.6.6.6, 192.0.2.7").await;
            send(&client, "tools/call add").await;
            send(&client, "tools/call missing").await;
            let has_records = || find(&records, "tools/call").len() >= 2;
            until("record", has_records).await;
            let calls = find(&records, "tools/call");
            let [added, missing] = &calls[..] else {
                panic!("{calls:?}");
            };
            assert_eq!(
                added.client.map(|client| client.to_string()).as_deref(),
                Some(address)
            );
            assert_eq!((&*added.http_method, &*added.path), ("POST", "/mcp"));
            assert_eq!(added.name.as_deref(), Some("add"));
            assert_eq!(added.status, Some(200));
            assert!(added.bytes > 20, "{added:?}");
            assert_eq!(added.session.is_some(), era == Era::Legacy);
            assert_eq!(missing.name.as_deref(), Some("missing"));
            let line = added.to_string();
            assert!(
                line.contains(r#""method":"tools/call","name":"add","status":200"#),
                "{line}"
            );
            assert!(!line.contains("secret"), "{line}");
            server.shutdown();
        }
    }
}

#[tokio::test]
async fn record_of_a_stream_is_written_at_its_end() {
    let (client, server, records) = connect_over_http(Era::Modern, 0, "6.6.6.6").await;
    let filter = SubscriptionFilter::new().with_tools_list_changed();
    let mut changes = client.listen(filter).await.expect("a subscription");
    server.remove_tool("add");
    changes.next().await.expect("a change");
    assert!(find(&records, "subscriptions/listen").is_empty());
    drop(changes);
    let has_ended = || !find(&records, "subscriptions/listen").is_empty();
    until("record", has_ended).await;
    let streams = find(&records, "subscriptions/listen");
    assert!(
        streams[0].bytes > 0 && streams[0].status == Some(200),
        "{streams:?}"
    );
    server.shutdown();
}

#[tokio::test]
async fn further_service_gets_the_headers_that_it_needs() {
    let records = Records::default();
    let sink = Arc::clone(&records);
    let quiet = || HttpOptions::new().without_signals().without_start_message();
    let listener = HttpListener::bind(server(), "127.0.0.1:0", quiet()).await;
    let listener = listener.expect("a listener");
    let further = quiet()
        .with_path("/mcp/notes")
        .with_trusted_proxies(1)
        .with_access_log(move |record| sink.lock().expect("no panic").push(record.clone()));
    listener
        .service()
        .add_service(HttpService::new(server(), further));
    let url = format!("{}/notes", listener.url());
    let serving = tokio::spawn(listener.run());
    let builder = Client::builder("agent", "1.0.0")
        .with_header("x-forwarded-for", "192.0.2.7")
        .expect("a header");
    let client = builder.connect(&url).await.expect("a connection");
    send(&client, "tools/call add").await;
    let has_record = || !find(&records, "tools/call").is_empty();
    until("record", has_record).await;
    let calls = find(&records, "tools/call");
    let address = calls[0].client.map(|client| client.to_string());
    assert_eq!(address.as_deref(), Some("192.0.2.7"), "{calls:?}");
    serving.abort();
}
