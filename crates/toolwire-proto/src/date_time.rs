//! Dates and times of RFC 3339, section 5.6.

/// Returns `true` for a "full-date".
#[cfg(feature = "input")]
pub(crate) fn is_date(text: &str) -> bool {
    days_since_epoch(text).is_some()
}

/// Returns the milliseconds between 1970-01-01 UTC and a "date-time", or `None` for any other text.
///
/// Digits after the milliseconds are ignored. A leap second counts as the second after it.
#[must_use]
pub fn date_time_ms(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', 't'])?;
    let (time, offset) = split_offset(time)?;
    let (time, milliseconds) = match time.split_once('.') {
        Some((time, digits)) => (time, fraction_ms(digits)?),
        None => (time, 0),
    };
    let [hour, minute, second] = numbers(time, "dd:dd:dd")?;
    if hour > 23 || minute > 59 {
        return None;
    }
    let minutes = (days_since_epoch(date)? * 24 + hour) * 60 + minute - offset;
    const DAY: i64 = 24 * 60;
    let may_be_leap_second = minutes.rem_euclid(DAY) == DAY - 1;
    let is_second = second <= 59 || (second == 60 && may_be_leap_second);
    is_second.then_some((minutes * 60 + second) * 1000 + milliseconds)
}

/// Returns the days between 1970-01-01 and a "full-date".
fn days_since_epoch(date: &str) -> Option<i64> {
    let [year, month, day] = numbers(date, "dddd-dd-dd")?;
    if !(1..=12).contains(&month) || !(1..=days_of_month(year, month)).contains(&day) {
        return None;
    }
    // The year 0 has no year before it here, so the count starts 400 years earlier.
    let of_years = |year: i64| year * 365 + year / 4 - year / 100 + year / 400;
    let years = of_years(year + 399) - of_years(1969 + 400);
    let months: i64 = (1..month).map(|month| days_of_month(year, month)).sum();
    Some(years + months + day - 1)
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let is_leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year => 29,
        2 => 28,
        _ => 31,
    }
}

/// Returns the milliseconds of the digits of a fraction of a second.
fn fraction_ms(digits: &str) -> Option<i64> {
    let is_valid = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let padded = digits.bytes().chain(*b"000").take(3);
    is_valid.then(|| padded.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

/// Splits off the offset from UTC, in minutes.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let at = time.rfind(['+', '-'])?;
    let (time, offset) = time.split_at(at);
    let [hours, minutes] = numbers(&offset[1..], "dd:dd")?;
    let distance = (hours <= 23 && minutes <= 59).then_some(hours * 60 + minutes)?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    Some((time, sign * distance))
}

/// Parses the numbers of a text of fixed shape. In `shape`, `d` stands for a digit and every other character for
/// itself.
fn numbers<const N: usize>(text: &str, shape: &str) -> Option<[i64; N]> {
    if text.len() != shape.len() {
        return None;
    }
    let mut numbers = [0; N];
    let mut index = 0;
    for (byte, expected) in text.bytes().zip(shape.bytes()) {
        match expected {
            b'd' if byte.is_ascii_digit() => {
                let number = numbers.get_mut(index)?;
                *number = *number * 10 + i64::from(byte - b'0');
            }
            b'd' => return None,
            _ if byte == expected => index += 1,
            _ => return None,
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::task_rules::time_text;

    #[test]
    fn fraction_and_offset_count() {
        let check = |text: &str, expected: i64| {
            assert_eq!(date_time_ms(text), Some(expected), "{text}");
        };
        check("1970-01-01T00:00:00Z", 0);
        check("1970-01-01t00:00:00.5z", 500);
        check("1970-01-01T00:00:01.0019Z", 1001);
        check("1970-01-01T01:30:00+01:30", 0);
        check("1969-12-31T23:00:00-01:00", 0);
        check("1969-12-31T23:59:59Z", -1000);
        check("0000-01-01T00:00:00Z", -62_167_219_200_000);
        check("2000-02-29T00:00:00Z", 951_782_400_000);
        check("2016-12-31T23:59:60Z", 1_483_228_800_000);
    }

    proptest! {
        #[test]
        fn written_times_are_read_back(ms in 0_i64..253_402_300_800_000) {
            prop_assert_eq!(date_time_ms(&time_text(ms.unsigned_abs())), Some(ms));
        }

        #[test]
        fn no_text_panics(text in any::<String>(), close in "[-0-9Tt:.Zz+é]{0,30}") {
            let _ = date_time_ms(&text);
            let _ = date_time_ms(&close);
            let _ = date_time_ms(&format!("1970-01-01T00:00:00.{close}Z"));
        }
    }
}
