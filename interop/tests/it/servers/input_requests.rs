//! Input requests of the server: to the user, to the model, and for the roots. The same handlers respond in both eras.

use serde_json::json;

use super::pair::{MODEL, Outcome, Pair, ROOT, equal};

/// The user leaves out the note, which has a default.
pub(crate) async fn elicits_and_fills_in_defaults(pair: &Pair) -> Outcome {
    pair.user.take_asked();
    let text = pair.call("confirm", json!({"question": "Launch?"})).await?;
    equal(text, "accept: true, note: none")?;
    equal(&pair.user.take_asked()[..], ["Launch?"])
}

pub(crate) async fn elicitation_is_declined(pair: &Pair) -> Outcome {
    let text = pair
        .call("confirm", json!({"question": "Decline?"}))
        .await?;
    equal(text, "decline")
}

pub(crate) async fn elicitation_is_cancelled(pair: &Pair) -> Outcome {
    let text = pair.call("confirm", json!({"question": "Cancel?"})).await?;
    equal(text, "cancel")
}

/// In a revision without elicitation, the client does not declare it, and the user is not asked.
pub(crate) async fn elicitation_is_not_declared(pair: &Pair) -> Outcome {
    pair.user.take_asked();
    match pair
        .client
        .call_tool("confirm", json!({"question": "Launch?"}))
        .await
    {
        Ok(result) => equal(result.is_error, Some(true))?,
        Err(error) => equal(error.rpc().is_some(), true)?,
    }
    equal(&pair.user.take_asked()[..], [""; 0])
}

pub(crate) async fn asks_twice(pair: &Pair) -> Outcome {
    pair.user.take_asked();
    equal(pair.call("interview", json!({})).await?, "Ada likes green")?;
    equal(&pair.user.take_asked()[..], ["Your name?", "Your colour?"])
}

/// Concurrent calls with elicitations and other calls: every call gets its own response.
pub(crate) async fn asks_in_parallel(pair: &Pair) -> Outcome {
    let (launch, declined, interview, echo) = tokio::join!(
        pair.call("confirm", json!({"question": "Launch?"})),
        pair.call("confirm", json!({"question": "Decline?"})),
        pair.call("interview", json!({})),
        pair.call("echo", json!({"text": "meanwhile"})),
    );
    equal(launch?, "accept: true, note: none")?;
    equal(declined?, "decline")?;
    equal(interview?, "Ada likes green")?;
    equal(echo?, "meanwhile")
}

/// A result that depends on a response is not cached: the user is asked again.
pub(crate) async fn resource_requests_input(pair: &Pair) -> Outcome {
    pair.user.take_asked();
    for _ in 0..2 {
        equal(pair.read("demo://secrets/plan").await?, "opened with xyzzy")?;
        equal(&pair.user.take_asked()[..], ["Password?"])?;
    }
    Ok(())
}

pub(crate) async fn prompt_requests_input(pair: &Pair) -> Outcome {
    let signed = pair.client.get_prompt("signed", [("", ""); 0]).await?;
    let text = signed
        .messages
        .first()
        .and_then(|message| message.content.as_text());
    equal(text, Some("Signed by Grace."))
}

pub(crate) async fn samples(pair: &Pair) -> Outcome {
    pair.user.take_asked();
    let text = pair
        .call("summarise", json!({"text": "a long story"}))
        .await?;
    equal(text, format!("{MODEL}: in short: a long story"))?;
    equal(&pair.user.take_asked()[..], ["a long story"])
}

pub(crate) async fn lists_roots(pair: &Pair) -> Outcome {
    equal(pair.call("roots", json!({})).await?, ROOT)
}
