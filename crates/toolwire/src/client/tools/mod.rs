//! What the client has learned about the server's tools: headers to mirror, and schemas of their results.
//!
//! Taken from every `tools/list` that passes by, fresh or kept, and used for as long as nothing newer is known: a list
//! that is out of date still knows more than nobody. A tool whose header annotations are invalid must not be used over
//! HTTP, so in revisions that have them it is left out of the list, with a warning.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolwire_proto::features::VersionFeatures;
use toolwire_proto::mirrored_headers::{MirroredHeader, routing_headers};
use toolwire_proto::negotiate::Channel;
use toolwire_proto::param_headers::{self, InvalidParamHeader, ParamHeader};
use toolwire_types::{CallToolResult, ListToolsResult, RawJson, Tool};

use crate::client::Client;
use crate::client::cache::CacheMode;
use crate::client::call::Finished;
#[cfg(feature = "schema-validation")]
use crate::client::output_schema::OutputSchema;
use crate::error::Error;

/// How many tools are remembered; beyond that, the headers and schemas of further ones are not.
const REMEMBERED_TOOLS: usize = 10_000;

/// How many bytes the names and schemas of all remembered tools may have together.
const REMEMBERED_BYTES: usize = 64 * 1024 * 1024;

/// The tools that were seen.
#[derive(Debug, Default)]
pub(crate) struct KnownTools(Mutex<ToolTable>);

/// The tools that were seen, by name, each with its bytes.
#[derive(Debug, Default)]
struct ToolTable {
    by_name: HashMap<String, (Seen, usize)>,
    /// The bytes of all of them.
    bytes: usize,
}

impl ToolTable {
    fn get(&self, name: &str) -> Option<&Seen> {
        self.by_name.get(name).map(|(seen, _)| seen)
    }

    /// Returns whether a tool of so many bytes may be stored, in the place of one of its name if there is one.
    fn has_capacity(&self, name: &str, bytes: usize) -> bool {
        let known = self.by_name.get(name).map(|(_, bytes)| *bytes);
        let others = self.bytes - known.unwrap_or(0);
        let is_counted = known.is_some() || self.by_name.len() < REMEMBERED_TOOLS;
        is_counted && others.saturating_add(bytes) <= REMEMBERED_BYTES
    }

