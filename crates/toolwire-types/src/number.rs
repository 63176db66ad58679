//! Serializes floating-point members as JavaScript does: an integral value has no fraction.
//!
//! A member `progress: 50`, parsed as `f64`, must not become `50.0`, because stricter peers do not accept `50.0` as an
//! integer.

use serde::Serializer;

/// The largest integer such that all integers up to it are exact as `f64`.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_991.0;

/// Serializes a number. An integral value is written without a fraction.
#[expect(
    clippy::cast_possible_truncation,
    reason = "only integral values within the exact range are cast"
)]
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires this signature for serialize_with"
)]
pub(crate) fn shortest<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 && number.abs() <= EXACT_INTEGERS {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// Serializes an optional number. An integral value is written without a fraction.
pub(crate) fn shortest_option<S: Serializer>(
    number: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => shortest(number, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(number: f64, expected: &str) {
        let mut text = Vec::new();
        shortest_option(&Some(number), &mut serde_json::Serializer::new(&mut text)).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn integral_values_are_written_without_a_fraction() {
        check(50.0, "50");
        check(-3.0, "-3");
        check(-0.0, "0");
        check(0.5, "0.5");
        check(1e300, "1e+300");
        check(f64::NAN, "null");
    }
}
