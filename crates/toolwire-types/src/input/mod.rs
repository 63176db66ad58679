//! Multi-round-trip requests (since 2026-07-28): questions a server puts to the client before it can answer.
//!
//! What used to be requests from server to client are now objects inside a result. The client answers by sending its
//! request again, with the answers and the server's `requestState` beside the original parameters.

use indexmap::IndexMap;
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::elicitation::{
    ElicitRequestFormParams, ElicitRequestParams, ElicitRequestURLParams, ElicitResult,
};
use crate::meta::{Meta, RequestParams};
use crate::raw::RawJson;
use crate::result::{Extra, ResultType};
use crate::roots::ListRootsResult;
use crate::sampling::{CreateMessageRequestParams, CreateMessageResult};
use crate::setters::setters;

const ELICITATION: &str = "elicitation/create";
const SAMPLING: &str = "sampling/createMessage";
const ROOTS: &str = "roots/list";

/// The result of a request that needs input before it can be answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InputRequiredResult {
    /// The kind of result: [`ResultType::InputRequired`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The questions, by keys the server chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// What the server wants back with the answers, unread and unchanged. Absent and empty are different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl InputRequiredResult {
    /// Asks for input. Add questions, a state, or both.
    #[must_use]
    pub fn new() -> Self {
        Self {
            result_type: Some(ResultType::InputRequired),
            ..Self::default()
        }
    }

    /// Adds a question under a key of your choice.
    #[must_use]
    pub fn with_input_request(
        mut self,
        key: impl Into<String>,
        request: impl Into<InputRequest>,
    ) -> Self {
        self.input_requests
            .get_or_insert_default()
            .insert(key, request);
        self
    }

    setters! {
        with_request_state(request_state: into String);
    }
}

/// One question: an object `{method, params}`, without the `jsonrpc` and `id` of a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "questions are few, short-lived and mostly elicitations"
)]
pub enum InputRequest {
    /// `elicitation/create`: ask the user.
    Elicitation(ElicitRequestParams),
    /// `sampling/createMessage`: ask a model. Deprecated in 2026-07-28.
    Sampling(Box<CreateMessageRequestParams>),
    /// `roots/list`: list the roots. Deprecated in 2026-07-28.
    Roots(Option<RequestParams>),
    /// A method this crate does not know.
    Other {
        /// The method.
        method: String,
        /// The parameters.
        params: Option<RawJson>,
    },
}

impl InputRequest {
    /// A request for the client's roots.
    #[must_use]
    pub fn roots() -> Self {
        Self::Roots(None)
    }

    /// The method name, which tells the kinds apart on the wire.
    #[must_use]
    pub fn method(&self) -> &str {
        match self {
            Self::Elicitation(_) => ELICITATION,
            Self::Sampling(_) => SAMPLING,
            Self::Roots(_) => ROOTS,
            Self::Other { method, .. } => method,
        }
    }
}

impl From<ElicitRequestParams> for InputRequest {
    fn from(params: ElicitRequestParams) -> Self {
        Self::Elicitation(params)
    }
}

impl From<ElicitRequestFormParams> for InputRequest {
    fn from(params: ElicitRequestFormParams) -> Self {
        Self::Elicitation(params.into())
    }
}

impl From<ElicitRequestURLParams> for InputRequest {
    fn from(params: ElicitRequestURLParams) -> Self {
        Self::Elicitation(params.into())
    }
}

impl From<CreateMessageRequestParams> for InputRequest {
    fn from(params: CreateMessageRequestParams) -> Self {
        Self::Sampling(Box::new(params))
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("InputRequest", 2)?;
        object.serialize_field("method", self.method())?;
        match self {
            Self::Elicitation(params) => object.serialize_field("params", params)?,
            Self::Sampling(params) => object.serialize_field("params", params)?,
            Self::Roots(Some(params)) => object.serialize_field("params", params)?,
            Self::Other {
                params: Some(params),
                ..
            } => object.serialize_field("params", params)?,
            Self::Roots(None) | Self::Other { params: None, .. } => {}
        }
        object.end()
    }
}

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            method: String,
            params: Option<RawJson>,
        }

        fn required<T: DeserializeOwned>(params: Option<RawJson>) -> serde_json::Result<T> {
            params
                .ok_or_else(|| serde_json::Error::missing_field("params"))?
                .parse()
        }

        let Wire { method, params } = Wire::deserialize(deserializer)?;
        let request = match method.as_str() {
            ELICITATION => required(params).map(Self::Elicitation),
            SAMPLING => required(params).map(Self::Sampling),
            ROOTS => params
                .map(|params| params.parse())
                .transpose()
                .map(Self::Roots),
            _ => Ok(Self::Other { method, params }),
        };
        request.map_err(D::Error::custom)
    }
}

