mod headers;
mod http_status;
mod legacy;
mod modern;
mod notifications;
mod params;

use serde_json::{Value, json};

use super::*;
use crate::envelope::Envelope;
use crate::strict_json::{self, Limits};

const VERSION_KEY: &str = meta_key::PROTOCOL_VERSION;
const CAPABILITIES_KEY: &str = meta_key::CLIENT_CAPABILITIES;

/// A request and its admission context. By default the request is modern and sent over HTTP.
struct Case {
    method: &'static str,
    params: Option<Value>,
    headers: Option<[HeaderLookup<'static>; 3]>,
    lifecycle: Lifecycle,
    supported: SupportedVersions,
    require_initialized: bool,
}

fn modern(method: &'static str, params: Value) -> Case {
    let mut params = params;
    params["_meta"][VERSION_KEY] = json!("2026-07-28");
    params["_meta"][CAPABILITIES_KEY] = json!({});
    Case {
        params: Some(params),
        ..legacy(method)
    }
}

fn legacy(method: &'static str) -> Case {
    Case {
        method,
        params: None,
        headers: None,
        lifecycle: Lifecycle::Fresh,
        supported: SupportedVersions::default(),
        require_initialized: false,
    }
}

impl Case {
    fn http(
        mut self,
        version: HeaderLookup<'static>,
        method: HeaderLookup<'static>,
        name: HeaderLookup<'static>,
    ) -> Self {
        self.headers = Some([version, method, name]);
        self
    }

    fn params(mut self, params: Value) -> Self {
        self.params = Some(params);
        self
    }

    fn meta(mut self, key: &str, value: Value) -> Self {
        self.params.get_or_insert_with(|| json!({}))["_meta"][key] = value;
        self
    }

    fn without_meta(mut self, key: &str) -> Self {
        if let Some(meta) = self
            .params
            .as_mut()
            .and_then(|params| params["_meta"].as_object_mut())
        {
            meta.remove(key);
        }
        self
    }

    fn negotiated(mut self, version: &str) -> Self {
        self.lifecycle = Lifecycle::Initialized {
            version: version.parse().expect("a released version"),
        };
        self
    }

    fn serving(mut self, names: &str) -> Self {
        self.supported = names
            .split_whitespace()
            .map(|name| name.parse().expect("a released version"))
            .collect();
        self
    }

    /// Admits the request and passes the outcome to `inspect`.
    fn run<T>(&self, inspect: impl FnOnce(Result<Admitted<'_>, Rejection>) -> T) -> T {
        let mut message = json!({"jsonrpc": "2.0", "id": 7, "method": self.method});
        if let Some(params) = &self.params {
            message["params"] = params.clone();
        }
        let message = message.to_string();
        match strict_json::read(message.as_bytes(), &Limits::default()) {
            Ok(Envelope::Request(request)) => inspect(admit(&request, &self.context())),
            other => panic!("{message} is no request: {other:?}"),
        }
    }

    fn context(&self) -> AdmissionContext<'_> {
        AdmissionContext {
            supported: &self.supported,
            lifecycle: self.lifecycle,
            headers: self
                .headers
                .map(|[protocol_version, method, name]| RoutingHeaders {
                    protocol_version,
                    method,
                    name,
                }),
            is_custom_method: &|name| name == "com.example/custom",
            is_custom_notification: &|name| name == "com.example/custom",
            require_initialized: self.require_initialized,
        }
    }

    fn outcome(&self) -> String {
        self.run(|outcome| match outcome {
            Ok(admitted) => format!("{} {:?}", admitted.version, admitted.era),
            Err(rejection) => {
                assert_eq!(rejection.id, 7.into());
                format!("{} {}", rejection.error.code, rejection.http_status)
            }
        })
    }
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "cases are built in the call")]
fn check(case: Case, expected: &str) {
    assert_eq!(case.outcome(), expected);
}

use HeaderLookup::{Absent, One, Repeated, Unreadable};

fn call() -> Case {
    modern("tools/call", json!({"name": "add"})).http(
        One("2026-07-28"),
        One("tools/call"),
        One("add"),
    )
}

fn list() -> Case {
    modern("tools/list", json!({})).http(One("2026-07-28"), One("tools/list"), Absent)
}
