//! Servers and clients for the Model Context Protocol, in every released revision.
//!
//! ```
//! use toolwire::{Server, tool};
//!
//! /// Adds two integers.
//! #[tool]
//! async fn add(/** first number */ a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # #[expect(unused_must_use, reason = "no client connects in this example")]
//! # async fn serve() {
//! Server::new("demo", "1.0.0").tool(add).serve_stdio().await;
//! # }
//! ```
//!
//! * [`Server`] holds the registered handlers. [`tool`], [`prompt`], [`resource`], [`resource_template`] and
//!   [`macro@server`] turn functions and methods into handlers; [`ToolHandler`] and its siblings take closures.
//! * [`RequestContext`] is a handler's view of its request: progress, logging, cancellation, input requests to the
//!   client.
//! * One server serves every released protocol revision. The revision is determined per request.
//! * [`types`] are the wire types; [`transport`] carries the messages. The rules of the protocol are in the crate
//!   `toolwire-proto`.
//! * Authorization with OAuth is in the crate `toolwire-auth`.
//! * The [`guide`] explains each subject on one page.
//!
//! | I want to … | use |
//! |---|---|
//! | offer a function to a model | [`macro@tool`], [`Server::tool`] |
//! | share state between tools | [`macro@server`] on an `impl` block |
//! | offer data | [`macro@resource`], [`macro@resource_template`] |
//! | offer a template for a message | [`macro@prompt`] |
//! | serve a program that a host starts | [`Server::serve_stdio`] |
//! | serve over HTTP | [`Server::serve_http`], [`HttpService`](transport::http::HttpService) in axum |
//! | ask the user in the middle of a call | [`RequestContext::ask`] |
//! | report progress | [`RequestContext::report_steps`] |
//! | tell the model that a call failed | [`ToolError`] |
//! | run work that takes minutes | [`Server::with_tasks`], [the guide](guide::tasks) |
//! | show a result as an HTML document | [`apps`], [the guide](guide::apps) |
//! | give instructions to models | [`skills`], [the guide](guide::skills) |
//! | report what happens to clients that wait | [`events`] (experimental), [the guide](guide::events) |
//! | add methods of my own | [`Extension`], [the guide](guide::extensions) |
//! | require a login | the crate `toolwire-auth` |
//! | measure, log or reject requests | [`middleware`] |
//! | export spans and metrics | the crate `toolwire-otel` |
//! | combine servers | [`Server::mount`], [`relay`] |
//! | offer many servers at one address, with rules | the crate `toolwire-gateway`, `toolwire gateway` |
//! | call a server | [`Client::connect`], [`Client::spawn`] |
//! | test a server | [`Client::in_process`], [`testing`] |
//! | run several nodes | [`store`], the crate `toolwire-redis` |
//! | come from another SDK | [rmcp](guide::coming_from_rmcp), [TypeScript](guide::coming_from_typescript), [Python](guide::coming_from_python), [FastMCP](guide::coming_from_fastmcp), [mcp.d](guide::coming_from_mcpd) |
//!
//! # Features
//!
//! | Feature | Default | Contents |
//! |---|---|---|
//! | `apps` | yes | Views of tools: `#[tool(view = …)]`, and what a host needs to show them. |
//! | `client` | yes | `Client`: in process, or with a child process over its pipes. |
//! | `events` | no | Events, an experimental extension that follows a draft: what happens on a server, for clients that poll or listen. |
//! | `http-client` | yes | `Client::connect`: Streamable HTTP of every revision and the older HTTP+SSE, with HTTPS. |
//! | `http-server` | yes | Serving over HTTP: `Server::serve_http`, and `HttpService` for a server of your own. |
//! | `http2` | yes | HTTP/2 in a server. A server without it closes connections that start with HTTP/2. The client always supports HTTP/2. |
//! | `input` | yes | Handlers that ask for input: `RequestContext::ask` and related methods, `ToolResponse::input_required`, sealed request state. |
//! | `relay` | no | A relay in front of other servers, of any transport and revision: `toolwire::relay`. |
//! | `skills` | yes | Skills: directories with instructions for models (`Server::skills`). |
//! | `tasks` | yes | Tasks: tool calls that outlive their request, on servers (`Server::with_tasks`) and clients (`ClientBuilder::with_tasks`). |
//! | `tls` | no | HTTPS in `Server::serve_http_with`. |
//! | `macros` | yes | `#[tool]` and the other attribute macros. |
//! | `schema-validation` | yes | Validates arguments and results against JSON Schemas. Without it, registering a tool whose schema is stricter than its Rust type fails. |
//! | `testing` | no | `toolwire::testing`: scripted peers, assertions and snapshots, for dev-dependencies. |

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
mod client;
mod engine;
mod error;
pub mod guide;
#[cfg(feature = "relay")]
pub mod relay;
mod server;
#[cfg(any(
    feature = "http-server",
    feature = "input",
    all(feature = "events", feature = "http-client")
))]
pub mod store;
mod sync;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transport;

