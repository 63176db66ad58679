//! Results of custom methods, which stay text.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use toolwire_types::{RawJson, meta_key};

use crate::features::VersionFeatures;
use crate::stamp::Target;

/// Converts the raw result of a custom method to a revision.
///
/// Modern revisions require `resultType` and recommend the server's name. Both are inserted into the text if they are
/// missing, and nested values are not parsed. For older revisions, and for a value that is not an object, nothing
/// changes.
#[must_use]
pub fn stamp_raw(result: RawJson, target: &Target<'_>) -> RawJson {
    if !target.version.has_result_type() || !result.is_object() {
        return result;
    }
    match splice(result.get(), target.server_info) {
        Some(text) => RawJson::from_string(text)
            .expect("members inserted into an object keep it a JSON object"),
        None => result,
    }
}

/// The relevant members, as raw JSON.
#[derive(Deserialize)]
struct StampMembers<'a> {
    #[serde(borrow, default, rename = "resultType", deserialize_with = "present")]
    result_type: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta", deserialize_with = "present")]
    meta: Option<&'a RawValue>,
}

/// Deserializes a `null` member as present, so that it is not added a second time.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Returns the object with the missing members, or `None` if none is missing.
fn splice(text: &str, server_info: Option<&RawJson>) -> Option<String> {
    let members: StampMembers<'_> = serde_json::from_str(text).ok()?;
    let meta = members.meta.map(RawValue::get);
    let server_entry = server_info
        .filter(|_| meta.is_none_or(lacks_server_info))
        .map(|info| format!("\"{}\":{info}", meta_key::SERVER_INFO));

    let mut insertions = Vec::new();
    let mut front = Vec::new();
    if members.result_type.is_none() {
        front.push(Cow::Borrowed("\"resultType\":\"complete\""));
    }
    match (server_entry, meta) {
        (Some(entry), None) => front.push(Cow::Owned(format!("\"_meta\":{{{entry}}}"))),
        (Some(entry), Some(meta)) => {
            // The metadata is a slice of the text, so the distance of their starts is its position.
            let position = meta.as_ptr().addr() - text.as_ptr().addr();
            insertions.push((position, entry));
        }
        (None, _) => {}
    }
    if !front.is_empty() {
        insertions.insert(0, (0, front.join(",")));
    }
    if insertions.is_empty() {
        return None;
    }
    Some(insert_members(text, &insertions))
}

fn lacks_server_info(meta: &str) -> bool {
    #[derive(Deserialize)]
    struct Server<'a> {
        #[serde(
            borrow,
            default,
            rename = "io.modelcontextprotocol/serverInfo",
            deserialize_with = "present"
        )]
        info: Option<&'a RawValue>,
    }

    meta.starts_with('{')
        && serde_json::from_str::<Server<'_>>(meta).is_ok_and(|server| server.info.is_none())
}

/// Inserts members at the start of the objects that begin at these ascending positions.
fn insert_members(text: &str, insertions: &[(usize, String)]) -> String {
    let added: usize = insertions
        .iter()
        .map(|(_, members)| members.len() + 1)
        .sum();
    let mut output = String::with_capacity(text.len() + added);
    let mut rest = text;
    let mut consumed = 0;
    for (position, members) in insertions {
        let (before, object) = rest.split_at(position - consumed);
        // The text may start with white space before the brace.
        let inside = object.find('{').map_or(object.len(), |brace| brace + 1);
        let (opening, after) = object.split_at(inside);
        output.push_str(before);
        output.push_str(opening);
        output.push_str(members);
        if !after.trim_start().starts_with('}') {
            output.push(',');
        }
        consumed = position + inside;
        rest = after;
    }
    output.push_str(rest);
    output
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire_types::ProtocolVersion;

    use super::*;

    fn check(result: &str, expected: &str) {
        let info = RawJson::from(json!({"name": "s"}));
        let target = Target::new(ProtocolVersion::V2026_07_28).with_server_info(&info);
        let result: RawJson = serde_json::from_str(result).unwrap();
        let stamped = stamp_raw(result, &target);
        let expected = expected.replace(
            "INFO",
            r#""io.modelcontextprotocol/serverInfo":{"name":"s"}"#,
        );
        assert_eq!(stamped.get(), expected);
        assert_eq!(stamp_raw(stamped, &target).get(), expected);
    }

    #[test]
    fn missing_members_are_inserted() {
        check("{}", r#"{"resultType":"complete","_meta":{INFO}}"#);
        check(
            r#"{ "b":1.0, "a":[{ }] }"#,
            r#"{"resultType":"complete","_meta":{INFO}, "b":1.0, "a":[{ }] }"#,
        );
        check(
            r#"{"resultType":"custom","a":1}"#,
            r#"{"_meta":{INFO},"resultType":"custom","a":1}"#,
        );
        check(
            r#"{"a":{"_meta":{}},"_meta":{ "k" : 1 },"z":"}{"}"#,
            r#"{"resultType":"complete","a":{"_meta":{}},"_meta":{INFO, "k" : 1 },"z":"}{"}"#,
        );
        check(
            r#"{"_meta":{ },"resultType":"complete"}"#,
            r#"{"_meta":{INFO },"resultType":"complete"}"#,
        );
        check(
            r#"{"\u005fmeta":{"k":"é"}}"#,
            r#"{"resultType":"complete","\u005fmeta":{INFO,"k":"é"}}"#,
        );
    }

    #[test]
    fn present_members_stay() {
        let named =
            r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":null}}"#;
        check(named, named);
        for odd in [
            r#"{"resultType":null,"_meta":null}"#,
            r#"{"resultType":"complete","_meta":[]}"#,
            r#"{"resultType":"a","resultType":"b"}"#,
            "[1]",
            "null",
            r#""{}""#,
        ] {
            check(odd, odd);
        }
    }

    #[test]
    fn without_a_server_name_only_the_result_type_is_added() {
        let target = Target::new(ProtocolVersion::V2026_07_28);
        let stamped = stamp_raw(RawJson::from(json!({"_meta": {}})), &target);
        assert_eq!(stamped.get(), r#"{"resultType":"complete","_meta":{}}"#);
    }

    #[test]
    fn legacy_results_do_not_change() {
        let info = RawJson::empty_object();
        let target = Target::new(ProtocolVersion::V2025_11_25).with_server_info(&info);
        assert_eq!(stamp_raw(RawJson::empty_object(), &target).get(), "{}");
    }

    #[test]
    fn deep_results_are_not_parsed() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(50_000), "]".repeat(50_000));
        let target = Target::new(ProtocolVersion::V2026_07_28);
        let stamped = stamp_raw(RawJson::from_string(deep.clone()).unwrap(), &target);
        assert_eq!(
            stamped.get(),
            format!("{{\"resultType\":\"complete\",{}", &deep[1..])
        );
    }
}
