//! The id of a message that is rejected, so that the error can contain it.
//!
//! The top-level members are scanned. Nested containers are skipped by counting brackets, so any depth is accepted.

use toolwire_types::RequestId;

use crate::strict_json::Limits;
use crate::strict_json::cursor::{Cursor, Malformed};
use crate::strict_json::members::{IdMember, Members};
use crate::strict_json::text::unescape;

/// Returns the top-level `id` of a message, even if the rest is nested too deeply or repeats names.
///
/// The result agrees with [`crate::strict_json::read`] if that succeeds under the default limits. Two `id` members
/// count as no id.
#[must_use]
pub fn salvage_id(bytes: &[u8]) -> Option<RequestId> {
    let members = std::str::from_utf8(bytes).ok().and_then(scan)?;
    match members.id(Limits::default().id_bytes) {
        IdMember::Valid(id) => Some(id),
        IdMember::Absent | IdMember::Null | IdMember::Refused => None,
    }
}

/// Returns the id for an error response to this text.
pub(super) fn id_to_echo(text: &str, limits: &Limits) -> Option<RequestId> {
    scan(text)?.id_to_echo(limits.id_bytes)
}

fn scan(text: &str) -> Option<Members<'_>> {
    scan_members(&mut Cursor::new(text)).ok()
}

fn scan_members<'a>(cursor: &mut Cursor<'a>) -> Result<Members<'a>, Malformed> {
    let mut members = Members::default();
    cursor.skip_whitespace();
    cursor.expect(b'{')?;
    cursor.skip_whitespace();
    if !cursor.eat(b'}') {
        loop {
            cursor.skip_whitespace();
            let name = cursor.string()?;
            cursor.skip_whitespace();
            cursor.expect(b':')?;
            cursor.skip_whitespace();
            let start = cursor.position();
            match cursor.peek() {
                Some(b'{' | b'[') => cursor.skip_container()?,
                _ => cursor.scalar()?,
            }
            members.put(&unescape(name.text), cursor.since(start));
            cursor.skip_whitespace();
            if !cursor.eat(b',') {
                cursor.expect(b'}')?;
                break;
            }
        }
    }
    cursor.skip_whitespace();
    if cursor.at_end() {
        Ok(members)
    } else {
        Err(Malformed)
    }
}