    fn insert(&mut self, name: String, seen: Seen, bytes: usize) {
        self.bytes += bytes;
        if let Some((_, replaced)) = self.by_name.insert(name, (seen, bytes)) {
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
enum Seen {
    Usable(Arc<KnownTool>),
    /// Left out of lists, for this reason.
    Invalid(InvalidParamHeader),
}

/// What is needed of a tool when it is called.
#[derive(Debug)]
pub(crate) struct KnownTool {
    headers: Vec<ParamHeader>,
    #[cfg(feature = "schema-validation")]
    output: Option<Arc<OutputSchema>>,
}

impl KnownTools {
    fn get(&self, name: &str) -> Option<Arc<KnownTool>> {
        match self.table().get(name)? {
            Seen::Usable(tool) => Some(Arc::clone(tool)),
            Seen::Invalid(_) => None,
        }
    }

    /// Learns what a list says of a tool; false when the tool must not be used.
    fn learn(&self, tool: &Tool, headers: Result<Vec<ParamHeader>, InvalidParamHeader>) -> bool {
        let mut table = self.table();
        let known = table.get(&tool.name);
        let usable = headers.is_ok();
        // The same list may pass by again and again; its warnings need not.
        if let Err(invalid) = &headers
            && !matches!(known, Some(Seen::Invalid(reason)) if reason == invalid)
        {
            tracing::warn!(tool = %tool.name, %invalid, "a tool is left out, because its header annotations are invalid");
        }
        let bytes = remembered_bytes(tool);
        if !table.has_capacity(&tool.name, bytes) {
            tracing::warn!(tool = %tool.name, "too many tools, or too large ones, to remember");
            // What was known of it is out of date.
            table.remove(&tool.name);
            return usable;
        }
        let seen = match headers {
            Ok(headers) => Seen::Usable(Arc::new(KnownTool {
                headers,
                #[cfg(feature = "schema-validation")]
                output: output_schema(tool, known),
            })),
            Err(invalid) => Seen::Invalid(invalid),
        };
        table.insert(tool.name.clone(), seen, bytes);
        usable
    }

    fn table(&self) -> MutexGuard<'_, ToolTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the bytes of what is remembered of a tool. Its headers are a part of the input schema, and count as all of it
/// where the schema names any.
fn remembered_bytes(tool: &Tool) -> usize {
    let input = tool.input_schema.get();
    let headers = match input.contains("x-mcp-header") {
        true => input.len(),
        false => 0,
    };
    let output = tool
        .output_schema
        .as_ref()
        .map_or(0, |schema| schema.get().len());
    tool.name.len() + headers + output
}

/// The output schema of a tool: the one that is known already, if it has not changed, because it may be compiled.
#[cfg(feature = "schema-validation")]
fn output_schema(tool: &Tool, known: Option<&Seen>) -> Option<Arc<OutputSchema>> {
    let schema = tool.output_schema.as_ref()?;
    let known = match known {
        Some(Seen::Usable(known)) => known.output.as_ref().filter(|known| known.is(schema)),
        _ => None,
    };
    Some(known.map_or_else(|| Arc::new(OutputSchema::new(schema.clone())), Arc::clone))
}

impl Client {
    /// Learns from a page of tools, and leaves out those that must not be used.
    pub(crate) fn learn_tools(&self, page: &mut ListToolsResult) {
        let has_headers = self.version().has_routing_headers();
        page.tools.retain(|tool| {
            let headers = match has_headers {
                true => param_headers::validate(&tool.input_schema),
                false => Ok(Vec::new()),
            };
            self.shared.tools.learn(tool, headers)
        });
    }

    /// The headers that repeat parts of a request, on transports and in revisions that have them. The parameters may
    /// be without their metadata.
    ///
    /// # Errors
    /// When an argument that has to be repeated cannot be written as a header.
    pub(crate) fn mirrored(
        &self,
        method: &str,
        params: Option<&RawJson>,
    ) -> Result<Vec<MirroredHeader>, Error> {
        // Spec 2026-07-28, server/tools: other transports may ignore the annotations.
        if !matches!(self.shared.dial.channel(), Channel::Http) {
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
                .map_err(|error| Error::refused(format!("{}: {error}", called.name())))?;
            let mirrored = mirrored.into_iter();
            headers.extend(mirrored.map(|(name, value)| (name.into(), value.into())));
        }
        Ok(headers)
    }

    /// Fetches the tools anew after the server found a header missing or different. True when the call would go out with
    /// other headers now, so that it is worth a second attempt.
    pub(crate) async fn relist_tools(&self, method: &str, params: Option<&RawJson>) -> bool {
        let Some(params) = params.filter(|_| method == "tools/call") else {
            return false;
        };
        let (_, called) = routing_headers(method, Some(params.as_raw_value()));
        let Some(called) = called else {
            return false;
        };
        let before = self.mirrored(method, Some(params)).ok();
        let listed = match self.list_tools().with_cache(CacheMode::Refresh).await {
            Ok(listed) => listed,
            Err(error) => {
                tracing::debug!(%error, "the tools cannot be listed anew");
                return false;
            }
        };
        let after = self.mirrored(method, Some(params)).ok();
        listed.iter().any(|tool| tool.name == called.name()) && before != after
    }

    /// Checks structured content against the schema its tool announced. Errors of the tool itself have no schema.
    #[cfg(feature = "schema-validation")]
    pub(crate) fn check_output(
        &self,
        tool: String,
        result: CallToolResult,
    ) -> Finished<CallToolResult> {
        if !self.shared.config.validates_output || result.is_error == Some(true) {
            return Finished::Now(Ok(result));
        }
        let seen = self.shared.tools.get(&tool);
        let Some(schema) = seen.and_then(|seen| seen.output.clone()) else {
            return Finished::Now(Ok(result));
        };
        let client = self.clone();
        Finished::Later(Box::pin(async move {
            let checks = &client.shared.output_checks;
            schema.check(checks, &tool, &result).await?;
            Ok(result)
        }))
    }

    /// Checks nothing without the feature `schema-validation`.
    #[cfg(not(feature = "schema-validation"))]
    pub(crate) fn check_output(
        &self,
        _tool: String,
        result: CallToolResult,
    ) -> Finished<CallToolResult> {
        Finished::Now(Ok(result))
    }
}
