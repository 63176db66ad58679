//! Input requests and their responses: elicitation, sampling and roots.
//!
//! Legacy upstreams send them as requests, modern ones inside results. The parameters are the same up to the differences
//! of the revisions.

use serde_json::value::RawValue;
use toolwire_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ErrorObject,
    ProtocolVersion, RawJson,
};

use crate::features::VersionFeatures;
use crate::raw_object::RawObject;
use crate::relay::convert::{Conversion, MemberRule};
use crate::stamp::{
    project_elicitation, project_sampling, project_sampling_result, restore_elicitation,
};

const ELICITATION: &[MemberRule] = &[
    ("elicitationId", ProtocolVersion::has_elicitation_id),
    ("task", ProtocolVersion::has_core_tasks),
];

const SAMPLING: &[MemberRule] = &[("task", ProtocolVersion::has_core_tasks)];

const ROOT: &[MemberRule] = &[("_meta", ProtocolVersion::has_titles)];

impl Conversion {
    /// Converts the parameters of an input request of an upstream to the client's revision.
    ///
    /// `elicitation_id` is used for the elicitation of a URL if only the client's revision requires an id.
    ///
    /// # Errors
    /// Returns an error for the upstream if the client's revision cannot express the request.
    pub fn input_request(
        self,
        method: &str,
        params: &RawValue,
        elicitation_id: &str,
    ) -> Result<RawJson, ErrorObject> {
        if self.is_same_revision() {
            return Ok(params.into());
        }
        let mut object = RawObject::parse(params)
            .ok_or_else(|| ErrorObject::invalid_params("the parameters are not an object"))?;
        match method {
            "elicitation/create" => self.elicitation(&mut object, elicitation_id),
            "sampling/createMessage" => self.sampling(params, &mut object),
            _ => {
                self.meta(&mut object);
                Ok(object.finish())
            }
        }
    }

    /// Converts the response of a client to an input request. `request` has the parameters of the upstream.
    ///
    /// # Errors
    /// Returns an error for the upstream if its revision cannot express the response.
    pub fn input_response(
        self,
        method: &str,
        request: &RawValue,
        response: &RawValue,
    ) -> Result<RawJson, ErrorObject> {
        let unchanged = || Ok(RawJson::from(response));
        if self.is_same_revision() {
            return unchanged();
        }
        match method {
            "elicitation/create" if !self.from.has_rich_elicitation_schema() => {
                match serde_json::from_str::<ElicitRequestParams>(request.get()) {
                    Ok(request) => Ok(restore_elicitation(&request, response.into(), self.from)),
                    Err(_) => unchanged(),
                }
            }
            "sampling/createMessage" if self.loses(ProtocolVersion::has_sampling_tools) => {
                let result = serde_json::from_str::<CreateMessageResult>(response.get())
                    .map_err(|error| ErrorObject::internal(format!("the response: {error}")))?;
                written(&project_sampling_result(result, self.to)?)
            }
            _ => {
                let Some(mut object) = RawObject::parse(response) else {
                    return unchanged();
                };
                self.meta(&mut object);
                if method == "roots/list"
                    && let Some(roots) = object.array_mut("roots")
                {
                    roots
                        .objects_mut()
                        .for_each(|root| self.remove_lost(root, ROOT));
                }
                Ok(object.finish())
            }
        }
    }

    fn elicitation(
        self,
        object: &mut RawObject<'_>,
        elicitation_id: &str,
    ) -> Result<RawJson, ErrorObject> {
        let is_url = object.text("mode").as_deref() == Some("url");
        if is_url
            && self.gains(ProtocolVersion::has_elicitation_id)
            && !object.contains("elicitationId")
        {
            object.set_text("elicitationId", elicitation_id);
        }
        let params = object.finish();
        let typed = params
            .parse::<ElicitRequestParams>()
            .map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
        let projected = project_elicitation(typed, self.to)?;
        if !self.to.has_rich_elicitation_schema() {
            return written(&projected);
        }
        self.remove_lost(object, ELICITATION);
        self.meta(object);
        Ok(object.finish())
    }

    fn sampling(
        self,
        params: &RawValue,
        object: &mut RawObject<'_>,
    ) -> Result<RawJson, ErrorObject> {
        // Only an older revision changes the messages.
        if self.to < self.from {
            let typed = serde_json::from_str::<CreateMessageRequestParams>(params.get())
                .map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
            let projected = project_sampling(typed.clone(), self.to)?;
            // The text of the numbers passes unless the revision demands another message.
            if projected != typed {
                return written(&projected);
            }
        }
        self.remove_lost(object, SAMPLING);
        self.meta(object);
        Ok(object.finish())
    }
}

/// Adds the name of the upstream to the message of an elicitation, so that the user of a relay of several upstreams knows
/// who asks.
pub fn name_upstream(method: &str, params: &mut RawObject<'_>, upstream: &str) {
    if method == "elicitation/create"
        && let Some(message) = params.text("message")
    {
        let named = format!("[{upstream}] {message}");
        params.set_text("message", &named);
    }
}

fn written(value: &impl serde::Serialize) -> Result<RawJson, ErrorObject> {
    RawJson::from_serialize(value).map_err(|error| ErrorObject::internal(error.to_string()))
}
