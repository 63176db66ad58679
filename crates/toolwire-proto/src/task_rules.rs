//! The rules of tasks that both designs share: ids, times, statuses and the keys of input requests.
//!
//! 2025-11-25 has tasks in the core, 2026-07-28 has the extension `io.modelcontextprotocol/tasks`. A server stores a
//! task once and reports it in the form of the version of each request.

#[cfg(feature = "input")]
use base64::Engine as _;
#[cfg(feature = "input")]
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Serialize, Serializer};
#[cfg(feature = "input")]
use sha2::{Digest as _, Sha256};
use toolwire_types::tasks::TaskStatus;
use toolwire_types::tasks::core::TaskMetadata;
use toolwire_types::tasks::extension::EXTENSION_ID;
use toolwire_types::{ClientCapabilities, ErrorObject, ProtocolVersion, TaskSupport};

use crate::extensions;
use crate::features::VersionFeatures;

/// The number of random bytes of a new task id. Five bits of each are used: 130 bits in total.
///
/// Tasks extension, "Security Considerations": an id must not be guessable, because it may be the only protection of a
/// task.
pub const ID_BYTES: usize = 26;

/// The longest id that can be a task of this server, in bytes.
pub const MAX_ID_BYTES: usize = 128;

/// The characters of an id: valid in a header field and in a file name, and never the start of an option.
const ID_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Returns a task id made of random bytes.
#[must_use]
pub fn new_id(random: [u8; ID_BYTES]) -> String {
    let char_of = |byte: u8| char::from(ID_ALPHABET[usize::from(byte) % ID_ALPHABET.len()]);
    random.into_iter().map(char_of).collect()
}

/// Returns `true` if a text can be the id of a task. A peer may send any text.
#[must_use]
pub fn is_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !text.is_empty() && text.len() <= MAX_ID_BYTES && text.bytes().all(allowed)
}

/// Returns the owner of a task as stores have it: a digest of the text of a principal. The text can name a person.
#[cfg(feature = "input")]
#[must_use]
pub fn owner(principal: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(b"task owner\0");
    hash.update(principal);
    URL_SAFE_NO_PAD.encode(hash.finalize())
}

/// Whether the response to a call may be a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "there are two designs, and clients without either"
)]
pub enum ClientTasks {
    /// The client does not support tasks.
    Unsupported,
    /// The client requests a task, with this TTL (2025-11-25).
    Requested {
        /// The requested TTL in milliseconds.
        ttl_ms: Option<u64>,
    },
    /// The client accepts a task (2026-07-28).
    Accepted,
}

impl ClientTasks {
    /// Returns what a call permits. `requested` is its parameter `task`. Each revision has at most one of both designs.
    ///
    /// Tasks extension: a declaration is valid for its own request only.
    #[must_use]
    pub fn of_call<'c>(
        version: ProtocolVersion,
        requested: Option<&TaskMetadata>,
        declared: impl FnOnce() -> &'c ClientCapabilities,
    ) -> Self {
        match requested {
            Some(task) if version.has_core_tasks() => Self::Requested { ttl_ms: task.ttl },
            _ if version.has_extensions()
                && extensions::check_declared(EXTENSION_ID, declared()).is_ok() =>
            {
                Self::Accepted
            }
            _ => Self::Unsupported,
        }
    }

    /// Rejects a call that the tool does not support in this way.
    ///
    /// # Errors
    /// Returns −32601 up to 2025-11-25 (basic/utilities/tasks, "Tool-Level Negotiation"), and −32021 if a 2026-07-28 client
    /// calls a tool that runs only as a task and did not declare the extension.
    pub fn check(
        self,
        version: ProtocolVersion,
        tool: &str,
        support: TaskSupport,
    ) -> Result<(), ErrorObject> {
        match (self, support) {
            (Self::Requested { .. }, TaskSupport::Forbidden) => Err(ErrorObject::method_not_found(
                format!("the tool `{tool}` cannot run as a task"),
            )),
            (Self::Unsupported, TaskSupport::Required) if version.has_extensions() => {
                extensions::check_declared(EXTENSION_ID, &ClientCapabilities::new())
            }
            (Self::Unsupported, TaskSupport::Required) => Err(ErrorObject::method_not_found(
                format!("the tool `{tool}` runs only as a task"),
            )),
            _ => Ok(()),
        }
    }
}

