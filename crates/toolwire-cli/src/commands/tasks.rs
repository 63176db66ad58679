//! Continues with tasks that a call started.

use std::path::Path;

use serde_json::{Value, json};
use toolwire::types::{
    CallToolResult, ElicitRequestFormParams, ElicitRequestParams, ElicitResult, InputRequest,
};
use toolwire::{Error, TaskHandle, VersionFeatures};
use toolwire_proto::elicit_validation::{apply_defaults, check_elicit_result, read_schema};

use crate::commands::call::{missing_arguments, print_typed_result};
use crate::commands::{Session, at_most_one, failed, first_and_rest, is_unknown_method};
use crate::failure::{Exit, Failure};
use crate::input_requests::ask_in_terminal;
use crate::screen::Screen;
use crate::show;
use crate::task_arguments::Respond;
use crate::tool_arguments::{ParsedArguments, Schema, missing, object};

/// A command for one task.
#[derive(Debug)]
pub(crate) struct TaskPlan {
    id: String,
}

impl TaskPlan {
    pub(crate) fn new(words: Vec<String>) -> Result<Self, Failure> {
        match at_most_one(words, "task")? {
            Some(id) => Ok(Self { id }),
            None => Err(Failure::usage("no task is given")
                .with_advice("give the id that `toolwire call --task` printed")),
        }
    }

    /// Shows the task.
    pub(crate) async fn get(self, session: &Session) -> Result<Exit, Failure> {
        let screen = &session.screen;
        let task = session.client.task(self.id).get().await.map_err(of_task)?;
        if screen.json {
            screen.print_json(&task)?;
            return Ok(Exit::Success);
        }
        let mut text = show::task(&task, screen.style);
        let result = task.result.as_ref();
        if let Some(result) = result.and_then(|result| result.parse::<CallToolResult>().ok()) {
            text.push_str(&show::call_result(&result, screen.style));
        }
        screen.print(&text)?;
        Ok(Exit::Success)
    }

    /// Waits for the result.
    pub(crate) async fn wait(
        self,
        session: &Session,
        output: Option<&Path>,
    ) -> Result<Exit, Failure> {
        let result = session.client.task(self.id).wait().await;
        session.screen.clear();
        print_typed_result(session, &result.map_err(of_task)?, output)
    }

    /// Asks the server to cancel the task.
    pub(crate) async fn cancel(self, session: &Session) -> Result<Exit, Failure> {
        let task = session.client.task(self.id);
        task.cancel().await.map_err(of_task)?;
        acknowledge(
            session,
            "the server has the cancellation; `toolwire task get` shows its effect",
        )
    }
}

/// Lists the tasks of this client.
pub(crate) async fn list_tasks(session: &Session) -> Result<Exit, Failure> {
    let (client, screen) = (&session.client, &session.screen);
    if !client.version().has_core_tasks() {
        let message = format!(
            "servers of revision {} have no list of tasks",
            client.version()
        );
        return Err(Failure::new(Exit::Protocol, message)
            .with_advice("`toolwire task get` shows the task with an id"));
    }
    let tasks = match client.list_tasks().await {
        Ok(tasks) => tasks,
        Err(error) if is_unknown_method(&error) => return session.no_list("a list of tasks"),
        Err(error) => return Err(failed(error)),
    };
    if screen.json {
        screen.print_json(&tasks)?;
    } else {
        screen.print(&show::tasks(&tasks, screen.style))?;
    }
    Ok(Exit::Success)
}

/// A response to an input request of a task.
#[derive(Debug)]
pub(crate) struct RespondPlan {
    id: String,
    key: String,
    given: ParsedArguments,
    declines: bool,
}

impl RespondPlan {
    pub(crate) fn new(respond: &Respond, words: Vec<String>) -> Result<Self, Failure> {
        let example = "toolwire task answer SERVER ID KEY field=value"; // tidy: allow(answer) name of the command
        let (id, rest) = first_and_rest(words, "task", example)?;
        let (key, rest) = first_and_rest(rest, "key of an input request", example)?;
        if respond.decline && !rest.is_empty() {
            return Err(
                Failure::usage("--decline sends no fields").with_advice("remove one of them")
            );
        }
        Ok(Self {
            id,
            key,
            given: ParsedArguments::read(respond.args.as_deref(), &rest)?,
            declines: respond.decline,
        })
    }

