//! From an admitted request to its scope: everything a handler will see of it.

use std::sync::{Arc, LazyLock};

use toolwire_proto::admit::{Admitted, MethodRef};
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::logging::{self, LevelChoice};
use toolwire_types::{ClientCapabilities, ErrorObject, LoggingLevel, RawJson};

use crate::engine::{Cancellation, Exchange, KeptParams, RequestScope, Route, TransportContext};
use crate::server::Server;
use crate::server::context::RequestContext;
use crate::server::rounds;
use crate::server::snapshot::Snapshot;

/// What legacy clients see that never set a level.
const DEFAULT_LOG_LEVEL: LoggingLevel = LoggingLevel::Info;

/// Most requests declare nothing, and share this.
static NO_CAPABILITIES: LazyLock<Arc<ClientCapabilities>> = LazyLock::new(Arc::default);

impl Server {
    /// Gives an admitted request its scope.
    pub(crate) fn open(
        &self,
        admitted: &Admitted<'_>,
        transport: Arc<dyn TransportContext>,
        cancellation: Option<Cancellation>,
    ) -> Result<Exchange, ErrorObject> {
        self.open_in(self.snapshot(), admitted, transport, cancellation)
    }

    /// The same, by the server as it was at a moment.
    pub(crate) fn open_in(
        &self,
        snapshot: Arc<Snapshot>,
        admitted: &Admitted<'_>,
        transport: Arc<dyn TransportContext>,
        cancellation: Option<Cancellation>,
    ) -> Result<Exchange, ErrorObject> {
        let scope = RequestScope {
            version: admitted.version,
            client_capabilities: client_capabilities(admitted, &*transport)?,
            minimum_log_level: minimum_log_level(&snapshot, admitted, &*transport),
            #[cfg(feature = "input")]
            may_ask_input: admitted.method.may_ask_input(),
            round: rounds::of_request(&snapshot, admitted, &*transport)?,
            kept: KeptParams::of(admitted),
            id: admitted.id.clone(),
            progress_token: admitted.meta.progress_token.clone(),
            meta: Default::default(),
            client_info: Default::default(),
            cancellation,
            progress: Default::default(),
            first_round: None,
            transport,
        };
        let route = match &admitted.method {
            MethodRef::Known(method) => Route::Known(method),
            MethodRef::Custom(name) => Route::Custom(name.clone().into_owned()),
        };
        // Of a tool call only the name and the arguments matter, so the rest is not copied.
        let params = admitted.params.filter(|_| route.name() != "tools/call");
        Ok(Exchange {
            params: params.map(RawJson::from),
            context: RequestContext::new(Arc::new(scope), self.clone()),
            route,
            snapshot,
        })
    }
}

/// What the request declares, or what the connection declared once and for all.
fn client_capabilities(
    admitted: &Admitted<'_>,
    transport: &dyn TransportContext,
) -> Result<Arc<ClientCapabilities>, ErrorObject> {
    let none = || Arc::clone(&NO_CAPABILITIES);
    if !admitted.version.is_stateless() {
        return Ok(transport
            .connection_state()
            .map_or_else(none, |state| state.client_capabilities()));
    }
    match admitted.meta.client_capabilities {
        None => Ok(none()),
        Some(raw) if raw.get() == "{}" => Ok(none()),
        Some(raw) => serde_json::from_str(raw.get())
            .map(Arc::new)
            .map_err(|error| {
                ErrorObject::invalid_params(format!("the client capabilities in `_meta`: {error}"))
            }),
    }
}

fn minimum_log_level(
    snapshot: &Snapshot,
    admitted: &Admitted<'_>,
    transport: &dyn TransportContext,
) -> Option<LoggingLevel> {
    if !snapshot.options.logging {
        return None;
    }
    let choice = LevelChoice {
        requested: admitted.meta.log_level,
        session: transport
            .connection_state()
            .and_then(|state| state.minimum_log_level()),
        server_default: Some(DEFAULT_LOG_LEVEL),
    };
    logging::effective_minimum(admitted.era, choice)
}
