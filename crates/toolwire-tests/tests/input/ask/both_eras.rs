//! The same handlers in both eras.

use serde_json::json;
use toolwire::ask::{self, ElicitOutcome};
use toolwire::types::{CreateMessageRequestParams, SamplingMessage};
use toolwire::{Error, ProtocolVersion, RequestContext, Server};
use toolwire_tests::peer::plain;

use super::{BOTH, Confirm, Name, Recorder, accept, client, result_text};

fn shop(recorder: &Recorder) -> Server {
    let orders = recorder.clone();
    let order = plain("order", move |ctx: RequestContext| {
        let orders = orders.clone();
        async move {
            let name: Name = ctx.ask("name", "Who are you?").await?;
            let number = ctx
                .once("reserve", async {
                    orders.record(format!("reserved for {}", name.name));
                    42
                })
                .await?;
            let text = format!("Order {number} for {}?", name.name);
            let confirmed: ElicitOutcome<Confirm> = ctx.ask("confirm", text).await?;
            Ok::<_, Error>(match confirmed {
                ElicitOutcome::Accepted(Confirm { sure: true }) => format!("ordered {number}"),
                ElicitOutcome::Accepted(_) => "not sure".to_owned(),
                ElicitOutcome::Declined => "declined".to_owned(),
                ElicitOutcome::Cancelled => "cancelled".to_owned(),
            })
        }
    });
    let all_at_once = plain("all_at_once", |ctx: RequestContext| async move {
        let prompt = SamplingMessage::user("hi");
        let (name, roots, message, url) = ctx
            .ask_all((
                ask::form::<Name>("name", "Who are you?"),
                ask::roots("roots"),
                ask::model("model", CreateMessageRequestParams::new([prompt], 10)),
                ask::url("url", "Go there", "https://example.com/"),
            ))
            .await?;
        let text = message.content.text();
        Ok::<_, Error>(format!(
            "{} {} {text} {}",
            name.name,
            roots.len(),
            url.is_accepted()
        ))
    });
    Server::new("shop", "1").tool(order).tool(all_at_once)
}

#[tokio::test]
async fn dependent_input_requests_and_an_effect_complete_in_both_eras() {
    for version in BOTH {
        let (recorder, requested) = (Recorder::default(), Recorder::default());
        let responses = [
            ("Who", accept(json!({"name": "Ada"}))),
            ("Order", accept(json!({"sure": true}))),
        ];
        let client = client(&shop(&recorder), version, &responses, &requested).await;
        let outcome = client.call_tool("order", json!({})).await;
        assert_eq!(result_text(outcome), "ordered 42");
        assert_eq!(recorder.take(), ["reserved for Ada"], "{version}");
        assert_eq!(requested.take(), ["Who are you?", "Order 42 for Ada?"]);
    }
}

#[tokio::test]
async fn declined_form_is_an_outcome_or_a_tool_error() {
    for version in BOTH {
        let (recorder, requested) = (Recorder::default(), Recorder::default());
        let responses = [
            ("Who", accept(json!({"name": "Ada"}))),
            ("Order", json!({"action": "decline"})),
        ];
        let client_ = client(&shop(&recorder), version, &responses, &requested).await;
        let outcome = client_.call_tool("order", json!({})).await;
        assert_eq!(result_text(outcome), "declined");

        let responses = [("Who", json!({"action": "decline"}))];
        let client = client(&shop(&recorder), version, &responses, &requested).await;
        let outcome = client.call_tool("order", json!({})).await;
        assert_eq!(result_text(outcome), "failed: the user declined \"name\"");
    }
}

#[tokio::test]
async fn ask_all_sends_one_round() {
    for version in BOTH {
        let (recorder, requested) = (Recorder::default(), Recorder::default());
        let responses = [("Who", accept(json!({"name": "Ada"})))];
        let client = client(&shop(&recorder), version, &responses, &requested).await;
        let outcome = client.call_tool("all_at_once", json!({})).await;
        assert_eq!(result_text(outcome), "Ada 1 well true");
        let mut requested = requested.take();
        requested.sort();
        assert_eq!(
            requested,
            ["1 messages", "Who are you?", "https://example.com/"]
        );
    }
}

#[tokio::test]
async fn sampling_and_roots_work_in_every_revision() {
    let tool = plain("work", |ctx: RequestContext| async move {
        let hi = || CreateMessageRequestParams::new([SamplingMessage::user("hi")], 10);
        let first = ctx.ask_model("model", hi()).await?.content.text();
        let roots = ctx.ask_roots("roots").await?.len();
        let number = ctx.once("number", async { 7 }).await?;
        let (again, more) = ctx
            .ask_all((ask::model("again", hi()), ask::roots("more")))
            .await?;
        let (again, more) = (again.content.text(), more.len());
        Ok::<_, Error>(format!("{first} {roots} {number} {again} {more}"))
    });
    let server = Server::new("test", "1").tool(tool);
    for version in ProtocolVersion::ALL {
        let requested = Recorder::default();
        let client = client(&server, version, &[], &requested).await;
        let outcome = client.call_tool("work", json!({})).await;
        assert_eq!(result_text(outcome), "well 1 7 well 1", "{version}");
        assert_eq!(requested.take(), ["1 messages", "1 messages"], "{version}");
    }
}

#[tokio::test]
async fn concurrent_calls_are_independent() {
    for version in BOTH {
        let (recorder, requested) = (Recorder::default(), Recorder::default());
        let responses = [
            ("Who", accept(json!({"name": "Ada"}))),
            ("Order", accept(json!({"sure": true}))),
        ];
        let client = client(&shop(&recorder), version, &responses, &requested).await;
        let order = || client.call_tool("order", json!({}));
        let (one, other) = tokio::join!(order(), order());
        assert_eq!(
            [result_text(one), result_text(other)],
            ["ordered 42", "ordered 42"]
        );
        assert_eq!(recorder.take().len(), 2, "{version}");
        assert_eq!(requested.take().len(), 4, "{version}");
    }
}