    pub(crate) async fn run(self, session: &Session) -> Result<Exit, Failure> {
        let task = session.client.task(&self.id);
        let request = self.input_request(&task).await?;
        let response = self.response(session, request).await?;
        task.respond(&self.key, response).await.map_err(of_task)?;
        acknowledge(session, "the server has the response")
    }

    /// Returns the input request with the key.
    async fn input_request(&self, task: &TaskHandle) -> Result<ElicitRequestParams, Failure> {
        let state = task.get().await.map_err(of_task)?;
        let requests = state.input_requests.unwrap_or_default();
        match requests.get(&self.key) {
            Some(InputRequest::Elicitation(request)) => Ok(request.clone()),
            Some(other) => {
                let message = format!("the input request `{}` is {}", self.key, other.method());
                let failure = Failure::new(Exit::Protocol, message);
                Err(match other {
                    InputRequest::Sampling(_) => failure.with_advice(
                        "respond with `toolwire task wait` in a terminal, or with its option --model-response TEXT",
                    ),
                    _ => failure.with_advice("let an application respond that has this capability"),
                })
            }
            None => {
                let message = format!("the task has no input request `{}`", self.key);
                let keys: Vec<_> = requests.iter().map(|(key, _)| key).collect();
                let advice = if keys.is_empty() {
                    "`toolwire task get` shows the status of the task".to_owned()
                } else {
                    keys.join(" or ")
                };
                Err(Failure::new(Exit::Protocol, message).with_advice(advice))
            }
        }
    }

    async fn response(
        &self,
        session: &Session,
        request: ElicitRequestParams,
    ) -> Result<ElicitResult, Failure> {
        if self.declines {
            return Ok(ElicitResult::decline());
        }
        let has_fields = self.given.whole.is_some() || !self.given.assignments.is_empty();
        if !has_fields && Screen::is_interactive() {
            let asked = ask_in_terminal(request).await;
            return asked.map_err(|error| Failure::new(Exit::Protocol, error.message));
        }
        match request {
            ElicitRequestParams::Form(form) => self.fill_in(session, &form),
            _ => Err(
                Failure::usage("the input request asks the user to open a page")
                    .with_advice("run the command in a terminal, or pass --decline"),
            ),
        }
    }

    /// Fills in the form with the fields of the command line.
    fn fill_in(
        &self,
        session: &Session,
        form: &ElicitRequestFormParams,
    ) -> Result<ElicitResult, Failure> {
        let invalid = |problem: String| {
            Failure::usage(problem).with_details(format!("the server asks: {}", form.message))
        };
        let checked = read_schema(form).map_err(|error| invalid(error.to_string()))?;
        let schema = form
            .requested_schema
            .to_value()
            .unwrap_or(Value::Bool(true));
        let schema = Schema::new(&schema);
        let missing = missing(&self.given, schema.required());
        // A missing field may have a default.
        let has_default = |name: &&str| {
            let mut defaults = ElicitResult::accept();
            apply_defaults(&checked, &mut defaults);
            defaults
                .content
                .is_some_and(|content| content.contains_key(*name))
        };
        let missing: Vec<_> = missing
            .into_iter()
            .filter(|name| !has_default(name))
            .collect();
        if !missing.is_empty() {
            let failure = missing_arguments(&missing);
            return Err(failure.with_details(format!("the server asks: {}", form.message)));
        }
        let fields = object(&self.given, schema)?;
        for warning in &fields.warnings {
            session.screen.warn(warning);
        }
        let mut result = ElicitResult::accept().with_content(fields.values);
        apply_defaults(&checked, &mut result);
        check_elicit_result(&checked, &result).map_err(|error| invalid(error.to_string()))?;
        Ok(result)
    }
}

/// Reports that the server has accepted a request without a result.
fn acknowledge(session: &Session, text: &str) -> Result<Exit, Failure> {
    if session.screen.json {
        session.screen.print_json(&json!({}))?;
    } else {
        session.screen.show_line(text);
    }
    Ok(Exit::Success)
}

/// Returns the failure for a failed request about a task.
fn of_task(error: Error) -> Failure {
    let is_gone = error.is_task_gone();
    let failure = failed(error);
    if is_gone {
        failure.with_default_advice(
            "check the id, and use the same credentials as the call; servers remove tasks after some time",
        )
    } else {
        failure
    }
}
