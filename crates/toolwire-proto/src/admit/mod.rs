//! The gate of a server: a request that was read is admitted or rejected, in one place, in one order.
//!
//! Modern requests pass the checks of 2026-07-28 in the order the specification fixes: `_meta`, headers, version, method.
//! Legacy requests get their version from the handshake or the header. Capabilities, parameters of the method itself and
//! `Mcp-Param-*` headers are judged later, by whoever knows the tool.

mod admitted;
mod notification;
mod params;

use std::borrow::Cow;
use std::fmt;

use toolwire_types::{ErrorObject, ProtocolVersion, RequestId, code, meta_key};

use crate::envelope::RequestEnvelope;
use crate::features::{Era, SupportedVersions, VersionFeatures};
use crate::header_value;
use crate::lifecycle::Lifecycle;
use crate::methods::{self, Method, NameSource};
use crate::negotiate::unsupported_version;
use crate::param_headers::{HeaderLookup, HeaderMismatch, MismatchReason};

pub use admitted::{Admitted, MethodRef};
use admitted::{CheckedRequest, takes_input};
pub use notification::{IgnoreReason, NotificationAction, admit_notification};
use params::Params;

/// What the gate knows besides the request itself.
#[derive(Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "whoever calls the gate has to say each of these"
)]
pub struct AdmissionContext<'f> {
    /// The versions the server speaks.
    pub supported: &'f SupportedVersions,
    /// The handshake of the session or stdio process; [`Lifecycle::Fresh`] for stateless HTTP.
    pub lifecycle: Lifecycle,
    /// The routing headers; `None` on stdio and in process.
    pub headers: Option<RoutingHeaders<'f>>,
    /// True for methods the server's author added; names in the table of methods are never asked for.
    pub is_custom_method: &'f dyn Fn(&str) -> bool,
    /// The opt-in gate of [`Lifecycle::require_initialized`]; only for connections that keep a handshake.
    pub require_initialized: bool,
}

impl fmt::Debug for AdmissionContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts")
            .field("supported", &self.supported)
            .field("lifecycle", &self.lifecycle)
            .field("headers", &self.headers)
            .field("require_initialized", &self.require_initialized)
            .finish_non_exhaustive()
    }
}

/// The HTTP headers that repeat parts of the body.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the three standard headers of 2026-07-28"
)]
pub struct RoutingHeaders<'h> {
    /// `MCP-Protocol-Version`.
    pub protocol_version: HeaderLookup<'h>,
    /// `Mcp-Method`.
    pub method: HeaderLookup<'h>,
    /// `Mcp-Name`.
    pub name: HeaderLookup<'h>,
}

/// A request that is answered without running anything.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "an error, whose it is and how HTTP says it"
)]
pub struct Rejection {
    /// The id of the request.
    pub id: RequestId,
    /// What to tell the client.
    pub error: ErrorObject,
    /// The status of the HTTP response that carries the error.
    pub http_status: u16,
    /// The era the request was judged by.
    pub era: Era,
}

/// Admits a request or says why not.
///
/// # Errors
/// The rejection to send back.
pub fn admit<'a>(
    request: &'a RequestEnvelope<'a>,
    facts: &AdmissionContext<'_>,
) -> Result<Admitted<'a>, Rejection> {
    // Built here, once, from little: a request is moved on the way of each call.
    match judge(request, facts) {
        Ok(judged) => Ok(judged.admit(request)),
        Err((error, era)) => Err(reject(request, error, era)),
    }
}

#[cold]
fn reject(request: &RequestEnvelope<'_>, error: ErrorObject, era: Era) -> Rejection {
    Rejection {
        id: request.id.clone(),
        http_status: http_status_before_dispatch(error.code, era),
        error,
        era,
    }
}

/// The HTTP status under which a request that is not dispatched is refused: what makes a bad message there is an ordinary
/// outcome of a handler.
#[must_use]
pub fn http_status_before_dispatch(error_code: i64, era: Era) -> u16 {
    match error_code {
        code::INVALID_PARAMS | code::INVALID_REQUEST | code::UNSUPPORTED_PROTOCOL_VERSION => 400,
        other => http_status_for(other, era),
    }
}

/// The HTTP status under which an error that came up during dispatch is sent.
///
/// Only the codes that 2026-07-28 names have one of their own. Legacy revisions say nothing about it, and their clients
/// may take any other status than 200 for a failure of the transport.
#[must_use]
pub fn http_status_for(error_code: i64, era: Era) -> u16 {
    match (era, error_code) {
        (
            Era::Modern,
            code::HEADER_MISMATCH
            | code::MISSING_REQUIRED_CLIENT_CAPABILITY
            | code::UNSUPPORTED_PROTOCOL_VERSION,
        ) => 400,
        (Era::Modern, code::METHOD_NOT_FOUND) => 404,
        (Era::Modern | Era::Legacy, _) => 200,
    }
}

type RejectionParts = (ErrorObject, Era);

