//! Property test: with any input responses and deployments, no response is used for another input request.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolwire::{Error, KeyRing, RequestContext, Server, StateKey, ask};
use toolwire_tests::peer::plain;

use super::manual_call::{ManualCall, Round};
use super::{Name, accept};

/// The behaviour of a client in one round.
#[derive(Debug, Clone)]
struct Move {
    /// A bit mask of the input requests that get a response.
    responses: u8,
    /// The number of rounds that the client goes back.
    back: usize,
    /// Whether the client also sends responses that were not requested.
    sends_unrequested: bool,
    /// The deployment that receives the round.
    deploy: usize,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let back = prop_oneof![3 => Just(0), 1 => 1..4usize];
    let one = (any::<u8>(), back, any::<bool>(), 0..2usize).prop_map(
        |(responses, back, sends_unrequested, deploy)| Move {
            responses,
            back,
            sends_unrequested,
            deploy,
        },
    );
    prop::collection::vec(one, 0..12)
}

/// Returns a server that asks in groups. Each message names its deployment, except those that are equal in both.
fn server(deploy: usize, groups: Vec<usize>) -> Server {
    let tool = plain("work", move |ctx: RequestContext| {
        let groups = groups.clone();
        async move {
            let (mut number, mut lines) = (0, Vec::new());
            for size in groups {
                let numbers = number..number + size;
                number += size;
                let message = |number: usize| match number % 3 {
                    0 => format!("{number}?"),
                    _ => format!("{number} of {deploy}?"),
                };
                let form = |number: usize| ask::form::<Name>(format!("k{number}"), message(number));
                let input_requests: Vec<_> = numbers.clone().map(form).collect();
                let responses = ctx.ask_all(input_requests).await?;
                for (number, response) in numbers.zip(responses) {
                    lines.push(format!("{} {}", message(number), response.name));
                }
            }
            Ok::<_, Error>(lines.join("\n"))
        }
    });
    Server::new("service", "1")
        .with_request_state_keys(KeyRing::new(StateKey::new([7; 32])))
        .tool(tool)
}

/// Returns responses that repeat the messages of the input requests. Responses that were not requested are wrong.
fn responses(round: &Round, chosen: u8, sends_unrequested: bool) -> Value {
    let mut responses = Map::new();
    if sends_unrequested {
        for number in 0..12 {
            responses.insert(
                format!("k{number}"),
                accept(json!({"name": "not requested"})),
            );
        }
    }
    for (number, key) in round.input_keys().into_iter().enumerate() {
        responses.remove(key);
        if chosen >> (number % 8) & 1 == 1 {
            let message = &round.input_request(key)["params"]["message"];
            responses.insert(key.to_owned(), accept(json!({"name": message})));
        }
    }
    Value::Object(responses)
}

async fn run_client(groups: Vec<usize>, moves: Vec<Move>) -> Result<String, String> {
    let mut deploys =
        [0, 1].map(|deploy| ManualCall::call(&server(deploy, groups.clone()), "work"));
    let mut rounds = vec![deploys[0].start().await];
    for Move {
        responses: chosen,
        back,
        sends_unrequested,
        deploy,
    } in moves
    {
        let before = &rounds[rounds.len().saturating_sub(1 + back)];
        if !before.is_open() {
            break;
        }
        let responses = responses(before, chosen, sends_unrequested);
        let next = deploys[deploy].respond(before, responses).await;
        rounds.push(next);
    }
    // From here on the client responds to every input request.
    let mut last = rounds.pop().expect("there is a first round");
    for _ in 0..20 {
        if !last.is_open() {
            return Ok(last.text());
        }
        let responses = responses(&last, u8::MAX, false);
        last = deploys[0].respond(&last, responses).await;
    }
    Err(format!("still open: {last:?}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_response_is_used_for_another_input_request(
        groups in prop::collection::vec(1..4usize, 0..4),
        moves in moves(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let input_requests: usize = groups.iter().sum();
        let text = runtime.block_on(run_client(groups, moves)).map_err(TestCaseError::fail)?;
        prop_assert_eq!(text.lines().count(), input_requests, "{}", text);
        for line in text.lines() {
            let (input_request, response) = line.split_once("? ").expect("a message and a response");
            prop_assert_eq!(format!("{input_request}?"), response);
        }
    }
}
