//! The server: resources at fixed URIs, a template with completion, and a tool that changes a resource.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use toolwire::{
    CacheHint, CompletionValues, IntoResource, RequestContext, Server, ToolError, resource,
    resource_template, tool,
};

/// Text: return a string.
#[resource(uri = "shop://terms", mime_type = "text/markdown")]
fn terms() -> &'static str {
    "# Terms\n\nBe kind."
}

/// Bytes: return them, and they are encoded as base64.
#[resource(uri = "shop://logo", mime_type = "image/png", audience("user"))]
fn logo() -> Vec<u8> {
    b"\x89PNG\r\n\x1a\n".to_vec()
}

static VISITS: AtomicU32 = AtomicU32::new(0);

/// A resource that changes.
#[resource(uri = "shop://visits")]
fn visits() -> String {
    VISITS.load(Ordering::SeqCst).to_string()
}

/// Counts a visit. Clients that subscribed to the counter are notified and can read it again.
#[tool]
fn visit(ctx: &RequestContext) {
    VISITS.fetch_add(1, Ordering::SeqCst);
    ctx.server().resource_updated("shop://visits");
}

const SHELVES: [&str; 3] = ["books", "bread", "tea"];

/// A template: its variables (RFC 6570) are the parameters, parsed into their types. `Option`s and parameters with a
/// default may be missing from the URI, and `tags*` takes any number of `tags=…`.
#[resource_template(uri = "shop://shelves/{shelf}{?page,tags*}", mime_type = "text/plain")]
fn shelf(
    #[arg(complete = shelves)] shelf: String,
    #[arg(default = 1)] page: u32,
    tags: Vec<String>,
    #[arg(uri)] uri: &str,
) -> Result<String, ToolError> {
    if !SHELVES.contains(&shelf.as_str()) {
        return Err(ToolError::resource_not_found(uri));
    }
    Ok(format!("{shelf}, page {page}, tagged {tags:?}"))
}

fn shelves(typed: &str) -> CompletionValues {
    CompletionValues::prefix_match(typed, SHELVES)
}

pub(crate) fn server() -> Server {
    let day = CacheHint::public(Duration::from_secs(24 * 60 * 60));
    Server::new("shop", "1.0.0")
        // Shared caches may store the terms for a day and the lists for a minute. By default nothing is cached.
        .resource(terms.into_resource().with_cache(day))
        .with_list_cache(CacheHint::private(Duration::from_secs(60)))
        .resource(logo)
        .resource(visits)
        .resource_template(shelf)
        .tool(visit)
        .with_resource_subscriptions()
}
