//! A tool: its descriptor, its handler, and the checks of its arguments and results.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use toolwire_proto::inspection::Rejected;
use toolwire_proto::param_headers::{self, ParamHeader};
use toolwire_proto::schema_budget::SchemaLimits;
use toolwire_types::{CallToolResult, ErrorObject, RawJson, Tool, ToolAnnotations};

use crate::engine::BoxFuture;
use crate::engine::schema_check::SchemaCheck;
use crate::engine::schema_pool::{CHECK_TIMEOUT, QUICK_BYTES, QuickCheck, SchemaPool};
use crate::server::RequestContext;
use crate::server::access::{Access, access_options};
use crate::server::inspection;
use crate::server::mount::{CatalogEntry, HiddenArguments, Origin};
use crate::server::raw_entry::{RawEntry, RawHandler};
use crate::server::registry::{
    RegistrationError, check_meta, check_name, descriptor_options, parse_raw,
};
use crate::server::response::{IntoToolResponse, ToolResponse};
use crate::server::schema;
#[cfg(feature = "tasks")]
use crate::server::tasks::TaskOptions;
use crate::server::tool_arguments::{ArgumentDecoder, invalid_arguments};
use crate::server::tool_error::ToolError;
#[cfg(feature = "apps")]
use crate::server::view::ToolViewEntry;
use crate::server::visibility::EntryKind;

type Outcome = Result<ToolResponse, ToolError>;
type Handler = dyn Fn(RequestContext, &RawValue) -> BoxFuture<'static, Outcome> + Send + Sync;

/// A value that can be registered as a tool. `#[tool]` implements this.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    note = "put `#[tool]` on the function, or build a `ToolHandler` from a closure"
)]
pub trait IntoTool {
    /// Converts the value into a tool handler.
    fn into_tool(self) -> ToolHandler;
}

impl IntoTool for ToolHandler {
    fn into_tool(self) -> ToolHandler {
        self
    }
}

impl<F: FnOnce() -> ToolHandler> IntoTool for F {
    fn into_tool(self) -> ToolHandler {
        self()
    }
}

/// A tool and its handler.
///
/// ```
/// use serde::Deserialize;
/// use toolwire::{JsonSchema, RequestContext, ToolHandler, Server};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Add { a: i64, b: i64 }
///
/// let add = ToolHandler::typed("add", |_: RequestContext, args: Add| async move { args.a + args.b })
///     .with_description("Adds two integers.");
/// let server = Server::new("demo", "1.0.0").tool(add);
/// ```
#[derive(Clone)]
pub struct ToolHandler {
    pub(crate) descriptor: Tool,
    access: Access,
    check_arguments: bool,
    #[cfg(feature = "tasks")]
    pub(crate) task: Option<TaskOptions>,
    #[cfg(feature = "apps")]
    pub(crate) view: Option<ToolViewEntry>,
    handler: Arc<Handler>,
}

impl ToolHandler {
    /// Creates a tool whose arguments decode into a type. The type's schema is published.
    pub fn typed<A, M, F, Fut>(name: impl Into<String>, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(RequestContext, A) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoToolResponse<M>,
    {
        let name = name.into();
        let decoder = ArgumentDecoder::new::<A>(&name);
        let handler =
            move |ctx: RequestContext, arguments: &RawValue| -> BoxFuture<'static, Outcome> {
                match decoder.decode::<A>(arguments) {
                    Ok(arguments) => {
                        let running = handler(ctx, arguments);
                        Box::pin(async move { running.await.into_tool_response() })
                    }
                    Err(error) => ready_error(error),
                }
            };
        Self::from_schema(
            name,
            &schema::arguments_schema::<A>(),
            Fut::Output::output_schema(),
            Arc::new(handler),
        )
    }

    /// Creates a tool that runs on the blocking pool, for handlers with long computations or blocking input and output.
    ///
    /// Cancellation cannot interrupt the handler. It should poll [`RequestContext::is_cancelled`].
    pub fn blocking<A, M, F, R>(name: impl Into<String>, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(RequestContext, A) -> R + Send + Sync + 'static,
        R: IntoToolResponse<M> + Send + 'static,
    {
        let name = name.into();
        let decoder = ArgumentDecoder::new::<A>(&name);
        let handler = Arc::new(handler);
        let handler =
            move |ctx: RequestContext, arguments: &RawValue| -> BoxFuture<'static, Outcome> {
                match decoder.decode::<A>(arguments) {
                    Ok(arguments) => {
                        let handler = Arc::clone(&handler);
                        let running = tokio::task::spawn_blocking(move || handler(ctx, arguments));
                        Box::pin(async move {
                            match running.await {
                                Ok(value) => value.into_tool_response(),
                                Err(error) => match error.try_into_panic() {
                                    Ok(panic) => std::panic::resume_unwind(panic),
                                    Err(_) => Err(ToolError::rpc(ErrorObject::internal(
                                        "the server is shutting down",
                                    ))),
                                },
                            }
                        })
                    }
                    Err(error) => ready_error(error),
                }
            };
        Self::from_schema(
            name,
            &schema::arguments_schema::<A>(),
            R::output_schema(),
            Arc::new(handler),
        )
    }

