//! Return values of tools, and their conversion into results.
//!
//! Text becomes text content. A value whose schema is an object or array becomes structured content with a text copy,
//! and its schema becomes the tool's output schema. Scalars become text. Content blocks and complete results are used
//! unchanged.

use std::any::Any;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use toolwire_types::{CallToolResult, ContentBlock, ErrorObject, RawJson};
#[cfg(feature = "input")]
use toolwire_types::{InputRequests, InputRequiredResult};

use crate::server::schema;
#[cfg(feature = "tasks")]
use crate::server::tasks::ServerTask;
use crate::server::tool_error::{IntoToolError, ToolError};

/// The outcome of a tool: a result or an input request.
///
/// Variants larger than a text are boxed, because outcomes are moved often and most are texts.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ToolResponse {
    /// The tool finished with this result.
    Complete(Box<CallToolResult>),
    /// The tool finished with a text as its only content.
    Text(String),
    /// The client must gather input and call again.
    #[cfg(feature = "input")]
    InputRequired(Box<InputRequiredResult>),
    /// Another system ends this task.
    #[cfg(feature = "tasks")]
    Task(ServerTask),
}

impl ToolResponse {
    /// Creates the response of a finished tool.
    #[must_use]
    pub fn complete(result: CallToolResult) -> Self {
        Self::Complete(Box::new(result))
    }

    /// Responds with a task that another system ends; see
    /// [`RequestContext::create_task`](crate::RequestContext::create_task).
    #[must_use]
    #[cfg(feature = "tasks")]
    pub fn task(task: ServerTask) -> Self {
        Self::Task(task)
    }

    /// Asks the client for input. The client calls the tool again with the responses, which
    /// [`RequestContext::input_responses`](crate::RequestContext::input_responses) returns, and with `state` unchanged.
    ///
    /// On revisions without such results, toolwire sends the requests itself, waits for the responses and runs the
    /// handler again.
    #[must_use]
    #[cfg(feature = "input")]
    pub fn input_required(requests: InputRequests, state: Option<String>) -> Self {
        Self::InputRequired(Box::new(input_required(requests, state)))
    }

    /// Like [`input_required`](Self::input_required), with a typed state that
    /// [`RequestContext::request_state_as`](crate::RequestContext::request_state_as) reads back.
    ///
    /// # Errors
    /// Returns an error if the state cannot be written as JSON.
    #[cfg(feature = "input")]
    pub fn input_required_with<S: Serialize>(
        requests: InputRequests,
        state: &S,
    ) -> Result<Self, ToolError> {
        Ok(Self::input_required(requests, Some(state_text(state)?)))
    }
}

impl From<CallToolResult> for ToolResponse {
    fn from(result: CallToolResult) -> Self {
        Self::Complete(Box::new(result))
    }
}

#[cfg(feature = "input")]
pub(crate) fn input_required(
    requests: InputRequests,
    state: Option<String>,
) -> InputRequiredResult {
    let mut result = InputRequiredResult::new();
    result.input_requests = (!requests.is_empty()).then_some(requests);
    result.request_state = state;
    result
}

#[cfg(feature = "input")]
pub(crate) fn state_text<S: Serialize>(state: &S) -> Result<String, ToolError> {
    serde_json::to_string(state).map_err(|error| {
        ToolError::rpc(ErrorObject::internal(format!(
            "the request state is not JSON: {error}"
        )))
    })
}

/// A return value of a tool handler.
///
/// `M` is a marker that distinguishes the implementations. It is always inferred.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "this return type has no conversion into a tool result",
    note = "return text, a number, a type that derives `Serialize` and `JsonSchema`, a `ContentBlock`, a \
            `CallToolResult`, a `ToolResponse`, or a `Result` of one of these"
)]
#[doc(alias = "Json")]
pub trait IntoToolResponse<M> {
    /// Returns the schema of the structured content, if the type has one.
    #[must_use]
    fn output_schema() -> Option<Value> {
        None
    }

    /// Converts the value into a response.
    ///
    /// # Errors
    /// Returns an error if the handler failed, or if the value cannot be written as JSON.
    fn into_tool_response(self) -> Result<ToolResponse, ToolError>;
}

