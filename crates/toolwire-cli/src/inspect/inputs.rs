//! The input requests of the server that wait for the user.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitResult, ErrorObject,
};
use toolwire::{ClientBuilder, RawJson};
use toolwire_proto::elicit_validation::{
    apply_defaults, check_elicit_result, check_url_result, read_schema,
};

use crate::input_requests::SamplingResponse;
use crate::inspect::call_outcome::InputExchange;
use crate::inspect::calls::Calls;
use crate::inspect::events::PageEvents;
use crate::inspect::settings::Settings;
use crate::saved_calls::SavedResponse;
use crate::sync::lock;

/// The maximum number of input requests that wait. Further ones are rejected.
const MAX_WAITING: usize = 64;

/// An input request, as the page gets it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct InputRequest {
    id: u64,
    /// The call that causes the request, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u64>,
    kind: &'static str,
    params: Value,
}

/// The number of characters of a message or response that are stored with the call.
pub(super) const STORED_CHARS: usize = 1000;

/// The parameters that a response is checked against.
#[derive(Debug)]
enum ExpectedResponse {
    Form(Box<ElicitRequestFormParams>),
    Url,
    Sampling,
}

/// A checked response.
#[derive(Debug)]
enum InputResponse {
    Elicitation(ElicitResult),
    Sampling(Box<CreateMessageResult>),
    Rejected(ErrorObject),
}

#[derive(Debug)]
struct Waiting {
    request: InputRequest,
    expected: ExpectedResponse,
    respond: oneshot::Sender<InputResponse>,
}

#[derive(Debug, Default)]
struct WaitingRequests {
    by_id: BTreeMap<u64, Waiting>,
    last: u64,
}

/// The input requests that wait. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Inputs {
    waiting: Arc<Mutex<WaitingRequests>>,
    events: PageEvents,
    calls: Calls,
}

/// The reason why a response was not sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ResponseError {
    /// No such request waits.
    Unknown,
    Invalid(String),
}

impl Inputs {
    pub(super) fn new(events: &PageEvents, calls: &Calls) -> Self {
        Self {
            waiting: Arc::default(),
            events: events.clone(),
            calls: calls.clone(),
        }
    }

    /// Registers the handlers of the capabilities that the settings offer.
    pub(super) fn register(
        &self,
        mut builder: ClientBuilder,
        settings: &Settings,
    ) -> ClientBuilder {
        if settings.elicitation {
            let inputs = self.clone();
            builder = builder.on_elicitation(move |form: ElicitRequestFormParams| {
                let (inputs, params) = (inputs.clone(), to_value(&form));
                let expected = ExpectedResponse::Form(Box::new(form));
                async move { inputs.elicit("form", params, expected).await }
            });
            let inputs = self.clone();
            builder = builder.on_url_elicitation(move |address: ElicitRequestURLParams| {
                let (inputs, params) = (inputs.clone(), to_value(&address));
                async move { inputs.elicit("url", params, ExpectedResponse::Url).await }
            });
        }
        if settings.sampling {
            let inputs = self.clone();
            builder = builder.on_sampling_with_tools(move |request: CreateMessageRequestParams| {
                let (inputs, params) = (inputs.clone(), to_value(&request));
                async move { inputs.sample(params).await }
            });
        }
        builder
    }

    async fn elicit(
        &self,
        kind: &'static str,
        params: Value,
        expected: ExpectedResponse,
    ) -> Result<ElicitResult, ErrorObject> {
        match self.ask(kind, params, expected).await {
            InputResponse::Elicitation(result) => Ok(result),
            InputResponse::Rejected(error) => Err(error),
            InputResponse::Sampling(_) => Err(ErrorObject::internal("another kind of response")),
        }
    }

    async fn sample(&self, params: Value) -> Result<CreateMessageResult, ErrorObject> {
        match self
            .ask("sampling", params, ExpectedResponse::Sampling)
            .await
        {
            InputResponse::Sampling(result) => Ok(*result),
            InputResponse::Rejected(error) => Err(error),
            InputResponse::Elicitation(_) => Err(ErrorObject::internal("another kind of response")),
        }
    }

