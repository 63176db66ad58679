//! Admission of requests on a server: a parsed request is admitted or rejected.
//!
//! Modern requests pass the checks of 2026-07-28 in the order of the specification: `_meta`, headers, version, method.
//! Legacy requests get their version from the handshake or the header. This module does not check capabilities, method
//! parameters and `Mcp-Param-*` headers. The code that knows the tool checks them later.

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
use crate::requests::is_overloaded;

pub use admitted::{Admitted, MethodRef};
use admitted::{CheckedRequest, takes_input};
pub use notification::{IgnoreReason, NotificationAction, admit_notification};
use params::Params;

/// The inputs of admission besides the request itself.
#[derive(Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "callers must set every field")]
pub struct AdmissionContext<'f> {
    /// The versions that the server supports.
    pub supported: &'f SupportedVersions,
    /// The handshake state of the session or stdio process. [`Lifecycle::Fresh`] for stateless HTTP.
    pub lifecycle: Lifecycle,
    /// The routing headers. `None` on stdio and in process.
    pub headers: Option<RoutingHeaders<'f>>,
    /// Returns `true` for the server's custom methods. It is not called for names in the method table.
    pub is_custom_method: &'f dyn Fn(&str) -> bool,
    /// Returns `true` if the server has a handler for a notification of this name that no revision defines.
    pub is_custom_notification: &'f dyn Fn(&str) -> bool,
    /// Enables the check of [`Lifecycle::require_initialized`]. Only for connections that have a handshake.
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

/// The HTTP headers that repeat parts of the request body.
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

/// A request that is rejected before dispatch.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the error, its request and its HTTP status"
)]
pub struct Rejection {
    /// The id of the request.
    pub id: RequestId,
    /// The error to send to the client.
    pub error: ErrorObject,
    /// The status of the HTTP response that carries the error.
    pub http_status: u16,
    /// The era whose rules rejected the request.
    pub era: Era,
}

/// Admits or rejects a request.
///
/// # Errors
/// Returns the rejection to send to the client.
pub fn admit<'a>(
    request: &'a RequestEnvelope<'a>,
    context: &AdmissionContext<'_>,
) -> Result<Admitted<'a>, Rejection> {
    // The value is built in one place from few parts, because each call moves it.
    match check_request(request, context) {
        Ok(checked) => Ok(checked.admit(request)),
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

/// Returns the HTTP status for a request that is rejected before dispatch.
///
/// Some codes have status 400 here and 200 during dispatch, where a handler may return them as an ordinary outcome.
#[must_use]
pub fn http_status_before_dispatch(error_code: i64, era: Era) -> u16 {
    match error_code {
        code::INVALID_PARAMS | code::INVALID_REQUEST | code::UNSUPPORTED_PROTOCOL_VERSION => 400,
        other => http_status_for(other, era),
    }
}

/// Returns the HTTP status for an error that occurs during dispatch.
///
/// Only the codes that 2026-07-28 lists have their own status. Legacy revisions do not define one, and their clients
/// may treat any status other than 200 as a transport failure.
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

/// Returns the HTTP status for the error of a request that was dispatched.
///
/// A request that the server could not process has status 503 in every era, as other overloaded requests.
#[must_use]
pub fn http_status_of(error: &ErrorObject, era: Era) -> u16 {
    if is_overloaded(error) {
        503
    } else {
        http_status_for(error.code, era)
    }
}

type RejectionParts = (ErrorObject, Era);

fn check_request<'a>(
    request: &'a RequestEnvelope<'a>,
    context: &AdmissionContext<'_>,
) -> Result<CheckedRequest<'a>, RejectionParts> {
    let header_era = context.headers.and_then(|headers| header_era(&headers));
    let params = Params::of(request).map_err(|error| {
        let era = header_era.unwrap_or(Era::Legacy);
        (error, era)
    })?;
    // The body or the header alone makes a request modern.
    let is_modern = params.meta().names_version() || header_era == Some(Era::Modern);
    if is_modern {
        check_modern(request, &params, context).map_err(|error| (error, Era::Modern))
    } else {
        check_legacy(request, &params, context).map_err(|error| (error, Era::Legacy))
    }
}

