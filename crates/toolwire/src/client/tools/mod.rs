//! What the client knows about the server's tools: the headers to mirror and the output schemas.
//!
//! The client reads every `tools/list` result, fresh or cached, and uses it until a newer one arrives: outdated data is
//! more useful than none. A tool with invalid header annotations must not be used over HTTP. In revisions with these
//! annotations it is removed from the list with a warning.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use toolwire_proto::features::VersionFeatures;
use toolwire_proto::mirrored_headers::{MirroredHeader, routing_headers};
use toolwire_proto::negotiate::Channel;
use toolwire_proto::param_headers::{self, InvalidParamHeader, ParamHeader};
use toolwire_proto::subscriptions::Change;
#[cfg(feature = "tasks")]
use toolwire_types::TaskSupport;
use toolwire_types::{CallToolResult, ListToolsResult, RawJson, Tool};

use crate::client::Client;
use crate::client::cache::CacheMode;
use crate::client::call::Finished;
#[cfg(feature = "schema-validation")]
use crate::client::output_schema::OutputSchema;
use crate::engine::PeerText;
use crate::error::Error;
use crate::sync::lock;

/// The maximum number of known tools. The headers and schemas of further tools are not stored.
const MAX_KNOWN_TOOLS: usize = 10_000;

/// The maximum number of bytes of the names and schemas of all known tools.
const MAX_KNOWN_BYTES: usize = 64 * 1024 * 1024;

/// The tools of the lists that the client has read.
#[derive(Debug, Default)]
pub(crate) struct KnownTools(Mutex<ToolTable>);

/// The known tools by name, each with its size in bytes.
#[derive(Debug, Default)]
struct ToolTable {
    by_name: HashMap<String, (KnownToolEntry, usize)>,
    /// The total size in bytes.
    bytes: usize,
}

impl ToolTable {
    fn get(&self, name: &str) -> Option<&KnownToolEntry> {
        self.by_name.get(name).map(|(entry, _)| entry)
    }

    /// Returns `true` if a tool of this size can be stored. It may replace a tool of the same name.
    fn has_capacity(&self, name: &str, bytes: usize) -> bool {
        let known = self.by_name.get(name).map(|(_, bytes)| *bytes);
        let others = self.bytes - known.unwrap_or(0);
        let is_counted = known.is_some() || self.by_name.len() < MAX_KNOWN_TOOLS;
        is_counted && others.saturating_add(bytes) <= MAX_KNOWN_BYTES
    }

    fn insert(&mut self, name: String, entry: KnownToolEntry, bytes: usize) {
        self.bytes += bytes;
        if let Some((_, replaced)) = self.by_name.insert(name, (entry, bytes)) {
            self.bytes -= replaced;
        }
    }

    fn remove(&mut self, name: &str) {
        if let Some((_, bytes)) = self.by_name.remove(name) {
            self.bytes -= bytes;
        }
    }
}

#[derive(Debug, Clone)]
enum KnownToolEntry {
    Usable(Arc<KnownTool>),
    /// A tool that is removed from lists, with the reason.
    Invalid(InvalidParamHeader),
}

/// The data of a tool that a call needs.
#[derive(Debug)]
pub(crate) struct KnownTool {
    headers: Vec<ParamHeader>,
    #[cfg(feature = "tasks")]
    task_support: Option<TaskSupport>,
    #[cfg(feature = "schema-validation")]
    output: Option<Arc<OutputSchema>>,
}

impl KnownTools {
    fn get(&self, name: &str) -> Option<Arc<KnownTool>> {
        match self.table().get(name)? {
            KnownToolEntry::Usable(tool) => Some(Arc::clone(tool)),
            KnownToolEntry::Invalid(_) => None,
        }
    }

    /// Returns `true` if no list was read yet.
    #[cfg(feature = "tasks")]
    pub(crate) fn is_empty(&self) -> bool {
        self.table().by_name.is_empty()
    }

    /// Returns whether a call of this tool may become a task, as the list states it (2025-11-25).
    #[cfg(feature = "tasks")]
    pub(crate) fn task_support(&self, name: &str) -> Option<TaskSupport> {
        self.get(name)?.task_support.clone()
    }

    /// Stores the data of a listed tool. Returns `false` if the tool must not be used.
    fn store(&self, tool: &Tool, headers: Result<Vec<ParamHeader>, InvalidParamHeader>) -> bool {
        let mut table = self.table();
        let known = table.get(&tool.name);
        let usable = headers.is_ok();
        // The same list may be read repeatedly, but it is logged once.
        if let Err(invalid) = &headers
            && !matches!(known, Some(KnownToolEntry::Invalid(reason)) if reason == invalid)
        {
            let invalid = &*invalid.to_string();
            tracing::warn!(tool = %PeerText::new(&tool.name), invalid, "removed a tool with invalid header annotations from the list");
        }
        let bytes = stored_bytes(tool);
        if !table.has_capacity(&tool.name, bytes) {
            tracing::warn!(tool = %PeerText::new(&tool.name), "too many or too large tools; the headers and schema of this tool are not used");
            // The stored data of this tool is outdated.
            table.remove(&tool.name);
            return usable;
        }
        let entry = match headers {
            Ok(headers) => KnownToolEntry::Usable(Arc::new(KnownTool {
                headers,
                #[cfg(feature = "tasks")]
                task_support: tool
                    .execution
                    .as_ref()
                    .and_then(|execution| execution.task_support.clone()),
                #[cfg(feature = "schema-validation")]
                output: output_schema(tool, known),
            })),
            Err(invalid) => KnownToolEntry::Invalid(invalid),
        };
        table.insert(tool.name.clone(), entry, bytes);
        usable
    }