    /// Waits for the response of the user. If the future is dropped, the request no longer waits.
    async fn ask(
        &self,
        kind: &'static str,
        params: Value,
        expected: ExpectedResponse,
    ) -> InputResponse {
        let call = self.calls.current();
        if let Some(call) = call {
            let message = params["message"].as_str().unwrap_or_default();
            if let Some(body) = self.calls.prepared(call, kind, message)
                // If the request has another form now, the user responds.
                && let Ok(response) = check(&expected, body.get().as_bytes())
            {
                self.add_to_call(call, kind, message, &response, body);
                return response;
            }
        }
        let (respond, response) = oneshot::channel();
        let Some(id) = self.insert(call, kind, params, expected, respond) else {
            return InputResponse::Rejected(ErrorObject::internal(
                "too many input requests wait for the user",
            ));
        };
        let _removed = RemoveOnDrop { inputs: self, id };
        response.await.unwrap_or_else(|_| {
            InputResponse::Rejected(ErrorObject::internal("the user gave no response"))
        })
    }

    fn insert(
        &self,
        call: Option<u64>,
        kind: &'static str,
        params: Value,
        expected: ExpectedResponse,
        respond: oneshot::Sender<InputResponse>,
    ) -> Option<u64> {
        let mut waiting = self.lock();
        if waiting.by_id.len() >= MAX_WAITING {
            return None;
        }
        waiting.last += 1;
        let id = waiting.last;
        let request = InputRequest {
            id,
            call,
            kind,
            params,
        };
        self.events.send("input", &request);
        let entry = Waiting {
            request,
            expected,
            respond,
        };
        waiting.by_id.insert(id, entry);
        Some(id)
    }

    /// Returns the requests that wait, the oldest first.
    pub(super) fn list(&self) -> Vec<InputRequest> {
        let waiting = self.lock();
        let requests = waiting.by_id.values();
        requests.map(|waiting| waiting.request.clone()).collect()
    }

    /// Responds to a request. An invalid response is not sent, and the request waits further.
    pub(super) fn respond(&self, id: u64, body: &[u8]) -> Result<(), ResponseError> {
        let mut waiting = self.lock();
        let entry = waiting.by_id.get(&id).ok_or(ResponseError::Unknown)?;
        let response = check(&entry.expected, body).map_err(ResponseError::Invalid)?;
        let entry = waiting.by_id.remove(&id).ok_or(ResponseError::Unknown)?;
        drop(waiting);
        if let Some(call) = entry.request.call
            && let Ok(body) = serde_json::from_slice(body)
        {
            let message = entry.request.params["message"].as_str().unwrap_or_default();
            self.add_to_call(call, entry.request.kind, message, &response, body);
        }
        // The call may have ended meanwhile.
        let _ = entry.respond.send(response);
        self.events.send("input_ended", &json!({ "id": id }));
        Ok(())
    }

    /// Stores a request and its response with their call.
    fn add_to_call(
        &self,
        call: u64,
        kind: &'static str,
        message: &str,
        response: &InputResponse,
        body: RawJson,
    ) {
        let sent = SavedResponse {
            kind: kind.to_owned(),
            message: message.to_owned(),
            response: body,
        };
        let exchange = exchange(kind, message, response);
        self.calls.add_input(call, exchange, sent);
    }

    /// Returns the calls that cause the requests.
    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    fn lock(&self) -> MutexGuard<'_, WaitingRequests> {
        lock(&self.waiting)
    }
}

struct RemoveOnDrop<'i> {
    inputs: &'i Inputs,
    id: u64,
}

impl Drop for RemoveOnDrop<'_> {
    fn drop(&mut self) {
        if self.inputs.lock().by_id.remove(&self.id).is_some() {
            let ended = json!({ "id": self.id });
            self.inputs.events.send("input_ended", &ended);
        }
    }
}

/// Reads and checks a response.
fn check(expected: &ExpectedResponse, body: &[u8]) -> Result<InputResponse, String> {
    let invalid = |error: serde_json::Error| format!("the response is invalid: {error}");
    if let ExpectedResponse::Sampling = expected {
        let response: SamplingResponse = serde_json::from_slice(body).map_err(invalid)?;
        return match response.into_result() {
            Some(Ok(result)) => Ok(InputResponse::Sampling(Box::new(result))),
            Some(Err(error)) => Ok(InputResponse::Rejected(error)),
            None => Err("the response is invalid: give either `result` or `error`".to_owned()),
        };
    }
    let mut result: ElicitResult = serde_json::from_slice(body).map_err(invalid)?;
    let checked = match expected {
        ExpectedResponse::Form(form) => match read_schema(form) {
            Ok(schema) => {
                apply_defaults(&schema, &mut result);
                check_elicit_result(&schema, &result)
            }
            // The client rejects a form that cannot be read.
            Err(_) => Ok(()),
        },
        ExpectedResponse::Url | ExpectedResponse::Sampling => check_url_result(&result),
    };
    checked.map_err(|error| format!("the response is invalid: {error}"))?;
    Ok(InputResponse::Elicitation(result))
}

