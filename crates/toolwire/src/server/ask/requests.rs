//! The kinds of input requests, as values.

use std::marker::PhantomData;

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolwire_proto::elicit_url;
use toolwire_proto::sampling_rules::check_conversation;
use toolwire_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitSchema, ErrorObject, InputRequest, ListRootsResult, RawJson,
    Root,
};

use crate::error::Error;
use crate::server::ask::outcome::{self, ElicitOutcome, FormOutput};

/// An input request to the client: [`form`], [`dynamic_form`], [`url`], [`model`] or [`roots`].
pub trait Ask {
    /// The type that the response is converted into.
    type Output;

    /// Returns the key, which identifies the response within one request.
    fn key(&self) -> &str;

    /// Returns the input request for the client.
    ///
    /// # Errors
    /// Returns an error if the request is invalid.
    fn request(&self) -> Result<InputRequest, Error>;

    /// Converts a response that matches the request.
    ///
    /// # Errors
    /// Returns an error if the response cannot be converted.
    fn read(&self, response: RawJson) -> Result<Self::Output, Error>;
}

/// Creates a request for a form; see [`RequestContext::ask`](crate::RequestContext::ask).
#[must_use]
pub fn form<A: FormOutput>(key: impl Into<String>, message: impl Into<String>) -> AskForm<A> {
    AskForm {
        key: key.into(),
        message: message.into(),
        output: PhantomData,
    }
}

/// Creates a request for a form whose schema is known only at run time.
#[must_use]
pub fn dynamic_form(
    key: impl Into<String>,
    message: impl Into<String>,
    schema: ElicitSchema,
) -> AskDynamicForm {
    AskDynamicForm {
        key: key.into(),
        message: message.into(),
        schema,
    }
}

/// Creates a request to open a URL; see [`RequestContext::ask_url`](crate::RequestContext::ask_url).
#[must_use]
pub fn url(
    key: impl Into<String>,
    message: impl Into<String>,
    address: impl Into<String>,
) -> AskUrl {
    AskUrl {
        key: key.into(),
        request: ElicitRequestURLParams::new(message, address),
    }
}

/// Creates a request to the client's model; see [`RequestContext::ask_model`](crate::RequestContext::ask_model).
#[must_use]
#[deprecated(
    note = "MCP deprecates sampling (SEP-2577), and a revision of 28 July 2027 or later may remove it. Call the API of a model provider instead"
)]
pub fn model(key: impl Into<String>, request: CreateMessageRequestParams) -> AskModel {
    AskModel {
        key: key.into(),
        request,
    }
}

/// Creates a request for the client's roots; see [`RequestContext::ask_roots`](crate::RequestContext::ask_roots).
#[must_use]
#[deprecated(
    note = "MCP deprecates roots (SEP-2577), and a revision of 28 July 2027 or later may remove them. Pass paths as tool arguments, resource URIs or configuration instead"
)]
pub fn roots(key: impl Into<String>) -> AskRoots {
    AskRoots { key: key.into() }
}

/// A request for a form; see [`form`].
#[derive(Debug)]
pub struct AskForm<A> {
    key: String,
    message: String,
    output: PhantomData<fn() -> A>,
}

impl<A: FormOutput> Ask for AskForm<A> {
    type Output = A;

    fn key(&self) -> &str {
        &self.key
    }

    fn request(&self) -> Result<InputRequest, Error> {
        Ok(ElicitRequestFormParams::new(&*self.message, A::form()).into())
    }

    fn read(&self, response: RawJson) -> Result<A, Error> {
        A::from_result(&self.key, decode(&self.key, &response)?)
    }
}

/// A request for a form whose schema is known only at run time; see [`dynamic_form`].
#[derive(Debug)]
pub struct AskDynamicForm {
    key: String,
    message: String,
    schema: ElicitSchema,
}

impl Ask for AskDynamicForm {
    type Output = ElicitOutcome<IndexMap<String, Value>>;

    fn key(&self) -> &str {
        &self.key
    }

    fn request(&self) -> Result<InputRequest, Error> {
        Ok(ElicitRequestFormParams::new(&*self.message, &self.schema).into())
    }

    fn read(&self, response: RawJson) -> Result<Self::Output, Error> {
        let result = outcome::from_result(decode(&self.key, &response)?);
        Ok(result.map(|result| result.content.unwrap_or_default()))
    }
}

/// A request to open a URL; see [`url`].
#[derive(Debug)]
pub struct AskUrl {
    key: String,
    request: ElicitRequestURLParams,
}

impl AskUrl {
    /// Sets the elicitation id, for
    /// [`RequestContext::elicitation_complete`](crate::RequestContext::elicitation_complete) (only 2025-11-25).
    /// Default: random.
    #[must_use]
    pub fn with_elicitation_id(mut self, id: impl Into<String>) -> Self {
        self.request = self.request.with_elicitation_id(id);
        self
    }
}

impl Ask for AskUrl {
    type Output = ElicitOutcome<()>;

    fn key(&self) -> &str {
        &self.key
    }

    fn request(&self) -> Result<InputRequest, Error> {
        check_elicitation(&self.request)?;
        Ok(self.request.clone().into())
    }

    fn read(&self, response: RawJson) -> Result<ElicitOutcome<()>, Error> {
        Ok(outcome::from_result(decode(&self.key, &response)?).map(drop))
    }
}

/// A request to a model; see [`model`].
#[derive(Debug)]
pub struct AskModel {
    key: String,
    request: CreateMessageRequestParams,
}

impl Ask for AskModel {
    type Output = CreateMessageResult;

    fn key(&self) -> &str {
        &self.key
    }

    fn request(&self) -> Result<InputRequest, Error> {
        // An invalid conversation is a bug in the server, so the client receives an internal error.
        check_conversation(&self.request.messages)
            .map_err(|invalid| ErrorObject::internal(invalid.to_string()))?;
        Ok(self.request.clone().into())
    }

    fn read(&self, response: RawJson) -> Result<CreateMessageResult, Error> {
        decode(&self.key, &response)
    }
}

/// A request for roots; see [`roots`].
#[derive(Debug)]
pub struct AskRoots {
    key: String,
}

impl Ask for AskRoots {
    type Output = Vec<Root>;

    fn key(&self) -> &str {
        &self.key
    }

    fn request(&self) -> Result<InputRequest, Error> {
        Ok(InputRequest::roots())
    }

    fn read(&self, response: RawJson) -> Result<Vec<Root>, Error> {
        let result: ListRootsResult = decode(&self.key, &response)?;
        Ok(result.roots)
    }
}

/// Rejects a URL elicitation whose URL is not absolute `http` or `https`, or whose id is empty or too long.
pub(crate) fn check_elicitation(elicitation: &ElicitRequestURLParams) -> Result<(), Error> {
    elicit_url::check_elicitation(elicitation)
        .map_err(|invalid| ErrorObject::invalid_params(invalid.to_string()).into())
}

fn decode<T: DeserializeOwned>(key: &str, response: &RawJson) -> Result<T, Error> {
    response
        .parse()
        .map_err(|error| Error::decode(format!("response to {key:?}"), error))
}