    fn table(&self) -> MutexGuard<'_, ToolTable> {
        lock(&self.0)
    }
}

/// Returns the size of the stored data of a tool. Its headers are a part of the input schema, and count as the whole
/// schema if there are any.
fn stored_bytes(tool: &Tool) -> usize {
    let input = tool.input_schema.get();
    let headers = if input.contains("x-mcp-header") {
        input.len()
    } else {
        0
    };
    let output = tool
        .output_schema
        .as_ref()
        .map_or(0, |schema| schema.get().len());
    tool.name.len() + headers + output
}

/// Returns the output schema of a tool. Reuses the known schema if it is unchanged, because it may be compiled.
#[cfg(feature = "schema-validation")]
fn output_schema(tool: &Tool, known: Option<&KnownToolEntry>) -> Option<Arc<OutputSchema>> {
    let schema = tool.output_schema.as_ref()?;
    let known = match known {
        Some(KnownToolEntry::Usable(known)) => {
            known.output.as_ref().filter(|known| known.is_same(schema))
        }
        _ => None,
    };
    Some(known.map_or_else(|| Arc::new(OutputSchema::new(schema.clone())), Arc::clone))
}

impl Client {
    /// Stores the data of a page of tools, and removes the tools that must not be used.
    pub(crate) fn store_tools(&self, page: &mut ListToolsResult) {
        let has_headers = self.version().has_routing_headers();
        page.tools.retain(|tool| {
            let headers = if has_headers {
                param_headers::validate(&tool.input_schema)
            } else {
                Ok(Vec::new())
            };
            self.shared.tools.store(tool, headers)
        });
    }

    /// Returns the headers that repeat parts of a request, on transports and in revisions that have them. The
    /// parameters may lack `_meta`.
    ///
    /// # Errors
    /// Returns an error if an argument cannot be encoded as a header value.
    pub(crate) fn mirrored_headers(
        &self,
        method: &str,
        params: Option<&RawJson>,
    ) -> Result<Vec<MirroredHeader>, Error> {
        // Spec 2026-07-28, server/tools: other transports may ignore the annotations.
        if !matches!(self.shared.connector.channel(), Channel::Http) {
            return Ok(Vec::new());
        }
        let (mut headers, called) = routing_headers(method, params.map(RawJson::as_raw_value));
        if let Some(called) = called
            && let Some(tool) = self.shared.tools.get(called.name())
            && !tool.headers.is_empty()
        {
            let arguments = called.arguments().map(RawJson::from);
            let arguments = arguments.unwrap_or_else(RawJson::empty_object);
            let mirrored = param_headers::mirror(&tool.headers, &arguments)
                .map_err(|error| Error::invalid_request(format!("{}: {error}", called.name())))?;
            let mirrored = mirrored.into_iter();
            headers.extend(mirrored.map(|(name, value)| (name.into(), value.into())));
        }
        Ok(headers)
    }

    /// Returns the headers that repeat arguments of a tool, as the last list with this tool states them.
    #[cfg(all(feature = "relay", feature = "http-server"))]
    pub(crate) fn param_headers(&self, tool: &str) -> Vec<ParamHeader> {
        let known = self.shared.tools.get(tool);
        known.map_or_else(Vec::new, |known| known.headers.clone())
    }

    /// Lists the tools again after the server rejected a header. Returns `true` if the call would now have other headers,
    /// so that a second attempt is useful.
    ///
    /// The list belongs to the call, which has passed the middleware of the client. So the list does not pass it, and is
    /// not cached for calls that do.
    pub(crate) async fn relist_tools(&self, method: &str, params: Option<&RawJson>) -> bool {
        let Some(params) = params.filter(|_| method == "tools/call") else {
            return false;
        };
        let (_, called) = routing_headers(method, Some(params.as_raw_value()));
        let Some(called) = called else {
            return false;
        };
        let before = self.mirrored_headers(method, Some(params)).ok();
        let cache_mode = if self.shared.config.middleware.is_some() {
            self.shared.cache.invalidate(&Change::ToolsListChanged);
            CacheMode::Bypass
        } else {
            CacheMode::Refresh
        };
        let list = self.list_tools().without_middleware();
        let listed = match list.with_cache(cache_mode).await {
            Ok(listed) => listed,
            Err(error) => {
                tracing::debug!(%error, "the tools could not be listed again");
                return false;
            }
        };
        let after = self.mirrored_headers(method, Some(params)).ok();
        listed.iter().any(|tool| tool.name == called.name()) && before != after
    }

    /// Validates structured content against the output schema of its tool. Results with `is_error` have no schema.
    #[cfg(feature = "schema-validation")]
    pub(crate) fn check_output(
        &self,
        tool: String,
        result: CallToolResult,
    ) -> Finished<CallToolResult> {
        if !self.shared.config.validates_output || result.is_error == Some(true) {
            return Finished::Now(Ok(result));
        }
        let known = self.shared.tools.get(&tool);
        let Some(schema) = known.and_then(|known| known.output.clone()) else {
            return Finished::Now(Ok(result));
        };
        let client = self.clone();
        Finished::Later(Box::pin(async move {
            let checks = &client.shared.output_checks;
            schema.check(checks, &tool, &result).await?;
            Ok(result)
        }))
    }

    /// Returns the result unchecked, because the feature `schema-validation` is disabled.
    #[cfg(not(feature = "schema-validation"))]
    pub(crate) fn check_output(
        &self,
        _tool: String,
        result: CallToolResult,
    ) -> Finished<CallToolResult> {
        Finished::Now(Ok(result))
    }
}
