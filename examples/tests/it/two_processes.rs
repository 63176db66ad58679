//! Two processes of the example `onboarding`, which serve alternate requests of one client.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::uri::{Authority, Uri};
use serde_json::json;
use tokio::process::Command;
use tokio::task::JoinSet;
use toolwire::Era;
use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError, HyperClient};
use toolwire::types::ElicitResult;
use toolwire::{BoxFuture, Client, ClientBuilder};

use crate::client::program;
use crate::http::Example;
use crate::onboarding::{Asked, empty_desk_file, text};

const CALLS: usize = 50;

/// Sends each request to the next process.
#[derive(Debug)]
struct RoundRobin {
    processes: [Authority; 2],
    sent: AtomicUsize,
    http: HyperClient,
}

impl RoundRobin {
    fn new(processes: &[Example; 2]) -> Arc<Self> {
        Arc::new(Self {
            processes: [0, 1].map(|number| processes[number].address.parse().unwrap()),
            sent: AtomicUsize::new(0),
            http: HyperClient::new(),
        })
    }
}

impl HttpClient for RoundRobin {
    fn send(
        &self,
        mut request: http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<http::Response<ClientBody>, HttpError>> {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let mut parts = request.uri().clone().into_parts();
        parts.authority = Some(self.processes[number % 2].clone());
        *request.uri_mut() = Uri::from_parts(parts).unwrap();
        self.http.send(request)
    }
}

async fn process(desks: &Path, key: u8) -> Example {
    let key = format!("{key:02x}").repeat(32);
    let mut command = Command::new(program("onboarding"));
    Example::run(command.arg(desks).env("ONBOARDING_KEY", key)).await
}

/// Returns a client whose user names a different person in each call.
fn client(asked: &Asked, round_robin: &Arc<RoundRobin>) -> ClientBuilder {
    let asked = asked.clone();
    let named = AtomicUsize::new(0);
    Client::builder("test", "1.0.0")
        .with_era(Era::Modern)
        .with_http_client(Arc::clone(round_robin))
        .on_elicitation(move |form| {
            asked.record(&form.message);
            let content = if form.message == "Who is new?" {
                let number = named.fetch_add(1, Ordering::Relaxed) + 1;
                json!({"name": format!("Person {number}")})
            } else if form.message.starts_with("Which team") {
                json!({"team": "Design"})
            } else {
                json!({"inches": 16})
            };
            let result = json!({"action": "accept", "content": content});
            let result: ElicitResult = serde_json::from_value(result).unwrap();
            async move { Ok(result) }
        })
}

/// Returns the elicitations and outcomes that lead to this list of desks.
fn expected(desks: &str) -> (Vec<String>, Vec<String>) {
    let mut elicitations = Vec::new();
    let mut outcomes = Vec::new();
    for (index, line) in desks.lines().enumerate() {
        let name = line.strip_suffix(", Design").unwrap();
        let desk = index + 1;
        elicitations.extend([
            "Who is new?".to_owned(),
            format!("Which team does {name} join?"),
            format!("{name} has desk {desk} at Design. Which laptop goes there?"),
        ]);
        outcomes.push(format!(
            "{name} sits at desk {desk} at Design, with a laptop of 16 inches."
        ));
    }
    elicitations.sort();
    outcomes.sort();
    (elicitations, outcomes)
}

/// Checks the outcome of all calls: one desk per call, every elicitation once, and no desk shared.
fn check(desks: &Path, asked: &Asked, mut outcomes: Vec<String>) {
    let desks = fs::read_to_string(desks).unwrap();
    assert_eq!(desks.lines().count(), CALLS, "{desks}");
    let (elicitations, expected) = expected(&desks);
    let mut asked = asked.take();
    asked.sort();
    assert_eq!(asked, elicitations);
    outcomes.sort();
    assert_eq!(outcomes, expected);
}

#[tokio::test]
async fn rounds_of_one_call_can_use_different_processes() {
    let desks = empty_desk_file("two_processes_sequential");
    let processes = [process(&desks, 7).await, process(&desks, 7).await];
    let (asked, round_robin) = (Asked::default(), RoundRobin::new(&processes));
    let client = client(&asked, &round_robin).connect(processes[0].url());
    let client = client.await.unwrap();
    let mut outcomes = Vec::new();
    for _ in 0..CALLS {
        let before = round_robin.sent.load(Ordering::Relaxed);
        let result = client.call_tool("welcome", ()).await.unwrap();
        outcomes.push(text(&result).to_owned());
        // Each call has four rounds, which alternate between the processes.
        assert_eq!(round_robin.sent.load(Ordering::Relaxed) - before, 4);
    }
    check(&desks, &asked, outcomes);
    client.close().await;
}

#[tokio::test]
async fn concurrent_calls_do_not_mix() {
    let desks = empty_desk_file("two_processes_concurrent");
    let processes = [process(&desks, 7).await, process(&desks, 7).await];
    let (asked, round_robin) = (Asked::default(), RoundRobin::new(&processes));
    let client = client(&asked, &round_robin).connect(processes[0].url());
    let client = client.await.unwrap();
    let mut calls = JoinSet::new();
    for _ in 0..CALLS {
        let client = client.clone();
        calls.spawn(async move {
            let result = client.call_tool("welcome", ()).await.unwrap();
            text(&result).to_owned()
        });
    }
    let outcomes = calls.join_all().await;
    check(&desks, &asked, outcomes);
    client.close().await;
}

#[tokio::test]
async fn processes_with_different_keys_reject_each_others_state() {
    let desks = empty_desk_file("two_processes_different_keys");
    let processes = [process(&desks, 7).await, process(&desks, 8).await];
    let (asked, round_robin) = (Asked::default(), RoundRobin::new(&processes));
    let client = client(&asked, &round_robin).connect(processes[0].url());
    let client = client.await.unwrap();
    let error = client.call_tool("welcome", ()).await.unwrap_err();
    let rpc = error.rpc().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(rpc.code, -32602, "{error}");
    assert_eq!(rpc.message, "requestState is invalid or has expired");
    assert_eq!(asked.take(), ["Who is new?"]);
    assert_eq!(fs::read_to_string(&desks).unwrap(), "");
    client.close().await;
}
