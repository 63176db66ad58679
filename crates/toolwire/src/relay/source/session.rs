//! The sessions of legacy clients with an upstream server.
//!
//! A legacy client initializes its session with the server that mounted the source. The first request for an entry of the
//! source opens a session of this client with the upstream server, so that a server with state has it for each client.

use std::sync::Arc;

use serde_json::json;
use toolwire_proto::envelope::NotificationEnvelope;
use toolwire_proto::methods::{self, Method};
use toolwire_proto::raw_object::RawObject;
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::TransportContext;
use crate::relay::client_key::ClientKey;
use crate::relay::shared_log_level::LOG_LEVEL_WAIT;
use crate::relay::source::SourceInner;
use crate::relay::source::caller::InputRules;
use crate::server::RequestContext;
use crate::server::mount::ROOTS_CHANGED;
use crate::sync::lock;

impl SourceInner {
    /// Opens the session of a legacy client if it has none, and sets the log level that the client requested.
    pub(super) async fn open_session(
        &self,
        ctx: &RequestContext,
        client: &Arc<dyn TransportContext>,
        rules: &InputRules,
    ) -> Result<(), ErrorObject> {
        let Some(key) = ClientKey::of(&**client) else {
            return Err(ErrorObject::invalid_request(format!(
                "the upstream server `{}` needs a client with a session",
                self.name
            )));
        };
        if self.relay.session_of(&key).is_none() {
            let _opening = self.opening.lock(&format!("{key:?}")).await;
            if self.relay.session_of(&key).is_none() {
                self.initialize(ctx, client, rules, &key).await?;
                let mut levels = lock(&self.log_levels);
                levels.retain(|other, _| *other != key && self.relay.session_of(other).is_some());
            }
        }
        self.set_log_level(ctx, client, &key).await;
        Ok(())
    }

    async fn initialize(
        &self,
        ctx: &RequestContext,
        client: &Arc<dyn TransportContext>,
        rules: &InputRules,
        key: &ClientKey,
    ) -> Result<(), ErrorObject> {
        let capabilities = RawJson::from_serialize(ctx.client_capabilities()).unwrap_or_default();
        let capabilities = match RawObject::parse(capabilities.as_raw_value()) {
            Some(mut members) => {
                rules.restrict(&mut members);
                members.finish()
            }
            None => RawJson::empty_object(),
        };
        let info = ctx.client_info();
        let info = info.and_then(|info| RawJson::from_serialize(info).ok());
        let mut params = RawObject::empty();
        params.set_text("protocolVersion", ctx.version().as_str());
        params.set("capabilities", capabilities);
        params.set("clientInfo", info.unwrap_or_else(RawJson::empty_object));
        let request =
            ctx.scope()
                .forwarded(known("initialize"), params.finish(), Arc::clone(client));
        self.relay.forward(request).await?;
        let session = self.relay.session_of(key);
        if session.is_some_and(|session| session.client.is_some()) {
            // A modern server has no session, and the source already listens to its changes.
            return Ok(());
        }
        let initialized = NotificationEnvelope {
            method: "notifications/initialized".into(),
            params: None,
        };
        let client = Arc::clone(client);
        self.relay.forward_notification(&initialized, client).await;
        Ok(())
    }

    /// Passes the notification that the roots of a legacy client changed to its session.
    pub(super) async fn roots_changed(self: &Arc<Self>, client: Arc<dyn TransportContext>) {
        let key = ClientKey::of(&*client);
        // The client has made no request that needs the upstream server.
        if key.and_then(|key| self.relay.session_of(&key)).is_none() {
            return;
        }
        let notification = NotificationEnvelope {
            method: ROOTS_CHANGED.into(),
            params: None,
        };
        let rules = self.input_rules(&*client, true);
        let client = self.calling_client(client, rules, None);
        self.relay.forward_notification(&notification, client).await;
    }

    /// Passes a changed log level to the upstream server. A server without log messages is no failure.
    async fn set_log_level(
        &self,
        ctx: &RequestContext,
        client: &Arc<dyn TransportContext>,
        key: &ClientKey,
    ) {
        let state = ctx.connection_state();
        let Some(level) = state.and_then(|state| state.minimum_log_level()) else {
            return;
        };
        let is_set = lock(&self.log_levels).get(key) == Some(&level);
        if is_set || !self.entries().has_logging || self.log_level_pause.is_active() {
            return;
        }
        let params = RawJson::from(json!({ "level": level }));
        let method = known("logging/setLevel");
        let request = ctx.scope().forwarded(method, params, Arc::clone(client));
        let response = self.relay.forward(request);
        match tokio::time::timeout(LOG_LEVEL_WAIT, response).await {
            Ok(Ok(_)) => {
                lock(&self.log_levels).insert(key.clone(), level);
            }
            // The next request tries again.
            Ok(Err(error)) => {
                tracing::debug!(%error, "the upstream server did not accept the log level");
            }
            Err(_) => {
                self.log_level_pause.start();
                let upstream = &self.name;
                tracing::warn!(
                    upstream,
                    "the upstream server does not respond to logging/setLevel"
                );
            }
        }
    }
}

/// Returns a method that the protocol defines.
pub(super) fn known(name: &str) -> &'static Method {
    methods::find(name).expect("the protocol defines the method")
}
