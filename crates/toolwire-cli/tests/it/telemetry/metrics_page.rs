//! The page with metrics.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::{PROGRAM, TIMEOUT};
use crate::client::{TempDirectory, run_command};
use crate::http::HttpDemo;
use crate::process::toolwire;

/// Requests a page, and returns the status and the body.
async fn get(address: &str, path: &str, host: &str) -> (String, String) {
    let (address, path) = (address.to_owned(), path.to_owned());
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let reading = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        let (head, body) = response.split_once("\r\n\r\n").expect("headers");
        let status = head.split(' ').nth(1).expect("a status");
        (status.to_owned(), body.to_owned())
    });
    reading.await.expect("no panic")
}

/// Returns the address of the page with metrics.
fn page_address(started: &HttpDemo) -> String {
    let mut lines = started.logged().iter();
    let page = lines.find_map(|line| line.strip_prefix("metrics at http://"));
    let address = page.and_then(|page| page.strip_suffix("/metrics"));
    address.expect("the address").to_owned()
}

/// Calls a tool once, and returns the page as soon as it counts the call.
async fn metrics_after_call(started: &HttpDemo, tool: &str, secret: &str) -> String {
    let address = page_address(started);
    let url = started.url();
    let call = ["call", &url, tool, "a=1", "b=2", "--json"];
    let mut call = toolwire(&call);
    call.args(["--header", &format!("X-Key: {secret}")]);
    run_command(call).await.json();
    let text = format!("text={secret}");
    let echo = tool.replace("add", "echo");
    run_command(toolwire(&["call", &url, &echo, &text]))
        .await
        .ok();
    let start = Instant::now();
    loop {
        let (status, text) = get(&address, "/metrics", &address).await;
        // Before the first collection there is no text.
        assert!(status == "200" || status == "503", "{status}");
        let count = |tool: &str| {
            let name = format!("gen_ai_tool_name=\"{tool}\"");
            text.lines()
                .find(|line| {
                    line.starts_with("mcp_server_operation_duration_seconds_count{")
                        && line.contains(&name)
                })
                .map(str::to_owned)
        };
        // The page has the text of the last collection.
        if let (Some(count), Some(_)) = (count(tool), count(&echo)) {
            assert!(count.ends_with(" 1"), "{text}");
            assert!(!text.contains(secret), "{text}");
            return text;
        }
        assert!(start.elapsed() < TIMEOUT, "{text}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn proxy_and_record_serve_metrics() {
    let directory = TempDirectory::new("metrics");
    let record = directory.0.join("a.mcplog").display().to_string();
    for command in [&["proxy"][..], &["record", &record]] {
        let mut proxy = toolwire(command);
        proxy.args(["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
        proxy.args(["--", PROGRAM, "demo", "--stdio"]);
        let proxy = HttpDemo::start_command(proxy).await;
        let text = metrics_after_call(&proxy, "add", "canary-of-the-call").await;
        for expected in [
            "mcp_client_operation_duration_seconds_bucket",
            "toolwire_relay_upstream_up{toolwire_upstream=\"upstream\"} 1",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let address = page_address(&proxy);
        assert_eq!(get(&address, "/metrics", "evil.test").await.0, "403");
        assert_eq!(get(&address, "/", &address).await.0, "404");
    }
}

#[tokio::test]
async fn gateway_serves_metrics_of_each_upstream() {
    const SECRET: &str = "canary-of-the-upstream";
    let directory = TempDirectory::new("gateway-metrics");
    let config = format!(
        "listen = \"127.0.0.1:0\"\n\
         [upstream.demo]\ncommand = [{PROGRAM:?}, \"demo\", \"--stdio\"]\nenv = {{ KEY = \"{SECRET}\" }}\n\
         [upstream.gone]\nurl = \"http://127.0.0.1:9/mcp?key={SECRET}\"\n"
    );
    let config = directory.write("gateway.toml", &config);
    let gateway = toolwire(&["gateway", "--config", &config, "--metrics", "127.0.0.1:0"]);
    let gateway = HttpDemo::start_command(gateway).await;
    let text = metrics_after_call(&gateway, "demo_add", SECRET).await;
    for expected in [
        "toolwire_relay_upstream_up{toolwire_upstream=\"demo\"} 1",
        "toolwire_relay_upstream_up{toolwire_upstream=\"gone\"} 0",
        "toolwire_upstream=\"demo\"",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[tokio::test]
async fn metrics_beyond_loopback_need_a_permission() {
    let failed = toolwire(&[
        "proxy",
        "--lazy",
        "--metrics",
        "0.0.0.0:0",
        "http://127.0.0.1:9/mcp",
    ]);
    let failed = run_command(failed).await.failed(2);
    let expected = "toolwire: --metrics 0.0.0.0:0: other machines could read the metrics\n  try: listen on 127.0.0.1, or permit it with --insecure-open\n";
    assert_eq!(failed, expected);
}
