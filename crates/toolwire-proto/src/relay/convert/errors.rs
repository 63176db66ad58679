//! Errors of upstreams.

use serde_json::json;
use toolwire_types::{ErrorObject, RawJson, code};

use crate::features::VersionFeatures;
use crate::raw_object::{RawArray, RawObject, json_string};
use crate::relay::convert::Conversion;
use crate::relay::input_rounds::MAX_INPUT_REQUESTS;
use crate::stamp::stamp_error;

impl Conversion {
    /// Converts an error: its code, and the data or message that states what the code did.
    ///
    /// `uri` is the resource of the request, if it named one. The error of a missing resource names it in modern
    /// revisions.
    pub fn error(self, error: &mut RawObject<'_>, uri: Option<&str>) {
        let Some(given) = error.get("code").and_then(|code| code.get().parse().ok()) else {
            return;
        };
        if self.is_same_revision() {
            return;
        }
        let converted = self.code(given, error);
        if converted != given {
            error.set("code", RawJson::from_value(&converted.into()));
        }
        match given {
            code::RESOURCE_NOT_FOUND if self.to.is_modern() => name_uri(error, uri),
            code::MISSING_REQUIRED_CLIENT_CAPABILITY if self.to.is_legacy() => {
                name_capabilities(error);
            }
            _ => {}
        }
    }

    fn code(self, given: i64, error: &RawObject<'_>) -> i64 {
        // The parameters of a legacy request cannot be completed with a capability, but they name what was rejected.
        if given == code::MISSING_REQUIRED_CLIENT_CAPABILITY
            && self.from.is_modern()
            && self.to.is_legacy()
        {
            return code::INVALID_PARAMS;
        }
        let mut typed = ErrorObject::new(given, "");
        typed.data = error.get("data").map(|data| RawJson::from(data.raw()));
        stamp_error(typed, self.to).code
    }
}

/// Adds the URI of the missing resource to the data, unless the error has other data.
fn name_uri(error: &mut RawObject<'_>, uri: Option<&str>) {
    let has_data = error.get("data").is_some_and(|data| data.get() != "null");
    if let Some(uri) = uri
        && !has_data
    {
        error.set("data", json!({ "uri": uri }).into());
    }
}

/// Adds the names of the missing capabilities to the message, unless it contains them.
fn name_capabilities(error: &mut RawObject<'_>) {
    let Some(message) = error.text("message").map(|message| message.into_owned()) else {
        return;
    };
    let names: Vec<String> = error
        .object_mut("data")
        .and_then(|data| data.object_mut("requiredCapabilities"))
        .map(|required| required.iter().map(|(name, _)| name.into_owned()).collect())
        .unwrap_or_default();
    if names.is_empty() || names.iter().all(|name| message.contains(name.as_str())) {
        return;
    }
    error.set_text("message", &format!("{message}: {}", names.join(", ")));
}

/// Returns the `input_required` result that a modern client gets for the error −32042 of a 2025-11-25 upstream, whose
/// user must visit URLs before the request succeeds.
///
/// The input requests have the keys `q1`, `q2` and so on. With the responses, the relay sends the request again. Returns
/// `None` for another error, and for data without a list of 1 to 16 elicitations with URLs.
#[must_use]
pub fn url_input_required(error: &RawObject<'_>, request_state: Option<&str>) -> Option<RawJson> {
    if error.get("code")?.get().parse() != Ok(code::URL_ELICITATION_REQUIRED) {
        return None;
    }
    let mut data = RawObject::parse(error.get("data")?.raw())?;
    let elicitations: &mut RawArray<'_> = data.array_mut("elicitations")?;
    if elicitations.is_empty() || elicitations.len() > MAX_INPUT_REQUESTS {
        return None;
    }
    let mut requests = RawObject::empty();
    let mut count = 0;
    for params in elicitations.objects_mut() {
        params.text("url")?;
        count += 1;
        // Modern URL elicitations have no id, and no notification of their completion.
        params.remove("elicitationId");
        params.set_text("mode", "url");
        let mut request = RawObject::empty();
        request.set_text("method", "elicitation/create");
        request.set("params", params.finish());
        requests.set(format!("q{count}"), request.finish());
    }
    if count != elicitations.len() {
        return None;
    }
    let mut result = RawObject::empty();
    result.set("resultType", json_string("input_required"));
    result.set("inputRequests", requests.finish());
    if let Some(state) = request_state {
        result.set_text("requestState", state);
    }
    Some(result.finish())
}