/// Returns the status of a task in the core design. `is_error` tells whether the tool reported an error in its result.
///
/// 2025-11-25, basic/utilities/tasks, "Tool Execution Errors": such a task has failed. In the extension, only a
/// JSON-RPC error makes a task fail.
#[must_use]
pub fn status_in_core(status: TaskStatus, is_error: bool) -> TaskStatus {
    if is_error && status == TaskStatus::Completed {
        TaskStatus::Failed
    } else {
        status
    }
}

/// Decides about `tasks/cancel`. Returns `true` if it ends the task, and `false` if nothing changes. `is_error` has the
/// meaning of [`status_in_core`].
///
/// Tasks extension, "Cancellation": the acknowledgement is the same for a final task.
///
/// # Errors
/// Returns −32602 for a final task of 2025-11-25 (basic/utilities/tasks, "Task Cancellation").
pub fn check_cancel(
    version: ProtocolVersion,
    status: TaskStatus,
    is_error: bool,
) -> Result<bool, ErrorObject> {
    let name = match status_in_core(status, is_error) {
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Cancelled => "cancelled",
        _ => return Ok(true),
    };
    if version.has_core_tasks() {
        Err(ErrorObject::invalid_params(format!(
            "the task has ended: {name}"
        )))
    } else {
        Ok(false)
    }
}

/// Returns the key under which clients see the input request number `number` (from 1 on) with this key of the handler.
///
/// Tasks extension: keys are unique for the life of a task, also after a response. A handler that asks something else
/// under the same key therefore gets another key on the wire.
#[must_use]
pub fn input_key(key: &str, number: usize) -> String {
    if number <= 1 {
        key.to_owned()
    } else {
        format!("{key}~{number}")
    }
}

/// Returns a time in the form of RFC 3339, in UTC with milliseconds. `ms` counts from 1970-01-01.
#[must_use]
pub fn time_text(ms: u64) -> String {
    TimeText(ms).with_text(str::to_owned)
}

/// A time in milliseconds since 1970-01-01, which is serialized as its [`time_text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "it is a number with another serialization"
)]
pub struct TimeText(pub u64);

impl TimeText {
    /// Writes the digits into a buffer on the stack, because each poll has two times.
    fn with_text<T>(self, read: impl FnOnce(&str) -> T) -> T {
        let (seconds, millis) = (self.0 / 1000, self.0 % 1000);
        let (days, rest) = (seconds / 86_400, seconds % 86_400);
        // A year with five digits is not a time of RFC 3339.
        let (year, month, day) = civil_date(days.min(LAST_DAY_OF_YEAR_9999));
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut write = |at: usize, digits: usize, mut number: u64| {
            for digit in text[at..at + digits].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        };
        write(0, 4, year);
        write(5, 2, month);
        write(8, 2, day);
        write(11, 2, rest / 3600);
        write(14, 2, rest / 60 % 60);
        write(17, 2, rest % 60);
        write(20, 3, millis);
        read(str::from_utf8(&text).expect("the text has only digits and separators"))
    }
}

impl Serialize for TimeText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_text(|text| serializer.serialize_str(text))
    }
}

/// The number of days from 1970-01-01 to 9999-12-31.
const LAST_DAY_OF_YEAR_9999: u64 = 2_932_896;

/// Converts days since 1970-01-01 to year, month and day of the Gregorian calendar.
///
/// The calendar repeats every 400 years, and a year that starts in March has its leap day at the end.
fn civil_date(days: u64) -> (u64, u64, u64) {
    const DAYS_TO_MARCH_OF_YEAR_0: u64 = 719_468;
    const DAYS_IN_400_YEARS: u64 = 146_097;

    let days = days + DAYS_TO_MARCH_OF_YEAR_0;
    let (cycle, day) = (days / DAYS_IN_400_YEARS, days % DAYS_IN_400_YEARS);
    let year_of_cycle = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = cycle * 400 + year_of_cycle + u64::from(month <= 2);
    (year, month, day_of_month)
}