/// Markers for the conversions of return values into results.
pub mod conversion {
    /// The conversion of a value with a schema.
    #[derive(Debug)]
    #[non_exhaustive]
    pub struct FromValue;
    /// The conversion of a protocol type that is already a result or part of one.
    #[derive(Debug)]
    #[non_exhaustive]
    pub struct FromProtocol;
    /// The conversion of a `Result` whose success value converts with `M`.
    #[derive(Debug)]
    pub struct FromResult<M>(std::marker::PhantomData<M>);
}

impl<T: Serialize + JsonSchema + 'static> IntoToolResponse<conversion::FromValue> for T {
    fn output_schema() -> Option<Value> {
        let schema = schema::output_schema::<T>();
        is_structured(&schema).then_some(schema)
    }

    fn into_tool_response(self) -> Result<ToolResponse, ToolError> {
        let value = match into_text(self) {
            Ok(text) => return Ok(ToolResponse::Text(text)),
            Err(value) => value,
        };
        let raw = RawJson::from_serialize(&value).map_err(|error| not_json(&error))?;
        from_json(raw)
    }
}

fn not_json(error: &serde_json::Error) -> ToolError {
    ToolError::rpc(ErrorObject::internal(format!(
        "the result is not JSON: {error}"
    )))
}

fn from_json(raw: RawJson) -> Result<ToolResponse, ToolError> {
    let mut result = CallToolResult::default();
    match raw.get().as_bytes().first() {
        Some(b'"') => {
            let text: String = raw.parse().map_err(ToolError::from)?;
            result.content.push(ContentBlock::text(text));
        }
        Some(b'{' | b'[') => {
            result.content.push(ContentBlock::text(raw.get()));
            result.structured_content = Some(raw);
        }
        // `()` and `None` have no content.
        _ if raw.is_null() => {}
        _ => result.content.push(ContentBlock::text(raw.get())),
    }
    Ok(ToolResponse::complete(result))
}

/// Returns the text if the value is a string, or else the value itself.
fn into_text<T: 'static>(value: T) -> Result<String, T> {
    // The type is known at compile time, so these comparisons cost nothing at run time.
    let mut value = Some(value);
    let any: &mut dyn Any = &mut value;
    if let Some(text) = any.downcast_mut::<Option<String>>() {
        return Ok(text.take().unwrap_or_default());
    }
    if let Some(text) = any.downcast_mut::<Option<&'static str>>() {
        return Ok(text.take().unwrap_or_default().to_owned());
    }
    Err(value.expect("only the returns above take it"))
}

/// Returns `true` if values of this schema become structured content: objects and arrays, but not scalars.
///
/// A tool that declares an output schema must always return structured content. A type that may also be a scalar or
/// `null` therefore declares none.
fn is_structured(schema: &Value) -> bool {
    let kinds = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        // A union (an enum with data) has no `type` of its own.
        _ => {
            let shapes = schema.get("oneOf").or_else(|| schema.get("anyOf"));
            return shapes
                .and_then(Value::as_array)
                .is_some_and(|shapes| shapes.iter().all(is_structured));
        }
    };
    kinds.iter().all(|kind| matches!(*kind, "object" | "array"))
}

impl IntoToolResponse<conversion::FromProtocol> for ToolResponse {
    fn into_tool_response(self) -> Result<ToolResponse, ToolError> {
        Ok(self)
    }
}

impl IntoToolResponse<conversion::FromProtocol> for CallToolResult {
    fn into_tool_response(self) -> Result<ToolResponse, ToolError> {
        Ok(ToolResponse::complete(self))
    }
}

#[cfg(feature = "input")]
impl IntoToolResponse<conversion::FromProtocol> for InputRequiredResult {
    fn into_tool_response(self) -> Result<ToolResponse, ToolError> {
        Ok(ToolResponse::InputRequired(Box::new(self)))
    }
}

impl IntoToolResponse<conversion::FromProtocol> for ContentBlock {
    fn into_tool_response(self) -> Result<ToolResponse, ToolError> {
        vec![self].into_tool_response()
    }
}

impl IntoToolResponse<conversion::FromProtocol> for Vec<ContentBlock> {
    fn into_tool_response(self) -> Result<ToolResponse, ToolError> {
        let mut result = CallToolResult::default();
        result.content = self;
        Ok(ToolResponse::complete(result))
    }
}

impl<T, E, M> IntoToolResponse<conversion::FromResult<M>> for Result<T, E>
where
    T: IntoToolResponse<M>,
    E: IntoToolError,
{
    fn output_schema() -> Option<Value> {
        T::output_schema()
    }

    fn into_tool_response(self) -> Result<ToolResponse, ToolError> {
        Fallible::new(self).into_tool_response()
    }
}

