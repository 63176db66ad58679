//! The list of tools of `bench-server`, stored as bytes: only the id is added.

use std::fmt::Write as _;

use serde_json::value::RawValue;

const TEXT: &str =
    r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;
const COUNT: &str =
    r#"{"type":"object","properties":{"n":{"type":"integer","minimum":0}},"required":["n"]}"#;
const END: &str = r#"],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"limit","version":"1.0.0"}}}}"#;

/// The response after its id.
pub(crate) struct ToolList(String);

impl ToolList {
    pub(crate) fn new(tools: usize) -> Self {
        let mut text = String::from(r#","result":{"resultType":"complete","tools":["#);
        let mut add = |name: &str, description: &str, schema: &str| {
            let comma = if text.ends_with('[') { "" } else { "," };
            // Writing to a string does not fail.
            let _ = write!(
                text,
                r#"{comma}{{"name":"{name}","description":"{description}","inputSchema":{schema}}}"#
            );
        };
        add("echo", "Repeats a text.", TEXT);
        if tools >= 3 {
            add("big", "Gives as many bytes as asked for.", COUNT);
            add("progress", "Reports progress as often as asked for.", COUNT);
        }
        let present = if tools >= 3 { 3 } else { 1 };
        for number in present..tools {
            add(&format!("tool_{number:04}"), "One of many.", TEXT);
        }
        text.push_str(END);
        Self(text)
    }

    pub(crate) fn response(&self, id: &RawValue) -> Vec<u8> {
        let id = id.get();
        let mut bytes = Vec::with_capacity(self.0.len() + id.len() + 32);
        bytes.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        bytes.extend_from_slice(id.as_bytes());
        bytes.extend_from_slice(self.0.as_bytes());
        bytes
    }
}