    /// Creates a tool from any descriptor. Its handler receives the arguments as raw JSON (`{}` if absent).
    ///
    /// The arguments are checked against the descriptor's schema first; see
    /// [`without_argument_check`](Self::without_argument_check).
    pub fn raw<M, F, Fut>(descriptor: Tool, handler: F) -> Self
    where
        F: Fn(RequestContext, RawJson) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoToolResponse<M>,
    {
        let handler =
            move |ctx: RequestContext, arguments: &RawValue| -> BoxFuture<'static, Outcome> {
                let running = handler(ctx, RawJson::from(arguments));
                Box::pin(async move { running.await.into_tool_response() })
            };
        Self {
            descriptor,
            access: Access::default(),
            check_arguments: true,
            #[cfg(feature = "tasks")]
            task: None,
            #[cfg(feature = "apps")]
            view: None,
            handler: Arc::new(handler),
        }
    }

    fn from_schema(
        name: String,
        input: &Value,
        output: Option<Value>,
        handler: Arc<Handler>,
    ) -> Self {
        let mut descriptor = Tool::new(name, RawJson::from_value(input));
        descriptor.output_schema = output.map(RawJson::from);
        let check_arguments = schema::needs_validator(input);
        Self {
            descriptor,
            access: Access::default(),
            check_arguments,
            #[cfg(feature = "tasks")]
            task: None,
            #[cfg(feature = "apps")]
            view: None,
            handler,
        }
    }

    descriptor_options!();

    /// Sets hints about the tool's behavior.
    #[must_use]
    pub fn with_annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.descriptor.annotations = Some(annotations);
        self
    }

    /// Sets the schema of the structured content.
    #[must_use]
    pub fn with_output_schema(mut self, schema: impl Into<RawJson>) -> Self {
        self.descriptor.output_schema = Some(schema.into());
        self
    }

    /// Removes the output schema.
    #[must_use]
    pub fn without_output_schema(mut self) -> Self {
        self.descriptor.output_schema = None;
        self
    }

    access_options!(access);

    /// Passes arguments to the handler without a check against the schema, for gateways that forward them.
    #[must_use]
    pub fn without_argument_check(mut self) -> Self {
        self.check_arguments = false;
        self
    }

    /// Returns the descriptor that clients see.
    #[must_use]
    pub fn descriptor(&self) -> &Tool {
        &self.descriptor
    }

    /// Compiles the schemas and rejects tools that cannot be served.
    pub(crate) fn prepare(self) -> Result<ToolEntry, RegistrationError> {
        let name = self.descriptor.name.as_str();
        check_name("tool", name)?;
        let what = format!("tool `{name}`");
        self.access.check(&what)?;
        check_meta(&what, self.descriptor.meta.as_ref())?;
        let schema = self.descriptor.input_schema.to_value().unwrap_or_default();
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(RegistrationError::new(format!(
                "tool `{name}`: the input schema must be an object with `\"type\": \"object\"`"
            )));
        }
        let limits = SchemaLimits::default();
        let compile = |schema: &Value, which: &str, without: &str| {
            let check = SchemaCheck::new(schema, &limits).map_err(|problem| {
                RegistrationError::new(format!(
                    "tool `{name}`: the {which} schema cannot be used, correct it or register the tool with \
                     `{without}`: {problem}"
                ))
            });
            check.map(Arc::new)
        };
        let input = self
            .check_arguments
            .then(|| compile(&schema, "input", "without_argument_check"))
            .transpose()?;
        let output = match &self.descriptor.output_schema {
            Some(schema) if cfg!(feature = "schema-validation") => {
                let schema = schema.to_value().unwrap_or_default();
                Some(compile(&schema, "output", "without_output_schema")?)
            }
            _ => None,
        };
        let param_headers = param_headers::validate(&self.descriptor.input_schema)
            .map_err(|problem| RegistrationError::new(format!("tool `{name}`: {problem}")))?;
        Ok(ToolEntry {
            descriptor: self.descriptor,
            access: self.access,
            input,
            output,
            pool: SchemaPool::default(),
            param_headers,
            #[cfg(feature = "tasks")]
            task: self.task,
            #[cfg(feature = "apps")]
            view: self.view,
            origin: None,
            raw: None,
            handler: self.handler,
        })
    }
}

