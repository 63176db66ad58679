//! The host's side of the messages between a host and a view.
//!
//! [`ViewSession`] takes the messages of one view, and returns messages for the view and requests for the host. It does
//! not know how messages are carried: by a web view, by frames of a page, or by a socket.
//!
//! ```text
//!   Created ── ui/initialize ──▶ Initializing ── ui/notifications/initialized ──▶ Running ── close ──▶ Closing ──▶ Closed
//! ```

mod events;
mod message;
mod options;
mod params;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use toolwire_types::{ErrorObject, RawJson, RequestId};

use crate::apps::REVISION;
use crate::apps::host::message::{Incoming, notification, request, response, shortened};
use crate::apps::host::params::{
    DisplayModeParams, InitializeParams, MessageParams, ModelContextParams, ResourceParams,
    SizeParams, ToolParams, UrlParams,
};
use crate::decode_message::decode_message;
use crate::web_url::WebUrl;

pub use events::{ViewEvent, ViewRequest};
pub use options::ViewHost;

/// The maximum size of a message of a view in bytes.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// The maximum number of requests of a view that wait for the host.
pub const MAX_REQUESTS: usize = 64;

/// The maximum size in bytes of all requests of a view that wait for the host.
pub const MAX_PENDING_BYTES: usize = 16 * 1024 * 1024;

/// The id of the only request of the host.
const TEARDOWN_ID: &str = "teardown";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Created,
    Initializing,
    Running,
    Closing,
    Closed,
}

/// How far the call of the tool is that the view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CallPhase {
    InputIncomplete,
    InputComplete,
    Ended,
}

/// The messages between a host and one view.
///
/// ```
/// use serde_json::json;
/// use toolwire_proto::apps::host::{ViewEvent, ViewHost, ViewSession};
/// use toolwire_types::Implementation;
///
/// let mut session = ViewSession::new(ViewHost::new(Implementation::new("desk", "1.0.0")));
/// let events = session.receive(
///     r#"{"jsonrpc": "2.0", "id": 1, "method": "ui/initialize", "params": {
///         "appInfo": {"name": "clock", "version": "1"}, "appCapabilities": {}, "protocolVersion": "2026-01-26"}}"#,
/// );
/// assert!(matches!(&events[..], [ViewEvent::Send(response)] if response.get().contains("hostInfo")));
/// // Nothing is sent before the view is ready.
/// assert!(session.tool_input(json!({"city": "Oslo"})).is_empty());
/// let events = session.receive(r#"{"jsonrpc": "2.0", "method": "ui/notifications/initialized"}"#);
/// assert!(matches!(&events[..], [ViewEvent::Initialized, ViewEvent::Send(_)]));
/// ```
#[derive(Debug)]
pub struct ViewSession {
    host: ViewHost,
    phase: Phase,
    call: CallPhase,
    /// The requests that wait for the host, with the number of requests per id.
    pending: BTreeMap<RequestId, usize>,
    /// The size of their messages.
    pending_bytes: usize,
    /// What the view gets as soon as it is ready.
    waiting: WaitingMessages,
}

/// The messages for a view that is not ready yet. Later messages of the same kind replace earlier ones.
#[derive(Debug, Default)]
struct WaitingMessages {
    context: Map<String, Value>,
    partial: Option<RawJson>,
    input: Option<RawJson>,
    end: Option<(&'static str, RawJson)>,
}

impl ViewSession {
    /// Creates the session of a view that was not loaded yet.
    #[must_use]
    pub fn new(host: ViewHost) -> Self {
        Self {
            host,
            phase: Phase::Created,
            call: CallPhase::InputIncomplete,
            pending: BTreeMap::new(),
            pending_bytes: 0,
            waiting: WaitingMessages::default(),
        }
    }

    /// Processes a message of the view.
    pub fn receive(&mut self, message: &str) -> Vec<ViewEvent> {
        if message.len() > MAX_MESSAGE_BYTES {
            return ignored("the message is too large");
        }
        let incoming = match Incoming::parse(message) {
            Ok(incoming) => incoming,
            Err(reason) => return ignored(reason),
        };
        match incoming {
            Incoming::Request { id, method, params } => {
                let bytes = message.len();
                match self.request(
                    ViewRequest {
                        id: id.clone(),
                        bytes,
                    },
                    &method,
                    params,
                ) {
                    Ok(events) => events,
                    Err(error) => vec![ViewEvent::Send(response(&id, Err(error)))],
                }
            }
            Incoming::Notification { method, params } => self.notified(&method, params),
            Incoming::Response { id } => self.responded(&id),
        }
    }

