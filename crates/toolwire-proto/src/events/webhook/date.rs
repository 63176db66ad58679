//! Parsing of dates and times in the form of RFC 3339.

/// Returns the milliseconds between 1970-01-01 UTC and a date and time of RFC 3339.
///
/// Returns `None` for any other text, and for times before 1970. Digits after the milliseconds are ignored, and a leap
/// second counts as the second after it.
#[must_use]
pub fn parse_date_time(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let number = |at: usize, length: usize| -> Option<i64> {
        let digits = bytes.get(at..at + length)?;
        let is_number = digits.iter().all(u8::is_ascii_digit);
        is_number
            .then(|| std::str::from_utf8(digits).ok()?.parse().ok())
            .flatten()
    };
    let is_at = |at: usize, expected: &[u8]| {
        bytes
            .get(at)
            .is_some_and(|byte| expected.contains(&byte.to_ascii_uppercase()))
    };
    let separators: [(usize, &[u8]); 5] =
        [(4, b"-"), (7, b"-"), (10, b"T "), (13, b":"), (16, b":")];
    if !separators.iter().all(|(at, expected)| is_at(*at, expected)) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    let is_valid = (1..=12).contains(&month)
        && (1..=days_of_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !is_valid {
        return None;
    }
    let rest = text.get(19..)?;
    let (milliseconds, rest) = fraction(rest)?;
    let offset_minutes = offset(rest)?;
    let days = days_since_epoch(year, month, day);
    let minutes = (days * 24 + hour) * 60 + minute - offset_minutes;
    u64::try_from((minutes * 60 + second) * 1000 + milliseconds).ok()
}

/// Returns the milliseconds of a fraction of a second, and the rest of the text.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(text) = text.strip_prefix('.') else {
        return Some((0, text));
    };
    let end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() {
        return None;
    }
    let milliseconds: String = digits.chars().chain("000".chars()).take(3).collect();
    Some((milliseconds.parse().ok()?, rest))
}

/// Returns the minutes of an offset from UTC.
fn offset(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let (sign, text) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str| -> Option<i64> {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the days between 1970-01-01 and a date of the Gregorian calendar.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let of_years = |year: i64| year * 365 + year / 4 - year / 100 + year / 400;
    let before = of_years(year - 1) - of_years(1969);
    let months: i64 = (1..month).map(|month| days_of_month(year, month)).sum();
    before + months + day - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::task_rules::time_text;

    #[test]
    fn dates_and_times_are_parsed_with_fraction_and_offset() {
        let check = |text: &str, expected: u64| {
            assert_eq!(parse_date_time(text), Some(expected), "{text}");
        };
        check("1970-01-01T00:00:00Z", 0);
        check("1970-01-01t00:00:00.5z", 500);
        check("1970-01-01 00:00:01.0019Z", 1001);
        check("1970-01-01T01:30:00+01:30", 0);
        check("1969-12-31T23:00:00-01:00", 0);
        check("2000-02-29T00:00:00Z", 951_782_400_000);
        check("2016-12-31T23:59:60Z", 1_483_228_800_000);
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in [
            "",
            "2026-10-05",
            "2026-10-05T12:00:00",
            "2026-13-05T12:00:00Z",
            "2026-02-29T12:00:00Z",
            "2100-02-29T12:00:00Z",
            "2026-10-05T24:00:00Z",
            "2026-10-05T12:00:00.Z",
            "2026-10-05T12:00:00+1:00",
            "2026-10-05T12:00:00+24:00",
            "2026-10-05T12:00:00Zx",
            "+026-10-05T12:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-10-05T12:00:00ä",
        ] {
            assert_eq!(parse_date_time(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn formatted_times_are_parsed_back(ms in 0_u64..253_402_300_800_000) {
            prop_assert_eq!(parse_date_time(&time_text(ms)), Some(ms));
        }

        #[test]
        fn texts_without_a_date_are_rejected(text in "[-0-9TZ:. +ä]{0,19}") {
            prop_assert_eq!(parse_date_time(&text), None);
        }
    }
}
