//! Property test: random handlers have the same result, effects and input requests in both eras.

use proptest::prelude::*;
use serde_json::json;
use toolwire::{ProtocolVersion, Server};
use toolwire_tests::scripts::{
    ExternalState, Recorder, Step, UserAction, scripted_client, scripted_tool,
};

use super::{LEGACY, MODERN, result_text};

fn action() -> impl Strategy<Value = UserAction> {
    prop_oneof![
        4 => Just(UserAction::Accept),
        1 => Just(UserAction::Decline),
        1 => Just(UserAction::Cancel),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let leaf = prop_oneof![
        action().prop_map(Step::Form),
        action().prop_map(Step::Must),
        action().prop_map(Step::Url),
        Just(Step::Model),
        Just(Step::Roots),
        (action(), action()).prop_map(|(form, url)| Step::Together(form, url)),
        prop::collection::vec(action(), 0..4).prop_map(Step::Each),
        (action(), action()).prop_map(|(one, other)| Step::Side(one, other)),
        prop::option::of(action()).prop_map(Step::Tools),
        Just(Step::Once),
        Just(Step::TryOnce),
        action().prop_map(Step::Inside),
        Just(Step::Fails { is_caught: true }),
        Just(Step::Fails { is_caught: false }),
        (0..4u8, action()).prop_map(|(times, action)| Step::Loop(times, action)),
        (1..3u8).prop_map(Step::NotYet),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        let steps = || prop::collection::vec(inner.clone(), 0..3);
        (steps(), steps()).prop_map(|(yes, no)| Step::Branch(yes, no))
    })
}

/// The outcome of a script.
#[derive(Debug, PartialEq)]
struct Outcome {
    text: String,
    effects: Vec<String>,
    /// Sorted, because the input requests of one round have no order.
    requested: Vec<String>,
}

async fn run_script(script: Vec<Step>, version: ProtocolVersion) -> Outcome {
    let (external, requested) = (ExternalState::default(), Recorder::default());
    let server = Server::new("scripts", "1").tool(scripted_tool(script, &external));
    let client = scripted_client(version, &requested)
        .in_process(&server)
        .await
        .expect("the client connects");
    let text = result_text(client.call_tool("run_script", json!({})).await);
    let mut requested = requested.take();
    requested.sort();
    Outcome {
        text,
        effects: external.effects.take(),
        requested,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn handler_has_the_same_outcome_in_both_eras(script in prop::collection::vec(step(), 0..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let [modern, legacy] = [MODERN, LEGACY].map(|version| {
            runtime.block_on(run_script(script.clone(), version))
        });
        prop_assert_eq!(modern, legacy);
    }
}