/// How long a task stays readable after the end of its life, in milliseconds.
pub const GRACE_MS: u64 = 60_000;

/// How long the outcome of a task stays readable at least, in milliseconds.
pub const OUTCOME_MS: u64 = 600_000;

/// Returns the TTL of a task that ends now. It grows if the outcome would be gone too soon.
///
/// Tasks extension: `ttlMs` counts from the creation and may change.
#[must_use]
pub fn final_ttl(ttl_ms: Option<u64>, created_at_ms: u64, now_ms: u64) -> Option<u64> {
    let least = now_ms
        .saturating_sub(created_at_ms)
        .saturating_add(OUTCOME_MS);
    ttl_ms.map(|ttl| ttl.max(least))
}

/// Returns when a task is forgotten.
#[must_use]
pub fn forgotten_at(ttl_ms: Option<u64>, created_at_ms: u64) -> Option<u64> {
    let end = ttl_ms.map(|ttl| created_at_ms.saturating_add(ttl));
    end.map(|end| end.saturating_add(GRACE_MS))
}

/// Returns `true` if the life of an unfinished task has ended.
#[must_use]
pub fn has_ended(ttl_ms: Option<u64>, created_at_ms: u64, now_ms: u64) -> bool {
    ttl_ms.is_some_and(|ttl| created_at_ms.saturating_add(ttl) <= now_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_valid_and_use_every_random_byte() {
        let zeros = new_id([0; ID_BYTES]);
        assert_eq!(zeros.len(), ID_BYTES);
        assert!(is_id(&zeros) && is_id(&new_id([255; ID_BYTES])));
        for index in 0..ID_BYTES {
            let mut random = [0; ID_BYTES];
            random[index] = 1;
            assert_ne!(new_id(random), zeros);
        }
    }

    #[test]
    fn texts_of_peers_are_ids_or_not() {
        let longest = "a".repeat(MAX_ID_BYTES);
        for id in ["a", "A-_9", longest.as_str()] {
            assert!(is_id(id), "{id}");
        }
        let too_long = "a".repeat(MAX_ID_BYTES + 1);
        for text in ["", "a b", "a/b", "../a", "ü", "a\n", too_long.as_str()] {
            assert!(!is_id(text), "{text}");
        }
    }

    #[cfg(feature = "input")]
    #[test]
    fn owner_is_the_same_in_every_release() {
        let principal = r#"["https://issuer","subject","ann"]"#;
        assert_eq!(
            owner(principal),
            "wd408dW8PvRndyznb90gLbhtmvrVc3SV8enpiExRnL0"
        );
        assert_ne!(owner(&principal.replace("ann", "bob")), owner(principal));
    }

    #[test]
    fn each_design_has_its_own_revision() {
        let declared: ClientCapabilities = serde_json::from_str(
            r#"{"tasks":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
        )
        .expect("valid capabilities");
        let undeclared: ClientCapabilities = serde_json::from_str(
            r#"{"tasks":{},"extensions":{"io.modelcontextprotocol/tasks":null}}"#,
        )
        .expect("valid capabilities");
        let task = TaskMetadata::new().with_ttl(5);
        for version in ProtocolVersion::ALL {
            let of = |task: Option<&TaskMetadata>, declared: &ClientCapabilities| {
                ClientTasks::of_call(version, task, || declared)
            };
            let requested = ClientTasks::Requested { ttl_ms: Some(5) };
            let (with_task, without_task) = match version {
                ProtocolVersion::V2025_11_25 => (requested, ClientTasks::Unsupported),
                ProtocolVersion::V2026_07_28 => (ClientTasks::Accepted, ClientTasks::Accepted),
                _ => (ClientTasks::Unsupported, ClientTasks::Unsupported),
            };
            assert_eq!(of(Some(&task), &declared), with_task, "{version}");
            assert_eq!(of(None, &declared), without_task, "{version}");
            assert_eq!(of(None, &undeclared), ClientTasks::Unsupported, "{version}");
        }
    }

    #[test]
    fn unsupported_calls_are_rejected() {
        use ClientTasks::{Accepted, Requested, Unsupported};
        use TaskSupport::{Forbidden, Optional, Required};
        let check = |version, client: ClientTasks, support, expected: Option<i64>| {
            let rejected = client.check(version, "t", support).err();
            assert_eq!(
                rejected.map(|error| error.code),
                expected,
                "{version} {client:?}"
            );
        };
        let (core, extension) = (ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28);
        check(core, Requested { ttl_ms: None }, Forbidden, Some(-32601));
        check(core, Requested { ttl_ms: None }, Optional, None);
        check(core, Requested { ttl_ms: None }, Required, None);
        for (version, code) in [(core, -32601), (extension, -32021)] {
            check(version, Unsupported, Required, Some(code));
            check(version, Unsupported, Optional, None);
            check(version, Unsupported, Forbidden, None);
        }
        for support in [Forbidden, Optional, Required] {
            check(extension, Accepted, support, None);
        }
    }

    #[test]
    fn error_result_fails_in_the_core_design() {
        let check = |status, is_error, expected| {
            assert_eq!(status_in_core(status, is_error), expected);
        };
        check(TaskStatus::Completed, true, TaskStatus::Failed);
        check(TaskStatus::Completed, false, TaskStatus::Completed);
        check(TaskStatus::Cancelled, true, TaskStatus::Cancelled);
    }

    #[test]
    fn final_task_is_cancelled_as_its_design_says() {
        let (core, extension) = (ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28);
        let check = |version, status, is_error, expected: Result<bool, &str>| {
            let decision = check_cancel(version, status, is_error);
            if let Err(error) = &decision {
                assert_eq!(error.code, -32602, "{status:?}");
            }
            let decision = decision.map_err(|error| error.message.into_owned());
            let expected = expected.map_err(|name| format!("the task has ended: {name}"));
            assert_eq!(decision, expected, "{version} {status:?}");
        };
        for version in [core, extension] {
            check(version, TaskStatus::Working, false, Ok(true));
            check(version, TaskStatus::InputRequired, false, Ok(true));
        }
        for (status, is_error, name) in [
            (TaskStatus::Completed, false, "completed"),
            (TaskStatus::Completed, true, "failed"),
            (TaskStatus::Failed, false, "failed"),
            (TaskStatus::Cancelled, false, "cancelled"),
        ] {
            check(core, status, is_error, Err(name));
            check(extension, status, is_error, Ok(false));
        }
    }

    #[test]
    fn input_keys_are_unique() {
        assert_eq!(input_key("confirm", 1), "confirm");
        assert_eq!(input_key("confirm", 2), "confirm~2");
        assert_eq!(input_key("confirm", 10), "confirm~10");
    }

    #[test]
    fn times_are_rfc_3339() {
        let check = |ms: u64, text: &str| assert_eq!(time_text(ms), text);
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(1_709_164_800_001, "2024-02-29T00:00:00.001Z");
        check(1_735_689_599_000, "2024-12-31T23:59:59.000Z");
        check(1_794_819_600_000, "2026-11-16T09:00:00.000Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
        check(253_402_300_799_999, "9999-12-31T23:59:59.999Z");
        check(253_402_300_800_000, "9999-12-31T00:00:00.000Z");
    }

    #[test]
    fn outcome_stays_readable() {
        assert_eq!(final_ttl(None, 0, 5), None);
        assert_eq!(final_ttl(Some(3_600_000), 0, 1000), Some(3_600_000));
        assert_eq!(final_ttl(Some(1000), 0, 900), Some(900 + OUTCOME_MS));
        assert_eq!(forgotten_at(None, 7), None);
        assert_eq!(forgotten_at(Some(1000), 7), Some(1007 + GRACE_MS));
        assert!(!has_ended(None, 0, u64::MAX));
        assert!(!has_ended(Some(10), 5, 14));
        assert!(has_ended(Some(10), 5, 15));
        assert!(!has_ended(Some(u64::MAX), 5, u64::MAX - 1));
    }
}
