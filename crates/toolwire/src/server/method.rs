//! Methods that the protocol does not define: those of the author and of extensions.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolwire_proto::decode_message::decode_message;
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::BoxFuture;
use crate::server::RequestContext;
use crate::server::extension_entry::ExtensionEntry;
use crate::server::tool_error::{IntoToolError, ToolError};

type Outcome = Result<RawJson, ToolError>;
type Handler = dyn Fn(RequestContext, RawJson) -> BoxFuture<'static, Outcome> + Send + Sync;

/// A registered method that the protocol does not define.
#[derive(Clone)]
pub(crate) struct MethodEntry {
    handler: Arc<Handler>,
    /// The extension that the method belongs to, if any.
    extension: Option<Arc<ExtensionEntry>>,
}

impl MethodEntry {
    pub(crate) fn new<P, R, E, F, Fut>(handler: F) -> Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: IntoToolError,
        F: Fn(RequestContext, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, E>> + Send + 'static,
    {
        let handler = move |ctx: RequestContext, params: RawJson| -> BoxFuture<'static, Outcome> {
            match params.parse::<P>() {
                Ok(params) => {
                    let running = handler(ctx, params);
                    Box::pin(async move {
                        let result = running.await.map_err(IntoToolError::into_tool_error)?;
                        Ok(RawJson::from_serialize(&result)?)
                    })
                }
                Err(error) => {
                    let message = format!("params: {}", decode_message(&error));
                    let error = ErrorObject::invalid_params(message);
                    Box::pin(std::future::ready(Err(ToolError::rpc(error))))
                }
            }
        };
        Self {
            handler: Arc::new(handler),
            extension: None,
        }
    }

    /// Makes it a method of an extension.
    pub(crate) fn of_extension(mut self, extension: Arc<ExtensionEntry>) -> Self {
        self.extension = Some(extension);
        self
    }

    /// Returns the extension that the method belongs to.
    pub(crate) fn extension(&self) -> Option<&ExtensionEntry> {
        self.extension.as_deref()
    }

    pub(crate) fn call(&self, ctx: RequestContext, params: RawJson) -> BoxFuture<'static, Outcome> {
        (self.handler)(ctx, params)
    }
}

impl fmt::Debug for MethodEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MethodEntry").finish_non_exhaustive()
    }
}
