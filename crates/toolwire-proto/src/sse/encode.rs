//! Encoder of an event stream.

use std::fmt;

use crate::sse::SseEvent;

/// An id or event type that cannot be written, because it would end its line or be ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the error has no details")]
pub struct UnsafeField;

impl fmt::Display for UnsafeField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("event id or type contains CR, LF or NUL")
    }
}

impl std::error::Error for UnsafeField {}

impl SseEvent {
    /// Appends the event as bytes. An empty event type is not written, because it means the default type.
    ///
    /// # Errors
    /// Returns an error if the id or the event type contains CR, LF or NUL. Nothing is written then.
    pub fn encode_into(&self, out: &mut Vec<u8>) -> Result<(), UnsafeField> {
        let event = self.event.as_deref().filter(|event| !event.is_empty());
        check(self.id.as_deref())?;
        check(event)?;
        write_field(out, "event", event);
        if let Some(retry) = self.retry {
            write_field(out, "retry", Some(&retry.as_millis().to_string()));
        }
        write_field(out, "id", self.id.as_deref());
        write_data(out, self.data.as_bytes());
        Ok(())
    }
}

/// Appends one message as an event, with an id if the stream is resumable.
///
/// # Errors
/// Returns an error if the id contains CR, LF or NUL. Nothing is written then.
pub fn encode_message(out: &mut Vec<u8>, id: Option<&str>, data: &[u8]) -> Result<(), UnsafeField> {
    check(id)?;
    write_field(out, "id", id);
    write_data(out, data);
    Ok(())
}

/// Appends a comment, which keeps a connection alive and is ignored otherwise. Line ends in it become spaces.
pub fn encode_comment(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b": ");
    let one_line = |byte| match byte {
        b'\r' | b'\n' => b' ',
        byte => byte,
    };
    out.extend(text.bytes().map(one_line));
    out.extend_from_slice(b"\n\n");
}

fn check(value: Option<&str>) -> Result<(), UnsafeField> {
    if value.is_some_and(|value| value.contains(['\r', '\n', '\0'])) {
        return Err(UnsafeField);
    }
    Ok(())
}

fn write_field(out: &mut Vec<u8>, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.push(b'\n');
    }
}

/// Writes one `data` line for each line of the data, then ends the event. A line cannot contain a carriage return, so
/// it counts as a line end. Otherwise data could inject fields.
fn write_data(out: &mut Vec<u8>, mut data: &[u8]) {
    out.reserve(data.len() + "data: \n\n".len());
    loop {
        let end = memchr::memchr2(b'\r', b'\n', data);
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&data[..end.unwrap_or(data.len())]);
        out.push(b'\n');
        let Some(end) = end else { break };
        let line_end = if data[end..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
        data = &data[end + line_end..];
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::SseDecoder;
    use super::*;

    #[track_caller]
    fn check_event(event: &SseEvent, expected: &str) {
        let mut out = Vec::new();
        event.encode_into(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn events_are_written_field_by_field() {
        check_event(&SseEvent::new("{}"), "data: {}\n\n");
        check_event(&SseEvent::new(""), "data: \n\n");
        check_event(&SseEvent::new("").with_id(""), "id: \ndata: \n\n");
        check_event(&SseEvent::new("").with_event(""), "data: \n\n");
        check_event(
            &SseEvent::new("a\nb")
                .with_id("7")
                .with_event("endpoint")
                .with_retry(Duration::from_secs(3)),
            "event: endpoint\nretry: 3000\nid: 7\ndata: a\ndata: b\n\n",
        );
    }

    #[test]
    fn data_cannot_inject_fields() {
        check_event(&SseEvent::new("a\rid: 1"), "data: a\ndata: id: 1\n\n");
        check_event(&SseEvent::new("a\r\n\n"), "data: a\ndata: \ndata: \n\n");
    }

    #[test]
    fn unsafe_ids_and_types_are_rejected() {
        for value in ["a\nb", "a\r", "\0"] {
            let mut out = Vec::new();
            assert_eq!(
                SseEvent::new("").with_id(value).encode_into(&mut out),
                Err(UnsafeField)
            );
            assert_eq!(
                SseEvent::new("").with_event(value).encode_into(&mut out),
                Err(UnsafeField)
            );
            assert_eq!(encode_message(&mut out, Some(value), b""), Err(UnsafeField));
            assert!(out.is_empty());
        }
    }

    #[test]
    fn messages_and_comments_share_a_stream() {
        let mut out = Vec::new();
        encode_comment(&mut out, "keep\r\nalive");
        encode_message(&mut out, None, b"{}").unwrap();
        encode_message(&mut out, Some("1"), b"[]").unwrap();
        assert_eq!(out, b": keep  alive\n\ndata: {}\n\nid: 1\ndata: []\n\n");
    }

    proptest! {
        #[test]
        fn encoded_events_are_decoded_back(
            id in prop::option::of("[^\r\n\0]{0,6}"),
            event in prop::option::of("[^\r\n\0]{1,6}"),
            data in "([ :\n\0\u{FEFF}a]|[^\r]){0,20}",
            retry in prop::option::of(any::<u64>().prop_map(Duration::from_millis)),
            comment in "\\PC{0,6}",
        ) {
            let expected = SseEvent { id, event, data, retry };
            let mut stream = Vec::new();
            encode_comment(&mut stream, &comment);
            expected.encode_into(&mut stream).unwrap();
            encode_comment(&mut stream, &comment);
            let mut decoder = SseDecoder::new(1024);
            let mut rest = &stream[..];
            prop_assert_eq!(decoder.next_event(&mut rest), Some(Ok(expected)));
            prop_assert_eq!(decoder.next_event(&mut rest), None);
        }
    }
}