/// The wire types of every released revision.
pub use toolwire_types as types;

/// The crate of [`JsonSchema`], for types whose own crate does not depend on it.
///
/// ```
/// #[derive(serde::Deserialize, toolwire::JsonSchema)]
/// #[schemars(crate = "toolwire::schemars")]
/// struct Place {
///     #[schemars(length(min = 1))]
///     city: String,
/// }
/// ```
pub use schemars;
pub use schemars::JsonSchema;
#[cfg(all(feature = "input", feature = "macros"))]
pub use toolwire_macros::Elicit;
#[cfg(feature = "macros")]
pub use toolwire_macros::{prompt, resource, resource_template, server, tool};
pub use toolwire_proto::cache::CacheHint;
pub use toolwire_proto::features::{Era, VersionFeatures};
#[cfg(feature = "client")]
pub use toolwire_proto::negotiate::{DetectedEra, LegacyTransport};
#[cfg(feature = "input")]
pub use toolwire_proto::request_state::{KeyRing, StateKey};
pub use toolwire_proto::scopes::{InvalidScope, ScopeSet};
pub use toolwire_proto::subscriptions::Change;
pub use toolwire_proto::trace_context::{InvalidTraceContext, TraceContext};
pub use toolwire_types::{
    CacheScope, CallToolResult, ClientCapabilities, ContentBlock, ErrorObject, GetPromptResult,
    LoggingLevel, PromptMessage, ProtocolVersion, RawJson, ResourceContents, Tool,
};

/// The response caches of a client.
#[cfg(feature = "client")]
pub use client::cache;
/// Middleware around the requests of a client.
#[cfg(feature = "client")]
pub use client::middleware as client_middleware;
#[cfg(feature = "client")]
pub use client::{
    CacheMode, Call, Client, ClientBuilder, ClientLimits, ListCall, ProgressStream, ServerDetails,
    Subscription, WireMessage,
};
#[cfg(all(feature = "client", feature = "tasks"))]
pub use client::{Called, TaskHandle};
pub use engine::{
    BoxFuture, Cancellation, ConnectionInfo, ConnectionState, NullContext, OutgoingNotification,
    Principal, TokenInfo, TransportContext,
};
pub use error::{Error, ServerExit};
#[cfg(feature = "input")]
pub use server::ask;
#[doc(hidden)]
pub use server::conversion;
/// Middleware around every exchange of a server.
pub use server::middleware;
pub use server::{
    Caller, Catalog, CompletionRequest, CompletionValues, ConnectedClient, Extension, HandlerSet,
    IntoPrompt, IntoPromptResponse, IntoResource, IntoResourceResponse, IntoResourceTemplate,
    IntoTool, IntoToolError, IntoToolResponse, Mount, MountedUris, PromptArguments, PromptHandler,
    PromptResponse, RegistrationError, RequestContext, RequestScope, ResourceData, ResourceHandler,
    ResourceResponse, ResourceTemplateHandler, Server, Source, SourceListener, TemplateArguments,
    ToolError, ToolHandler, ToolResponse,
};
#[cfg(feature = "input")]
pub use server::{Elicit, ElicitField};
#[cfg(feature = "client")]
pub use transport::child::{ProcessTracker, ServerCommand};

/// Events: what happens on a server, for clients that poll or listen. The extension is a draft.
#[cfg(feature = "events")]
pub mod events {
    pub use toolwire_proto::events::{RingLimits, forbidden};
    pub use toolwire_types::events::{DeliveryMode, EventOccurrence, EventType};

