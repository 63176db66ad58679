//! Classification of a message by the presence of its members.

use toolwire_types::json::checked_raw;
use toolwire_types::{ErrorObject, ResponseId};

use crate::envelope::{
    Envelope, MalformedMessage, NotificationEnvelope, RequestEnvelope, ResponseEnvelope,
};

use crate::strict_json::members::{IdMember, Members};
use crate::strict_json::text::string_value;
use crate::strict_json::{Limits, invalid};

pub(super) fn classify<'a>(
    members: &Members<'a>,
    has_repeated_names: bool,
    limits: &Limits,
) -> Result<Envelope<'a>, MalformedMessage> {
    if has_repeated_names {
        return reject(members, limits, "a member name appears twice");
    }
    if !members.jsonrpc.is_some_and(is_version_two) {
        return reject(members, limits, "`jsonrpc` must be \"2.0\"");
    }
    match (members.method, members.result, members.error) {
        (Some(method), None, None) => call(members, method, limits),
        _ => response(members, limits),
    }
}

#[cold]
fn reject<'a>(
    members: &Members<'a>,
    limits: &Limits,
    message: &'static str,
) -> Result<Envelope<'a>, MalformedMessage> {
    Err(invalid(message, members.id_to_echo(limits.id_bytes)))
}

/// Parses a message without a method. Never inlined, so that the code of calls is contiguous.
#[inline(never)]
fn response<'a>(members: &Members<'a>, limits: &Limits) -> Result<Envelope<'a>, MalformedMessage> {
    let reject = |message| reject(members, limits, message);
    match (members.method, members.result, members.error) {
        (None, Some(result), None) => {
            let IdMember::Valid(id) = members.id(limits.id_bytes) else {
                return reject("a result requires the id of its request");
            };
            let outcome = Ok(checked_raw(result));
            let id = ResponseId::Id(id);
            Ok(Envelope::Response(ResponseEnvelope { id, outcome }))
        }
        (None, None, Some(error)) => {
            let id = match members.id(limits.id_bytes) {
                IdMember::Valid(id) => ResponseId::Id(id),
                IdMember::Null => ResponseId::Null,
                IdMember::Absent => ResponseId::Absent,
                IdMember::Refused => return reject("an id is a string or an integer"),
            };
            let Some(error) = error_object(error) else {
                return reject("`error` requires an integer `code` and a string `message`");
            };
            let outcome = Err(error);
            Ok(Envelope::Response(ResponseEnvelope { id, outcome }))
        }
        (None, None, None) => reject("neither a request nor a response"),
        _ => reject("a message has one of `method`, `result` and `error`"),
    }
}

fn call<'a>(
    members: &Members<'a>,
    method: &'a str,
    limits: &Limits,
) -> Result<Envelope<'a>, MalformedMessage> {
    let id = match members.id(limits.id_bytes) {
        IdMember::Valid(id) => Some(id),
        IdMember::Absent => None,
        IdMember::Null | IdMember::Refused => {
            return Err(invalid("an id is a short string or an integer", None));
        }
    };
    let Some(method) = string_value(method) else {
        return Err(invalid("`method` must be a string", id));
    };
    let params = match members.params {
        // Some clients write `null` for absent parameters.
        None | Some("null") => None,
        Some(params) if params.starts_with('{') => Some(checked_raw(params)),
        // A notification gets no response, even if it is malformed. It is processed without its parameters.
        Some(_) if id.is_none() => None,
        Some(_) => {
            let error = ErrorObject::invalid_params("`params` must be an object");
            return Err(MalformedMessage { error, id });
        }
    };
    let Some(id) = id else {
        let notification = NotificationEnvelope { method, params };
        return Ok(Envelope::Notification(notification));
    };
    Ok(Envelope::Request(RequestEnvelope {
        id,
        method,
        params,
        members: members.in_params,
    }))
}

fn is_version_two(value: &str) -> bool {
    value == r#""2.0""# || string_value(value).is_some_and(|version| version == "2.0")
}

fn error_object(value: &str) -> Option<ErrorObject> {
    // The derived deserializer would also accept an array of the members' values.
    if value.starts_with('{') {
        serde_json::from_str(value).ok()
    } else {
        None
    }
}
