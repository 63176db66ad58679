//! The attributes that the spans of servers and clients have in common.

use opentelemetry::KeyValue;
use toolwire::{ConnectionInfo, ProtocolVersion, RawJson};
use toolwire_proto::observed::recorded_name;

use crate::conventions::attribute;
use crate::target::Target;
use crate::telemetry::Settings;

/// Returns the attributes of a connection, for spans and metrics.
pub(crate) fn connection_attributes(
    settings: &Settings,
    connection: Option<&ConnectionInfo>,
    version: ProtocolVersion,
) -> Vec<KeyValue> {
    let mut attributes = Vec::new();
    if let Some(connection) = connection {
        let known = [
            (attribute::NETWORK_TRANSPORT, connection.network_transport),
            (attribute::NETWORK_PROTOCOL_NAME, connection.protocol_name),
            (
                attribute::NETWORK_PROTOCOL_VERSION,
                connection.protocol_version,
            ),
        ];
        let known = known.into_iter();
        attributes.extend(known.filter_map(|(key, value)| Some(KeyValue::new(key, value?))));
    }
    attributes.push(KeyValue::new(attribute::PROTOCOL_VERSION, version.as_str()));
    attributes.extend(upstream(settings));
    attributes
}

/// Returns the attributes of a connection to a server.
pub(crate) fn server_attributes(
    settings: &Settings,
    connection: &ConnectionInfo,
    version: ProtocolVersion,
) -> Vec<KeyValue> {
    let mut attributes = connection_attributes(settings, Some(connection), version);
    if let Some(address) = &connection.peer_address {
        attributes.push(KeyValue::new(attribute::SERVER_ADDRESS, address.clone()));
        let port = connection.peer_port.map(i64::from);
        attributes.extend(port.map(|port| KeyValue::new(attribute::SERVER_PORT, port)));
    }
    attributes
}

/// Adds the attributes of a request to those of its connection. `round` is the number of a later round.
pub(crate) fn add_request(
    attributes: &mut Vec<KeyValue>,
    settings: &Settings,
    method: &str,
    target: &Target,
    round: Option<i64>,
    arguments: impl FnOnce() -> Option<RawJson>,
) {
    let method = recorded_name(method).to_owned();
    attributes.push(KeyValue::new(attribute::METHOD, method));
    target.add_to(attributes);
    attributes.extend(round.map(|round| KeyValue::new(attribute::ROUND, round)));
    if let (Some(redaction), Target::Tool(_)) = (&settings.payloads, target)
        && let Some(arguments) = arguments()
        && let Some(payload) = redaction.payload(arguments.get())
    {
        attributes.push(KeyValue::new(attribute::TOOL_ARGUMENTS, payload));
    }
}

/// Returns the attribute with the name of the upstream server.
pub(crate) fn upstream(settings: &Settings) -> Option<KeyValue> {
    let upstream = settings.upstream.clone()?;
    Some(KeyValue::new(attribute::UPSTREAM, upstream))
}
