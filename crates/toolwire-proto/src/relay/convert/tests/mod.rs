//! Conversions of messages between revisions.

mod errors;
mod handshake;
mod input;
mod requests;
mod results;

use std::time::Duration;

use ProtocolVersion::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolwire_types::{
    CallToolResult, ClientCapabilities, GetPromptResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    ProgressNotificationParams, RawJson, ReadResourceResult, ServerCapabilities,
};

use super::*;
use crate::cache::CacheHint;
use crate::features::SupportedVersions;
use crate::stamp::{Stamp, Target};

fn raw(text: &str) -> RawJson {
    RawJson::from_string(text.to_owned()).expect("the text is JSON")
}

fn edited(json: &Value, edit: impl FnOnce(&mut RawObject<'_>)) -> Value {
    let json = RawJson::from_value(json);
    let mut object = RawObject::parse(json.as_raw_value()).expect("an object");
    edit(&mut object);
    serde_json::from_str(object.finish().get()).expect("the result is JSON")
}

fn stamped<T: Stamp + Serialize + DeserializeOwned>(json: &Value, to: ProtocolVersion) -> Value {
    let mut value: T = serde_json::from_value(json.clone()).expect("the type of the message");
    value.stamp(&Target::new(to));
    serde_json::to_value(&value).expect("JSON")
}

/// Checks the text of a converted result.
fn check_text(
    conversion: Conversion,
    method: &str,
    members: &ResultMembers,
    result: &str,
    expected: &str,
) {
    let json = raw(result);
    let mut object = RawObject::parse(json.as_raw_value()).unwrap();
    conversion.result(method, &mut object, members).unwrap();
    assert_eq!(object.finish().get(), expected);
}