    /// Sends the host's response to a request of the view. Returns `None` if the view no longer waits for it.
    pub fn respond(
        &mut self,
        request: ViewRequest,
        outcome: Result<RawJson, ErrorObject>,
    ) -> Option<ViewEvent> {
        let count = self.pending.get_mut(&request.id)?;
        *count -= 1;
        if *count == 0 {
            self.pending.remove(&request.id);
        }
        self.pending_bytes = self.pending_bytes.saturating_sub(request.bytes);
        (self.phase != Phase::Closed).then(|| ViewEvent::Send(response(&request.id, outcome)))
    }

    /// Passes the arguments as far as the model has written them. Ignored after [`tool_input`](Self::tool_input).
    pub fn tool_input_partial(&mut self, arguments: impl Into<RawJson>) -> Vec<ViewEvent> {
        if self.call == CallPhase::InputIncomplete {
            self.waiting.partial = Some(arguments.into());
        }
        self.flush()
    }

    /// Passes the complete arguments of the call that the view shows, a JSON object. Only the first ones are sent.
    pub fn tool_input(&mut self, arguments: impl Into<RawJson>) -> Vec<ViewEvent> {
        if self.call == CallPhase::InputIncomplete {
            self.call = CallPhase::InputComplete;
            self.waiting.partial = None;
            self.waiting.input = Some(arguments.into());
        }
        self.flush()
    }

    /// Passes the result of the call that the view shows. Only the first end of the call is sent, and always after the
    /// arguments.
    pub fn tool_result(&mut self, result: impl Into<RawJson>) -> Vec<ViewEvent> {
        self.end_call("ui/notifications/tool-result", result.into())
    }

    /// Tells the view that the call that it shows was cancelled.
    pub fn tool_cancelled(&mut self, reason: Option<&str>) -> Vec<ViewEvent> {
        let params = match reason {
            Some(reason) => json!({ "reason": reason }),
            None => json!({}),
        };
        self.end_call("ui/notifications/tool-cancelled", params.into())
    }

    /// Changes members of the host context, such as `theme`, and tells the view.
    pub fn change_context(&mut self, changed: Map<String, Value>) -> Vec<ViewEvent> {
        // The response to `ui/initialize` contains the whole context.
        if self.phase != Phase::Created {
            self.waiting.context.extend(changed.clone());
        }
        self.host.context.extend(changed);
        self.flush()
    }

    /// Asks the view to prepare for its removal. [`ViewEvent::Closed`] follows the view's response, or comes at once if
    /// the view is not ready. A host should not wait long for it.
    pub fn close(&mut self) -> Vec<ViewEvent> {
        match self.phase {
            Phase::Running => {
                self.phase = Phase::Closing;
                let teardown = request(TEARDOWN_ID, "ui/resource-teardown", json!({}));
                vec![ViewEvent::Send(teardown)]
            }
            Phase::Created | Phase::Initializing => {
                self.phase = Phase::Closed;
                vec![ViewEvent::Closed]
            }
            Phase::Closing | Phase::Closed => Vec::new(),
        }
    }

    fn end_call(&mut self, method: &'static str, params: RawJson) -> Vec<ViewEvent> {
        if self.call != CallPhase::Ended {
            if self.call == CallPhase::InputIncomplete {
                self.waiting.partial = None;
                self.waiting.input = Some(RawJson::empty_object());
            }
            self.call = CallPhase::Ended;
            self.waiting.end = Some((method, params));
        }
        self.flush()
    }

    /// Sends what waits for the view, if it is ready.
    fn flush(&mut self) -> Vec<ViewEvent> {
        if self.phase != Phase::Running {
            return Vec::new();
        }
        let waiting = std::mem::take(&mut self.waiting);
        let mut messages = Vec::new();
        if !waiting.context.is_empty() {
            let params = Value::Object(waiting.context).into();
            messages.push(notification(
                "ui/notifications/host-context-changed",
                &params,
            ));
        }
        let inputs = [
            ("ui/notifications/tool-input-partial", waiting.partial),
            ("ui/notifications/tool-input", waiting.input),
        ];
        for (method, arguments) in inputs {
            if let Some(arguments) = arguments {
                let params = message::object("arguments", &arguments);
                messages.push(notification(method, &params));
            }
        }
        if let Some((method, params)) = waiting.end {
            messages.push(notification(method, &params));
        }
        messages.into_iter().map(ViewEvent::Send).collect()
    }

