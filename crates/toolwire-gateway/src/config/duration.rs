//! Durations such as `30s`.

use std::time::Duration;

/// The longest duration of a configuration: 366 days.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The units, and their milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Parses a whole number and a unit. Returns `None` if the text is invalid, zero, or longer than 366 days.
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, milliseconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let milliseconds = number.parse::<u64>().ok()?.checked_mul(*milliseconds)?;
    let duration = Duration::from_millis(milliseconds);
    (!duration.is_zero() && duration <= LONGEST).then_some(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        let check = |text: &str, milliseconds: Option<u64>| {
            let expected = milliseconds.map(Duration::from_millis);
            assert_eq!(parse_duration(text), expected, "{text}");
        };
        check("500ms", Some(500));
        check("1m", Some(60_000));
        check("366d", Some(366 * 86_400_000));
        check("367d", None);
        for invalid in [
            "",
            "1",
            "s",
            "0s",
            "-1s",
            "1 s",
            "1.5s",
            "1w",
            "99999999999999999999s",
        ] {
            check(invalid, None);
        }
    }
}
