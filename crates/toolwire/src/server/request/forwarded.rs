//! A request that a source forwards on behalf of a client.

use std::sync::{Arc, OnceLock};

use toolwire_proto::features::VersionFeatures;
use toolwire_proto::methods::Method;
use toolwire_proto::raw_object::RawObject;
use toolwire_types::{ClientCapabilities, RawJson, meta_key};

use crate::engine::TransportContext;
use crate::server::RequestContext;
use crate::server::request::{Exchange, MethodRoute, ParamChange, RequestParams, RequestScope};

impl RequestScope {
    /// Returns a request of the same client with a method and parameters of its own. Its messages go to `transport`.
    pub(crate) fn forwarded(
        &self,
        method: &'static Method,
        params: RawJson,
        transport: Arc<dyn TransportContext>,
    ) -> Exchange {
        let route = MethodRoute::Known(method);
        let (request_params, client_capabilities) = {
            let members = RawObject::parse(params.as_raw_value());
            let members = members.unwrap_or_else(RawObject::empty);
            let named = ParamChange::Name("").member(&route);
            let name = named.and_then(|member| members.text(member));
            let raw = |name| members.get(name).map(|member| member.raw());
            let capabilities = self.version.is_stateless().then(|| {
                let meta = RawObject::parse(raw("_meta")?)?;
                let declared = meta.get(meta_key::CLIENT_CAPABILITIES)?;
                serde_json::from_str::<ClientCapabilities>(declared.get()).ok()
            });
            let request_params =
                RequestParams::new(name.as_deref(), raw("_meta"), raw("arguments"));
            (request_params, capabilities.flatten())
        };
        let client_capabilities = match client_capabilities {
            Some(capabilities) => OnceLock::from(Arc::new(capabilities)),
            None => OnceLock::new(),
        };
        let scope = Self {
            server: OnceLock::new(),
            snapshot: Arc::clone(&self.snapshot),
            transport,
            route,
            params: Some(params),
            id: self.id.clone(),
            version: self.version,
            client_capabilities,
            minimum_log_level: self.minimum_log_level,
            progress_token: self.progress_token.clone(),
            request_params,
            sent_params: None,
            meta: OnceLock::new(),
            client_info: OnceLock::new(),
            cancellation: self.cancellation.clone(),
            task: Default::default(),
            may_ask_input: method.may_ask_input,
            round: Default::default(),
            progress: Default::default(),
            first_round: None,
        };
        let context = RequestContext::new(Arc::new(scope));
        Exchange { context }
    }
}
