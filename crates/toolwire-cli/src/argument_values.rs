//! Reads the values of options.

use std::ffi::OsString;
use std::time::Duration;

use toolwire::{LoggingLevel, ProtocolVersion};

pub(crate) fn revision(text: &str) -> Result<ProtocolVersion, String> {
    text.parse().map_err(|_| {
        let known = ProtocolVersion::ALL.map(ProtocolVersion::as_str);
        format!("the revisions are {}", known.join(", "))
    })
}

pub(crate) fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write it as `Name: value`".to_owned()),
    }
}

pub(crate) fn variable(text: &str) -> Result<(OsString, Option<OsString>), String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.into())),
        None => (text, None),
    };
    if name.is_empty() || text.contains('\0') {
        Err("write it as `NAME=value` or `NAME`".to_owned())
    } else {
        Ok((name.into(), value))
    }
}

pub(crate) fn input(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((id, value)) if !id.is_empty() => Ok((id.to_owned(), value.to_owned())),
        _ => Err("write it as `ID=VALUE`".to_owned()),
    }
}

pub(crate) fn level(text: &str) -> Result<LoggingLevel, String> {
    serde_json::from_value(text.into()).map_err(|_| {
        let known = LoggingLevel::ALL.map(|level| crate::show::level_name(level).to_owned());
        format!("the levels are {}", known.join(", "))
    })
}

/// Parses a duration with its unit. Without a unit it is in seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("write it as `500ms`, `30s`, `2m` or `1h`".to_owned()),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "write it as `500ms`, `30s`, `2m` or `1h`".to_owned())?;
    match Duration::try_from_secs_f64(number * seconds) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("it must be greater than zero and not too large".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        fn check(text: &str, expected: Option<u64>) {
            let milliseconds = duration(text).ok().map(|duration| duration.as_millis());
            assert_eq!(milliseconds, expected.map(u128::from), "{text}");
        }
        check("500ms", Some(500));
        check("30s", Some(30_000));
        check("1.5", Some(1500));
        check("2m", Some(120_000));
        check("1h", Some(3_600_000));
        check("0", None);
        check("", None);
        check("ten", None);
        check("5d", None);
        check("99999999999999999999h", None);
    }

    #[test]
    fn variables_have_a_name_and_an_optional_value() {
        assert_eq!(variable("A=b=c"), Ok(("A".into(), Some("b=c".into()))));
        assert_eq!(variable("A="), Ok(("A".into(), Some("".into()))));
        assert_eq!(variable("A"), Ok(("A".into(), None)));
        assert!(variable("=b").is_err());
        assert!(variable("").is_err());
    }

    #[test]
    fn headers_have_a_name() {
        assert_eq!(header("A: b: c"), Ok(("A".into(), "b: c".into())));
        assert_eq!(header("A:"), Ok(("A".into(), String::new())));
        assert!(header(": b").is_err());
        assert!(header("A").is_err());
    }
}
