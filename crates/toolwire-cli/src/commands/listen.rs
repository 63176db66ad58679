//! Shows changes as they happen.

use serde_json::{Value, json};
use toolwire::Change;
use toolwire::types::SubscriptionFilter;

use crate::commands::{Session, failed};
use crate::failure::{Exit, Failure};
use crate::request_arguments::Listen;
use crate::show::plain_text;

/// The changes to listen for, and their number.
#[derive(Debug)]
pub(crate) struct ListenPlan {
    filter: SubscriptionFilter,
    count: Option<u64>,
}

impl ListenPlan {
    pub(crate) fn new(listen: &Listen, uris: Vec<String>) -> Self {
        let everything = !listen.tools && !listen.prompts && !listen.resources && uris.is_empty();
        let mut filter = SubscriptionFilter::new();
        if listen.tools || everything {
            filter = filter.with_tools_list_changed();
        }
        if listen.prompts || everything {
            filter = filter.with_prompts_list_changed();
        }
        if listen.resources || everything {
            filter = filter.with_resources_list_changed();
        }
        for uri in uris {
            filter = filter.with_resource(uri);
        }
        Self {
            filter,
            count: listen.count,
        }
    }

    pub(crate) async fn run(self, session: &Session) -> Result<Exit, Failure> {
        let screen = &session.screen;
        let mut listening = session
            .client
            .listen(self.filter.clone())
            .await
            .map_err(failed)?;
        let honoured = names(listening.accepted_filter());
        if honoured.is_empty() {
            return Err(Failure::new(
                Exit::Protocol,
                "the server does not report any of these changes",
            )
            .with_advice("`toolwire discover` shows its capabilities"));
        }
        screen.show_line(&format!("listening for changes of {}", honoured.join(", ")));
        let mut seen = 0;
        while self.count.is_none_or(|count| seen < count) {
            let Some(change) = listening.next().await.map_err(failed)? else {
                return Err(Failure::new(
                    Exit::NoConnection,
                    "the server ended the subscription",
                ));
            };
            seen += 1;
            if screen.json {
                screen.print_json_line(&notification(&change))?;
            } else {
                screen.print(&format!("{}\n", plain_text(&sentence(&change))))?;
            }
        }
        Ok(Exit::Success)
    }
}

/// Returns the names of the accepted changes.
fn names(filter: &SubscriptionFilter) -> Vec<String> {
    let lists = [
        (filter.tools_list_changed, "tools"),
        (filter.prompts_list_changed, "prompts"),
        (filter.resources_list_changed, "resources"),
    ];
    let lists = lists.iter().filter(|(wanted, _)| *wanted == Some(true));
    let uris = filter.resource_subscriptions.iter().flatten().cloned();
    lists
        .map(|(_, name)| (*name).to_owned())
        .chain(uris)
        .collect()
}

fn sentence(change: &Change) -> String {
    match change {
        Change::ToolsListChanged => "the list of tools changed".to_owned(),
        Change::PromptsListChanged => "the list of prompts changed".to_owned(),
        Change::ResourcesListChanged => "the list of resources changed".to_owned(),
        Change::ResourceUpdated(uri) => format!("{uri} changed"),
        Change::Task(id) => format!("task {id} changed"),
        other => format!("{other:?}"),
    }
}

/// Returns the change as a JSON notification.
fn notification(change: &Change) -> Value {
    let method = |name: &str| json!({"method": format!("notifications/{name}")});
    match change {
        Change::ToolsListChanged => method("tools/list_changed"),
        Change::PromptsListChanged => method("prompts/list_changed"),
        Change::ResourcesListChanged => method("resources/list_changed"),
        Change::ResourceUpdated(uri) => {
            json!({"method": "notifications/resources/updated", "params": {"uri": uri}})
        }
        Change::Task(id) => json!({"method": "notifications/tasks", "params": {"taskId": id}}),
        other => json!({"change": format!("{other:?}")}),
    }
}
