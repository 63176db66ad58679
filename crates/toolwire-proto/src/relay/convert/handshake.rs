//! The results of `initialize` and `server/discover`, from the stored result of an upstream of either era.

use serde_json::value::RawValue;
use toolwire_types::{ProtocolVersion, RawJson, meta_key};

use crate::cache::CacheHint;
use crate::features::{SupportedVersions, VersionFeatures};
use crate::raw_object::{RawObject, json_string};
use crate::relay::convert::{Conversion, ResultMembers, remove_from_meta};

/// The name and the version of a server that does not state them.
const UNKNOWN: &str = "unknown";

/// Returns the result of `initialize` for a client that negotiated `client`.
///
/// `stored` is the result of `initialize` or of `server/discover` of the upstream, by its revision. Returns `None` if it
/// is not an object.
#[must_use]
pub fn initialize_result(
    stored: &RawValue,
    upstream: ProtocolVersion,
    client: ProtocolVersion,
) -> Option<RawJson> {
    let mut result = RawObject::parse(stored)?;
    let conversion = Conversion::new(upstream, client);
    if upstream.is_modern() {
        result.remove("resultType");
        result.remove("supportedVersions");
        let server_info = server_info(&mut result).unwrap_or_else(RawJson::empty_object);
        let mut server_info = RawObject::parse(server_info.as_raw_value())?;
        conversion.implementation(&mut server_info);
        // A modern server may omit its name. The legacy revisions require the name and the version.
        for member in ["name", "version"] {
            if !server_info.contains(member) {
                server_info.set_text(member, UNKNOWN);
            }
        }
        result.set("serverInfo", server_info.finish());
    } else if let Some(server_info) = result.object_mut("serverInfo") {
        conversion.implementation(server_info);
    }
    result.set_first("protocolVersion", json_string(client.as_str()));
    conversion.cache_hint("server/discover", &mut result, CacheHint::default());
    conversion.meta(&mut result);
    capabilities(conversion, &mut result);
    Some(result.finish())
}

/// Returns the result of `server/discover` for a modern client.
///
/// `stored` is the result of `initialize` or of `server/discover` of the upstream, by its revision. `versions` are those
/// of the relay, and `hint` is used if the upstream has none. Returns `None` if `stored` is not an object.
#[must_use]
pub fn discover_result(
    stored: &RawValue,
    upstream: ProtocolVersion,
    versions: &SupportedVersions,
    hint: CacheHint,
) -> Option<RawJson> {
    let mut result = RawObject::parse(stored)?;
    let names: Vec<&str> = versions.names().collect();
    let names = RawJson::from_serialize(&names).expect("names always serialize");
    if upstream.is_modern() {
        result.set("supportedVersions", names);
        return Some(result.finish());
    }
    let conversion = Conversion::new(upstream, ProtocolVersion::LATEST);
    let server_info = result
        .get("serverInfo")
        .map(|info| RawJson::from(info.raw()));
    result.remove("protocolVersion");
    result.remove("serverInfo");
    capabilities(conversion, &mut result);
    let mut members = ResultMembers::default().with_cache(hint);
    if let Some(server_info) = server_info {
        members = members.with_server_info(server_info);
    }
    conversion
        .result("server/discover", &mut result, &members)
        .ok()?;
    result.set("supportedVersions", names);
    Some(result.finish())
}

fn capabilities(conversion: Conversion, result: &mut RawObject<'_>) {
    if let Some(capabilities) = result.object_mut("capabilities") {
        conversion.server_capabilities(capabilities);
    }
}

/// Removes and returns the name and version of the server in the `_meta` of a modern result.
fn server_info(result: &mut RawObject<'_>) -> Option<RawJson> {
    let meta = result.object_mut("_meta")?;
    let server_info = meta
        .get(meta_key::SERVER_INFO)
        .map(|info| RawJson::from(info.raw()));
    remove_from_meta(result, |key| key == meta_key::SERVER_INFO);
    server_info
}
