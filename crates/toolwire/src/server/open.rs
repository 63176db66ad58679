//! Creates the scope of an admitted request: all that its handler sees of it.

use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;
use toolwire_proto::admit::{Admitted, MethodRef};
use toolwire_proto::decode_message::decode_message;
use toolwire_proto::extensions;
use toolwire_proto::logging::{self, LogLevelSetting};
use toolwire_types::{ClientCapabilities, ErrorObject, LoggingLevel, RawJson};

use crate::engine::{Cancellation, DEFAULT_LOG_LEVEL, TransportContext};
use crate::server::Server;
use crate::server::context::RequestContext;
use crate::server::request::{Exchange, MethodRoute, RequestParams, RequestScope, RoundState};
use crate::server::rounds;
use crate::server::snapshot::Snapshot;
use crate::server::visibility::Caller;

impl Server {
    /// Creates the scope of an admitted request.
    pub(crate) fn open(
        &self,
        admitted: &Admitted<'_>,
        transport: Arc<dyn TransportContext>,
        cancellation: Option<Cancellation>,
    ) -> Result<Exchange, ErrorObject> {
        Self::open_in(self.snapshot(), admitted, transport, cancellation)
    }

    /// Creates the scope of an admitted request with the given snapshot.
    pub(crate) fn open_in(
        snapshot: Arc<Snapshot>,
        admitted: &Admitted<'_>,
        transport: Arc<dyn TransportContext>,
        cancellation: Option<Cancellation>,
    ) -> Result<Exchange, ErrorObject> {
        let route = match admitted.method {
            MethodRef::Known(method) => MethodRoute::Known(method),
            MethodRef::Custom(name) => MethodRoute::Custom(name.into()),
        };
        // A tool call needs only its name and arguments, so the other parameters are not copied, unless it asks for a
        // task.
        let is_raw = snapshot.forwards()
            || snapshot.has_raw_entries && snapshot.is_raw(admitted, &*transport)?;
        let may_become_raw = !is_raw && snapshot.may_become_raw(admitted);
        let needs_params =
            route.name() != "tools/call" || admitted.task().is_some() || is_raw || may_become_raw;
        let params = admitted.params().filter(|_| needs_params);
        let scope = RequestScope {
            version: admitted.version,
            client_capabilities: declared_capabilities(admitted)?,
            minimum_log_level: minimum_log_level(&snapshot, admitted, &*transport),
            #[cfg(feature = "input")]
            may_ask_input: admitted.method.may_ask_input(),
            // A forwarder or a raw entry does not read the state, which belongs to another server.
            round: if is_raw {
                rounds::of_raw_request(admitted)
            } else {
                match rounds::of_request(&snapshot, admitted, &*transport) {
                    Err(error) if may_become_raw => RoundState::rejected(error),
                    round => round?,
                }
            },
            request_params: RequestParams::of(admitted),
            sent_params: None,
            params: params.map(RawJson::from),
            id: admitted.id.clone(),
            progress_token: admitted.progress_token(),
            meta: Default::default(),
            client_info: Default::default(),
            cancellation,
            task: Default::default(),
            progress: Default::default(),
            first_round: None,
            server: Default::default(),
            snapshot,
            transport,
            route,
        };
        let context = RequestContext::new(Arc::new(scope));
        Ok(Exchange { context })
    }

    /// Checks that a modern request declares an extension.
    pub(crate) fn check_declared(id: &str, admitted: &Admitted<'_>) -> Result<(), ErrorObject> {
        let declared = declared_capabilities(admitted)?;
        let client = declared.into_inner().unwrap_or_default();
        extensions::check_declared(id, &client)
    }
}

impl Snapshot {
    /// Returns `true` if a request is for a raw entry that its caller sees. The source of such an entry reads the input of
    /// the client itself.
    #[cold]
    fn is_raw(
        &self,
        request: &Admitted<'_>,
        transport: &dyn TransportContext,
    ) -> Result<bool, ErrorObject> {
        let name = request.name.as_deref().unwrap_or_default();
        let method = request.method.name();
        let viewer = self
            .viewer(|| Caller::of_admitted(transport, request))
            .of_call(method, request.arguments());
        self.catch_rule_panic(method, || match method {
            "tools/call" => {
                let tool = self.find_tool(name, &viewer);
                tool.is_some_and(|tool| tool.raw.is_some())
            }
            "prompts/get" => {
                let prompt = self.find_prompt(name, &viewer);
                prompt.is_some_and(|prompt| prompt.raw.is_some())
            }
            "resources/read" => {
                let resource = self.find_resource(name, &viewer);
                resource.is_some_and(|resource| resource.raw_entry().is_some())
            }
            _ => false,
        })
    }

    /// Returns `true` if a middleware may change the name of a request to that of a raw entry. All parameters are then
    /// needed, and its state may belong to another server.
    fn may_become_raw(&self, request: &Admitted<'_>) -> bool {
        let middleware = self.middleware.as_ref();
        self.has_raw_entries
            && middleware.is_some_and(|chain| !chain.is_empty())
            && request.method.may_ask_input()
    }
}

/// Returns the capabilities that the request declares, if any.
#[inline]
fn declared_capabilities(
    admitted: &Admitted<'_>,
) -> Result<OnceLock<Arc<ClientCapabilities>>, ErrorObject> {
    match admitted.client_capabilities() {
        None => Ok(OnceLock::new()),
        Some(raw) if raw.get() == "{}" => Ok(OnceLock::new()),
        Some(raw) => read_capabilities(raw).map(OnceLock::from),
    }
}

/// Parses capabilities. Not inlined: the type is large, and many clients declare none.
#[inline(never)]
fn read_capabilities(raw: &RawValue) -> Result<Arc<ClientCapabilities>, ErrorObject> {
    serde_json::from_str(raw.get())
        .map(Arc::new)
        .map_err(|error| {
            ErrorObject::invalid_params(format!(
                "the client capabilities in `_meta`: {}",
                decode_message(&error)
            ))
        })
}

#[inline]
fn minimum_log_level(
    snapshot: &Snapshot,
    admitted: &Admitted<'_>,
    transport: &dyn TransportContext,
) -> Option<LoggingLevel> {
    if snapshot.options.logging {
        effective_log_level(admitted, transport)
    } else {
        None
    }
}

#[inline(never)]
fn effective_log_level(
    admitted: &Admitted<'_>,
    transport: &dyn TransportContext,
) -> Option<LoggingLevel> {
    let setting = LogLevelSetting {
        requested: admitted.log_level,
        session: transport
            .connection_state()
            .and_then(|state| state.minimum_log_level()),
        server_default: Some(DEFAULT_LOG_LEVEL),
    };
    logging::effective_minimum(admitted.era, setting)
}