    #[cfg(feature = "client")]
    pub use crate::client::{
        EventItem, EventSubscription, EventSubscriptionState, SubscribeEvents,
    };
    #[cfg(feature = "http-client")]
    pub use crate::client::{WebhookEvent, WebhookItem, WebhookReceiver, WebhookSubscription};
    #[cfg(feature = "http-client")]
    pub use crate::server::events::webhooks::WebhookOptions;
    pub use crate::server::events::{
        Emitter, Event, EventContext, EventLimits, EventPage, EventSignal, EventSource,
        NoArguments, Since,
    };
}

/// Skills: directories with instructions for models.
#[cfg(feature = "skills")]
pub mod skills {
    #[cfg(feature = "macros")]
    pub use toolwire_macros::embedded_skills as embedded;

    pub use toolwire_proto::skills::approval_hash;
    pub use toolwire_types::skills::{SkillEntry, SkillResource, SkillResources};

    #[cfg(feature = "client")]
    pub use crate::client::LoadedSkill;
    pub use crate::server::skills::{Skill, SkillDirectory, SkillFault, Skills};
}

/// Tasks: tool calls that outlive their request.
#[cfg(feature = "tasks")]
pub mod tasks {
    pub use toolwire_types::tasks::TaskStatus;

    pub use crate::server::tasks::{ServerTask, TaskOptions, TaskWorkerOptions, Tasks};
    pub use crate::store::{FileTaskStore, MemoryTaskLimits, MemoryTaskStore, TaskStore};
}

/// Views: HTML documents that hosts show for the calls of a tool.
#[cfg(feature = "apps")]
pub mod apps {
    pub use toolwire_types::apps::{Csp, Permissions};

    pub use crate::server::view::{BRIDGE, View, bundle};

    /// Views in a host: their documents, and the messages between the host and a view.
    pub mod host {
        pub use toolwire_proto::apps::document::ViewDocument;
        pub use toolwire_proto::apps::host::{ViewEvent, ViewHost, ViewRequest, ViewSession};
        pub use toolwire_proto::apps::{InvalidView, ToolCaller, is_visible_to, view_uri};
    }
}

/// Checks of JSON values against JSON Schemas.
#[cfg(feature = "schema-validation")]
pub mod schema {
    pub use crate::engine::schema_check::{SchemaChecker, SchemaVerdict};
}

/// Values of URI template variables.
pub mod uri_template {
    pub use toolwire_proto::uri_template::{TemplateValue, Values};
}

/// The items that generated code names. Not part of the public API.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "input")]
    pub use indexmap::IndexMap;
    pub use schemars;
    pub use serde;
    pub use serde_json;

    #[cfg(feature = "input")]
    pub use crate::ask::{ElicitChoice, FieldKind};
    pub use crate::server::Fallible;
    #[cfg(feature = "skills")]
    pub use crate::server::skills::Skills;
    #[cfg(feature = "tasks")]
    pub use crate::server::tasks::TaskOptions;
    #[cfg(feature = "input")]
    pub use crate::server::{FormField, form_checks, one_of, single_value, single_value_schema};
    pub use crate::types::{
        Annotations, ClientCapabilities, ElicitSchema, ElicitationCapability, Icon, Meta,
        PrimitiveSchema, PromptArgument, Role, RootsCapability, SamplingCapability, StringFormat,
        ToolAnnotations,
    };
    pub use crate::{
        CacheHint, CompletionRequest, CompletionValues, HandlerSet, IntoPrompt, IntoPromptResponse,
        IntoResource, IntoResourceResponse, IntoResourceTemplate, IntoTool, IntoToolResponse,
        PromptArguments, PromptHandler, PromptResponse, RequestContext, ResourceHandler,
        ResourceResponse, ResourceTemplateHandler, Server, TemplateArguments, ToolError,
        ToolHandler,
    };
    #[cfg(feature = "input")]
    pub use crate::{Elicit, ElicitField};

    /// Converts a value of the key `meta`. As a parameter, a value of another type is what the compiler's error points
    /// at.
    pub fn json_value(value: impl Into<serde_json::Value>) -> serde_json::Value {
        value.into()
    }
}
