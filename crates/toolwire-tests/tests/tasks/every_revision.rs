//! Property test: a handler has the same text, effects and input requests in every revision, over every transport, as an
//! ordinary call and as a task, also if it runs again after each input request.

#![expect(deprecated, reason = "deprecated features are tested, too")]

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use tokio::task::JoinSet;
use toolwire::tasks::{TaskOptions, Tasks};
use toolwire::transport::Limits;
use toolwire::transport::http::HttpOptions;
use toolwire::{
    CallToolResult, Called, Client, ClientBuilder, DetectedEra, Error, LegacyTransport,
    ProtocolVersion, Server,
};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::peer::within;
use toolwire_tests::scripts::{
    ExternalState, Recorder, Step, UserAction, scripted_client, scripted_tool,
};

/// Returns `true` if the step needs forms, which exist from 2025-06-18 on.
fn has_form(step: &Step) -> bool {
    matches!(
        step,
        Step::Form(_) | Step::Must(_) | Step::Each(_) | Step::Side(..)
    )
}

fn action() -> impl Strategy<Value = UserAction> {
    prop_oneof![
        4 => Just(UserAction::Accept),
        1 => Just(UserAction::Decline),
        1 => Just(UserAction::Cancel),
    ]
}

/// Returns a step that every revision supports.
fn old_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Model),
        1 => Just(Step::Roots),
        2 => Just(Step::Once),
        1 => any::<bool>().prop_map(|is_caught| Step::Fails { is_caught }),
        1 => Just(Step::Progress),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => old_step(),
        2 => action().prop_map(Step::Form),
        1 => action().prop_map(Step::Must),
        1 => prop::collection::vec(action(), 0..3).prop_map(Step::Each),
        1 => (action(), action()).prop_map(|(one, other)| Step::Side(one, other)),
    ]
}

fn script() -> impl Strategy<Value = Vec<Step>> {
    prop_oneof![
        1 => prop::collection::vec(old_step(), 1..5),
        2 => prop::collection::vec(step(), 1..5),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Stdio,
    Http,
}

/// How the call is processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The client does not support tasks.
    Direct,
    Task,
    /// A task whose handler ends at each input request, and runs again when the response arrives.
    Parked,
}

#[derive(Debug, Clone, Copy)]
struct Variant {
    version: ProtocolVersion,
    transport: Transport,
    mode: Mode,
}

impl Variant {
    fn is_task(self) -> bool {
        let has_tasks = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];
        self.mode != Mode::Direct && has_tasks.contains(&self.version)
    }

    /// Returns all variants that support the script.
    fn all(script: &[Step]) -> Vec<Self> {
        let mut variants = Vec::new();
        for version in ProtocolVersion::ALL {
            if script.iter().any(has_form) && version < ProtocolVersion::V2025_06_18 {
                continue;
            }
            for transport in [Transport::Stdio, Transport::Http] {
                for mode in [Mode::Direct, Mode::Task, Mode::Parked] {
                    variants.push(Self {
                        version,
                        transport,
                        mode,
                    });
                }
            }
        }
        variants
    }
}

/// The outcome of a script.
#[derive(Debug, PartialEq)]
struct Outcome {
    text: String,
    effects: Vec<String>,
    /// Sorted, because input requests that are open at the same time have no order.
    requested: Vec<String>,
}

async fn run_script(script: Vec<Step>, variant: Variant) -> Outcome {
    let (external, requested) = (ExternalState::default(), Recorder::default());
    let server = server(script, &external, variant.mode);
    let builder = client_builder(variant, &requested);
    let text = match variant.transport {
        Transport::Stdio => {
            let (client_end, server_end) = tokio::io::duplex(4096);
            let (reader, writer) = tokio::io::split(server_end);
            let serving =
                tokio::spawn(
                    async move { server.serve_io(reader, writer, Limits::default()).await },
                );
            let (reader, writer) = tokio::io::split(client_end);
            let client = builder.connect_io(reader, writer).await;
            let text = call(client.expect("the client connects"), variant).await;
            serving.abort();
            text
        }
        Transport::Http => {
            let endpoint = Endpoint::serve_with(&server, HttpOptions::new().with_http_sse()).await;
            let path = match variant.version {
                ProtocolVersion::V2024_11_05 => "sse",
                _ => "mcp",
            };
            let url = format!("http://{}/{path}", endpoint.address);
            let client = builder.connect(url).await;
            call(client.expect("the client connects"), variant).await
        }
    };
    let mut requested = requested.take();
    requested.sort();
    Outcome {
        text,
        effects: external.effects.take(),
        requested,
    }
}

fn server(script: Vec<Step>, external: &ExternalState, mode: Mode) -> Server {
    let tasks = Tasks::in_memory().with_poll_interval(Duration::from_millis(1));
    let tasks = if mode == Mode::Parked {
        tasks.with_park_after(Duration::ZERO)
    } else {
        tasks
    };
    Server::new("scripts", "1")
        .with_tasks(tasks)
        .tool(scripted_tool(script, external).with_task(TaskOptions::new()))
}

fn client_builder(variant: Variant, requested: &Recorder) -> ClientBuilder {
    let builder = scripted_client(variant.version, requested);
    let builder = match variant.mode {
        Mode::Direct => builder,
        Mode::Task | Mode::Parked => builder.with_tasks(),
    };
    if variant.transport == Transport::Http && variant.version == ProtocolVersion::V2024_11_05 {
        builder.with_detected_era(DetectedEra::Legacy {
            version: variant.version,
            transport: LegacyTransport::HttpWithSse,
        })
    } else {
        builder
    }
}

async fn call(client: Client, variant: Variant) -> String {
    assert_eq!(client.version(), variant.version);
    let call = client.call_tool("run_script", json!({}));
    let result = match variant.mode {
        Mode::Direct => call.await,
        Mode::Task | Mode::Parked => match call.as_task().await {
            Ok(Called::Task(task)) => {
                assert!(variant.is_task(), "{variant:?}");
                task.wait().await
            }
            Ok(Called::Completed(result)) => {
                assert!(!variant.is_task(), "{variant:?}");
                Ok(result)
            }
            Err(error) => Err(error),
        },
    };
    result_text(result)
}

fn result_text(result: Result<CallToolResult, Error>) -> String {
    match result {
        Ok(result) if result.is_error == Some(true) => format!("failed: {}", result.all_text()),
        Ok(result) => result.all_text(),
        Err(error) => error.to_string(),
    }
}

/// Runs all variants at the same time.
async fn run_variants(script: &[Step]) -> Vec<(Variant, Outcome)> {
    let mut running = JoinSet::new();
    for variant in Variant::all(script) {
        let script = script.to_vec();
        running.spawn(async move { (variant, run_script(script, variant).await) });
    }
    within(running.join_all()).await
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn handler_has_the_same_outcome_in_every_revision(script in script()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let outcomes = runtime.block_on(run_variants(&script));
        let (_, expected) = &outcomes[0];
        for (variant, outcome) in &outcomes {
            prop_assert_eq!(outcome, expected, "{:?}", variant);
        }
        let mut once = [expected.effects.clone(), expected.requested.clone()].concat();
        once.sort();
        once.dedup();
        // The roots are a list of the client, and not recorded.
        prop_assert_eq!(once.len(), expected.effects.len() + expected.requested.len());
    }
}
