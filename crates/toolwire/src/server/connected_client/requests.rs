//! Requests to a client outside of a request of the client, in all revisions up to 2025-11-25.

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolwire_proto::methods;
use toolwire_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    ErrorObject, InputRequest, ListRootsResult, RawJson,
};

use crate::error::Error;
use crate::server::connected_client::{ConnectedClient, object_params};
use crate::server::input_request::InputChannel;

impl ConnectedClient {
    /// Sends `ping` and waits for the response.
    ///
    /// # Errors
    /// Returns an error if the client is not [reachable](Self::is_reachable), or does not respond in time.
    pub async fn ping(&self) -> Result<(), Error> {
        self.request("ping", serde_json::json!({})).await.map(drop)
    }

    /// Asks the client for its roots.
    ///
    /// # Errors
    /// Returns an error if the client is not [reachable](Self::is_reachable), does not support roots, or responds with
    /// an error.
    pub async fn list_roots(&self) -> Result<ListRootsResult, Error> {
        self.request_input(InputRequest::roots()).await
    }

    /// Asks the user for input: a form or a URL.
    ///
    /// # Errors
    /// Returns an error if the client is not [reachable](Self::is_reachable), does not support this elicitation, or
    /// responds with an error.
    pub async fn elicit(
        &self,
        params: impl Into<ElicitRequestParams>,
    ) -> Result<ElicitResult, Error> {
        self.request_input(InputRequest::Elicitation(params.into()))
            .await
    }

    /// Asks the client's model for a message.
    ///
    /// # Errors
    /// Returns an error if the client is not [reachable](Self::is_reachable), does not support sampling, or responds
    /// with an error.
    pub async fn sample(
        &self,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, Error> {
        self.request_input(params.into()).await
    }

    /// Sends a request and returns the raw response. `params` is a JSON object. The client's capabilities are not
    /// checked.
    ///
    /// # Errors
    /// Returns an error if the client is not [reachable](Self::is_reachable), and if its revision defines the method
    /// but servers do not send it. Also returns an error if the client responds with one, or does not respond in time.
    pub async fn request(&self, method: &str, params: impl Serialize) -> Result<RawJson, Error> {
        let params = object_params(method, &params)?;
        let version = self.check_reachable(method)?;
        if methods::find(method).is_some_and(|row| !row.is_server_request(version)) {
            return Err(ErrorObject::invalid_request(format!(
                "`{method}` is not a request that servers send in {version}"
            ))
            .into());
        }
        self.channel.request(method, params).await
    }

    async fn request_input<T: DeserializeOwned>(&self, request: InputRequest) -> Result<T, Error> {
        let method = request.method();
        let version = self.check_reachable(method)?;
        let capabilities = self.client_capabilities();
        let channel = InputChannel {
            transport: &*self.channel,
            version,
            capabilities: &capabilities,
            related_task: None,
        };
        let response = channel.send(method, &request).await?;
        response
            .parse()
            .map_err(|error| Error::decode(format!("response to `{method}`"), error))
    }
}