impl fmt::Debug for ToolHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolHandler")
            .field("descriptor", &self.descriptor)
            .finish_non_exhaustive()
    }
}

/// Returns the future of a call that fails before its handler.
fn ready_error(error: ToolError) -> BoxFuture<'static, Outcome> {
    Box::pin(std::future::ready(Err(error)))
}

/// A registered tool, ready to be called.
pub(crate) struct ToolEntry {
    pub(crate) descriptor: Tool,
    access: Access,
    input: Option<Arc<SchemaCheck>>,
    output: Option<Arc<SchemaCheck>>,
    /// The pool for checks of large arguments and results.
    pool: SchemaPool,
    /// The arguments that HTTP clients repeat as header fields.
    pub(crate) param_headers: Vec<ParamHeader>,
    /// How calls become tasks, if they do.
    #[cfg(feature = "tasks")]
    pub(crate) task: Option<TaskOptions>,
    /// The view and the visibility, if the author set them.
    #[cfg(feature = "apps")]
    pub(crate) view: Option<ToolViewEntry>,
    /// The mount that the tool comes from, if any.
    pub(crate) origin: Option<Arc<Origin>>,
    /// Set if the tool is raw. Then the handler is not used.
    pub(crate) raw: Option<Arc<RawEntry>>,
    handler: Arc<Handler>,
}

impl ToolEntry {
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// Returns the tool as a server offers it that mounted it.
    pub(crate) fn mounted(
        self: &Arc<Self>,
        descriptor: Tool,
        access: &Access,
        origin: Arc<Origin>,
        hidden: Option<HiddenArguments>,
    ) -> Self {
        let mut mounted = Self {
            descriptor,
            access: self.access.with_scopes_of(access),
            input: self.input.clone(),
            output: self.output.clone(),
            pool: self.pool.clone(),
            param_headers: self.param_headers.clone(),
            #[cfg(feature = "tasks")]
            task: self.task.clone(),
            #[cfg(feature = "apps")]
            view: self.view.clone(),
            origin: Some(origin),
            raw: None,
            handler: Arc::clone(&self.handler),
        };
        if let Some(raw) = &self.raw {
            mounted.raw = Some(Arc::new(mounted.mounted_raw(raw, hidden)));
        } else if let Some(hidden) = hidden {
            let tool = Arc::clone(self);
            mounted.input = None;
            mounted.param_headers =
                param_headers::validate(&mounted.descriptor.input_schema).unwrap_or_default();
            mounted.handler = Arc::new(move |ctx: RequestContext, arguments: &RawValue| {
                tool.call(ctx, hidden.complete(arguments).as_raw_value())
            });
        }
        mounted
    }

    /// Returns the raw entry of a mounted tool. `self` is the mounted one.
    fn mounted_raw(&self, raw: &RawEntry, hidden: Option<HiddenArguments>) -> RawEntry {
        let descriptor = RawJson::from_serialize(&self.descriptor).unwrap_or_default();
        let own: IndexMap<String, RawJson> = descriptor.parse().unwrap_or_default();
        let mut changed = vec!["name"];
        if self.descriptor.title.is_some() {
            changed.push("title");
        }
        if hidden.is_some() {
            changed.push("inputSchema");
        }
        let members = changed
            .into_iter()
            .filter_map(|name| Some((name, own.get(name)?.as_raw_value())));
        let mut raw = raw
            .with_members(members)
            .with_full_name(self.descriptor.meta.as_ref());
        raw.hidden = match (raw.hidden.take(), hidden) {
            // The inner mount is nearer to the tool, so its values apply, as for other tools.
            (Some(inner), Some(mut hidden)) => {
                hidden.values.extend(inner.values);
                Some(hidden)
            }
            (inner, hidden) => inner.or(hidden),
        };
        raw
    }

    /// Creates a raw tool.
    pub(crate) fn raw(descriptor: RawJson, handler: RawHandler) -> Result<Self, RegistrationError> {
        let tool: Tool = parse_raw("tool", &descriptor)?;
        let local_name = Some(tool.name.clone());
        let param_headers = param_headers::validate(&tool.input_schema).unwrap_or_default();
        Ok(Self {
            descriptor: tool,
            access: Access::default(),
            input: None,
            output: None,
            pool: SchemaPool::default(),
            param_headers,
            #[cfg(feature = "tasks")]
            task: None,
            #[cfg(feature = "apps")]
            view: None,
            origin: None,
            raw: Some(Arc::new(RawEntry {
                descriptor,
                local_name,
                handler,
                hidden: None,
                exposures: Vec::new(),
            })),
            handler: Arc::new(|_: RequestContext, _: &RawValue| {
                ready_error(ToolError::failed("a raw tool has no other handler"))
            }),
        })
    }

