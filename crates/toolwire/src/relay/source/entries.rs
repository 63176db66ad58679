//! The lists of an upstream server.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolwire_proto::cache::{self, CacheHint};
use toolwire_proto::pagination::PageCursor;
use toolwire_proto::raw_object::RawObject;
use toolwire_types::tasks::extension::EXTENSION_ID;
use toolwire_types::{RawJson, ServerCapabilities, code};

use crate::client::cache::CacheMode;
use crate::client::{Client, ClientLimits};
use crate::error::Error;
use crate::relay::connection::{UpstreamConnection, is_rejection};
use crate::relay::shared_upstream::SharedUpstream;
use crate::server::mount::TaskDesigns;

/// The entries of an upstream server, as it sent them, and what it declares.
#[derive(Debug, Default)]
pub(super) struct UpstreamEntries {
    /// Whether the lists were read.
    pub(super) are_known: bool,
    pub(super) tools: Vec<RawJson>,
    pub(super) prompts: Vec<RawJson>,
    pub(super) resources: Vec<RawJson>,
    pub(super) templates: Vec<RawJson>,
    pub(super) instructions: Option<String>,
    pub(super) has_completions: bool,
    pub(super) has_subscriptions: bool,
    pub(super) has_logging: bool,
    pub(super) tasks: TaskDesigns,
    /// How long the lists are fresh, and who may share them: the shortest time and the narrowest scope that the server sent.
    pub(super) hint: CacheHint,
    /// Whether the server rejected the request for a list, so that the list should be read again later.
    pub(super) has_rejected_list: bool,
}

impl UpstreamEntries {
    /// Reads all lists that the server declares, as a modern client. If the server has tasks of 2025-11-25, its tools are read
    /// as it sends them, because a modern client does not get their support for tasks. A list that the server rejects stays as
    /// it was in `previous`.
    ///
    /// # Errors
    /// Returns an error if the server does not respond, or if a list exceeds the limits of the client.
    pub(super) async fn read(
        client: &Client,
        upstream: &SharedUpstream,
        limits: &ClientLimits,
        previous: &Self,
    ) -> Result<Self, Error> {
        let details = client.server();
        let declared = details.map(|details| details.capabilities.clone());
        let declared = declared.unwrap_or_default();
        let core_tasks = upstream.with_core_tasks();
        let mut reader = ListReader {
            server: ListServer::Client(client),
            limits,
            hint: None,
            has_rejection: false,
        };
        let mut entries = Self {
            are_known: true,
            has_completions: declared.completions.is_some(),
            has_subscriptions: has_subscriptions(&declared),
            has_logging: declared.logging.is_some(),
            tasks: TaskDesigns {
                core: core_tasks.is_some(),
                extension: declared.extension(EXTENSION_ID).is_some(),
            },
            instructions: client
                .server()
                .and_then(|details| details.instructions.clone()),
            ..Self::default()
        };
        if declared.tools.is_some() {
            if let Some(session) = core_tasks {
                reader.server = ListServer::Session(session);
            }
            let tools = reader.list("tools/list", "tools", &previous.tools).await?;
            entries.tools = match core_tasks {
                Some(_) => tools,
                None => tools.into_iter().map(without_task_support).collect(),
            };
            reader.server = ListServer::Client(client);
        }
        if declared.prompts.is_some() {
            let prompts = reader.list("prompts/list", "prompts", &previous.prompts);
            entries.prompts = prompts.await?;
        }
        if declared.resources.is_some() {
            let resources = reader.list("resources/list", "resources", &previous.resources);
            entries.resources = resources.await?;
            let (method, member) = ("resources/templates/list", "resourceTemplates");
            let templates = reader.list(method, member, &previous.templates);
            entries.templates = templates.await?;
        }
        entries.has_rejected_list = reader.has_rejection;
        entries.hint = reader.hint.unwrap_or_default();
        Ok(entries)
    }
}

fn has_subscriptions(declared: &ServerCapabilities) -> bool {
    let resources = declared.resources.as_ref();
    resources.is_some_and(|resources| resources.subscribe == Some(true))
}

fn is_unknown_method(error: &Error) -> bool {
    error
        .rpc()
        .is_some_and(|rpc| rpc.code == code::METHOD_NOT_FOUND)
}

