//! The `Date` header of a response, which has a resolution of one second.

use std::cell::RefCell;
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use httpdate::HttpDate;

/// `Sun, 06 Nov 1994 08:49:37 GMT`
const LENGTH: usize = 29;

/// The last date that a thread has formatted.
struct CachedDate {
    second: u64,
    text: [u8; LENGTH],
}

thread_local! {
    static CACHED: RefCell<CachedDate> = const { RefCell::new(CachedDate { second: u64::MAX, text: [0; LENGTH] }) };
}

/// Appends the current date.
pub(super) fn write(out: &mut Vec<u8>) {
    write_at(SystemTime::now(), out);
}

fn write_at(now: SystemTime, out: &mut Vec<u8>) {
    let second = now
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    CACHED.with_borrow_mut(|cached| {
        if cached.second != second {
            // A date always has the same length, so it fits into the buffer.
            let _ = write!(cached.text.as_mut_slice(), "{}", HttpDate::from(now));
            cached.second = second;
        }
        out.extend_from_slice(&cached.text);
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn date_follows_the_clock() {
        let date = |seconds: f64| {
            let mut out = Vec::new();
            write_at(UNIX_EPOCH + Duration::from_secs_f64(seconds), &mut out);
            String::from_utf8(out).unwrap()
        };
        let first = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(date(784_111_777.0), first);
        assert_eq!(date(784_111_777.9), first);
        assert_eq!(date(784_111_778.0), "Sun, 06 Nov 1994 08:49:38 GMT");
        assert_eq!(date(784_111_777.0), first);
    }
}
