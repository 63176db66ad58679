//! The input a client sent along with its request (2026-07-28), for handlers that ask by returning `input_required`.

use serde::de::DeserializeOwned;
use toolwire_proto::rounds;
use toolwire_types::{ElicitRequestFormParams, ErrorObject, InputResponses, RawJson};

use crate::error::Error;
use crate::server::ask::FormOutput;
use crate::server::context::RequestContext;

impl RequestContext {
    /// The answers the client attached, by the keys the previous round asked for. Empty on the first call.
    ///
    /// On a legacy connection they are filled only when toolwire itself gathered them for a handler that returned
    /// `input_required`.
    #[must_use]
    pub fn input_responses(&self) -> &InputResponses {
        self.scope.round.input_responses()
    }

    /// Whether there is an answer for `key`.
    #[must_use]
    pub fn has_input_response(&self, key: &str) -> bool {
        self.input_responses().get(key).is_some()
    }

    /// The answer for `key`, decoded: an `ElicitResult`, `CreateMessageResult` or `ListRootsResult`, whatever was asked.
    ///
    /// # Errors
    /// −32602 when the client's answer does not have that shape.
    pub fn input_response_as<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Error> {
        let Some(answer) = self.input_responses().get(key) else {
            return Ok(None);
        };
        answer.parse().map(Some).map_err(|error| {
            ErrorObject::invalid_params(format!("inputResponses.{key}: {error}")).into()
        })
    }

    /// The answer to a form that was asked under `key`, checked against the form; `None` when there is no answer.
    ///
    /// `A` is a type that derives [`Elicit`](crate::Elicit), or an [`Answer`](crate::ask::Answer) of one, as for
    /// [`ask`](Self::ask). For handlers that return `input_required` by themselves.
    ///
    /// ```
    /// use serde::Deserialize;
    /// use toolwire::types::{ElicitRequestFormParams, InputRequests};
    /// use toolwire::{CallToolResult, Elicit, Error, RequestContext, ToolResponse, tool};
    ///
    /// #[derive(Deserialize, Elicit)]
    /// struct Name {
    ///     #[elicit(max_length = 40)]
    ///     name: String,
    /// }
    ///
    /// /// Greets the user.
    /// #[tool]
    /// fn greet(ctx: &RequestContext) -> Result<ToolResponse, Error> {
    ///     let Some(Name { name }) = ctx.input_form("name")? else {
    ///         let form = ElicitRequestFormParams::new("Who are you?", Name::elicit_schema());
    ///         let questions = InputRequests::new().with("name", form);
    ///         return Ok(ToolResponse::input_required(questions, None));
    ///     };
    ///     Ok(CallToolResult::text(format!("Hello {name}!")).into())
    /// }
    /// ```
    ///
    /// # Errors
    /// −32602 when the answer breaks the rules of the form; and, unless `A` is an `Answer`, when the user did not accept.
    pub fn input_form<A: FormOutput>(&self, key: &str) -> Result<Option<A>, Error> {
        let Some(answer) = self.input_responses().get(key) else {
            return Ok(None);
        };
        let asked = ElicitRequestFormParams::new("", A::form()).into();
        let answer = rounds::accept_answer(&asked, answer.clone())
            .map_err(|unusable| unusable.into_error(key))?;
        let result = answer
            .parse()
            .map_err(|error| Error::decode(format!("answer to {key:?}"), error))?;
        A::from_result(key, result).map(Some)
    }

    /// [`input_response_as`](Self::input_response_as), with `T` read from an empty object when there is no answer.
    ///
    /// # Errors
    /// −32602 when the answer, or the empty object, does not have that shape.
    pub fn input_response_or_empty<T: DeserializeOwned>(&self, key: &str) -> Result<T, Error> {
        match self.input_response_as(key)? {
            Some(answer) => Ok(answer),
            None => RawJson::empty_object().parse().map_err(|error| {
                ErrorObject::invalid_params(format!("inputResponses.{key}: {error}")).into()
            }),
        }
    }

    /// Whether the client called again with answers. A round that only carries state is not one; see
    /// [`has_request_state`](Self::has_request_state).
    #[must_use]
    pub fn is_resubmit(&self) -> bool {
        !self.input_responses().is_empty()
    }

    /// The state the previous round handed out; empty on the first call.
    ///
    /// It was sealed on its way to the client and is the very text the server wrote, for this principal, method and
    /// parameters.
    #[must_use]
    pub fn request_state(&self) -> &str {
        self.scope.round.request_state().unwrap_or_default()
    }

    /// Whether the client sent state back; the empty text is a state, too.
    #[must_use]
    pub fn has_request_state(&self) -> bool {
        self.scope.round.request_state().is_some()
    }

    /// The state as a type; the default of that type when there is none.
    ///
    /// # Errors
    /// −32602 when the state is not JSON of that shape.
    pub fn request_state_as<T: DeserializeOwned + Default>(&self) -> Result<T, Error> {
        if self.request_state().is_empty() {
            return Ok(T::default());
        }
        serde_json::from_str(self.request_state())
            .map_err(|error| ErrorObject::invalid_params(format!("requestState: {error}")).into())
    }
}
