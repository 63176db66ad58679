//! The parameters of a request, from a query or a form body.

use std::fmt;

use crate::rules::form;

/// The maximum length of a query or form, in bytes.
pub(crate) const LONGEST_PARAMETERS: usize = 32 * 1024;

/// The only parameter that may occur more than once (RFC 8707, section 2).
const REPEATABLE: &str = "resource";

/// Parameters that each occur once, except `resource` (RFC 6749, section 3.1). A parameter without a value counts as
/// absent.
#[derive(Clone)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses a query or a form.
    ///
    /// # Errors
    /// Returns an error if it is too long or cannot be decoded.
    pub(crate) fn read(text: &str) -> Result<Self, ParametersError> {
        if text.len() > LONGEST_PARAMETERS {
            return Err(ParametersError::Malformed);
        }
        let mut pairs = form::decode(text).ok_or(ParametersError::Malformed)?;
        pairs.retain(|(_, value)| !value.is_empty());
        Ok(Self(pairs))
    }

    /// Returns the value of a parameter that occurs at most once.
    ///
    /// # Errors
    /// Returns an error if it occurs twice, because two parsers could use different values.
    pub(crate) fn single(&self, name: &'static str) -> Result<Option<&str>, ParametersError> {
        let mut values = self.all(name);
        let value = values.next();
        match values.next() {
            None => Ok(value),
            Some(_) => Err(ParametersError::Duplicate(name)),
        }
    }

    /// Returns all values of a parameter.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let pairs = self.0.iter();
        let matching = pairs.filter(move |(pair_name, _)| pair_name == name);
        matching.map(|(_, value)| value.as_str())
    }

    /// Rejects duplicate parameters, including unknown ones.
    ///
    /// # Errors
    /// Returns an error if a parameter other than `resource` occurs twice.
    pub(crate) fn check_no_duplicates(&self) -> Result<(), ParametersError> {
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.retain(|name| *name != REPEATABLE);
        names.sort_unstable();
        let is_duplicate = |pair: &[&str]| matches!(pair, [one, other] if one == other);
        if names.windows(2).any(is_duplicate) {
            Err(ParametersError::Duplicate("a parameter"))
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for Parameters {
    /// Prints the names only, because values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

/// The error of invalid parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum ParametersError {
    /// The parameters are too long or cannot be decoded.
    Malformed,
    /// This parameter occurs twice.
    Duplicate(&'static str),
}

impl fmt::Display for ParametersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("the parameters are too long or malformed"),
            Self::Duplicate(name) => write!(f, "{name} occurs twice"),
        }
    }
}

impl std::error::Error for ParametersError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn duplicate_parameters_are_rejected() {
        let parameters = Parameters::read("a=1&b=&c=2&c=3&resource=x&resource=y").unwrap();
        assert_eq!(parameters.single("a"), Ok(Some("1")));
        assert_eq!(parameters.single("b"), Ok(None));
        assert_eq!(parameters.single("d"), Ok(None));
        let duplicate = Err(ParametersError::Duplicate("c"));
        assert_eq!(parameters.single("c"), duplicate);
        assert!(parameters.check_no_duplicates().is_err());
        assert!(parameters.all("resource").eq(["x", "y"]));
        let fine = Parameters::read("a=1&resource=x&resource=y").unwrap();
        assert_eq!(fine.check_no_duplicates(), Ok(()));
    }

    #[test]
    fn parameters_over_the_maximum_length_are_rejected() {
        let longest = format!("a={}", "b".repeat(LONGEST_PARAMETERS - 2));
        assert!(Parameters::read(&longest).is_ok());
        let longer = Parameters::read(&format!("{longest}b"));
        assert_eq!(longer.unwrap_err(), ParametersError::Malformed);
        assert!(Parameters::read("a=%zz").is_err());
    }

    #[test]
    fn debug_output_contains_no_values() {
        let parameters = Parameters::read("code_verifier=hidden").unwrap();
        assert_eq!(format!("{parameters:?}"), r#"["code_verifier"]"#);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in any::<String>()) {
            if let Ok(parameters) = Parameters::read(&text) {
                let _ = parameters.check_no_duplicates();
                let _ = parameters.single("a");
            }
        }
    }
}
