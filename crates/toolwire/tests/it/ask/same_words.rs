//! One handler, every era.

use serde_json::json;
use toolwire::ask::{self, ElicitOutcome};
use toolwire::types::{CreateMessageRequestParams, SamplingMessage};
use toolwire::{Error, ProtocolVersion, RequestContext, Server};

use super::{BOTH, Confirm, Diary, Name, accept, client, shown};
use crate::peer::plain;

fn shop(diary: &Diary) -> Server {
    let orders = diary.clone();
    let order = plain("order", move |ctx: RequestContext| {
        let orders = orders.clone();
        async move {
            let name: Name = ctx.ask("name", "Who are you?").await?;
            let number = ctx
                .once("reserve", async {
                    orders.note(format!("reserved for {}", name.name));
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
    let together = plain("together", |ctx: RequestContext| async move {
        let message = SamplingMessage::user("hi");
        let (name, roots, said, gone) = ctx
            .ask_all((
                ask::form::<Name>("name", "Who are you?"),
                ask::roots("roots"),
                ask::model("model", CreateMessageRequestParams::new([message], 10)),
                ask::url("url", "Go there", "https://example.com/"),
            ))
            .await?;
        let text = said.content.text();
        Ok::<_, Error>(format!(
            "{} {} {text} {}",
            name.name,
            roots.len(),
            gone.is_accepted()
        ))
    });
    Server::new("shop", "1").tool(order).tool(together)
}

#[tokio::test]
async fn dependent_questions_and_one_effect() {
    for version in BOTH {
        let (diary, asked) = (Diary::default(), Diary::default());
        let answers = [
            ("Who", accept(json!({"name": "Ada"}))),
            ("Order", accept(json!({"sure": true}))),
        ];
        let client = client(&shop(&diary), version, &answers, &asked).await;
        let outcome = client.call_tool("order", json!({})).await;
        assert_eq!(shown(outcome), "ordered 42");
        assert_eq!(diary.take(), ["reserved for Ada"], "{version}");
        assert_eq!(asked.take(), ["Who are you?", "Order 42 for Ada?"]);
    }
}

#[tokio::test]
async fn a_user_who_says_no_is_a_value_or_an_error_for_the_model() {
    for version in BOTH {
        let (diary, asked) = (Diary::default(), Diary::default());
        let answers = [
            ("Who", accept(json!({"name": "Ada"}))),
            ("Order", json!({"action": "decline"})),
        ];
        let client_ = client(&shop(&diary), version, &answers, &asked).await;
        let outcome = client_.call_tool("order", json!({})).await;
        assert_eq!(shown(outcome), "declined");

        let answers = [("Who", json!({"action": "decline"}))];
        let client = client(&shop(&diary), version, &answers, &asked).await;
        let outcome = client.call_tool("order", json!({})).await;
        assert_eq!(shown(outcome), "failed: the user declined \"name\"");
    }
}

#[tokio::test]
async fn several_questions_are_one_round() {
    for version in BOTH {
        let (diary, asked) = (Diary::default(), Diary::default());
        let answers = [("Who", accept(json!({"name": "Ada"})))];
        let client = client(&shop(&diary), version, &answers, &asked).await;
        let outcome = client.call_tool("together", json!({})).await;
        assert_eq!(shown(outcome), "Ada 1 well true");
        let mut asked = asked.take();
        asked.sort();
        assert_eq!(
            asked,
            ["1 messages", "Who are you?", "https://example.com/"]
        );
    }
}

#[tokio::test]
async fn every_revision_is_asked_what_it_has() {
    let tool = plain("work", |ctx: RequestContext| async move {
        let hi = || CreateMessageRequestParams::new([SamplingMessage::user("hi")], 10);
        let said = ctx.ask_model("model", hi()).await?.content.text();
        let roots = ctx.ask_roots("roots").await?.len();
        let number = ctx.once("number", async { 7 }).await?;
        let (again, more) = ctx
            .ask_all((ask::model("again", hi()), ask::roots("more")))
            .await?;
        let (again, more) = (again.content.text(), more.len());
        Ok::<_, Error>(format!("{said} {roots} {number} {again} {more}"))
    });
    let server = Server::new("test", "1").tool(tool);
    for version in ProtocolVersion::ALL {
        let asked = Diary::default();
        let client = client(&server, version, &[], &asked).await;
        let outcome = client.call_tool("work", json!({})).await;
        assert_eq!(shown(outcome), "well 1 7 well 1", "{version}");
        assert_eq!(asked.take(), ["1 messages", "1 messages"], "{version}");
    }
}

#[tokio::test]
async fn calls_at_the_same_time_know_nothing_of_each_other() {
    for version in BOTH {
        let (diary, asked) = (Diary::default(), Diary::default());
        let answers = [
            ("Who", accept(json!({"name": "Ada"}))),
            ("Order", accept(json!({"sure": true}))),
        ];
        let client = client(&shop(&diary), version, &answers, &asked).await;
        let order = || client.call_tool("order", json!({}));
        let (one, other) = tokio::join!(order(), order());
        assert_eq!([shown(one), shown(other)], ["ordered 42", "ordered 42"]);
        assert_eq!(diary.take().len(), 2, "{version}");
        assert_eq!(asked.take().len(), 4, "{version}");
    }
}
