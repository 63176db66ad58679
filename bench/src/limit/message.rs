//! A request in borrowed structs, and the typed results.

use std::borrow::Cow;

use crate::load::Era;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    progress_token: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Count {
    n: usize,
}

/// A tool call with its arguments.
pub(crate) enum Call<'a> {
    Echo(String),
    Big(usize),
    Progress(Cow<'a, str>, usize),
    /// Notifies all open streams.
    Change,
}

impl<'a> Message<'a> {
    /// Returns the revision that the request names.
    pub(crate) fn version(&self) -> Option<&str> {
        self.params.as_ref()?.meta.as_ref()?.version.as_deref()
    }

    pub(crate) fn tool(&self) -> Option<&str> {
        self.params.as_ref()?.name.as_deref()
    }

    pub(crate) fn call(&self) -> Option<Call<'a>> {
        let params = self.params.as_ref()?;
        let arguments = params.arguments?.get();
        let count = || Some(serde_json::from_str::<Count>(arguments).ok()?.n);
        match params.name.as_deref()? {
            "echo" => Some(Call::Echo(
                serde_json::from_str::<Text>(arguments).ok()?.text,
            )),
            "big" => Some(Call::Big(count()?)),
            "progress" => {
                let token = params.meta.as_ref()?.progress_token?;
                Some(Call::Progress(Cow::Borrowed(token.get()), count()?))
            }
            "change" => Some(Call::Change),
            _ => None,
        }
    }
}

#[derive(Serialize)]
struct CallResponse<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: CallResult<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    content: [Content<'a>; 1],
    result_type: &'static str,
}

#[derive(Serialize)]
struct Content<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// Returns the result of a call as bytes with a small spare capacity.
pub(crate) fn text_result(id: &RawValue, text: &str) -> Option<Vec<u8>> {
    let response = CallResponse {
        jsonrpc: "2.0",
        id,
        result: CallResult {
            content: [Content {
                r#type: "text",
                text,
            }],
            result_type: "complete",
        },
    };
    let mut bytes = Vec::with_capacity(text.len() + 192);
    serde_json::to_writer(&mut bytes, &response).ok()?;
    Some(bytes)
}

/// The result of `server/discover`, the first request of modern clients.
pub(crate) fn discovered(id: &RawValue) -> Vec<u8> {
    let version = Era::Modern.version();
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","supportedVersions":["{version}"],"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"private"}}}}"#
    )
    .into_bytes()
}

/// The response to `initialize`.
pub(crate) fn initialized(id: &RawValue) -> Vec<u8> {
    let version = Era::Legacy.version();
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"limit","version":"1.0.0"}}}}}}"#
    )
    .into_bytes()
}
