//! Floating-point members, written the way JavaScript writes them.
//!
//! `progress: 50` read as `f64` must not go out as `50.0`: peers written in stricter languages would not take it for an
//! integer.

use serde::Serializer;

/// The largest magnitude below which every integer is exact as `f64`.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_991.0;

/// Writes a number, without a fraction when it has none.
#[expect(
    clippy::cast_possible_truncation,
    reason = "only whole numbers within the exact range are cast"
)]
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks of serialize_with"
)]
pub(crate) fn shortest<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 && number.abs() <= EXACT_INTEGERS {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// Writes an optional number, without a fraction when it has none.
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
    fn whole_numbers_lose_their_fraction_and_others_keep_it() {
        check(50.0, "50");
        check(-3.0, "-3");
        check(-0.0, "0");
        check(0.5, "0.5");
        check(1e300, "1e+300");
        check(f64::NAN, "null");
    }
}