/// Checks a modern request.
///
/// Spec 2026-07-28, basic/index "Per-request protocol fields" and basic/transports/streamable-http "Server Validation".
/// Neither era is inlined, so that the code of each era is contiguous.
#[inline(never)]
fn check_modern<'a>(
    request: &'a RequestEnvelope<'a>,
    params: &Params<'a>,
    context: &AdmissionContext<'_>,
) -> Result<CheckedRequest<'a>, ErrorObject> {
    let requested = params.meta().required_version()?;
    params.meta().check_client()?;
    let log_level = params.meta().log_level()?;
    params.meta().progress_token()?;

    let row = methods::find(&request.method);
    if let Some(headers) = &context.headers {
        check_headers(headers, request, row, params, &requested)?;
    }

    // A legacy version is served through `initialize` only, so a request that names one here names an unsupported
    // version.
    let version = requested
        .parse()
        .ok()
        .filter(|version: &ProtocolVersion| {
            version.is_modern() && context.supported.contains(*version)
        })
        .ok_or_else(|| unsupported_version(&requested, context.supported))?;

    let method = find_method(request, row, version, context)?;
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
fn check_legacy<'a>(
    request: &'a RequestEnvelope<'a>,
    params: &Params<'a>,
    context: &AdmissionContext<'_>,
) -> Result<CheckedRequest<'a>, ErrorObject> {
    params.meta().progress_token()?;
    // An unknown method is reported as such, even if the version is invalid, too.
    let row = methods::find(&request.method);
    if row.is_none() && !(context.is_custom_method)(&request.method) {
        return Err(unknown_method(&request.method));
    }
    let version = legacy_version(request, params, context)?;
    let method = find_method(request, row, version, context)?;
    if context.require_initialized {
        context.lifecycle.require_initialized(&request.method)?;
    }
    Ok(CheckedRequest {
        method,
        version,
        log_level: None,
    })
}

/// Returns the version of a legacy request: negotiated, named by the header, or assumed.
fn legacy_version(
    request: &RequestEnvelope<'_>,
    params: &Params<'_>,
    context: &AdmissionContext<'_>,
) -> Result<ProtocolVersion, ErrorObject> {
    if request.method == "initialize" {
        return negotiated(params, context);
    }
    let assumed = match &context.headers {
        Some(headers) => match legacy_header_version(headers, context.supported)? {
            Some(version) => Some(version),
            // Spec 2025-11-25, basic/transports, "Protocol Version Header": without it, assume 2025-03-26.
            None => Some(ProtocolVersion::V2025_03_26),
        },
        // The response to `ping` is empty in every revision.
        None if request.method == "ping" => context.supported.legacy().next(),
        None => None,
    };
    context
        .lifecycle
        .version()
        .or(assumed)
        .filter(|version| context.supported.contains(*version))
        .ok_or_else(|| missing_version(context.supported))
}

/// Returns the version that an `initialize` request negotiates.
#[cold]
fn negotiated(
    params: &Params<'_>,
    context: &AdmissionContext<'_>,
) -> Result<ProtocolVersion, ErrorObject> {
    let requested = params.initialize_version()?;
    context.lifecycle.negotiate(&requested, context.supported)
}

/// Returns the legacy version that a header names. Returns an error if the header names a version that is not
/// supported.
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
            "the MCP-Protocol-Version header is repeated or malformed",
        )),
    }
}

/// Returns the era of the version that a header names, if it is a released version.
#[must_use]
pub fn header_era(headers: &RoutingHeaders<'_>) -> Option<Era> {
    header_version(headers).map(VersionFeatures::era)
}

/// Returns the version that a header names, if it is a released version.
#[must_use]
pub fn header_version(headers: &RoutingHeaders<'_>) -> Option<ProtocolVersion> {
    match headers.protocol_version {
        HeaderLookup::One(value) => header_value::trimmed(value).parse().ok(),
        HeaderLookup::Absent | HeaderLookup::Unreadable | HeaderLookup::Repeated => None,
    }
}

/// Returns the version for a batch without a session: the version in the header, or the assumed version.
///
/// Spec 2025-11-25, basic/transports, "Protocol Version Header".
#[must_use]
pub fn batch_version(headers: &RoutingHeaders<'_>) -> Option<ProtocolVersion> {
    match headers.protocol_version {
        HeaderLookup::Absent => Some(ProtocolVersion::V2025_03_26),
        _ => header_version(headers),
    }
}

/// Checks the version header of a message other than a request: a notification, a response, a GET or a DELETE.
///
/// # Errors
/// Returns an error if the header names a version that is not supported. On HTTP the error has status 400.
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

/// Compares a header with the value in the body. Values are case-sensitive. White space around a header value is
/// ignored.
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
    context: &AdmissionContext<'_>,
) -> Result<MethodRef<'a>, ErrorObject> {
    match row {
        Some(row) if row.is_client_request(version) => Ok(MethodRef::Known(row)),
        // Spec 2026-07-28, basic/versioning: a rejected `initialize` names the supported versions.
        Some(row) => Err(not_of_version(row, version, context.supported)),
        None if (context.is_custom_method)(&request.method) => {
            Ok(MethodRef::Custom(&request.method))
        }
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
        "{} is not a client request of {version}; supported versions are {}",
        row.name,
        joined(supported),
    ))
}

#[cold]
fn unknown_method(name: &str) -> ErrorObject {
    // A very long name must not produce a very long message.
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