/// Returns a tool without its support for tasks of 2025-11-25, which the server does not have.
fn without_task_support(tool: RawJson) -> RawJson {
    let Some(mut members) = RawObject::parse(tool.as_raw_value()) else {
        return tool;
    };
    let Some(execution) = members.object_mut("execution") else {
        return tool;
    };
    execution.remove("taskSupport");
    if execution.is_empty() {
        members.remove("execution");
    }
    let edited = members.finish_if_edited();
    edited.unwrap_or_else(|| tool.clone())
}

/// Where a list is read.
enum ListServer<'a> {
    /// The relay, in the form of the newest revision.
    Client(&'a Client),
    /// A session with the upstream server, in the form of its revision.
    Session(&'a UpstreamConnection),
}

impl ListServer<'_> {
    async fn page(&self, method: &str, params: Value) -> Result<RawJson, Error> {
        match self {
            Self::Client(client) => {
                let call = client.request(method, params);
                call.with_cache(CacheMode::Bypass).await
            }
            Self::Session(session) => Ok(session.request(method, RawJson::from(params)).await?),
        }
    }
}

/// Reads lists to their ends.
struct ListReader<'a> {
    server: ListServer<'a>,
    limits: &'a ClientLimits,
    /// The shortest `ttlMs` and the narrowest `cacheScope` of all pages.
    hint: Option<CacheHint>,
    /// Whether a request was rejected.
    has_rejection: bool,
}

impl ListReader<'_> {
    /// Reads a list. If the server rejects the request, returns the previous list. A server that does not know the method
    /// has no such entries.
    async fn list(
        &mut self,
        method: &str,
        member: &str,
        previous: &[RawJson],
    ) -> Result<Vec<RawJson>, Error> {
        match self.read(method, member).await {
            Err(error) if is_unknown_method(&error) => {
                tracing::debug!(method, "the upstream server does not have a list");
                Ok(Vec::new())
            }
            Err(error) if is_rejection(&error) => {
                tracing::warn!(method, %error, "the upstream server rejected the request for a list");
                self.has_rejection = true;
                Ok(previous.to_vec())
            }
            list => list,
        }
    }

    async fn read(&mut self, method: &str, member: &str) -> Result<Vec<RawJson>, Error> {
        let mut pages = PageCursor::new(self.limits.pages);
        let (mut entries, mut bytes) = (Vec::new(), 0);
        let mut params = json!({});
        loop {
            let sent = self.server.page(method, params).await?;
            bytes += sent.get().len();
            if bytes > self.limits.list_bytes {
                return Err(Error::limit(format!(
                    "the result of `{method}` is larger than ClientLimits::list_bytes; raise this limit"
                )));
            }
            let invalid = || Error::protocol(format!("the result of `{method}` has no list"));
            let page = RawObject::parse(sent.as_raw_value()).ok_or_else(invalid)?;
            let list = page.get(member).ok_or_else(invalid)?;
            let list: Vec<RawJson> =
                serde_json::from_str(list.get()).map_err(|error| Error::decode(method, error))?;
            entries.extend(list);
            self.note_hint(sent.as_raw_value());
            let cursor = page.text("nextCursor");
            let cursor = pages
                .next(cursor.as_deref())
                .map_err(|error| Error::limit(error.to_string()))?;
            match cursor {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return Ok(entries),
            }
        }
    }

    fn note_hint(&mut self, page: &RawValue) {
        let sent = cache::parse(page).unwrap_or_default();
        self.hint = Some(self.hint.map_or(sent, |hint| hint.merged(sent)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_lose_task_support_and_nothing_else() {
        let check = |tool: &str, expected: &str| {
            let tool = RawJson::from_string(tool.to_owned()).unwrap();
            assert_eq!(without_task_support(tool).get(), expected);
        };
        let plain = r#"{"name":"a", "x":1.0}"#;
        check(plain, plain);
        check(
            r#"{"name":"a","execution":{"taskSupport":"required"},"x":1.0}"#,
            r#"{"name":"a","x":1.0}"#,
        );
        check(
            r#"{"name":"a","execution":{"y":1,"taskSupport":"forbidden"}}"#,
            r#"{"name":"a","execution":{"y":1}}"#,
        );
    }
}
