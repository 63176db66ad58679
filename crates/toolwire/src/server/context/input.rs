//! The input of a client's retry (2026-07-28), for handlers that return `input_required`.

use serde::de::DeserializeOwned;
use toolwire_proto::decode_message::decode_message;
use toolwire_proto::rounds;
use toolwire_types::{ElicitRequestFormParams, ErrorObject, InputResponses, RawJson};

use crate::error::Error;
use crate::server::ask::FormOutput;
use crate::server::context::RequestContext;

impl RequestContext {
    /// Returns the input responses of the client, by the keys of the previous round. Empty on the first call.
    ///
    /// On a legacy connection, they are present only if toolwire itself gathered them for a handler that returned
    /// `input_required`.
    #[must_use]
    pub fn input_responses(&self) -> &InputResponses {
        self.scope.round.input_responses()
    }

    /// Returns `true` if there is a response for `key`.
    #[must_use]
    pub fn has_input_response(&self, key: &str) -> bool {
        self.input_responses().get(key).is_some()
    }

    /// Decodes the response for `key`: an `ElicitResult`, `CreateMessageResult` or `ListRootsResult`, depending on the
    /// request. Returns `None` if there is no response.
    ///
    /// # Errors
    /// Returns error −32602 if the response does not have that shape.
    pub fn input_response_as<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Error> {
        let Some(response) = self.input_responses().get(key) else {
            return Ok(None);
        };
        let read = response.parse().map(Some);
        read.map_err(|error| invalid_response(key, &error))
    }

    /// Returns the response to the form with this `key`, checked against the form. Returns `None` if there is no
    /// response.
    ///
    /// `A` is a type that implements [`Elicit`](trait@crate::Elicit), or an
    /// [`ElicitOutcome`](crate::ask::ElicitOutcome) of one, as for [`ask`](Self::ask). This is for handlers that return `input_required` themselves.
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
    ///         let requests = InputRequests::new().with("name", form);
    ///         return Ok(ToolResponse::input_required(requests, None));
    ///     };
    ///     Ok(CallToolResult::text(format!("Hello {name}!")).into())
    /// }
    /// ```
    ///
    /// # Errors
    /// Returns error −32602 if the response violates the form. Also returns an error if the user did not accept, unless
    /// `A` is an `ElicitOutcome`.
    pub fn input_form<A: FormOutput>(&self, key: &str) -> Result<Option<A>, Error> {
        let Some(response) = self.input_responses().get(key) else {
            return Ok(None);
        };
        let request = ElicitRequestFormParams::new("", A::form()).into();
        let response = rounds::accept_response(&request, response.clone())
            .map_err(|unusable| unusable.into_error(key))?;
        let result = response
            .parse()
            .map_err(|error| Error::decode(format!("response to {key:?}"), error))?;
        A::from_result(key, result).map(Some)
    }

    /// Like [`input_response_as`](Self::input_response_as), but decodes `T` from an empty object if there is no
    /// response.
    ///
    /// # Errors
    /// Returns error −32602 if the response, or the empty object, does not have that shape.
    pub fn input_response_or_empty<T: DeserializeOwned>(&self, key: &str) -> Result<T, Error> {
        match self.input_response_as(key)? {
            Some(response) => Ok(response),
            None => {
                let empty = RawJson::empty_object().parse();
                empty.map_err(|error| invalid_response(key, &error))
            }
        }
    }

    /// Returns `true` if the request carries input responses. A round that carries only state does not count; see
    /// [`has_request_state`](Self::has_request_state).
    #[must_use]
    pub fn is_resubmit(&self) -> bool {
        !self.input_responses().is_empty()
    }

    /// Returns the state that the previous round set. Empty on the first call.
    ///
    /// The state was sealed while the client stored it. It is exactly the text that the server wrote for this
    /// principal, method and parameters.
    #[must_use]
    pub fn request_state(&self) -> &str {
        self.scope.round.request_state().unwrap_or_default()
    }

    /// Returns `true` if the client sent a state. An empty string is a valid state.
    #[must_use]
    pub fn has_request_state(&self) -> bool {
        self.scope.round.request_state().is_some()
    }

    /// Decodes the state. Returns the default of `T` if there is no state.
    ///
    /// # Errors
    /// Returns error −32602 if the state is not JSON of that shape.
    pub fn request_state_as<T: DeserializeOwned + Default>(&self) -> Result<T, Error> {
        if self.request_state().is_empty() {
            return Ok(T::default());
        }
        serde_json::from_str(self.request_state()).map_err(|error| {
            ErrorObject::invalid_params(format!("requestState: {}", decode_message(&error))).into()
        })
    }
}

fn invalid_response(key: &str, error: &serde_json::Error) -> Error {
    let message = decode_message(error);
    ErrorObject::invalid_params(format!("inputResponses.{key}: {message}")).into()
}