/// Returns what is stored with the call.
fn exchange(kind: &'static str, message: &str, response: &InputResponse) -> InputExchange {
    let response = match response {
        InputResponse::Elicitation(result) => to_value(result),
        InputResponse::Sampling(result) => to_value(&result.content),
        InputResponse::Rejected(error) => to_value(error),
    };
    let start = |text: &str| text.chars().take(STORED_CHARS).collect();
    InputExchange {
        kind,
        message: start(message),
        response: start(&response.to_string()),
    }
}

fn to_value(params: &impl Serialize) -> Value {
    serde_json::to_value(params).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use toolwire::types::ElicitAction;

    use super::*;

    fn inputs() -> Inputs {
        let events = PageEvents::new();
        Inputs::new(&events, &Calls::new(&events))
    }

    fn form() -> ElicitRequestFormParams {
        let params = json!({"message": "Name?", "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string", "minLength": 1}},
            "required": ["name"],
        }});
        serde_json::from_value(params).expect("valid parameters")
    }

    #[test]
    fn invalid_response_is_not_sent() {
        let check = |body: Value, expected: bool| {
            let checked = check(
                &ExpectedResponse::Form(Box::new(form())),
                body.to_string().as_bytes(),
            );
            assert_eq!(checked.is_ok(), expected, "{body} {checked:?}");
        };
        check(
            json!({"action": "accept", "content": {"name": "Ada"}}),
            true,
        );
        check(json!({"action": "accept", "content": {"name": ""}}), false);
        check(json!({"action": "accept", "content": {}}), false);
        check(json!({"action": "decline"}), true);
        check(json!({"action": "other"}), false);
        check(json!([]), false);
    }

    #[test]
    fn sampling_has_a_result_or_an_error() {
        let check = |body: Value, expected: bool| {
            let checked = check(&ExpectedResponse::Sampling, body.to_string().as_bytes());
            assert_eq!(checked.is_ok(), expected, "{body} {checked:?}");
        };
        let result =
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "t"}});
        check(json!({"result": result}), true);
        check(json!({"error": {"code": -1, "message": "no"}}), true);
        check(json!({}), false);
        check(
            json!({"result": result, "error": {"code": -1, "message": "no"}}),
            false,
        );
    }

    #[tokio::test]
    async fn response_reaches_the_request_that_waits() {
        let inputs = inputs();
        let asking = inputs.elicit("form", json!({}), ExpectedResponse::Form(Box::new(form())));
        let responding = async {
            let id = inputs.list()[0].id;
            let invalid = inputs.respond(id, b"{\"action\":\"accept\"}");
            assert!(matches!(invalid, Err(ResponseError::Invalid(_))));
            let content = br#"{"action":"accept","content":{"name":"Ada"}}"#;
            assert_eq!(inputs.respond(id, content), Ok(()));
            assert_eq!(inputs.respond(id, content), Err(ResponseError::Unknown));
        };
        let (result, ()) = tokio::join!(biased; asking, responding);
        assert_eq!(result.expect("a result").action, ElicitAction::Accept);
        assert!(inputs.list().is_empty());
    }

    #[tokio::test]
    async fn number_of_waiting_requests_is_limited() {
        let inputs = inputs();
        let mut waiting = Vec::new();
        for _ in 0..MAX_WAITING {
            let mut asking = Box::pin(inputs.elicit("url", json!({}), ExpectedResponse::Url));
            tokio::select! {
                biased;
                result = &mut asking => panic!("{result:?}"),
                () = std::future::ready(()) => waiting.push(asking),
            }
        }
        assert_eq!(inputs.list().len(), MAX_WAITING);
        let rejected = inputs.elicit("url", json!({}), ExpectedResponse::Url).await;
        assert!(rejected.is_err());
        // A cancelled request no longer waits.
        drop(waiting);
        assert!(inputs.list().is_empty());
    }
}
