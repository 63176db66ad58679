//! Two nodes of the example `fleet` with a real engine: whatever one node begins, the other can continue.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::uri::{Authority, Uri};
use serde_json::json;
use tokio::process::Command;
use tokio::sync::mpsc;
use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError, HyperClient};
use toolwire::types::ElicitResult;
use toolwire::{BoxFuture, Client, ClientBuilder, Era};
use toolwire_tests::engine::{Engine, IN_MEMORY};

use crate::client::program;
use crate::http::Example;
use crate::jobs::{ERAS, Job};
use crate::onboarding::text;

/// Several nodes, and their engine.
pub(crate) struct Fleet {
    pub(crate) nodes: Vec<Example>,
    engine: Engine,
}

impl Fleet {
    pub(crate) async fn start(nodes: usize, engine_arguments: &[&str]) -> Self {
        let mut fleet = Self {
            nodes: Vec::new(),
            engine: Engine::start(engine_arguments).unwrap(),
        };
        for number in 0..nodes {
            let mut command = Command::new(program("fleet"));
            command.arg(fleet.engine.url());
            command.env("HOSTNAME", format!("node-{number}"));
            command.env_remove("FLEET_HOSTS");
            fleet.nodes.push(Example::run(&mut command).await);
        }
        fleet
    }
}

/// Sends calls of tools to the first node, and all other messages to the second. In 2026-07-28, where a user's response
/// is part of a call, calls alternate between the nodes.
#[derive(Debug)]
struct Balancer {
    era: Era,
    nodes: [Authority; 2],
    calls: AtomicUsize,
    http: HyperClient,
}

impl Balancer {
    fn node_for(&self, body: &[u8]) -> usize {
        let is_call = String::from_utf8_lossy(body).contains("\"tools/call\"");
        match self.era {
            _ if !is_call => 1,
            Era::Legacy => 0,
            _ => self.calls.fetch_add(1, Ordering::Relaxed) % 2,
        }
    }
}

impl HttpClient for Balancer {
    fn send(
        &self,
        mut request: http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<http::Response<ClientBody>, HttpError>> {
        let node = self.node_for(request.body());
        let mut parts = request.uri().clone().into_parts();
        parts.authority = Some(self.nodes[node].clone());
        *request.uri_mut() = Uri::from_parts(parts).unwrap();
        self.http.send(request)
    }
}

/// Returns a client whose user agrees.
pub(crate) fn agreeing_client() -> ClientBuilder {
    Client::builder("test", "1.0.0").on_elicitation(|_| async {
        let result = json!({"action": "accept", "content": {}});
        let result: ElicitResult = serde_json::from_value(result).unwrap();
        Ok(result)
    })
}

#[tokio::test]
async fn nodes_continue_what_other_nodes_began() {
    let fleet = Fleet::start(2, &IN_MEMORY).await;
    // In 2025-11-25 the first node runs the call. In 2026-07-28 the second node runs the second round.
    let cases = [
        (Era::Legacy, "shipped to Oslo from node-0"),
        (Era::Modern, "shipped to Oslo from node-1"),
    ];
    for (era, shipped) in cases {
        let balancer = Balancer {
            era,
            nodes: [0, 1].map(|number: usize| fleet.nodes[number].address.parse().unwrap()),
            calls: AtomicUsize::new(0),
            http: HyperClient::new(),
        };
        let client = agreeing_client()
            .with_era(era)
            .with_http_client(Arc::new(balancer))
            .connect(fleet.nodes[1].url())
            .await
            .unwrap();
        // The session begins at the second node, which also gets the response of the user.
        let result = client.call_tool("ship", json!({"city": "Oslo"})).await;
        assert_eq!(text(&result.unwrap()), shipped);
        let (sender, mut progress) = mpsc::unbounded_channel();
        let call = client.call_tool("pack", json!({"parcels": 3}));
        let call = call.on_progress(move |report| {
            let _ = sender.send(report.progress);
        });
        let result = call.await.unwrap();
        assert_eq!(text(&result), "packed 3 parcels at node-0");
        for parcel in [1.0, 2.0, 3.0] {
            assert_eq!(progress.recv().await, Some(parcel));
        }
        client.close().await;
    }
}

#[tokio::test]
async fn node_completes_its_calls_after_sigterm() {
    let mut fleet = Fleet::start(2, &IN_MEMORY).await;
    for era in [Era::Legacy, Era::Modern] {
        let node = fleet.nodes.remove(0);
        let client = agreeing_client().with_era(era).connect(node.url()).await;
        let client = client.unwrap();
        let (sender, mut progress) = mpsc::unbounded_channel();
        let call = tokio::spawn(async move {
            let call = client.call_tool("pack", json!({"parcels": 20}));
            let call = call.on_progress(move |report| {
                let _ = sender.send(report.progress);
            });
            call.await
        });
        // The call runs when its first progress arrives.
        assert_eq!(progress.recv().await, Some(1.0));
        node.terminate();
        let result = call.await.unwrap().unwrap();
        assert!(text(&result).starts_with("packed 20 parcels"), "{era:?}");
        let status = node.exited().await;
        assert!(status.success(), "{era:?}: {status}");
    }
}

#[tokio::test]
async fn client_packs_and_ships_on_each_node() {
    let fleet = Fleet::start(2, &IN_MEMORY).await;
    for (number, node) in fleet.nodes.iter().enumerate() {
        for era in ERAS {
            let url = node.url();
            let arguments = [&[url.as_str()], era].concat();
            let expected = [
                "1 of 3",
                "2 of 3",
                "3 of 3",
                &format!("packed 3 parcels at node-{number}"),
                "Ship the parcel to Oslo? Yes.",
                &format!("shipped to Oslo from node-{number}"),
            ];
            let lines = Job::new("fleet").client_lines(&arguments).await;
            assert_eq!(lines, expected, "{era:?}");
        }
    }
}
