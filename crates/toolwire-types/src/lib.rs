//! Wire types of the Model Context Protocol, for every released revision.
//!
//! Each type has the members of all five revisions. A member that only some revisions define is an `Option`, and its
//! documentation names these revisions. Names are those of the published schemas, in Rust spelling.
//!
//! The types are plain data: they can be parsed, serialized and compared. `toolwire-proto` decides which members may be
//! sent to which peer.
//!
//! Parsing is lenient and lossless. Unknown members are stored in the `extra` map of a type, and content blocks of an
//! unknown type are stored unchanged. Schemas, arguments and structured content stay raw ([`RawJson`]) until they are
//! parsed explicitly.
//!
//! A value is created with `new` and the required members. The `with_*` methods set the other members:
//!
//! ```
//! use serde_json::json;
//! use toolwire_types::{CallToolResult, Tool, ToolAnnotations};
//!
//! let tool = Tool::new("add", json!({"type": "object"}))
//!     .with_title("Add")
//!     .with_annotations(ToolAnnotations::new().with_read_only(true));
//! let result = CallToolResult::structured(&json!({"sum": 3})).unwrap();
//! assert_eq!(result.content[0].as_text(), Some(r#"{"sum":3}"#));
//! # let _ = tool;
//! ```
//!
//! # Features
//!
//! | Feature | Default | Contents |
//! |---|---|---|
//! | `events` | no | The types of the events extension, a draft. |

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod apps;
mod capabilities;
mod completion;
mod content;
mod elicitation;
#[cfg(feature = "events")]
pub mod events;
mod implementation;
mod input;
pub mod json;
mod jsonrpc;
mod lifecycle;
mod meta;
mod notifications;
mod number;
mod object;
mod pagination;
mod prompts;
mod raw;
mod resources;
mod response;
mod result;
mod roots;
#[cfg(test)]
mod round_trip;
mod sampling;
pub mod server_card;
mod setters;
pub mod skills;
mod subscriptions;
pub mod tasks;
mod tools;
mod version;

pub use capabilities::{
    ClientCapabilities, ElicitationCapability, PromptsCapability, ResourcesCapability,
    RootsCapability, SamplingCapability, ServerCapabilities, TasksCapability, ToolsCapability,
};
pub use completion::{
    CompleteRequestParams, CompleteResult, Completion, CompletionArgument, CompletionContext,
    CompletionReference, PromptReference, ResourceTemplateReference,
};
pub use content::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, TextContent,
};
pub use elicitation::{
    BooleanSchema, ElicitAction, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestURLParams, ElicitResult, ElicitSchema, ElicitationCompleteNotificationParams,
    EnumOption, FormMode, LegacyTitledEnumSchema, NumberKind, NumberSchema, PrimitiveSchema,
    StringFormat, StringSchema, TitledEnumItems, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, URLElicitationRequiredData, UntitledEnumItems,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
pub use implementation::{Annotations, Icon, IconTheme, Implementation, Role};
pub use input::{InputRequest, InputRequests, InputRequiredResult, InputResponses};
pub use jsonrpc::{
    ErrorObject, Notification, ProgressToken, Request, RequestId, Response, ResponseId, code,
};
pub use lifecycle::{
    DiscoverResult, InitializeRequestParams, InitializeResult, MissingRequiredClientCapabilityData,
    UnsupportedProtocolVersionData,
};
pub use meta::{Meta, NotificationParams, RequestParams, meta_key};
pub use notifications::{
    CancelledNotificationParams, LoggingLevel, LoggingMessageNotificationParams,
    ProgressNotificationParams, ResourceUpdatedNotificationParams, SetLevelRequestParams,
};
pub use pagination::PaginatedRequestParams;
pub use prompts::{
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult, Prompt,
    PromptArgument, PromptMessage,
};
pub use raw::RawJson;
pub use resources::{
    BlobResourceContents, ListResourceTemplatesResult, ListResourcesResult,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, SubscribeRequestParams, TextResourceContents,
    UnsubscribeRequestParams,
};
pub use result::{CacheScope, EmptyResult, ResultType};
pub use roots::{ListRootsResult, Root};
pub use sampling::{
    CreateMessageRequestParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences,
    SamplingContent, SamplingMessage, SamplingMessageContentBlock, StopReason, ToolChoice,
    ToolChoiceMode, ToolResultContent, ToolUseContent,
};
pub use subscriptions::{
    SubscriptionFilter, SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams, SubscriptionsListenResult,
};
pub use tools::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ListToolsResult, TaskSupport, Tool,
    ToolAnnotations, ToolExecution,
};
pub use version::{ProtocolVersion, UnknownVersion};
