//! Calls and the input requests that they cause.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::{
    Client, ClientBuilder, Elicit, ProcessTracker, ProtocolVersion, RawJson, RequestContext,
    Server, Tool, ToolError, ToolHandler, VersionFeatures as _,
};

use crate::connection_arguments::Server as CommandServer;
use crate::inspect::call_outcome::InputExchange;
use crate::inspect::calls::{Calls, MAX_INPUTS};
use crate::inspect::events::PageEvents;
use crate::inspect::inputs::{Inputs, STORED_CHARS};
use crate::inspect::inspector::Inspector;
use crate::inspect::settings::{EraSetting, Faults, Settings};
use crate::inspect::source::Source;
use crate::output_arguments::Colour;
use crate::saved_calls::SavedResponse;
use crate::screen::Screen;
use crate::target::{ChildProcess, Target};

#[derive(Debug, Deserialize, Elicit)]
struct Name {
    #[expect(
        dead_code,
        reason = "the test reads the request and the stored response"
    )]
    name: String,
}

/// Returns the state behind a page whose server cannot be started.
pub(super) fn inspector_without_server() -> Arc<Inspector> {
    let target = Target::Child(ChildProcess::new("no-such-program"));
    let screen = Arc::new(Screen::new(false, Colour::Never));
    let (server, processes) = (CommandServer::without_options(), ProcessTracker::new());
    let inspector = Inspector::new(Source::Server(target), &server, &screen, &processes);
    Arc::new(inspector)
}

/// A page without its HTTP interface.
struct TestPage {
    calls: Calls,
    inputs: Inputs,
    client: Client,
}

impl TestPage {
    async fn new(is_legacy: bool) -> Self {
        let ask = Tool::new("ask", json!({"type": "object"}));
        let ask = ToolHandler::raw(ask, |ctx: RequestContext, arguments: RawJson| async move {
            let question = arguments.to_value().unwrap_or_default()["question"].clone();
            let question = question.as_str().unwrap_or_default().to_owned();
            ctx.ask::<Name>("name", question).await?;
            Ok::<_, ToolError>("asked")
        });
        let server = Server::new("test", "1").tool(ask);
        let events = PageEvents::new();
        let calls = Calls::new(&events);
        let inputs = Inputs::new(&events, &calls);
        let settings = Settings {
            era: EraSetting::Auto,
            log_level: None,
            roots: Vec::new(),
            elicitation: true,
            sampling: true,
            faults: Faults::default(),
        };
        let versions = ProtocolVersion::ALL.into_iter();
        let versions = versions.filter(|version| version.is_legacy() == is_legacy);
        let builder = ClientBuilder::new("test", "1").with_versions(versions);
        let builder = inputs.register(builder, &settings);
        let client = builder.in_process(&server).await.expect("a client");
        Self {
            calls,
            inputs,
            client,
        }
    }

    /// Calls the tool with a question, and returns the id of the call.
    fn call(&self, question: &str) -> u64 {
        self.call_with(question, Vec::new())
    }

    fn call_with(&self, question: &str, prepared: Vec<SavedResponse>) -> u64 {
        let params = json!({"name": "ask", "arguments": {"question": question}});
        let (client, method) = (self.client.clone(), "tools/call".to_owned());
        let id = self
            .calls
            .start(client, method, params.into(), prepared, |_| {});
        id.expect("a call")
    }

    /// Waits for this many input requests.
    async fn waiting(&self, count: usize) -> Vec<Value> {
        loop {
            let waiting = self.inputs.list();
            if waiting.len() == count {
                let values = waiting.iter().map(serde_json::to_value);
                return values.map(|value| value.expect("JSON")).collect();
            }
            tokio::task::yield_now().await;
        }
    }

    fn respond(&self, input: &Value, name: &str) {
        let body = json!({"action": "accept", "content": {"name": name}});
        let id = input["id"].as_u64().expect("an id");
        let sent = self.inputs.respond(id, body.to_string().as_bytes());
        assert_eq!(sent, Ok(()));
    }

    async fn exchanges(&self, call: u64) -> Vec<InputExchange> {
        let outcome = self.calls.wait(call).await.expect("an outcome");
        assert_eq!(outcome.summary.failed, Some(false), "{outcome:?}");
        outcome.summary.inputs
    }
}

