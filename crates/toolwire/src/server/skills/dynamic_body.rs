//! The handler of a dynamic skill.

use std::fmt;
use std::sync::Arc;

use crate::engine::BoxFuture;
use crate::server::RequestContext;
use crate::server::tool_error::ToolError;

type Handler =
    dyn Fn(RequestContext) -> BoxFuture<'static, Result<String, ToolError>> + Send + Sync;

/// The handler that creates the `SKILL.md` of a dynamic skill.
#[derive(Clone)]
pub(crate) struct DynamicBody(Arc<Handler>);

impl DynamicBody {
    pub(crate) fn new(
        handler: impl Fn(RequestContext) -> BoxFuture<'static, Result<String, ToolError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Arc::new(handler))
    }

    /// Creates the `SKILL.md` for a request.
    pub(crate) fn create(
        &self,
        ctx: RequestContext,
    ) -> BoxFuture<'static, Result<String, ToolError>> {
        (self.0)(ctx)
    }

    /// Writes a front matter before the created text.
    pub(crate) fn with_head(self, head: String) -> Self {
        let head: Arc<str> = head.into();
        Self(Arc::new(move |ctx| {
            let (head, creating) = (Arc::clone(&head), self.create(ctx));
            Box::pin(async move { creating.await.map(|body| format!("{head}{body}")) })
        }))
    }
}

impl fmt::Debug for DynamicBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicBody").finish_non_exhaustive()
    }
}