    fn request(
        &mut self,
        request: ViewRequest,
        method: &str,
        params: RawJson,
    ) -> Result<Vec<ViewEvent>, ErrorObject> {
        let id = &request.id;
        match (method, self.phase) {
            ("ping", _) => {
                let result = Ok(RawJson::empty_object());
                return Ok(vec![ViewEvent::Send(response(id, result))]);
            }
            ("ui/initialize", Phase::Created) => {
                decode::<InitializeParams>(&params)?;
                self.phase = Phase::Initializing;
                let result = self.host.initialize_result(REVISION);
                return Ok(vec![ViewEvent::Send(response(id, Ok(result)))]);
            }
            ("ui/initialize", _) => {
                return Err(ErrorObject::invalid_request(
                    "the view is initialized already",
                ));
            }
            (_, Phase::Created | Phase::Initializing) => {
                return Err(ErrorObject::invalid_request(
                    "the view sends `ui/initialize` and `ui/notifications/initialized` first",
                ));
            }
            (_, Phase::Closing | Phase::Closed) => {
                return Err(ViewRequest::declined("the view is being closed"));
            }
            (_, Phase::Running) => {}
        }
        let (count, bytes) = (self.pending.values().sum::<usize>(), request.bytes);
        if count >= MAX_REQUESTS || self.pending_bytes + bytes > MAX_PENDING_BYTES {
            return Err(ViewRequest::declined(
                "too many requests of the view are pending",
            ));
        }
        let id = id.clone();
        let event = self.host_request(method, params, request)?;
        if !matches!(event, ViewEvent::Send(_)) {
            *self.pending.entry(id).or_default() += 1;
            self.pending_bytes += bytes;
        }
        Ok(vec![event])
    }

    /// Returns what the host has to do for a request of a view that is ready.
    fn host_request(
        &self,
        method: &str,
        params: RawJson,
        request: ViewRequest,
    ) -> Result<ViewEvent, ErrorObject> {
        Ok(match method {
            "tools/call" if self.host.calls_tools() => {
                let params: ToolParams = decode(&params)?;
                self.host.check_tool(&params.name)?;
                let arguments = params.arguments.unwrap_or_else(RawJson::empty_object);
                if !arguments.is_object() {
                    return Err(ErrorObject::invalid_params("`arguments` is not an object"));
                }
                let name = params.name;
                ViewEvent::CallTool {
                    request,
                    name,
                    arguments,
                }
            }
            "resources/read" if self.host.reads_resources => {
                let uri = decode::<ResourceParams>(&params)?.uri;
                ViewEvent::ReadResource { request, uri }
            }
            "ui/open-link" if self.host.opens_links => {
                let url = decode::<UrlParams>(&params)?.url;
                WebUrl::parse(&url)
                    .map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
                ViewEvent::OpenLink { request, url }
            }
            "ui/message" if self.host.takes_messages => {
                let params: MessageParams = decode(&params)?;
                if params.role != "user" {
                    return Err(ErrorObject::invalid_params(
                        "the role of a message is `user`",
                    ));
                }
                let content = params.content;
                ViewEvent::Message { request, content }
            }
            "ui/update-model-context" if self.host.takes_model_context => {
                decode::<ModelContextParams>(&params)?;
                ViewEvent::UpdateModelContext { request, params }
            }
            "ui/request-display-mode" => {
                let mode = decode::<DisplayModeParams>(&params)?.mode;
                if self.host.offers_display_mode(&mode) {
                    ViewEvent::RequestDisplayMode { request, mode }
                } else {
                    let current = json!({ "mode": self.host.display_mode() });
                    ViewEvent::Send(response(&request.id, Ok(current.into())))
                }
            }
            _ => {
                return Err(ErrorObject::method_not_found(format!(
                    "the host has no method `{}`",
                    shortened(method)
                )));
            }
        })
    }

    fn notified(&mut self, method: &str, params: RawJson) -> Vec<ViewEvent> {
        match (method, self.phase) {
            ("ui/notifications/initialized", Phase::Initializing) => {
                self.phase = Phase::Running;
                let mut events = vec![ViewEvent::Initialized];
                events.extend(self.flush());
                events
            }
            ("ui/notifications/size-changed", Phase::Running) => {
                match decode::<SizeParams>(&params).map(SizeParams::checked) {
                    Ok(Some(size)) => vec![size],
                    _ => ignored("the reported size is invalid"),
                }
            }
            ("notifications/message", Phase::Running) if self.host.takes_log_messages => {
                vec![ViewEvent::Log(params)]
            }
            _ => ignored(format!("unexpected notification `{}`", shortened(method))),
        }
    }

    fn responded(&mut self, id: &RequestId) -> Vec<ViewEvent> {
        if self.phase == Phase::Closing && *id == RequestId::from(TEARDOWN_ID) {
            self.phase = Phase::Closed;
            return vec![ViewEvent::Closed];
        }
        ignored("a response without a request")
    }
}

fn decode<T: DeserializeOwned>(params: &RawJson) -> Result<T, ErrorObject> {
    let invalid = |error| ErrorObject::invalid_params(decode_message(&error));
    params.parse().map_err(invalid)
}

fn ignored(reason: impl Into<String>) -> Vec<ViewEvent> {
    vec![ViewEvent::Ignored(reason.into())]
}
