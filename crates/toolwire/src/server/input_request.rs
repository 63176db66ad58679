//! Sends an input request to a client of a revision up to 2025-11-25, and checks the response.

use indexmap::IndexMap;
use toolwire_proto::methods;
use toolwire_proto::rounds;
use toolwire_proto::sampling_rules::drop_undeclared_context;
use toolwire_proto::stamp;
use toolwire_types::tasks::core::RelatedTaskMetadata;
use toolwire_types::{
    ClientCapabilities, CreateMessageRequestParams, ElicitRequestParams, ErrorObject, InputRequest,
    ProtocolVersion, RawJson, meta_key,
};

use crate::engine::transport::no_channel;
use crate::engine::{TransportContext, warn_about_request};
use crate::error::Error;
use crate::server::access::check_declared;
use crate::server::state_seal::NO_RANDOMNESS;

/// A channel to a client, with the data that determines the form of a request.
pub(crate) struct InputChannel<'a> {
    pub(crate) transport: &'a dyn TransportContext,
    pub(crate) version: ProtocolVersion,
    pub(crate) capabilities: &'a ClientCapabilities,
    /// The task that the request belongs to (2025-11-25).
    pub(crate) related_task: Option<&'a str>,
}

impl InputChannel<'_> {
    /// Checks the client's capabilities, sends the request, and checks the response. Errors name the request by `key`.
    pub(crate) async fn send(&self, key: &str, request: &InputRequest) -> Result<RawJson, Error> {
        let method = method_of(request)?;
        let required = rounds::required_capabilities([request]);
        check_declared(&required, self.capabilities)?;
        warn_about_request(request, self.version);
        let mut params = client_params(request, self.version, self.capabilities)?;
        if let Some(id) = self.related_task {
            params = with_related_task(&params, id)?;
        }
        if !self.transport.can_request() {
            return Err(no_channel(method));
        }
        let response = self.transport.request(method, params).await?;
        let response = match request {
            InputRequest::Elicitation(elicitation) => {
                stamp::restore_elicitation(elicitation, response, self.version)
            }
            _ => response,
        };
        rounds::accept_response(request, response)
            .map_err(|unusable| Error::protocol(unusable.message(key)))
    }
}

/// Returns the method of an input request.
fn method_of(request: &InputRequest) -> Result<&'static str, Error> {
    methods::find(request.method())
        .map(|method| method.name)
        .ok_or_else(|| {
            ErrorObject::internal(format!(
                "`{}` is not a request to a client",
                request.method()
            ))
            .into()
        })
}

/// Returns the parameters of an input request in the form of the client's revision.
fn client_params(
    request: &InputRequest,
    version: ProtocolVersion,
    declared: &ClientCapabilities,
) -> Result<RawJson, Error> {
    let written = match request {
        InputRequest::Elicitation(params) => {
            let mut params = params.clone();
            if let ElicitRequestParams::Url(url) = &mut params
                && url.elicitation_id.is_none()
            {
                url.elicitation_id = Some(random_id()?);
            }
            RawJson::from_serialize(&stamp::project_elicitation(params, version)?)
        }
        InputRequest::Sampling(params) => {
            let mut params = CreateMessageRequestParams::clone(params);
            drop_undeclared_context(&mut params, version, declared);
            RawJson::from_serialize(&stamp::project_sampling(params, version)?)
        }
        InputRequest::Roots(params) => RawJson::from_serialize(&params.clone().unwrap_or_default()),
        other => {
            return Err(ErrorObject::internal(format!(
                "`{}` is not a request to a client",
                other.method()
            ))
            .into());
        }
    };
    written.map_err(|error| Error::decode("input request to the client", error))
}

/// Adds the task that a request belongs to. 2025-11-25, basic/utilities/tasks, "Associating Task-Related Messages".
fn with_related_task(params: &RawJson, id: &str) -> Result<RawJson, Error> {
    let mut members: IndexMap<String, RawJson> = params
        .parse()
        .map_err(|error| Error::decode("input request to the client", error))?;
    let mut meta: IndexMap<String, RawJson> = members
        .get("_meta")
        .and_then(|meta| meta.parse().ok())
        .unwrap_or_default();
    let write = |error| Error::decode("input request to the client", error);
    let related = RelatedTaskMetadata::new(id);
    let related = RawJson::from_serialize(&related).map_err(write)?;
    meta.insert(meta_key::RELATED_TASK.to_owned(), related);
    let meta = RawJson::from_serialize(&meta).map_err(write)?;
    members.insert("_meta".to_owned(), meta);
    RawJson::from_serialize(&members).map_err(write)
}

/// Returns a random id, for revisions that require an id for each URL elicitation.
pub(crate) fn random_id() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| ErrorObject::internal(NO_RANDOMNESS))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
