//! Whatever a client sends back, and whichever deploy it meets, no answer goes to another question.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolwire::{Error, KeyRing, RequestContext, Server, StateKey, ask};

use super::by_hand::{ByHand, Round};
use super::{Name, accept};
use crate::peer::plain;

/// What a client does in one round.
#[derive(Debug, Clone)]
struct Move {
    /// Which of the questions it answers, bit by bit.
    answers: u8,
    /// How many rounds it goes back.
    back: usize,
    /// Whether it answers everything that was not asked, too.
    babbles: bool,
    /// Which deploy it meets.
    deploy: usize,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let back = prop_oneof![3 => Just(0), 1 => 1..4usize];
    let one = (any::<u8>(), back, any::<bool>(), 0..2usize).prop_map(
        |(answers, back, babbles, deploy)| Move {
            answers,
            back,
            babbles,
            deploy,
        },
    );
    prop::collection::vec(one, 0..12)
}

/// Asks in groups; each question names the deploy that puts it, except those that both put in the same words.
fn server(deploy: usize, groups: Vec<usize>) -> Server {
    let tool = plain("work", move |ctx: RequestContext| {
        let groups = groups.clone();
        async move {
            let (mut number, mut told) = (0, Vec::new());
            for size in groups {
                let numbers = number..number + size;
                number += size;
                let message = |number: usize| match number % 3 {
                    0 => format!("{number}?"),
                    _ => format!("{number} of {deploy}?"),
                };
                let form = |number: usize| ask::form::<Name>(format!("k{number}"), message(number));
                let questions: Vec<_> = numbers.clone().map(form).collect();
                let answers = ctx.ask_all(questions).await?;
                for (number, answer) in numbers.zip(answers) {
                    told.push(format!("{} {}", message(number), answer.name));
                }
            }
            Ok::<_, Error>(told.join("\n"))
        }
    });
    Server::new("service", "1")
        .with_request_state_keys(KeyRing::new(StateKey::new([7; 32])))
        .tool(tool)
}

/// Answers by repeating the questions, and lies about what nobody asked.
fn answers(round: &Round, chosen: u8, babbles: bool) -> Value {
    let mut answers = Map::new();
    if babbles {
        for number in 0..12 {
            answers.insert(format!("k{number}"), accept(json!({"name": "a lie"})));
        }
    }
    for (number, key) in round.asks().into_iter().enumerate() {
        answers.remove(key);
        if chosen >> (number % 8) & 1 == 1 {
            let message = &round.question(key)["params"]["message"];
            answers.insert(key.to_owned(), accept(json!({"name": message})));
        }
    }
    Value::Object(answers)
}

async fn play(groups: Vec<usize>, moves: Vec<Move>) -> Result<String, String> {
    let mut deploys = [0, 1].map(|deploy| ByHand::call(&server(deploy, groups.clone()), "work"));
    let mut rounds = vec![deploys[0].begin().await];
    for Move {
        answers: chosen,
        back,
        babbles,
        deploy,
    } in moves
    {
        let before = &rounds[rounds.len().saturating_sub(1 + back)];
        if !before.is_open() {
            break;
        }
        let answers = answers(before, chosen, babbles);
        let next = deploys[deploy].answer(before, answers).await;
        rounds.push(next);
    }
    // From here on the client does what it is asked.
    let mut last = rounds.pop().expect("there is a first one");
    for _ in 0..20 {
        if !last.is_open() {
            return Ok(last.text());
        }
        let answers = answers(&last, u8::MAX, false);
        last = deploys[0].answer(&last, answers).await;
    }
    Err(format!("still open: {last:?}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_answer_goes_to_another_question(
        groups in prop::collection::vec(1..4usize, 0..4),
        moves in moves(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let questions: usize = groups.iter().sum();
        let text = runtime.block_on(play(groups, moves)).map_err(TestCaseError::fail)?;
        prop_assert_eq!(text.lines().count(), questions, "{}", text);
        for line in text.lines() {
            let (question, answer) = line.split_once("? ").expect("a question and an answer");
            prop_assert_eq!(format!("{question}?"), answer);
        }
    }
}