fn judge<'a>(
    request: &'a RequestEnvelope<'a>,
    facts: &AdmissionContext<'_>,
) -> Result<CheckedRequest<'a>, RejectionParts> {
    let header_era = facts.headers.and_then(|headers| header_era(&headers));
    let params = Params::of(request).map_err(|error| {
        let era = header_era.unwrap_or(Era::Legacy);
        (error, era)
    })?;
    // Either the body or the header makes a request modern.
    let is_modern = params.meta().names_version() || header_era == Some(Era::Modern);
    if is_modern {
        judge_modern(request, &params, facts).map_err(|error| (error, Era::Modern))
    } else {
        judge_legacy(request, &params, facts).map_err(|error| (error, Era::Legacy))
    }
}

/// Spec 2026-07-28, basic/index "Per-request protocol fields" and basic/transports/streamable-http "Server Validation".
///
/// Neither this nor the other era is inlined, so that each lies close together.
#[inline(never)]
fn judge_modern<'a>(
    request: &'a RequestEnvelope<'a>,
    params: &Params<'a>,
    facts: &AdmissionContext<'_>,
) -> Result<CheckedRequest<'a>, ErrorObject> {
    let requested = params.meta().required_version()?;
    params.meta().check_client()?;
    let log_level = params.meta().log_level()?;
    params.meta().progress_token()?;

    let row = methods::find(&request.method);
    if let Some(headers) = &facts.headers {
        check_headers(headers, request, row, params, &requested)?;
    }

    // A legacy version is served through `initialize` only, so naming one here is naming an unsupported one.
    let version = requested
        .parse()
        .ok()
        .filter(|version: &ProtocolVersion| {
            version.is_modern() && facts.supported.contains(*version)
        })
        .ok_or_else(|| unsupported_version(&requested, facts.supported))?;

    let method = find_method(request, row, version, facts)?;
    if takes_input(version, &method) {
        params.check_input()?;
    }
    Ok(CheckedRequest {
        method,
        version,
        log_level,
    })
}

#[inline(never)]
fn judge_legacy<'a>(
    request: &'a RequestEnvelope<'a>,
    params: &Params<'a>,
    facts: &AdmissionContext<'_>,
) -> Result<CheckedRequest<'a>, ErrorObject> {
    params.meta().progress_token()?;
    // A method nobody knows is just that, whatever is wrong with the version.
    let row = methods::find(&request.method);
    if row.is_none() && !(facts.is_custom_method)(&request.method) {
        return Err(unknown_method(&request.method));
    }
    let version = legacy_version(request, params, facts)?;
    let method = find_method(request, row, version, facts)?;
    if facts.require_initialized {
        facts.lifecycle.require_initialized(&request.method)?;
    }
    Ok(CheckedRequest {
        method,
        version,
        log_level: None,
    })
}

/// The version of a legacy request: negotiated, named by the header, or assumed.
fn legacy_version(
    request: &RequestEnvelope<'_>,
    params: &Params<'_>,
    facts: &AdmissionContext<'_>,
) -> Result<ProtocolVersion, ErrorObject> {
    if request.method == "initialize" {
        return negotiated(params, facts);
    }
    let assumed = match &facts.headers {
        Some(headers) => match legacy_header_version(headers, facts.supported)? {
            Some(version) => Some(version),
            // Spec 2025-11-25, basic/transports, "Protocol Version Header": without it, assume 2025-03-26.
            None => Some(ProtocolVersion::V2025_03_26),
        },
        // `ping` has the same empty answer in every revision.
        None if request.method == "ping" => facts.supported.legacy().next(),
        None => None,
    };
    facts
        .lifecycle
        .version()
        .or(assumed)
        .filter(|version| facts.supported.contains(*version))
        .ok_or_else(|| missing_version(facts.supported))
}

/// The version that an `initialize` asks for, or one instead of it.
#[cold]
fn negotiated(
    params: &Params<'_>,
    facts: &AdmissionContext<'_>,
) -> Result<ProtocolVersion, ErrorObject> {
    let requested = params.initialize_version()?;
    facts.lifecycle.negotiate(&requested, facts.supported)
}

/// The legacy version a header names; a header that names none of the served ones is an error.
fn legacy_header_version(
    headers: &RoutingHeaders<'_>,
    supported: &SupportedVersions,
) -> Result<Option<ProtocolVersion>, ErrorObject> {
    match headers.protocol_version {
        HeaderLookup::Absent => Ok(None),
        HeaderLookup::One(value) => {
            let name = header_value::trimmed(value);
            name.parse()
                .ok()
                .filter(|version| supported.contains(*version))
                .map(Some)
                .ok_or_else(|| unsupported_version(name, supported))
        }
        HeaderLookup::Unreadable | HeaderLookup::Repeated => Err(ErrorObject::invalid_request(
            "the MCP-Protocol-Version header is repeated or unreadable",
        )),
    }
}

/// The era of the version a header names, when it is a released one.
#[must_use]
pub fn header_era(headers: &RoutingHeaders<'_>) -> Option<Era> {
    header_version(headers).map(VersionFeatures::era)
}

