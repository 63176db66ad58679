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

use super::answer::{self, Answer, FormAnswer};
use crate::error::Error;

/// A question to the client: [`form`], [`form_of`], [`url`], [`model`] or [`roots`].
pub trait Question {
    /// What the answer is read as.
    type Answer;

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
    fn read(&self, answer: RawJson) -> Result<Self::Answer, Error>;
}

/// Asks the user to fill in a form; see [`RequestContext::ask`](crate::RequestContext::ask).
#[must_use]
pub fn form<A: FormAnswer>(key: impl Into<String>, message: impl Into<String>) -> Form<A> {
    Form {
        key: key.into(),
        message: message.into(),
        answer: PhantomData,
    }
}

/// Asks the user to fill in a form that is known only when the program runs.
#[must_use]
pub fn form_of(
    key: impl Into<String>,
    message: impl Into<String>,
    schema: ElicitSchema,
) -> DynamicForm {
    DynamicForm {
        key: key.into(),
        message: message.into(),
        schema,
    }
}

/// Sends the user to a URL; see [`RequestContext::ask_url`](crate::RequestContext::ask_url).
#[must_use]
pub fn url(key: impl Into<String>, message: impl Into<String>, address: impl Into<String>) -> Url {
    Url {
        key: key.into(),
        request: ElicitRequestURLParams::new(message, address),
    }
}

/// Asks the client's model; see [`RequestContext::ask_model`](crate::RequestContext::ask_model).
#[must_use]
pub fn model(key: impl Into<String>, request: CreateMessageRequestParams) -> Model {
    Model {
        key: key.into(),
        request,
    }
}

/// Asks for the client's roots; see [`RequestContext::ask_roots`](crate::RequestContext::ask_roots).
#[must_use]
pub fn roots(key: impl Into<String>) -> Roots {
    Roots { key: key.into() }
}

/// A form; see [`form`].
#[derive(Debug)]
pub struct Form<A> {
    key: String,
    message: String,
    answer: PhantomData<fn() -> A>,
}

impl<A: FormAnswer> Question for Form<A> {
    type Answer = A;

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
pub struct DynamicForm {
    key: String,
    message: String,
    schema: ElicitSchema,
}

impl Question for DynamicForm {
    type Answer = Answer<IndexMap<String, Value>>;

    fn key(&self) -> &str {
        &self.key
    }

    fn request(&self) -> Result<InputRequest, Error> {
        Ok(ElicitRequestFormParams::new(&*self.message, &self.schema).into())
    }

    fn read(&self, answer: RawJson) -> Result<Self::Answer, Error> {
        let result = answer::sort(decode(&self.key, &answer)?);
        Ok(result.map(|result| result.content.unwrap_or_default()))
    }
}

/// A URL; see [`url`].
#[derive(Debug)]
pub struct Url {
    key: String,
    request: ElicitRequestURLParams,
}

impl Url {
    /// Sets the id by which
    /// [`RequestContext::elicitation_complete`](crate::RequestContext::elicitation_complete) names this (2025-11-25
    /// only). Otherwise it is random.
    #[must_use]
    pub fn with_elicitation_id(mut self, id: impl Into<String>) -> Self {
        self.request = self.request.with_elicitation_id(id);
        self
    }
}

impl Question for Url {
    type Answer = Answer<()>;

    fn key(&self) -> &str {
        &self.key
    }

    fn request(&self) -> Result<InputRequest, Error> {
        check_url(&self.request.url)?;
        Ok(self.request.clone().into())
    }

    fn read(&self, answer: RawJson) -> Result<Answer<()>, Error> {
        Ok(answer::sort(decode(&self.key, &answer)?).map(drop))
    }
}

/// A request to a model; see [`model`].
#[derive(Debug)]
pub struct Model {
    key: String,
    request: CreateMessageRequestParams,
}

impl Question for Model {
    type Answer = CreateMessageResult;

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
pub struct Roots {
    key: String,
}

impl Question for Roots {
    type Answer = Vec<Root>;

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
    match is_web_url(url) {
        true => Ok(()),
        false => Err(ErrorObject::invalid_params(format!(
            "{url:?} is not an absolute http or https URL in ASCII and without a user"
        ))
        .into()),
    }
}

fn decode<T: DeserializeOwned>(key: &str, answer: &RawJson) -> Result<T, Error> {
    answer
        .parse()
        .map_err(|error| Error::decode(format!("answer to {key:?}"), error))
}
