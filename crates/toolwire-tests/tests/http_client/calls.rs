//! Calls over HTTP in each protocol version.

use std::time::Duration;

use serde_json::json;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::transport::http_client::HyperClient;
use toolwire::{
    Client, ClientBuilder, ClientLimits, ProtocolVersion, RequestContext, Server, tool,
};
use toolwire_tests::peer::within;

/// Adds two integers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Counts, with progress.
#[tool]
async fn count(context: &RequestContext, to: u32) -> u32 {
    for number in 1..=to {
        context.report_progress(f64::from(number), Some(f64::from(to)), None);
        tokio::task::yield_now().await;
    }
    to
}

/// Asks for a name.
#[tool]
async fn greet(context: &RequestContext) -> Result<String, toolwire::Error> {
    let _ = context;
    Ok("hello".to_owned())
}

async fn start_server(options: HttpOptions) -> String {
    let server = Server::new("demo", "1.0.0")
        .tool(add)
        .tool(count)
        .tool(greet);
    let listener = HttpListener::bind(server, "127.0.0.1:0", options.without_signals())
        .await
        .expect("a free port");
    let url = listener.url().to_owned();
    tokio::spawn(listener.run());
    url
}

async fn check(client: &Client) {
    let tools = within(client.list_tools().into_future()).await.unwrap();
    assert_eq!(tools.len(), 3);
    let sum = within(
        client
            .call_tool("add", json!({"a": 1, "b": 2}))
            .into_future(),
    )
    .await;
    assert_eq!(sum.unwrap().content[0].as_text(), Some("3"));
    let (call, mut progress) = client.call_tool("count", json!({"to": 3})).with_progress();
    let counted = within(call.into_future()).await.unwrap();
    assert_eq!(counted.content[0].as_text(), Some("3"));
    let mut last = 0;
    while let Some(report) = progress.next().await {
        assert!(report.progress > f64::from(last));
        last = report.progress as u32;
    }
    assert_eq!(last, 3);
}

#[tokio::test]
async fn every_protocol_version_works_over_http() {
    let url = start_server(HttpOptions::new()).await;
    let client = within(Client::connect(&url)).await.unwrap();
    assert_eq!(client.version(), ProtocolVersion::LATEST);
    check(&client).await;
    client.close().await;
    for version in ProtocolVersion::ALL {
        let connecting = ClientBuilder::new("test", "1").with_versions([version]);
        let client = match within(connecting.connect(&url)).await {
            Ok(client) => client,
            Err(error) => {
                panic!("{version}: {error:?}");
            }
        };
        assert_eq!(client.version(), version);
        check(&client).await;
        client.close().await;
    }
}

#[tokio::test]
async fn every_timeout_may_be_the_maximum_duration() {
    let never = Duration::MAX;
    let url = start_server(HttpOptions::new()).await;
    let mut limits = ClientLimits::default();
    limits.timeout = never;
    limits.max_timeout = never;
    limits.connect_timeout = never;
    limits.probe_timeout = never;
    limits.exit_grace = never;
    for version in ProtocolVersion::ALL {
        let http = HyperClient::new()
            .with_connect_timeout(never)
            .with_idle_timeout(never);
        let connecting = ClientBuilder::new("test", "1")
            .with_versions([version])
            .with_limits(limits.clone())
            .with_http_client(http);
        let client = within(connecting.connect(&url)).await.unwrap();
        check(&client).await;
        client.close().await;
    }
}
