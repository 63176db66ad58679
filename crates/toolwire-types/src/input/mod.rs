//! Multi-round-trip requests (since 2026-07-28): input requests that a client resolves before it gets its result.
//!
//! Input requests replace JSON-RPC requests from server to client: they are objects inside a result. The client sends
//! its request again with the original parameters, the input responses and the server's `requestState`.

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

/// The result of a request that requires input before it can complete.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InputRequiredResult {
    /// The kind of result: [`ResultType::InputRequired`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The input requests, by keys that the server chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// Opaque state that the client returns unchanged with the responses. Absent and empty are different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl InputRequiredResult {
    /// Creates a result without content. Add input requests, a request state, or both.
    #[must_use]
    pub fn new() -> Self {
        Self {
            result_type: Some(ResultType::InputRequired),
            ..Self::default()
        }
    }

    /// Adds an input request. The caller chooses the key.
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

/// An input request: an object `{method, params}`, without the `jsonrpc` and `id` of a JSON-RPC request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "input requests are few, short-lived and mostly elicitations"
)]
pub enum InputRequest {
    /// `elicitation/create`: input from the user.
    Elicitation(ElicitRequestParams),
    /// `sampling/createMessage`: a message from a model. Deprecated by MCP 2026-07-28 (SEP-2577).
    Sampling(Box<CreateMessageRequestParams>),
    /// `roots/list`: the roots of the client. Deprecated by MCP 2026-07-28 (SEP-2577).
    Roots(Option<RequestParams>),
    /// A method that this crate does not define.
    Other {
        /// The method name.
        method: String,
        /// The parameters.
        params: Option<RawJson>,
    },
}

impl InputRequest {
    /// Creates a request for the client's roots.
    #[must_use]
    pub fn roots() -> Self {
        Self::Roots(None)
    }

    /// Returns the method name, which distinguishes the variants on the wire.
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

/// Input requests by key, in the order of the server.
///
/// A JSON value that is not an object is parsed as an empty map.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct InputRequests(IndexMap<String, InputRequest>);

impl InputRequests {
    /// Creates an empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an input request.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        self.insert(key, request);
        self
    }

    /// Adds an input request and returns the previous request of the key.
    pub fn insert(
        &mut self,
        key: impl Into<String>,
        request: impl Into<InputRequest>,
    ) -> Option<InputRequest> {
        self.0.insert(key.into(), request.into())
    }

    /// Returns the input request of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&InputRequest> {
        self.0.get(key)
    }

    /// Removes and returns the input request of a key. The order of the others does not change.
    pub fn remove(&mut self, key: &str) -> Option<InputRequest> {
        self.0.shift_remove(key)
    }

    /// Removes the input requests for which `keep` returns `false`.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &InputRequest) -> bool) {
        self.0.retain(|key, request| keep(key, request));
    }

    /// Releases the memory for further input requests, before the map is stored for long.
    pub fn shrink_to_fit(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Returns the number of input requests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no input requests.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over keys and input requests, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &InputRequest)> {
        self.0.iter().map(|(key, request)| (key.as_str(), request))
    }

    /// Iterates over mutable input requests, in order.
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

/// Input responses by key. Each is a plain result object, without a JSON-RPC envelope.
///
/// The type of a response depends on its input request, which only the server knows. Responses therefore stay raw until
/// the server parses them. For a missing response, the accessors return `None`; the server should then
/// send the input request again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputResponses(IndexMap<String, RawJson>);

impl InputResponses {
    /// Creates an empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a response and returns the previous response of the key.
    pub fn insert(
        &mut self,
        key: impl Into<String>,
        response: impl Into<RawJson>,
    ) -> Option<RawJson> {
        self.0.insert(key.into(), response.into())
    }

    /// Returns the raw response of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&RawJson> {
        self.0.get(key)
    }

    /// Parses the response of a key. Returns `None` if there is no response.
    ///
    /// # Errors
    /// Returns an error if the response does not parse as `T`.
    pub fn get_as<T: DeserializeOwned>(&self, key: &str) -> serde_json::Result<Option<T>> {
        self.get(key).map(RawJson::parse).transpose()
    }

    /// Parses the response to an elicitation. Returns `None` if there is no response.
    ///
    /// # Errors
    /// Returns an error if the response is not an [`ElicitResult`].
    pub fn elicitation(&self, key: &str) -> serde_json::Result<Option<ElicitResult>> {
        self.get_as(key)
    }

    /// Parses the response to a sampling request. Returns `None` if there is no response.
    ///
    /// # Errors
    /// Returns an error if the response is not a [`CreateMessageResult`].
    pub fn sampling(&self, key: &str) -> serde_json::Result<Option<CreateMessageResult>> {
        self.get_as(key)
    }

    /// Parses the response to a request for roots. Returns `None` if there is no response.
    ///
    /// # Errors
    /// Returns an error if the response is not a [`ListRootsResult`].
    pub fn roots(&self, key: &str) -> serde_json::Result<Option<ListRootsResult>> {
        self.get_as(key)
    }

    /// Returns the number of responses.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no responses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over keys and raw responses, in order.
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
