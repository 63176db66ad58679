//! Raw descriptors in the revision of a client.

use serde::Serialize;
use serde_json::{Map, Value};
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::stamp::{Stamp, Target};
use toolwire_types::RawJson;

/// Returns a raw descriptor without the members that stamping removes from the decoded one.
pub(crate) fn stamped<T: Stamp + Serialize + Clone>(
    raw: &RawJson,
    decoded: &T,
    target: &Target<'_>,
) -> RawJson {
    let mut stamped = decoded.clone();
    stamped.stamp(target);
    let (Ok(Value::Object(before)), Ok(Value::Object(after))) = (
        serde_json::to_value(decoded),
        serde_json::to_value(&stamped),
    ) else {
        return raw.clone();
    };
    let Some(mut object) = RawObject::parse(raw.as_raw_value()) else {
        return raw.clone();
    };
    remove_missing(&mut object, &before, &after);
    object.finish_if_edited().unwrap_or_else(|| raw.clone())
}

fn remove_missing(
    object: &mut RawObject<'_>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) {
    for (name, old) in before {
        match (old, after.get(name)) {
            (_, None) => drop(object.remove(name)),
            (old, Some(new)) if old == new => {}
            (Value::Object(old), Some(Value::Object(new))) => {
                if let Some(inner) = object.object_mut(name) {
                    remove_missing(inner, old, new);
                }
            }
            (Value::Array(old), Some(Value::Array(new))) => {
                if let Some(elements) = object.array_mut(name) {
                    let pairs = old.iter().zip(new);
                    for (element, (old, new)) in elements.objects_mut().zip(pairs) {
                        if let (Value::Object(old), Value::Object(new)) = (old, new) {
                            remove_missing(element, old, new);
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use toolwire_types::{ProtocolVersion, Tool};

    use super::*;

    #[test]
    fn older_revisions_lose_only_what_stamping_removes() {
        let text = r#"{"x":1.0,"title":"T","name":"a","icons":[{"src":"i"}],"inputSchema":{"type":"object","n":1e2}}"#;
        let raw = RawJson::from_string(text.to_owned()).unwrap();
        let tool: Tool = raw.parse().unwrap();
        let in_version = |version| stamped(&raw, &tool, &Target::new(version));
        assert_eq!(in_version(ProtocolVersion::V2026_07_28).get(), text);
        assert_eq!(
            in_version(ProtocolVersion::V2024_11_05).get(),
            r#"{"x":1.0,"name":"a","inputSchema":{"type":"object","n":1e2}}"#
        );
    }
}
