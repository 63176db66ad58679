//! The variables of a generated test: values that the server creates and later requests send back.

use std::collections::HashMap;

use serde_json::Value;

use crate::record::is_redacted;
use crate::replay::exchanges::RecordedExchange;
use crate::replay::server_values::{ServerValue, created, sent_back};

type ValueKey = (ServerValue, String);

/// The variables of one test.
#[derive(Debug)]
pub(super) struct TestVariables {
    /// How often later requests send a value back.
    needed: HashMap<ValueKey, usize>,
    /// The names by the recorded values. `None` stands for the value of an exchange that is left out.
    names: HashMap<ValueKey, Option<String>>,
}

impl TestVariables {
    pub(super) fn new(exchanges: &[&RecordedExchange]) -> Self {
        let requests = exchanges.iter().map(|exchange| &exchange.request.body);
        let mut needed: HashMap<ValueKey, usize> = HashMap::new();
        for value in requests.flat_map(sent_back) {
            *needed
                .entry((value.kind, value.text.to_owned()))
                .or_default() += 1;
        }
        Self {
            needed,
            names: HashMap::new(),
        }
    }

    /// Notes that this request is no longer a later one.
    pub(super) fn reach(&mut self, request: &Value) {
        for value in sent_back(request) {
            let key = (value.kind, value.text.to_owned());
            if let Some(count) = self.needed.get_mut(&key) {
                *count -= 1;
            }
        }
    }

    /// Returns code that stores the values of a response, whose result is in the variable `result`.
    pub(super) fn store(&mut self, response: &Value) -> String {
        let mut code = String::new();
        for value in created(response) {
            let key = (value.kind, value.text.to_owned());
            let is_needed = self.needed.get(&key).is_some_and(|count| *count > 0);
            if !is_needed || matches!(self.names.get(&key), Some(Some(_))) {
                continue;
            }
            let kind = match value.kind {
                ServerValue::State => "state",
                ServerValue::Cursor => "cursor",
                ServerValue::TaskId => "task_id",
            };
            let name = format!("{kind}_{}", self.names.len() + 1);
            let place = indexed("result", value.pointer);
            code += &format!("    let {name} = {place}.clone();\n");
            self.names.insert(key, Some(name));
        }
        code
    }

    /// Marks the values of a response as unknown, because its request is left out.
    pub(super) fn leave_out(&mut self, response: &Value) {
        for value in created(response) {
            let key = (value.kind, value.text.to_owned());
            self.names.entry(key).or_insert(None);
        }
    }

    /// Removes the values of variables from a request, and returns the code that adds them to `params`. Returns `None` if a
    /// value is unknown.
    pub(super) fn take_from(&self, request: &mut Value) -> Option<String> {
        let mut code = String::new();
        let mut taken = Vec::new();
        for value in sent_back(request) {
            match self.names.get(&(value.kind, value.text.to_owned())) {
                Some(Some(name)) => {
                    let place = indexed("params", value.pointer);
                    code += &format!("    {place} = {name}.clone();\n");
                    taken.push(value.pointer);
                }
                Some(None) => return None,
                None if is_redacted(value.text) => return None,
                None => {}
            }
        }
        for pointer in taken {
            if let Some((parent, name)) = pointer.rsplit_once('/')
                && let Some(Value::Object(members)) = request.pointer_mut(parent)
            {
                members.remove(name);
            }
        }
        Some(code)
    }
}

/// Returns the expression for a place below a variable, which stands for the first part of the pointer.
fn indexed(variable: &str, pointer: &str) -> String {
    let parts = pointer.split('/').skip(2);
    let parts = parts.map(|part| part.replace("~1", "/").replace("~0", "~"));
    let indexes = parts.map(|part| format!("[{part:?}]"));
    variable.to_owned() + &indexes.collect::<String>()
}