#[tokio::test]
async fn each_input_request_belongs_to_its_call() {
    let page = TestPage::new(false).await;
    let calls = [page.call("first?"), page.call("second?")];
    for input in page.waiting(2).await {
        let is_first = input["params"]["message"] == "first?";
        assert_eq!(input["call"], calls[usize::from(!is_first)], "{input}");
        page.respond(&input, if is_first { "Ada" } else { "Alan" });
    }
    for (call, name) in calls.into_iter().zip(["Ada", "Alan"]) {
        let exchanges = page.exchanges(call).await;
        assert_eq!(exchanges.len(), 1);
        assert!(exchanges[0].response.contains(name), "{exchanges:?}");
    }
}

#[tokio::test]
async fn call_of_a_legacy_input_request_is_known_while_one_call_runs() {
    let page = TestPage::new(true).await;
    let first = page.call("first?");
    let [input] = &page.waiting(1).await[..] else {
        panic!("one request");
    };
    assert_eq!(input["call"], first);
    let second = page.call("second?");
    let inputs = page.waiting(2).await;
    assert_eq!(inputs[1].get("call"), None);
    for input in &inputs {
        page.respond(input, "Ada");
    }
    assert_eq!(page.exchanges(first).await.len(), 1);
    assert_eq!(page.exchanges(second).await.len(), 0);
}

#[tokio::test]
async fn stored_text_of_an_input_request_is_limited() {
    for (length, expected) in [
        (STORED_CHARS, STORED_CHARS),
        (STORED_CHARS + 1, STORED_CHARS),
    ] {
        let page = TestPage::new(false).await;
        let call = page.call(&"é".repeat(length));
        let inputs = page.waiting(1).await;
        page.respond(&inputs[0], &"é".repeat(length));
        let exchanges = page.exchanges(call).await;
        assert_eq!(exchanges[0].message.chars().count(), expected);
        assert_eq!(exchanges[0].response.chars().count(), STORED_CHARS);
    }
}

#[tokio::test]
async fn number_of_stored_input_requests_is_limited() {
    let page = TestPage::new(false).await;
    let call = page.call("name?");
    let inputs = page.waiting(1).await;
    let exchange = InputExchange {
        kind: "form",
        message: String::new(),
        response: String::new(),
    };
    let sent = SavedResponse {
        kind: "form".to_owned(),
        message: String::new(),
        response: json!({}).into(),
    };
    for _ in 1..MAX_INPUTS {
        page.calls.add_input(call, exchange.clone(), sent.clone());
    }
    page.respond(&inputs[0], "Ada");
    page.calls.add_input(call, exchange, sent);
    let exchanges = page.exchanges(call).await;
    assert_eq!(exchanges.len(), MAX_INPUTS);
    assert!(exchanges[MAX_INPUTS - 1].response.contains("Ada"));
}

#[tokio::test]
async fn saved_responses_are_sent_again_while_they_are_valid() {
    for is_legacy in [false, true] {
        let page = TestPage::new(is_legacy).await;
        let first = page.call("name?");
        page.respond(&page.waiting(1).await[0], "Ada");
        page.exchanges(first).await;
        let saved = page.calls.to_save(first, "ada".to_owned());
        let saved = saved.expect("a call to save");
        assert_eq!(saved.tool, "ask");
        assert_eq!(saved.responses.len(), 1);
        // The same request needs no user.
        let second = page.call_with("name?", saved.responses.clone());
        let exchanges = page.exchanges(second).await;
        assert!(exchanges[0].response.contains("Ada"), "{exchanges:?}");
        let again = page.calls.to_save(second, "again".to_owned());
        assert_eq!(again.expect("a call").responses, saved.responses);
        // Another message, and a response that the form does not permit, are for the user.
        let mut invalid = saved.responses.clone();
        invalid[0].response = json!({"action": "accept", "content": {"name": 1}}).into();
        for (question, prepared) in [("other?", saved.responses.clone()), ("name?", invalid)] {
            let call = page.call_with(question, prepared);
            page.respond(&page.waiting(1).await[0], "Alan");
            let exchanges = page.exchanges(call).await;
            assert!(exchanges[0].response.contains("Alan"), "{exchanges:?}");
        }
    }
}

#[tokio::test]
async fn running_calls_and_other_requests_are_not_saved() {
    let page = TestPage::new(false).await;
    let running = page.call("name?");
    page.waiting(1).await;
    assert_eq!(page.calls.to_save(running, "a".to_owned()), None);
    let (client, method) = (page.client.clone(), "tools/list".to_owned());
    let params = json!({}).into();
    let list = page.calls.start(client, method, params, Vec::new(), |_| {});
    let list = list.expect("a call");
    page.calls.wait(list).await.expect("an outcome");
    assert_eq!(page.calls.to_save(list, "a".to_owned()), None);
    assert_eq!(page.calls.to_save(99, "a".to_owned()), None);
}
