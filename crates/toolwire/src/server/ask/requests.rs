//! The kinds of questions, as values.

use std::marker::PhantomData;

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolwire_proto::elicit_url::is_web_url;
use toolwire_proto::sampling_rules::check_conversation;
use toolwire_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitSchema, ErrorObject, InputRequest, ListRootsResult, RawJson,
    Root,
};

use crate::error::Error;
use crate::server::ask::outcome::{self, ElicitOutcome, FormOutput};

/// A question to the client: [`form`], [`form_of`], [`url`], [`model`] or [`roots`].
pub trait Ask {
    /// What the answer is read as.
    type Output;

    /// The name under which the answer is known within one request.
    fn key(&self) -> &str;

    /// What the client is asked.
    ///
    /// # Errors
    /// When it cannot be put.
    fn request(&self) -> Result<InputRequest, Error>;

    /// Reads an answer that fits the request.
    ///
    /// # Errors
    /// When it is not what is wanted.
    fn read(&self, answer: RawJson) -> Result<Self::Output, Error>;
}

/// Asks the user to fill in a form; see [`RequestContext::ask`](crate::RequestContext::ask).
#[must_use]
pub fn form<A: FormOutput>(key: impl Into<String>, message: impl Into<String>) -> AskForm<A> {
    AskForm {
        key: key.into(),
        message: message.into(),
        answer: PhantomData,
    }
}

/// Asks the user to fill in a form that is known only when the program runs.
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

/// Sends the user to a URL; see [`RequestContext::ask_url`](crate::RequestContext::ask_url).
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

/// Asks the client's model; see [`RequestContext::ask_model`](crate::RequestContext::ask_model).
#[must_use]
pub fn model(key: impl Into<String>, request: CreateMessageRequestParams) -> AskModel {
    AskModel {
        key: key.into(),
        request,
    }
}

/// Asks for the client's roots; see [`RequestContext::ask_roots`](crate::RequestContext::ask_roots).
#[must_use]
pub fn roots(key: impl Into<String>) -> AskRoots {
    AskRoots { key: key.into() }
}

/// A form; see [`form`].
#[derive(Debug)]
pub struct AskForm<A> {
    key: String,
    message: String,
    answer: PhantomData<fn() -> A>,
}

impl<A: FormOutput> Ask for AskForm<A> {
    type Output = A;

    fn key(&self) -> &str {
        &self.key
    }

    fn request(&self) -> Result<InputRequest, Error> {
        Ok(ElicitRequestFormParams::new(&*self.message, A::form()).into())
    }

    fn read(&self, answer: RawJson) -> Result<A, Error> {
        A::from_result(&self.key, decode(&self.key, &answer)?)
    }
}

/// A form that is known only when the program runs; see [`form_of`].
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

    fn read(&self, answer: RawJson) -> Result<Self::Output, Error> {
        let result = outcome::sort(decode(&self.key, &answer)?);
        Ok(result.map(|result| result.content.unwrap_or_default()))
    }
}

/// A URL; see [`url`].
#[derive(Debug)]
pub struct AskUrl {
    key: String,
    request: ElicitRequestURLParams,
}

impl AskUrl {
    /// Sets the id by which
    /// [`RequestContext::elicitation_complete`](crate::RequestContext::elicitation_complete) names this (2025-11-25
    /// only). Otherwise it is random.
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
        check_url(&self.request.url)?;
        Ok(self.request.clone().into())
    }

    fn read(&self, answer: RawJson) -> Result<ElicitOutcome<()>, Error> {
        Ok(outcome::sort(decode(&self.key, &answer)?).map(drop))
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
        // The mistake would be the server's, so this is not the client's to hear as one of its own.
        check_conversation(&self.request.messages)
            .map_err(|invalid| ErrorObject::internal(invalid.to_string()))?;
        Ok(self.request.clone().into())
    }

    fn read(&self, answer: RawJson) -> Result<CreateMessageResult, Error> {
        decode(&self.key, &answer)
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

    fn read(&self, answer: RawJson) -> Result<Vec<Root>, Error> {
        let result: ListRootsResult = decode(&self.key, &answer)?;
        Ok(result.roots)
    }
}

/// Refuses what a user cannot be sent to.
pub(crate) fn check_url(url: &str) -> Result<(), Error> {
    if is_web_url(url) {
        Ok(())
    } else {
        Err(ErrorObject::invalid_params(format!(
            "{url:?} is not an absolute http or https URL in ASCII and without a user"
        ))
        .into())
    }
}

fn decode<T: DeserializeOwned>(key: &str, answer: &RawJson) -> Result<T, Error> {
    answer
        .parse()
        .map_err(|error| Error::decode(format!("answer to {key:?}"), error))
}
