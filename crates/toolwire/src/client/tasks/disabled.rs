//! Without the feature `tasks`: no call becomes a task.

use std::borrow::Cow;

use toolwire_types::RawJson;

use crate::client::Client;
use crate::client::call::CallOptions;
use crate::engine::BoxFuture;
use crate::error::Error;

impl Client {
    pub(crate) fn may_request_task(&self, _method: &str) -> bool {
        false
    }

    #[expect(
        clippy::ptr_arg,
        reason = "a method whose name is known here is cloned without a copy"
    )]
    pub(crate) fn run_with_task<'a>(
        &'a self,
        method: &'a Cow<'static, str>,
        params: Option<RawJson>,
        options: &'a CallOptions,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move { self.round(method, params.as_ref(), options).await })
    }

    pub(crate) fn task_outcome<'a>(
        &'a self,
        result: RawJson,
        _options: &'a CallOptions,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(std::future::ready(Ok(result)))
    }
}