/// Questions by key, in the order the server put them.
///
/// Read from anything but an object, there are none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct InputRequests(IndexMap<String, InputRequest>);

impl InputRequests {
    /// No questions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a question.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        self.insert(key, request);
        self
    }

    /// Adds a question and returns the one that had its key.
    pub fn insert(
        &mut self,
        key: impl Into<String>,
        request: impl Into<InputRequest>,
    ) -> Option<InputRequest> {
        self.0.insert(key.into(), request.into())
    }

    /// The question at a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&InputRequest> {
        self.0.get(key)
    }

    /// Takes a question out; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<InputRequest> {
        self.0.shift_remove(key)
    }

    /// Drops the questions for which `keep` says no.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &InputRequest) -> bool) {
        self.0.retain(|key, request| keep(key, request));
    }

    /// How many questions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there are no questions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keys and questions, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &InputRequest)> {
        self.0.iter().map(|(key, request)| (key.as_str(), request))
    }

    /// Questions with a chance to change them, in order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut InputRequest> {
        self.0.values_mut()
    }
}

impl<'de> Deserialize<'de> for InputRequests {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        if !raw.is_object() {
            return Ok(Self::new());
        }
        raw.parse().map(Self).map_err(D::Error::custom)
    }
}

impl IntoIterator for InputRequests {
    type Item = (String, InputRequest);
    type IntoIter = indexmap::map::IntoIter<String, InputRequest>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Into<String>> FromIterator<(K, InputRequest)> for InputRequests {
    fn from_iter<I: IntoIterator<Item = (K, InputRequest)>>(requests: I) -> Self {
        let requests = requests.into_iter();
        Self(
            requests
                .map(|(key, request)| (key.into(), request))
                .collect(),
        )
    }
}

/// Answers by key: bare results, neither wrapped nor numbered.
///
/// What an answer means depends on the question, which only the server remembers; so answers stay raw until read by
/// type. A missing answer is `None` and not an error: the server should then ask again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputResponses(IndexMap<String, RawJson>);

impl InputResponses {
    /// No answers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an answer and returns the one that had its key.
    pub fn insert(
        &mut self,
        key: impl Into<String>,
        response: impl Into<RawJson>,
    ) -> Option<RawJson> {
        self.0.insert(key.into(), response.into())
    }

    /// The raw answer at a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&RawJson> {
        self.0.get(key)
    }

    /// The answer at a key as a type; `None` when there is no answer.
    ///
    /// # Errors
    /// When the answer does not have the shape of `T`.
    pub fn get_as<T: DeserializeOwned>(&self, key: &str) -> serde_json::Result<Option<T>> {
        self.get(key).map(RawJson::parse).transpose()
    }

    /// The answer to an elicitation.
    ///
    /// # Errors
    /// When the answer is something else.
    pub fn elicitation(&self, key: &str) -> serde_json::Result<Option<ElicitResult>> {
        self.get_as(key)
    }

    /// The answer to a sampling request.
    ///
    /// # Errors
    /// When the answer is something else.
    pub fn sampling(&self, key: &str) -> serde_json::Result<Option<CreateMessageResult>> {
        self.get_as(key)
    }

    /// The answer to a request for roots.
    ///
    /// # Errors
    /// When the answer is something else.
    pub fn roots(&self, key: &str) -> serde_json::Result<Option<ListRootsResult>> {
        self.get_as(key)
    }

    /// How many answers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there are no answers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keys and raw answers, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0
            .iter()
            .map(|(key, response)| (key.as_str(), response))
    }
}

impl<K: Into<String>, V: Into<RawJson>> FromIterator<(K, V)> for InputResponses {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(responses: I) -> Self {
        let responses = responses.into_iter();
        Self(
            responses
                .map(|(key, response)| (key.into(), response.into()))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests;
