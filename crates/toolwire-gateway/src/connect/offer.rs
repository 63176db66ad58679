//! How an upstream with logins is offered.
//!
//! The lists are read with the login of one user. Before the first login, there is one tool, which lets users log in.

use std::sync::Arc;

use serde_json::json;
use toolwire::relay::{Upstream, UpstreamSource};
use toolwire::types::CallToolResult;
use toolwire::{BoxFuture, Catalog, ErrorObject, Principal, RawJson, RequestContext};

use crate::config::UpstreamConfig;
use crate::connect::credentials::{UserCredentials, UserLayer};
use crate::connect::{LoginUpstream, UserLogins};

/// The name of the tool with which users log in.
const LOG_IN_TOOL: &str = "log_in";

/// The logins of users at one upstream.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamLogin {
    logins: Arc<UserLogins>,
    upstream: Arc<LoginUpstream>,
    /// The name of the tool at the upstream.
    tool: String,
}

impl UserLogins {
    /// Returns the logins at an upstream, if its users log in.
    pub(crate) fn at(logins: Option<&Arc<Self>>, config: &UpstreamConfig) -> Option<UpstreamLogin> {
        let logins = Arc::clone(logins?);
        let upstream = logins.upstream_of(config)?;
        let tool = match config.prefix {
            Some(_) => LOG_IN_TOOL.to_owned(),
            None => format!("{LOG_IN_TOOL}_{}", config.name),
        };
        Some(UpstreamLogin {
            logins,
            upstream,
            tool,
        })
    }
}

impl UpstreamLogin {
    /// Lets each caller of an upstream log in, and sends its token there.
    pub(crate) fn add_to(&self, upstream: Upstream) -> Upstream {
        let (logins, server) = (Arc::clone(&self.logins), Arc::clone(&self.upstream));
        let credentials = UserCredentials::new(Arc::clone(&logins), Arc::clone(&server));
        let upstream = upstream.with_credentials(credentials);
        upstream.with_caller_layer(move |caller| {
            let (logins, server) = (Arc::clone(&logins), Arc::clone(&server));
            Arc::new(UserLayer::new(logins, server, caller))
        })
    }

    /// Adds the tool with which users log in. Removes the resources, which may be private to the user with whose login the
    /// lists were read.
    pub(crate) fn offer(&self, catalog: &mut Catalog, connection: &UpstreamSource) {
        catalog.remove_resources();
        let (name, upstream) = (&self.tool, &self.upstream.name);
        catalog.prefer_tool(name);
        let descriptor = json!({
            "name": name,
            "title": format!("Log in to {upstream}"),
            "description": format!(
                "Logs the user in to the server `{upstream}`. Call it before the first use of the server, and to log out."
            ),
            "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false },
            "annotations": { "readOnlyHint": true, "openWorldHint": true },
        });
        let (login, connection) = (self.clone(), connection.clone());
        let handler = move |ctx, params| login.clone().serve(connection.clone(), ctx, params);
        if let Err(error) = catalog.replace_raw_tool(RawJson::from(descriptor), handler) {
            tracing::warn!(upstream, %error, "the tool for logins cannot be listed");
        }
    }

    /// Serves a call of the tool.
    fn serve(
        self,
        connection: UpstreamSource,
        ctx: RequestContext,
        params: RawJson,
    ) -> BoxFuture<'static, Result<RawJson, ErrorObject>> {
        Box::pin(async move {
            let caller = Principal::of(ctx.auth());
            if !self.logins.has_login(&caller, &self.upstream) {
                return connection.log_in(&ctx, &params).await;
            }
            let address = self.logins.log_out_address(&caller, &self.upstream);
            let name = &self.upstream.name;
            let text = format!("You are logged in to `{name}`. To log out, open {address}");
            let result = RawJson::from_serialize(&CallToolResult::text(text));
            result.map_err(|_| ErrorObject::internal("a result could not be written"))
        })
    }
}
