//! Formats tasks.

use std::fmt::Write;

use toolwire::types::tasks::TaskStatus;
use toolwire::types::tasks::core::Task;
use toolwire::types::tasks::extension::DetailedTask;
use toolwire::types::{ElicitRequestParams, InputRequest};

use crate::show::{Style, Table, plain_text};

/// Returns the name of a status, as in the protocol.
pub(crate) fn status_name(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Working => "working",
        TaskStatus::InputRequired => "input_required",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Cancelled => "cancelled",
        _ => "unknown",
    }
}

/// Returns the status of a task and its input requests or its error, one per line with a label.
pub(crate) fn task(task: &DetailedTask, style: Style) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let label = format!("{name:<9}");
        let _ = writeln!(text, "{} {}", style.paint.dim(&label), plain_text(value));
    };
    line("task", &task.task.task_id);
    line("status", status_name(task.task.status));
    if let Some(message) = &task.task.status_message {
        line("message", message);
    }
    line("created", &task.task.created_at);
    line("updated", &task.task.last_updated_at);
    match task.task.ttl_ms {
        Some(ttl) => line("retention", &format!("{} s", ttl / 1000)),
        None => line("retention", "unlimited"),
    }
    let requests = task.input_requests.iter();
    for (key, request) in requests.flat_map(|requests| requests.iter()) {
        line("input", &format!("{key}: {}", summary(request)));
    }
    if let Some(error) = &task.error {
        line("error", &error.to_string());
    }
    text
}

/// Returns what an input request asks for.
fn summary(request: &InputRequest) -> &str {
    match request {
        InputRequest::Elicitation(ElicitRequestParams::Form(form)) => &form.message,
        InputRequest::Elicitation(ElicitRequestParams::Url(page)) => &page.message,
        other => other.method(),
    }
}

/// Returns a table of tasks.
pub(crate) fn tasks(tasks: &[Task], style: Style) -> String {
    let mut table = Table::new(&["TASK", "STATUS", "UPDATED", "MESSAGE"]);
    for task in tasks {
        table.row([
            &task.task_id,
            status_name(task.status),
            &task.last_updated_at,
            task.status_message.as_deref().unwrap_or_default(),
        ]);
    }
    if table.is_empty() {
        return "no tasks\n".to_owned();
    }
    table.render(style)
}
