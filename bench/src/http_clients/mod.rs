//! Measures the cost of the client's HTTP: toolwire's own and reqwest, behind the same trait.
//!
//! Both send the same small `tools/call` to the same server, sequentially and concurrently, in alternate rounds, so
//! that other load on the machine affects both. The best round of each is used.

mod report;
mod reqwest_http;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use serde_json::json;
use tokio::task::JoinSet;
use toolwire::transport::http_client::{HttpClient, HyperClient};
use toolwire_types::{ProtocolVersion, meta_key};

pub use self::report::{Contest, Report};
use self::reqwest_http::ReqwestHttp;

/// The maximum size of a response. Expected responses are shorter.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// The options of the run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The number of calls per round. Default: 20,000.
    pub calls: usize,
    /// The number of concurrent calls in the concurrent rounds. Default: 64.
    pub at_once: usize,
    /// The number of rounds per client. Default: 5.
    pub rounds: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            calls: 20_000,
            at_once: 64,
            rounds: 5,
        }
    }
}

/// Makes the calls with both clients.
///
/// # Errors
/// Returns an error if a call fails, because a failing run is not worth measuring.
pub async fn run(url: &str, options: &Options) -> io::Result<Report> {
    let own: Arc<dyn HttpClient> = Arc::new(HyperClient::new().without_proxy());
    let reqwest: Arc<dyn HttpClient> = Arc::new(ReqwestHttp::new().map_err(io::Error::other)?);
    let call = Call::new(url).map_err(io::Error::other)?;
    let mut one_at_a_time = Contest::new(options.calls);
    let mut many_at_once = Contest::new(options.calls);
    for _ in 0..options.rounds {
        for (at_once, contest) in [
            (1, &mut one_at_a_time),
            (options.at_once, &mut many_at_once),
        ] {
            contest.own(round(&own, &call, options.calls, at_once).await?);
            contest.reqwest(round(&reqwest, &call, options.calls, at_once).await?);
        }
    }
    Ok(Report {
        at_once: options.at_once,
        one_at_a_time,
        many_at_once,
    })
}

/// Makes this many calls, shared by this many tasks.
async fn round(
    client: &Arc<dyn HttpClient>,
    call: &Call,
    calls: usize,
    at_once: usize,
) -> io::Result<Duration> {
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for index in 0..at_once {
        let (client, call) = (Arc::clone(client), call.clone());
        let share = calls / at_once + usize::from(index < calls % at_once);
        tasks.spawn(async move {
            for _ in 0..share {
                call.make(&*client).await?;
            }
            io::Result::Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(start.elapsed())
}

/// The repeated request.
#[derive(Clone)]
struct Call(Request<Bytes>);

impl Call {
    fn new(url: &str) -> http::Result<Self> {
        let body = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {
                "name": "echo",
                "arguments": { "text": "hello" },
                "_meta": {
                    meta_key::PROTOCOL_VERSION: ProtocolVersion::LATEST.as_str(),
                    meta_key::CLIENT_CAPABILITIES: {},
                },
            },
        });
        Request::post(url)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .header("mcp-protocol-version", ProtocolVersion::LATEST.as_str())
            .header("mcp-method", "tools/call")
            .header("mcp-name", "echo")
            .body(Bytes::from(body.to_string()))
            .map(Self)
    }

    async fn make(&self, client: &dyn HttpClient) -> io::Result<()> {
        let response = client
            .send(self.0.clone())
            .await
            .map_err(io::Error::other)?;
        let status = response.status();
        let body = response
            .into_body()
            .collect(MAX_RESPONSE_BYTES)
            .await
            .map_err(io::Error::other)?;
        if status != 200 {
            let body = String::from_utf8_lossy(&body);
            let message = format!("the server responded with status {status}: {body:.300}");
            return Err(io::Error::other(message));
        }
        Ok(())
    }
}