/// The version a header names, when it is a released one.
#[must_use]
pub fn header_version(headers: &RoutingHeaders<'_>) -> Option<ProtocolVersion> {
    match headers.protocol_version {
        HeaderLookup::One(value) => header_value::trimmed(value).parse().ok(),
        HeaderLookup::Absent | HeaderLookup::Unreadable | HeaderLookup::Repeated => None,
    }
}

/// The version in force for a batch outside of any session: the one the header names, or the one that is assumed.
///
/// Spec 2025-11-25, basic/transports, "Protocol Version Header".
#[must_use]
pub fn batch_version(headers: &RoutingHeaders<'_>) -> Option<ProtocolVersion> {
    match headers.protocol_version {
        HeaderLookup::Absent => Some(ProtocolVersion::V2025_03_26),
        _ => header_version(headers),
    }
}

/// Checks the version header of something that is not a request: a notification, a response, a GET or a DELETE.
///
/// # Errors
/// When it names a version that is not served; on HTTP it goes with status 400.
pub fn check_version_header(
    headers: &RoutingHeaders<'_>,
    supported: &SupportedVersions,
) -> Result<(), ErrorObject> {
    legacy_header_version(headers, supported).map(drop)
}

fn check_headers(
    headers: &RoutingHeaders<'_>,
    request: &RequestEnvelope<'_>,
    row: Option<&Method>,
    params: &Params<'_>,
    version: &str,
) -> Result<(), ErrorObject> {
    let plain = |value| Ok(Cow::Borrowed(header_value::trimmed(value)));
    let decoded = |value| header_value::decode(value).map_err(|_| MismatchReason::Undecodable);
    let mismatch = |header: &str, reason| HeaderMismatch {
        header: header.to_owned(),
        reason,
    };

    same(headers.protocol_version, version, plain)
        .map_err(|reason| mismatch(header_value::PROTOCOL_VERSION, reason))?;
    same(headers.method, &request.method, plain)
        .map_err(|reason| mismatch(header_value::METHOD, reason))?;

    let source = row
        .filter(|row| row.is_served(ProtocolVersion::LATEST))
        .map_or(NameSource::None, |row| row.name_source);
    if source == NameSource::None {
        return Ok(());
    }
    match params.name(source) {
        Some(name) => same(headers.name, &name, decoded),
        None => Err(MismatchReason::Incomparable),
    }
    .map_err(|reason| mismatch(header_value::NAME, reason))?;
    Ok(())
}

/// Compares a header with the body's value; values are case-sensitive, the white space around them is not theirs.
fn same<'h>(
    header: HeaderLookup<'h>,
    body: &str,
    read: impl Fn(&'h str) -> Result<Cow<'h, str>, MismatchReason>,
) -> Result<(), MismatchReason> {
    match header {
        HeaderLookup::Absent => Err(MismatchReason::Missing),
        HeaderLookup::Repeated => Err(MismatchReason::Repeated),
        HeaderLookup::Unreadable => Err(MismatchReason::Undecodable),
        HeaderLookup::One(value) if read(value)? == body => Ok(()),
        HeaderLookup::One(_) => Err(MismatchReason::Different),
    }
}

fn find_method<'a>(
    request: &'a RequestEnvelope<'a>,
    row: Option<&'static Method>,
    version: ProtocolVersion,
    facts: &AdmissionContext<'_>,
) -> Result<MethodRef<'a>, ErrorObject> {
    match row {
        Some(row) if row.is_client_request(version) => Ok(MethodRef::Known(row)),
        // Spec 2026-07-28, basic/versioning: a refused `initialize` names the supported versions.
        Some(row) => Err(not_of_version(row, version, facts.supported)),
        None if (facts.is_custom_method)(&request.method) => Ok(MethodRef::Custom(&request.method)),
        None => Err(unknown_method(&request.method)),
    }
}

#[cold]
fn not_of_version(
    row: &Method,
    version: ProtocolVersion,
    supported: &SupportedVersions,
) -> ErrorObject {
    ErrorObject::method_not_found(format!(
        "{} is no client request of {version}; supported versions are {}",
        row.name,
        joined(supported),
    ))
}

#[cold]
fn unknown_method(name: &str) -> ErrorObject {
    // A name of megabytes must not come back as a message of megabytes.
    let shown: String = name.chars().take(64).collect();
    ErrorObject::method_not_found(format!("unknown method {shown:?}"))
}

#[cold]
fn missing_version(supported: &SupportedVersions) -> ErrorObject {
    let initialize = match supported.legacy().next() {
        Some(_) => ", or send initialize first",
        None => "",
    };
    ErrorObject::invalid_params(format!(
        "no protocol version: put it into params._meta[\"{}\"]{initialize}; supported versions are {}",
        meta_key::PROTOCOL_VERSION,
        joined(supported),
    ))
}

fn joined(supported: &SupportedVersions) -> String {
    supported.names().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
