//! The parameters of a request: a query, or a form in a body.

use std::fmt;

use crate::auth::form;

/// The longest query or form that is read, in bytes.
pub const LONGEST_PARAMETERS: usize = 32 * 1024;

/// The one parameter that may come more than once (RFC 8707, section 2).
const REPEATABLE: &str = "resource";

/// Parameters of which each is there once, except `resource` (RFC 6749, section 3.1). One without a value is absent.
#[derive(Clone)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads a query or a form.
    ///
    /// # Errors
    /// When it is too long or cannot be decoded.
    pub fn read(text: &str) -> Result<Self, ParametersRefused> {
        if text.len() > LONGEST_PARAMETERS {
            return Err(ParametersRefused::Unreadable);
        }
        let mut pairs = form::decode(text).ok_or(ParametersRefused::Unreadable)?;
        pairs.retain(|(_, value)| !value.is_empty());
        Ok(Self(pairs))
    }

    /// The value of a parameter that is there once.
    ///
    /// # Errors
    /// When it is there twice: two readers could take different ones.
    pub fn single(&self, name: &'static str) -> Result<Option<&str>, ParametersRefused> {
        let mut values = self.all(name);
        let value = values.next();
        match values.next() {
            None => Ok(value),
            Some(_) => Err(ParametersRefused::Doubled(name)),
        }
    }

    /// All values of a parameter.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let found = self.0.iter().filter(move |(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Refuses parameters that are there twice, also those that nobody knows.
    ///
    /// # Errors
    /// When one is, and it is not `resource`.
    pub fn check_each_once(&self) -> Result<(), ParametersRefused> {
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.retain(|name| *name != REPEATABLE);
        names.sort_unstable();
        let doubled = |pair: &[&str]| matches!(pair, [one, other] if one == other);
        match names.windows(2).any(doubled) {
            true => Err(ParametersRefused::Doubled("a parameter")),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for Parameters {
    /// The names alone: values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

/// Parameters that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParametersRefused {
    /// They are too long or cannot be decoded.
    Unreadable,
    /// This one is there twice.
    Doubled(&'static str),
}

impl fmt::Display for ParametersRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => f.write_str("the parameters cannot be read"),
            Self::Doubled(name) => write!(f, "{name} is there twice"),
        }
    }
}

impl std::error::Error for ParametersRefused {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parameters_are_there_once_or_not_at_all() {
        let parameters = Parameters::read("a=1&b=&c=2&c=3&resource=x&resource=y").unwrap();
        assert_eq!(parameters.single("a"), Ok(Some("1")));
        assert_eq!(parameters.single("b"), Ok(None));
        assert_eq!(parameters.single("d"), Ok(None));
        let doubled = Err(ParametersRefused::Doubled("c"));
        assert_eq!(parameters.single("c"), doubled);
        assert!(parameters.check_each_once().is_err());
        assert!(parameters.all("resource").eq(["x", "y"]));
        let fine = Parameters::read("a=1&resource=x&resource=y").unwrap();
        assert_eq!(fine.check_each_once(), Ok(()));
    }

    #[test]
    fn parameters_are_read_up_to_their_longest_and_no_further() {
        let longest = format!("a={}", "b".repeat(LONGEST_PARAMETERS - 2));
        assert!(Parameters::read(&longest).is_ok());
        let longer = Parameters::read(&format!("{longest}b"));
        assert_eq!(longer.unwrap_err(), ParametersRefused::Unreadable);
        assert!(Parameters::read("a=%zz").is_err());
    }

    #[test]
    fn values_do_not_print() {
        let parameters = Parameters::read("code_verifier=hidden").unwrap();
        assert_eq!(format!("{parameters:?}"), r#"["code_verifier"]"#);
    }

    proptest! {
        #[test]
        fn reading_anything_does_not_panic(text in any::<String>()) {
            if let Ok(parameters) = Parameters::read(&text) {
                let _ = parameters.check_each_once();
                let _ = parameters.single("a");
            }
        }
    }
}
