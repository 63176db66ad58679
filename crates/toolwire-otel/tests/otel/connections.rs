//! The attributes of a connection.

use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{Client, Era};

use super::*;
use crate::metered::Metered;

#[tokio::test]
async fn spans_over_http_have_the_addresses_of_both_peers() {
    for era in [Era::Modern, Era::Legacy] {
        let (front, back, metered) = (Traced::new(), Traced::new(), Metered::new());
        let server = server().with_middleware(back.telemetry.clone());
        let options = HttpOptions::new().without_signals().without_start_message();
        let listener = HttpListener::bind(server, "127.0.0.1:0", options).await;
        let listener = listener.expect("a listener");
        let url = listener.url().to_owned();
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
        let (host, port) = address.split_once(':').expect("a port");
        let serving = tokio::spawn(listener.run());
        let telemetry = front.telemetry.clone();
        let builder = Client::builder("agent", "1.0.0")
            .with_era(era)
            .with_middleware(telemetry.with_meter_provider(&metered.provider));
        let client = builder.connect(&url).await.expect("a connection");
        front.take();
        back.take();
        send(&client, "tools/call add").await;
        let (sent, served) = (front.one("tools/call add"), back.one("tools/call add"));
        for (span, key, expected) in [
            (&sent, "server.address", Some(host)),
            (&sent, "server.port", Some(port)),
            (&sent, "client.address", None),
            (&sent, "network.transport", Some("tcp")),
            (&sent, "network.protocol.name", Some("http")),
            (&served, "client.address", Some("127.0.0.1")),
            (&served, "server.address", None),
            (&served, "network.transport", Some("tcp")),
            (&served, "network.protocol.name", Some("http")),
            (&served, "network.protocol.version", Some("1.1")),
        ] {
            let value = attribute(&span.attributes, key);
            assert_eq!(value.as_deref(), expected, "{era:?} {key}: {span:?}");
        }
        // The client chooses any free port, which is not that of the server.
        let client_port = attribute(&served.attributes, "client.port").expect("a port");
        assert_ne!(client_port, port);
        assert!(
            client_port.parse::<u16>().is_ok_and(|port| port > 0),
            "{client_port}"
        );
        let series = metered.series("mcp.client.operation.duration");
        let (attributes, _) = series.last().expect("a time series");
        let value = |key: &str| attribute(attributes, key);
        assert_eq!(value("server.address").as_deref(), Some(host));
        assert_eq!(value("server.port").as_deref(), Some(port));
        serving.abort();
    }
}

#[tokio::test]
async fn child_process_is_connected_by_a_pipe() {
    // The process ends without a response. The span of the failed request names the transport.
    let traced = Traced::new();
    let builder = Client::builder("agent", "1.0.0").with_middleware(traced.telemetry.clone());
    let program = std::env::current_exe().expect("the path of this program");
    let command = toolwire::ServerCommand::new(program).args(["--list"]);
    assert!(builder.spawn(command).await.is_err());
    let spans = traced.take();
    assert!(!spans.is_empty());
    for span in spans {
        let value = |key: &str| attribute(&span.attributes, key);
        assert_eq!(value("network.transport").as_deref(), Some("pipe"));
        assert_eq!(value("network.protocol.name"), None);
        assert_eq!(value("server.address"), None);
    }
}
