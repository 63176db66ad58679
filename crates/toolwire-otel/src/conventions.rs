//! The names of spans, attributes and metrics.
//!
//! They are from the repository `open-telemetry/semantic-conventions-genai`, directory `model/mcp`, at the commit
//! `5c50d346f1c9`, and have the status Development. Those of `db` are stable. Names that start with `toolwire.` are of this project.

/// The version of the schema that attributes outside of `mcp` and `gen_ai` follow.
pub(crate) const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.0";

/// The name of the instrumentation scope.
pub(crate) const SCOPE: &str = "toolwire";

/// Attributes of spans and metrics.
pub(crate) mod attribute {
    pub(crate) const METHOD: &str = "mcp.method.name";
    pub(crate) const PROTOCOL_VERSION: &str = "mcp.protocol.version";
    pub(crate) const RESOURCE_URI: &str = "mcp.resource.uri";
    pub(crate) const SESSION_ID: &str = "mcp.session.id";
    pub(crate) const TOOL_NAME: &str = "gen_ai.tool.name";
    pub(crate) const PROMPT_NAME: &str = "gen_ai.prompt.name";
    pub(crate) const OPERATION_NAME: &str = "gen_ai.operation.name";
    pub(crate) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
    pub(crate) const TOOL_RESULT: &str = "gen_ai.tool.call.result";
    pub(crate) const REQUEST_ID: &str = "jsonrpc.request.id";
    pub(crate) const STATUS_CODE: &str = "rpc.response.status_code";
    pub(crate) const ERROR_TYPE: &str = "error.type";
    pub(crate) const NETWORK_TRANSPORT: &str = "network.transport";
    pub(crate) const NETWORK_PROTOCOL_NAME: &str = "network.protocol.name";
    pub(crate) const NETWORK_PROTOCOL_VERSION: &str = "network.protocol.version";
    pub(crate) const CLIENT_ADDRESS: &str = "client.address";
    pub(crate) const CLIENT_PORT: &str = "client.port";
    pub(crate) const SERVER_ADDRESS: &str = "server.address";
    pub(crate) const SERVER_PORT: &str = "server.port";
    pub(crate) const DB_SYSTEM: &str = "db.system.name";
    pub(crate) const DB_OPERATION: &str = "db.operation.name";
    pub(crate) const STORE: &str = "toolwire.store";
    pub(crate) const UPSTREAM: &str = "toolwire.upstream";
    pub(crate) const ROUND: &str = "toolwire.round";
    pub(crate) const OUTCOME: &str = "toolwire.outcome";
    pub(crate) const LIMIT: &str = "toolwire.limit";
    pub(crate) const QUEUE: &str = "toolwire.queue";
}

/// Values of attributes.
pub(crate) mod value {
    /// `gen_ai.operation.name` of a tool call.
    pub(crate) const EXECUTE_TOOL: &str = "execute_tool";
    /// `error.type` of a tool result with `isError`.
    pub(crate) const TOOL_ERROR: &str = "tool_error";
    pub(crate) const TIMEOUT: &str = "timeout";
    pub(crate) const CANCELLED: &str = "cancelled";
    pub(crate) const CONNECTION: &str = "connection";
    /// `error.type` of other failures.
    pub(crate) const OTHER_ERROR: &str = "_OTHER";
    /// A name in a metric that is unknown, or that is beyond the limit of names.
    pub(crate) const OTHER_NAME: &str = "_other";
    pub(crate) const COMPLETE: &str = "complete";
    pub(crate) const INPUT_REQUIRED: &str = "input_required";
    /// `toolwire.queue` of notifications of clients, and of those for other nodes.
    pub(crate) const FROM_CLIENT: &str = "from_client";
    pub(crate) const FOR_OTHER_NODES: &str = "for_other_nodes";
    pub(crate) const FOR_CLIENT: &str = "for_client";
    /// `network.transport` and `network.protocol.name` of HTTP sessions.
    pub(crate) const TCP: &str = "tcp";
    pub(crate) const HTTP: &str = "http";
}

/// Metrics.
pub(crate) mod metric {
    pub(crate) const SERVER_DURATION: &str = "mcp.server.operation.duration";
    pub(crate) const CLIENT_DURATION: &str = "mcp.client.operation.duration";
    pub(crate) const SERVER_SESSION: &str = "mcp.server.session.duration";
    pub(crate) const CLIENT_SESSION: &str = "mcp.client.session.duration";
    pub(crate) const STORE_DURATION: &str = "db.client.operation.duration";
    pub(crate) const ACTIVE_REQUESTS: &str = "toolwire.server.active_requests";
    pub(crate) const REJECTIONS: &str = "toolwire.limit.rejections";
    pub(crate) const DROPPED_NOTIFICATIONS: &str = "toolwire.queue.dropped_notifications";
    #[cfg(feature = "relay")]
    pub(crate) const RELAY_UP: &str = "toolwire.relay.upstream.up";
    #[cfg(feature = "relay")]
    pub(crate) const RELAY_CONNECTIONS: &str = "toolwire.relay.upstream.connections";
    #[cfg(feature = "relay")]
    pub(crate) const RELAY_SESSIONS: &str = "toolwire.relay.sessions";
    #[cfg(feature = "relay")]
    pub(crate) const RELAY_PARKED_CALLS: &str = "toolwire.relay.parked_calls";
}

/// The bounds of the buckets of the durations of store calls, in seconds. They are those of the conventions for databases.
pub(crate) const STORE_BOUNDS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

/// The bounds of the buckets of durations, in seconds.
pub(crate) const DURATION_BOUNDS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];
