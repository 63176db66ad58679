//! The code for one exchange.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::record::{RecordedMessage, is_redacted};
use crate::replay::exchanges::{MessageKind, RecordedExchange, kind, method};
use crate::replay::matching::description;
use crate::replay::rust_test::assertions::{assertions, json_code};
use crate::replay::rust_test::variables::TestVariables;
use crate::replay::server_values::is_working;
use crate::show::one_line;

/// The member of `_meta` with the capabilities of the client.
pub(super) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Members of `_meta` that belong to the request. The scripted client adds the others.
const REQUEST_META: [&str; 2] = ["progressToken", "io.modelcontextprotocol/logLevel"];

/// The responses of the client to requests of the server, by their connection and id.
pub(super) type ClientResponses<'a> = HashMap<(u64, String), &'a Value>;

/// Writes the code for the exchanges of one connection.
pub(super) struct ConnectionCode<'a> {
    /// The capabilities of the scripted client.
    capabilities: &'a Value,
    responses: &'a ClientResponses<'a>,
    variables: TestVariables,
}

impl<'a> ConnectionCode<'a> {
    pub(super) fn new(
        capabilities: &'a Value,
        responses: &'a ClientResponses<'a>,
        exchanges: &[&RecordedExchange],
    ) -> Self {
        Self {
            capabilities,
            responses,
            variables: TestVariables::new(exchanges),
        }
    }

    /// Returns the code for an exchange, or a comment that says why it is left out.
    pub(super) fn exchange(&mut self, exchange: &RecordedExchange) -> String {
        // It is in a comment of one line.
        let title = one_line(&description(&exchange.request.body));
        self.variables.reach(&exchange.request.body);
        self.repeated(exchange, &title).unwrap_or_else(|reason| {
            if let Some(response) = exchange.response() {
                self.variables.leave_out(&response.body);
            }
            format!("    // {title} is left out, because {reason}.\n")
        })
    }

    /// Returns the code that repeats an exchange, or why it cannot be repeated.
    fn repeated(
        &mut self,
        exchange: &RecordedExchange,
        title: &str,
    ) -> Result<String, &'static str> {
        let mut request = exchange.request.body.clone();
        let Some(replaced) = self.variables.take_from(&mut request) else {
            return Err("it continues a request that is left out");
        };
        let params = self.params(&request);
        if is_redacted(&params.to_string()) {
            return Err("a part of it was redacted");
        }
        let Some(response) = exchange.response().map(|response| &response.body) else {
            return Err("it has no response");
        };
        let is_poll = exchange.method() == "tasks/get";
        if is_poll && is_working(response) {
            return Err("the task was still working");
        }
        let params = json_code(&params);
        let binding = if replaced.is_empty() {
            "params"
        } else {
            "mut params"
        };
        let name = exchange.method();
        let mut code = format!("\n    // {title}\n    let {binding} = {params};\n{replaced}");
        if is_poll {
            code += &poll_code(name);
        } else {
            code += &format!("    let id = client.request({name:?}, params).await;\n");
            let before = exchange.sent.iter();
            let before = before.take_while(|message| kind(&message.body) != MessageKind::Response);
            for message in before {
                code += &self.message(message)?;
            }
            code += "    let outcome = client.expect_response(id).await;\n";
        }
        Ok(code + &self.outcome(response))
    }

    /// Returns the parameters of a request without the `_meta` that the scripted client adds.
    fn params(&self, request: &Value) -> Value {
        let mut params = request["params"].as_object().cloned().unwrap_or_default();
        if let Some(Value::Object(meta)) = params.get_mut("_meta") {
            meta.retain(|name, value| {
                // A request may have other capabilities than the first one.
                let has_other_capabilities = name == CAPABILITIES && value != self.capabilities;
                REQUEST_META.contains(&name.as_str()) || has_other_capabilities
            });
        }
        if params.get("_meta").is_some_and(|meta| *meta == json!({})) {
            params.remove("_meta");
        }
        Value::Object(params)
    }

    /// Returns the code for a message of the server before its response.
    fn message(&self, message: &RecordedMessage) -> Result<String, &'static str> {
        let body = &message.body;
        let name = method(body);
        Ok(match kind(body) {
            MessageKind::Notification if name == "notifications/progress" => {
                let progress = json_code(&body["params"]["progress"]);
                format!(
                    "    let progress = client.expect_notification({name:?}).await;\n    \
                     assert_eq!(progress.params[\"progress\"], {progress});\n"
                )
            }
            MessageKind::Notification if name == "notifications/message" => {
                format!("    client.expect_notification({name:?}).await;\n")
            }
            MessageKind::Request => {
                let key = (message.connection, body["id"].to_string());
                let response = self.responses.get(&key);
                let result = response.and_then(|response| response.get("result"));
                let result = result.ok_or("the client did not respond to the server")?;
                if is_redacted(&result.to_string()) {
                    return Err("a response of the client was redacted");
                }
                let result = json_code(result);
                format!(
                    "    let asked = client.expect({name:?}).await;\n    \
                     client.respond(&asked, {result}).await;\n"
                )
            }
            _ => String::new(),
        })
    }

    /// Returns the assertions about the outcome, and the variables for later requests.
    fn outcome(&mut self, response: &Value) -> String {
        if let Some(result) = response.get("result") {
            let mut code = assertions("result", result, &mut vec!["result".to_owned()]);
            code += &self.variables.store(response);
            let binding = if code.is_empty() { "" } else { "let result = " };
            return format!("    {binding}outcome.expect(\"the request succeeds\");\n{code}");
        }
        let code = assertions("error", &response["error"], &mut vec!["error".to_owned()]);
        let binding = if code.is_empty() { "" } else { "let error = " };
        format!("    {binding}outcome.expect_err(\"the request fails\");\n{code}")
    }
}

/// Returns the code that requests the state of a task until the task is no longer working.
fn poll_code(name: &str) -> String {
    format!(
        "    let outcome = loop {{\n        \
             let id = client.request({name:?}, params.clone()).await;\n        \
             let outcome = client.expect_response(id).await;\n        \
             if !matches!(&outcome, Ok(result) if result[\"status\"] == \"working\") {{\n            \
                 break outcome;\n        \
             }}\n        \
             tokio::time::sleep(std::time::Duration::from_millis(20)).await;\n    \
         }};\n"
    )
}
