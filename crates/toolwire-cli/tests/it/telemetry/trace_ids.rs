//! The id of the trace in the errors of a proxy and of a gateway.

use std::time::{Duration, Instant};

use toolwire::{Server, tool};

use super::collector::Collector;
use super::{PROGRAM, TIMEOUT};
use crate::client::small_server::SmallServer;
use crate::client::{CommandOutput, TempDirectory, run, run_command};
use crate::http::HttpDemo;
use crate::process::toolwire;

/// Looks.
#[tool]
async fn look() -> &'static str {
    "seen"
}

/// Checks that the error of a command has the id of a trace that the collector has or receives.
async fn check(output: CommandOutput, collector: &Collector) {
    let text = output.stdout + &output.stderr;
    assert_ne!(output.code, Some(0), "{text}");
    let id = text.split_once("\"traceId\":\"");
    let (_, id) = id.unwrap_or_else(|| panic!("no id: {text}"));
    let id = &id[..32];
    let start = Instant::now();
    loop {
        let spans = collector.spans();
        let mut traces = spans.iter().map(|span| {
            let digits = span.trace.iter().map(|byte| format!("{byte:02x}"));
            digits.collect::<String>()
        });
        if traces.any(|trace| trace == id) {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "{id}: {spans:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn errors_of_a_proxy_and_a_gateway_have_it_on_request() {
    let collector = Collector::start();
    let mut proxy = toolwire(&["proxy", "--listen", "127.0.0.1:0", "--lazy"]);
    proxy.args(["--trace-ids-in-errors", "--", "no-such-command-anywhere"]);
    collector.observe(&mut proxy);
    let proxy = HttpDemo::start_command(proxy).await;
    let call = ["call", &proxy.url(), "any", "--json"];
    check(run(&call).await, &collector).await;

    // A gateway offers the tools of a server that it could reach at its start.
    let server = SmallServer::start(Server::new("small", "1.0.0").tool(look)).await;
    let directory = TempDirectory::new("trace-ids");
    let config = format!(
        "listen = \"127.0.0.1:0\"\n[upstream.small]\nurl = \"{}\"\n",
        server.url()
    );
    let config = directory.write("gateway.toml", &config);
    let mut gateway = toolwire(&["gateway", "--config", &config, "--trace-ids-in-errors"]);
    collector.observe(&mut gateway);
    let gateway = HttpDemo::start_command(gateway).await;
    let call = ["call", &gateway.url(), "small_look", "--json"];
    run(&call).await.ok();
    server.stop().await;
    check(run(&call).await, &collector).await;
}

#[tokio::test]
async fn option_without_a_collector_is_reported() {
    // Without input, the proxy ends.
    let mut proxy = toolwire(&["proxy", "--trace-ids-in-errors"]);
    proxy.args(["--", PROGRAM, "demo", "--stdio"]);
    let output = run_command(proxy).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    let expected = "--trace-ids-in-errors has no effect, because no spans are exported";
    assert!(output.stderr.contains(expected), "{output:?}");
}
