//! What a host has to do for a view.

use toolwire_types::{ErrorObject, RawJson, RequestId};

/// The error code with which a host declines a request of a view.
const DECLINED: i64 = -32000;

/// A request of a view that waits for the response of the host. Pass it to [`ViewSession::respond`](crate::apps::host::ViewSession::respond).
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the view waits for a response"]
pub struct ViewRequest {
    pub(super) id: RequestId,
    /// The size of its message.
    pub(super) bytes: usize,
}

impl ViewRequest {
    /// Returns the error that tells the view that the host or the user declined its request.
    #[must_use]
    pub fn declined(reason: impl Into<String>) -> ErrorObject {
        ErrorObject::new(DECLINED, reason.into())
    }
}

/// What a host has to do for a view.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum ViewEvent {
    /// Send this message to the view.
    Send(RawJson),
    /// The view is ready.
    Initialized,
    /// Call a tool of the view's server. The response is the result of `tools/call`.
    CallTool {
        /// The request to respond to.
        request: ViewRequest,
        /// The name of the tool, which is visible to views.
        name: String,
        /// The arguments, a JSON object.
        arguments: RawJson,
    },
    /// Read a resource of the view's server. The response is the result of `resources/read`.
    ReadResource {
        /// The request to respond to.
        request: ViewRequest,
        /// The URI of the resource.
        uri: String,
    },
    /// Open a link, if the user agrees. The response is an empty object.
    OpenLink {
        /// The request to respond to.
        request: ViewRequest,
        /// The address: an `http` or `https` URL.
        url: String,
    },
    /// Add a message of the user to the conversation. The response is an empty object.
    Message {
        /// The request to respond to.
        request: ViewRequest,
        /// The content blocks of the message.
        content: RawJson,
    },
    /// Replace what the model knows about the view. The response is an empty object.
    UpdateModelContext {
        /// The request to respond to.
        request: ViewRequest,
        /// The parameters with `content` and `structuredContent`.
        params: RawJson,
    },
    /// Change how the view is displayed. The response is an object with the `mode`.
    RequestDisplayMode {
        /// The request to respond to.
        request: ViewRequest,
        /// One of the display modes that the host offers.
        mode: String,
    },
    /// The content of the view has a new size, in CSS pixels.
    Resize {
        /// The width, if it was given.
        width: Option<f64>,
        /// The height, if it was given.
        height: Option<f64>,
    },
    /// A log message of the view: the parameters of `notifications/message`.
    Log(RawJson),
    /// A message of the view was ignored, for this reason.
    Ignored(String),
    /// The view is ready to be removed.
    Closed,
}
