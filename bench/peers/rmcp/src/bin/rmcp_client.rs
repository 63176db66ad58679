//! The calls of `bench-client`, made by rmcp: `rmcp-client URL CONCURRENCY SECONDS`.
//!
//! One client calls `echo` with 100 bytes, with this many concurrent calls. The last line is
//! `{"calls":N,"secs":S,"cpu_s":C}`.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _};
use rustix::time::{ClockId, clock_gettime};

/// Returns the CPU time of this process.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, at_once, seconds] = arguments.as_slice() else {
        return Err("usage: rmcp-client URL CONCURRENCY SECONDS".into());
    };
    let (at_once, seconds): (usize, f64) = (at_once.parse()?, seconds.parse()?);
    let transport = StreamableHttpClientTransport::from_config(
        StreamableHttpClientTransportConfig::with_uri(url.as_str()),
    );
    let lifecycle = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    let client = Arc::new(
        ClientConfig::default()
            .serve_with_lifecycle(transport, lifecycle)
            .await?,
    );
    let text = "x".repeat(100);
    let mut arguments = serde_json::Map::new();
    arguments.insert("text".to_owned(), text.clone().into());
    let call = CallToolRequestParams::new("echo").with_arguments(arguments);

    let start = Instant::now();
    let processor_before = processor_seconds();
    let end = start + Duration::from_secs_f64(seconds);
    let callers: Vec<_> = (0..at_once)
        .map(|_| {
            let (client, call, text) = (Arc::clone(&client), call.clone(), text.clone());
            tokio::spawn(async move {
                let mut calls = 0_u64;
                while Instant::now() < end {
                    let result = client.call_tool(call.clone()).await?;
                    let echoed = result.content.first().and_then(|content| content.as_text());
                    if echoed.is_none_or(|echoed| echoed.text != text) {
                        return Err("the result is not the text that was sent".into());
                    }
                    calls += 1;
                }
                Ok::<u64, Box<dyn Error + Send + Sync>>(calls)
            })
        })
        .collect();
    let mut calls = 0;
    for caller in callers {
        calls += caller.await??;
    }
    let secs = start.elapsed().as_secs_f64();
    let cpu_s = processor_seconds() - processor_before;
    writeln!(
        std::io::stdout(),
        r#"{{"calls":{calls},"secs":{secs:.6},"cpu_s":{cpu_s:.6}}}"#
    )?;
    Ok(())
}
