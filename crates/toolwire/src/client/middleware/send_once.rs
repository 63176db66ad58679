//! The inner end of a chain for requests whose id is fixed before the middleware runs.

use std::sync::atomic::{AtomicBool, Ordering};

use toolwire_types::RawJson;

use crate::client::middleware::{ClientRequest, SendRequest};
use crate::engine::BoxFuture;
use crate::error::Error;

/// Sends a request with a function, at most once. A second message with the same id would violate the protocol.
pub(crate) struct SendOnce<F> {
    is_sent: AtomicBool,
    send: F,
}

impl<'f, F> SendOnce<F>
where
    F: Fn(RawJson) -> BoxFuture<'f, Result<RawJson, Error>> + Sync,
{
    pub(crate) fn new(send: F) -> Self {
        Self {
            is_sent: AtomicBool::new(false),
            send,
        }
    }
}

impl<'f, F> SendRequest for SendOnce<F>
where
    F: Fn(RawJson) -> BoxFuture<'f, Result<RawJson, Error>> + Sync,
{
    fn send<'a>(&'a self, request: &'a ClientRequest) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move {
            if self.is_sent.swap(true, Ordering::Relaxed) {
                let method = request.method();
                return Err(Error::invalid_request(format!(
                    "{method}: a middleware cannot send this request again, because its id is already used"
                )));
            }
            (self.send)(request.complete_params()?).await
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use toolwire_types::{Meta, ProtocolVersion};

    use super::*;

    fn request(params: serde_json::Value) -> ClientRequest {
        let version = ProtocolVersion::V2026_07_28;
        let params = Some(RawJson::from(params));
        ClientRequest::new(
            "tools/call".into(),
            params,
            Meta::new(),
            version,
            &Arc::default(),
        )
    }

    #[tokio::test]
    async fn request_is_sent_once() {
        let sender = SendOnce::new(|params: RawJson| -> BoxFuture<'_, Result<RawJson, Error>> {
            Box::pin(async move { Ok(params) })
        });
        let mut request = request(json!({"name": "add", "_meta": {"a": 1}}));
        request.set_meta("traceparent", RawJson::from(json!("00")));
        let sent = sender.send(&request).await.unwrap();
        let expected = r#"{"name":"add","_meta":{"a":1,"traceparent":"00"}}"#;
        assert_eq!(sent.get(), expected);
        let error = sender.send(&request).await.unwrap_err();
        assert!(error.is_invalid_request(), "{error}");
    }

    #[test]
    fn parameters_without_meta_get_one_only_if_needed() {
        let mut request = request(json!({"name": "add"}));
        assert_eq!(
            request.complete_params().unwrap().get(),
            r#"{"name":"add"}"#
        );
        request.set_meta("a", RawJson::from(json!(1)));
        let expected = r#"{"name":"add","_meta":{"a":1}}"#;
        assert_eq!(request.complete_params().unwrap().get(), expected);
    }
}