    /// Starts the handler. Arguments that violate the schema never reach it.
    pub(crate) fn call(
        &self,
        ctx: RequestContext,
        arguments: &RawValue,
    ) -> BoxFuture<'static, Outcome> {
        if let Some(check) = &self.input {
            match check.check_arguments_quickly(arguments) {
                QuickCheck::Done(Ok(())) => {}
                QuickCheck::Done(Err(violations)) => {
                    return ready_error(invalid_arguments(&self.descriptor.name, &violations));
                }
                QuickCheck::Large => return self.call_after_check(check, ctx, arguments),
            }
        }
        (self.handler)(ctx, arguments)
    }

    /// Starts the handler after a check on the blocking pool.
    #[cold]
    fn call_after_check(
        &self,
        check: &Arc<SchemaCheck>,
        ctx: RequestContext,
        arguments: &RawValue,
    ) -> BoxFuture<'static, Outcome> {
        let check = Arc::clone(check);
        let pool = self.pool.clone();
        let name = self.descriptor.name.clone();
        let handler = Arc::clone(&self.handler);
        let arguments = RawJson::from(arguments);
        Box::pin(async move {
            let checked = arguments.clone();
            let check = move || check.check_arguments(checked.as_raw_value());
            match pool.run(CHECK_TIMEOUT, check).await {
                Ok(Ok(())) => {}
                Ok(Err(violations)) => return Err(invalid_arguments(&name, &violations)),
                Err(problem) => return Err(invalid_arguments(&name, &problem.to_string())),
            }
            handler(ctx, arguments.as_raw_value()).await
        })
    }

    /// Checks a result against the output schema. An error result is never checked.
    pub(crate) async fn check_output(&self, result: &CallToolResult) -> Result<(), ErrorObject> {
        const ROOT: &str = "structuredContent";
        let Some(check) = &self.output else {
            return Ok(());
        };
        if result.is_error == Some(true) {
            return Ok(());
        }
        let name = &self.descriptor.name;
        let Some(content) = &result.structured_content else {
            inspection::rejected(Rejected::Result, ROOT);
            return Err(ErrorObject::internal(format!(
                "tool `{name}` declares an output schema but returned no structured content"
            )));
        };
        let value = content.to_value().map_err(|error| {
            ErrorObject::internal(format!("tool `{name}` returned unreadable JSON: {error}"))
        })?;
        let quick = if content.get().len() <= QUICK_BYTES {
            check.check_quickly(&value, ROOT)
        } else {
            QuickCheck::Large
        };
        let outcome = match quick {
            QuickCheck::Done(outcome) => outcome,
            QuickCheck::Large => {
                let check = Arc::clone(check);
                let running = self
                    .pool
                    .run(CHECK_TIMEOUT, move || check.check(&value, ROOT));
                running
                    .await
                    .unwrap_or_else(|problem| Err(format!("{ROOT}: {problem}")))
            }
        };
        outcome.map_err(|violations| {
            inspection::rejected(Rejected::Result, &violations);
            ErrorObject::internal(format!(
                "tool `{name}` returned a result that violates its schema: {violations}"
            ))
        })
    }
}

impl CatalogEntry for ToolEntry {
    fn origin(&self) -> Option<&Arc<Origin>> {
        self.origin.as_ref()
    }

    fn kind(&self) -> EntryKind<'_> {
        EntryKind::Tool(self.descriptor.annotations.as_ref())
    }

    fn is_listed_as(&self, other: &Self) -> bool {
        self.descriptor == other.descriptor
    }
}

impl fmt::Debug for ToolEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolEntry")
            .field("name", &self.descriptor.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(all(feature = "macros", feature = "tasks"))]
mod tests {
    use std::time::Duration;

    use toolwire_macros::tool;

    use crate::server::tasks::TaskOptions;
    use crate::server::tool::ToolHandler;

    #[tool(task, crate = "crate")]
    async fn at_once() {}

    #[tool(
        task(required, after = 2, ttl = 7200, poll = 0.5, resume),
        crate = "crate"
    )]
    async fn after_a_time() {}

    #[tool(task(on_demand), crate = "crate")]
    async fn on_demand() {}

    #[tool(crate = "crate")]
    async fn never() {}

    #[test]
    fn task_attribute_sets_the_options() {
        let check = |tool: ToolHandler, expected: Option<TaskOptions>| {
            assert_eq!(tool.task, expected, "{}", tool.descriptor.name);
        };
        check(at_once(), Some(TaskOptions::new()));
        let options = TaskOptions::new()
            .required()
            .after(Duration::from_secs(2))
            .with_ttl(Duration::from_secs(7200))
            .with_poll_interval(Duration::from_millis(500))
            .resume();
        check(after_a_time(), Some(options));
        check(on_demand(), Some(TaskOptions::new().on_demand()));
        check(never(), None);
    }
}
