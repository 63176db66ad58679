//! The time of day for the `Date` of an answer, which HTTP tells in whole seconds.

use std::cell::RefCell;
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use httpdate::HttpDate;

/// `Sun, 06 Nov 1994 08:49:37 GMT`
const LENGTH: usize = 29;

/// The last second a thread has told.
struct CachedDate {
    second: u64,
    text: [u8; LENGTH],
}

thread_local! {
    static TOLD: RefCell<CachedDate> = const { RefCell::new(CachedDate { second: u64::MAX, text: [0; LENGTH] }) };
}

/// Writes the time of day.
pub(super) fn write(out: &mut Vec<u8>) {
    write_at(SystemTime::now(), out);
}

fn write_at(now: SystemTime, out: &mut Vec<u8>) {
    let second = now
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    TOLD.with_borrow_mut(|told| {
        if told.second != second {
            // A date has always the same length, so there is room for all of it.
            let _ = write!(told.text.as_mut_slice(), "{}", HttpDate::from(now));
            told.second = second;
        }
        out.extend_from_slice(&told.text);
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_text_follows_the_clock() {
        let told = |seconds: f64| {
            let mut out = Vec::new();
            write_at(UNIX_EPOCH + Duration::from_secs_f64(seconds), &mut out);
            String::from_utf8(out).unwrap()
        };
        let first = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(told(784_111_777.0), first);
        assert_eq!(told(784_111_777.9), first);
        assert_eq!(told(784_111_778.0), "Sun, 06 Nov 1994 08:49:38 GMT");
        assert_eq!(told(784_111_777.0), first);
    }
}
