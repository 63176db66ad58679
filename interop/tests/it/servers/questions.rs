//! Questions of the server: to the user, to the model, for the roots. The same handlers answer in both eras.

use serde_json::json;

use super::peered::{MODEL, Outcome, Peered, ROOT, equal};

/// The note is left out by the user and has a default.
pub(crate) async fn elicits_and_fills_in_defaults(at: &Peered) -> Outcome {
    at.user.take_asked();
    let text = at.call("confirm", json!({"question": "Launch?"})).await?;
    equal(text, "accept: true, note: none")?;
    equal(&at.user.take_asked()[..], ["Launch?"])
}

pub(crate) async fn elicitation_is_refused(at: &Peered) -> Outcome {
    let text = at
        .call("confirm", json!({"question": "Rather not?"}))
        .await?;
    equal(text, "decline")
}

pub(crate) async fn elicitation_is_cancelled(at: &Peered) -> Outcome {
    let text = at
        .call("confirm", json!({"question": "Turn away?"}))
        .await?;
    equal(text, "cancel")
}

/// A revision without elicitation: the client has not offered it, and the user is not bothered.
pub(crate) async fn elicitation_is_not_offered(at: &Peered) -> Outcome {
    at.user.take_asked();
    match at
        .client
        .call_tool("confirm", json!({"question": "Launch?"}))
        .await
    {
        Ok(result) => equal(result.is_error, Some(true))?,
        Err(error) => equal(error.rpc().is_some(), true)?,
    }
    equal(&at.user.take_asked()[..], [""; 0])
}

pub(crate) async fn asks_twice(at: &Peered) -> Outcome {
    at.user.take_asked();
    equal(at.call("interview", json!({})).await?, "Ada likes green")?;
    equal(&at.user.take_asked()[..], ["Your name?", "Your colour?"])
}

/// Several calls with questions at once, and others between them: nobody gets another's answer.
pub(crate) async fn asks_in_parallel(at: &Peered) -> Outcome {
    let (launch, refuse, interview, echo) = tokio::join!(
        at.call("confirm", json!({"question": "Launch?"})),
        at.call("confirm", json!({"question": "Rather not?"})),
        at.call("interview", json!({})),
        at.call("echo", json!({"text": "meanwhile"})),
    );
    equal(launch?, "accept: true, note: none")?;
    equal(refuse?, "decline")?;
    equal(interview?, "Ada likes green")?;
    equal(echo?, "meanwhile")
}

/// What came about by an answer is not kept: the user is asked again.
pub(crate) async fn a_resource_asks(at: &Peered) -> Outcome {
    at.user.take_asked();
    for _ in 0..2 {
        equal(at.read("demo://secrets/plan").await?, "opened with xyzzy")?;
        equal(&at.user.take_asked()[..], ["Password?"])?;
    }
    Ok(())
}

pub(crate) async fn a_prompt_asks(at: &Peered) -> Outcome {
    let signed = at.client.get_prompt("signed", [("", ""); 0]).await?;
    let text = signed
        .messages
        .first()
        .and_then(|message| message.content.as_text());
    equal(text, Some("Signed by Grace."))
}

pub(crate) async fn samples(at: &Peered) -> Outcome {
    at.user.take_asked();
    let text = at
        .call("summarise", json!({"text": "a long story"}))
        .await?;
    equal(text, format!("{MODEL}: in short: a long story"))?;
    equal(&at.user.take_asked()[..], ["a long story"])
}

pub(crate) async fn lists_roots(at: &Peered) -> Outcome {
    equal(at.call("roots", json!({})).await?, ROOT)
}
