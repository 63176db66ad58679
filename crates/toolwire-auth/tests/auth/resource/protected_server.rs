//! A server with protected tools, prompts and resources, and requests for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolwire::transport::http::HttpOptions;
use toolwire::types::{InputRequests, PromptArgument};
use toolwire::{
    CallToolResult, CompletionValues, PromptHandler, RequestContext, ResourceHandler,
    ResourceTemplateHandler, Server, ToolResponse,
};
use toolwire_auth::{ResourceServerConfig, StaticTokens};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::socket::Response;
use toolwire_tests::peer::{call, plain, server};

pub(crate) const ISSUER: &str = "https://auth.example.com";
pub(crate) const RESOURCE: &str = "https://mcp.example.com/mcp";
pub(crate) const METADATA: &str =
    "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

/// Returns the challenge for a request without a token.
pub(crate) fn bare_challenge() -> String {
    format!("Bearer resource_metadata=\"{METADATA}\"")
}

/// Returns the challenge for a request with an invalid token.
pub(crate) fn invalid_token() -> String {
    format!(
        "Bearer error=\"invalid_token\", error_description=\"the access token is not accepted\", \
         resource_metadata=\"{METADATA}\""
    )
}

/// Returns the challenge for a request whose token lacks scopes.
pub(crate) fn insufficient(scopes: &str) -> String {
    format!(
        "Bearer error=\"insufficient_scope\", \
         error_description=\"the access token lacks required scopes\", \
         scope=\"{scopes}\", resource_metadata=\"{METADATA}\""
    )
}

/// Returns static tokens: `ann` without scopes, `ann-reads` with one scope, and `bob` with all scopes.
pub(crate) fn tokens() -> StaticTokens {
    StaticTokens::new()
        .with_token("ann", "ann", "")
        .with_token("ann-reads", "ann", "files:read")
        .with_token("bob", "bob", "files:read files:write mail:read admin")
}

pub(crate) fn config() -> ResourceServerConfig {
    ResourceServerConfig::new(RESOURCE, [ISSUER])
}

pub(crate) fn options(config: ResourceServerConfig) -> HttpOptions {
    HttpOptions::new().with_authorizer(config.build().unwrap())
}

/// A running server that counts the calls of its handlers.
#[derive(Debug)]
pub(crate) struct ProtectedServer {
    pub(crate) endpoint: Endpoint,
    runs: Arc<AtomicUsize>,
}

impl ProtectedServer {
    /// Starts a server that accepts the tokens of [`tokens`].
    pub(crate) async fn new() -> Self {
        Self::with(config().with_verifier(tokens())).await
    }

    pub(crate) async fn with(config: ResourceServerConfig) -> Self {
        Self::serve(options(config), |server| server).await
    }

    pub(crate) async fn serve(options: HttpOptions, change: impl FnOnce(Server) -> Server) -> Self {
        let runs = Arc::new(AtomicUsize::new(0));
        let server = change(protected_server(&runs));
        Self {
            endpoint: Endpoint::serve_with(&server, options).await,
            runs,
        }
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// Sends a request with a token.
    pub(crate) async fn send(&self, token: &str, request: Request) -> Response {
        self.endpoint.request(&with_token(request, token)).await
    }

    /// Sends a message of revision 2026-07-28 with a token.
    pub(crate) async fn send_message(&self, token: &str, message: &Value) -> Response {
        self.send(token, Request::modern(message)).await
    }
}

pub(crate) fn with_token(request: Request, token: &str) -> Request {
    request.with("Authorization", format!("Bearer {token}"))
}

/// Returns a call of the tool that requires a token and no scopes.
pub(crate) fn whoami() -> Value {
    call(7, "whoami", json!({}))
}

/// Returns a server whose features require no scopes, one scope or several scopes.
pub(crate) fn protected_server(runs: &Arc<AtomicUsize>) -> Server {
    let counted = Arc::clone(runs);
    let whoami = plain("whoami", move |ctx: RequestContext| {
        counted.fetch_add(1, Ordering::SeqCst);
        let auth = ctx.auth();
        let (subject, client) = (auth.subject.clone(), auth.client_id.clone());
        let scopes = auth.scopes.join(" ");
        async move { format!("{subject:?} {client:?} {scopes}") }
    });
    let counted = Arc::clone(runs);
    let write = plain("write", move |_: RequestContext| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { "written" }
    });
    let keep = plain("keep", |ctx: RequestContext| async move {
        if ctx.has_request_state() {
            return CallToolResult::text(ctx.request_state()).into();
        }
        ToolResponse::input_required(InputRequests::new(), Some("a secret plan".to_owned()))
    });
    let steps = plain("steps", |ctx: RequestContext| async move {
        ctx.report_progress(1.0, None, None);
        "done"
    });
    server()
        .with_resource_subscriptions()
        .tool(whoami)
        .tool(steps)
        .tool(keep)
        .tool(write.requires_scopes(["files:read", "files:write"]))
        .prompt(
            PromptHandler::new("letter", async |_, _| "Dear Ann".to_owned())
                .with_argument(PromptArgument::new("to"))
                .with_completion("to", async |_, _| {
                    CompletionValues::new(vec!["Ann".to_owned()])
                })
                .requires_scopes(["mail:read"]),
        )
        .resource(
            ResourceHandler::new("file:///plan", "plan", async |_, _| "the plan")
                .requires_scopes(["files:read"]),
        )
        .resource_template(
            ResourceTemplateHandler::new("file:///notes/{name}", "notes", async |_, _, _| "a note")
                .with_completion("name", async |_, _| {
                    CompletionValues::new(vec!["first".to_owned()])
                })
                .requires_scopes(["files:read"]),
        )
}