/// A `Result` whose `Err` is an error and not data. `#[tool]` wraps the results of fallible functions in it.
///
/// A plain `Result<T, E>` converts as well, unless `E` is a value with a schema (such as a `String`), because it could
/// then be data.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fallible<T, E> {
    outcome: Result<T, E>,
}

impl<T, E> Fallible<T, E> {
    /// Wraps a `Result`.
    pub fn new(outcome: Result<T, E>) -> Self {
        Self { outcome }
    }
}

impl<T, E, M> IntoToolResponse<conversion::FromResult<M>> for Fallible<T, E>
where
    T: IntoToolResponse<M>,
    E: IntoToolError,
{
    fn output_schema() -> Option<Value> {
        T::output_schema()
    }

    fn into_tool_response(self) -> Result<ToolResponse, ToolError> {
        self.outcome
            .map_err(IntoToolError::into_tool_error)?
            .into_tool_response()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Sum {
        sum: i64,
    }

    fn check<M, T: IntoToolResponse<M>>(value: T, expected: Value) {
        let result = match value.into_tool_response().unwrap() {
            ToolResponse::Complete(result) => *result,
            ToolResponse::Text(text) => CallToolResult::text(text),
            #[cfg(feature = "input")]
            ToolResponse::InputRequired(_) => panic!("not complete"),
            #[cfg(feature = "tasks")]
            ToolResponse::Task(_) => panic!("not complete"),
        };
        assert_eq!(serde_json::to_value(result).unwrap(), expected);
    }

    fn schema_of<M, T: IntoToolResponse<M>>(_: &T) -> Option<Value> {
        T::output_schema()
    }

    #[test]
    fn return_values_convert() {
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        check("hello", text("hello"));
        check(String::from("hello"), text("hello"));
        check(7, text("7"));
        check(true, text("true"));
        check((), json!({"content": []}));
        check(Ok::<_, ToolError>("fine"), text("fine"));
        check(Fallible::new(Ok::<_, String>("fine")), text("fine"));
        check(ContentBlock::text("block"), text("block"));
        check(vec![ContentBlock::text("block")], text("block"));
        check(
            Sum { sum: 3 },
            json!({"content": [{"type": "text", "text": "{\"sum\":3}"}], "structuredContent": {"sum": 3}}),
        );
        check(
            Ok::<_, ToolError>(vec![1, 2]),
            json!({"content": [{"type": "text", "text": "[1,2]"}], "structuredContent": [1, 2]}),
        );
    }

    #[test]
    fn objects_and_arrays_have_an_output_schema() {
        assert_eq!(schema_of(&"text"), None);
        assert_eq!(schema_of(&1), None);
        assert_eq!(schema_of(&ContentBlock::text("")), None);
        let sum = json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
        assert_eq!(schema_of(&Sum { sum: 0 }), Some(sum.clone()));
        assert_eq!(schema_of(&Ok::<_, ToolError>(Sum { sum: 0 })), Some(sum));
    }

    #[test]
    fn type_that_may_be_a_scalar_has_no_output_schema() {
        #[derive(Serialize, JsonSchema)]
        enum Shape {
            Circle { radius: i64 },
            Square { side: i64 },
        }
        #[derive(Serialize, JsonSchema)]
        enum Found {
            Nothing,
            At { line: i64 },
        }
        #[derive(Serialize, JsonSchema)]
        enum Colour {
            /// Like blood.
            Red,
            /// Like grass.
            Green,
        }

        for shape in [Shape::Circle { radius: 1 }, Shape::Square { side: 1 }] {
            assert!(schema_of(&shape).is_some());
        }
        for found in [Found::Nothing, Found::At { line: 1 }] {
            assert_eq!(schema_of(&found), None);
        }
        for colour in [Colour::Red, Colour::Green] {
            assert_eq!(schema_of(&colour), None);
        }
        assert_eq!(schema_of(&Some(Sum { sum: 0 })), None);
        assert_eq!(schema_of(&Some(Shape::Square { side: 1 })), None);
    }

    #[test]
    fn errors_stay_errors() {
        let failed = Fallible::new(Err::<i64, _>("no"));
        assert_eq!(
            failed
                .into_tool_response()
                .unwrap_err()
                .into_text()
                .unwrap(),
            "no"
        );
    }
}
