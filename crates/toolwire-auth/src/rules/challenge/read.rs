//! Parses challenges (RFC 9110, section 11.6.1): several schemes in one header, several headers, quoted commas.
//!
//! The grammar needs one token of lookahead: after a comma, a name with `=` is a parameter of the previous challenge,
//! and a name without it is the next scheme. Two deviations of existing servers are accepted: parameters without commas
//! between them, and URLs without quotes. At the first syntax error, parsing of the header stops. Challenges that were
//! complete before are returned.

use crate::rules::challenge::{Challenge, ChallengeError, TokenScheme};

/// The maximum length of a header, in bytes. A longer header is skipped.
pub(crate) const LONGEST_HEADER: usize = 16 * 1024;

/// Returns the `Bearer` and `DPoP` challenges of all `WWW-Authenticate` headers of a response, in order.
///
/// A challenge with a duplicate parameter is dropped, because parsers would disagree about it.
#[must_use]
pub(crate) fn parse<'a>(headers: impl IntoIterator<Item = &'a str>) -> Vec<Challenge> {
    let mut challenges = Vec::new();
    for header in headers {
        if header.len() <= LONGEST_HEADER {
            read_header(header, &mut challenges);
        }
    }
    challenges
}

fn read_header(header: &str, challenges: &mut Vec<Challenge>) {
    let mut cursor = ChallengeCursor { rest: header };
    // The challenge that parameters belong to. `None` for unknown schemes and after duplicate parameters.
    let mut current: Option<Challenge> = None;
    loop {
        cursor.skip_separators();
        let Some(name) = cursor.token() else {
            break;
        };
        if cursor.equals_sign() {
            let Some(value) = cursor.value() else {
                // The parameter is malformed, so its challenge is dropped.
                current = None;
                break;
            };
            current = current.and_then(|challenge| with_parameter(challenge, name, value));
        } else {
            challenges.extend(current.take());
            current = TokenScheme::from_name(name).map(Challenge::new);
            cursor.skip_token68();
        }
    }
    if cursor.rest.is_empty() {
        challenges.extend(current);
    }
}

/// Returns the challenge with one more parameter, or `None` if it is a duplicate.
fn with_parameter(mut challenge: Challenge, name: &str, value: String) -> Option<Challenge> {
    let field = match name.to_ascii_lowercase().as_str() {
        "error" => {
            let error = ChallengeError::from_code(value);
            return challenge
                .error
                .replace(error)
                .is_none()
                .then_some(challenge);
        }
        "realm" => &mut challenge.realm,
        "error_description" => &mut challenge.error_description,
        "scope" => &mut challenge.scope,
        "resource_metadata" => &mut challenge.resource_metadata,
        "algs" => &mut challenge.algs,
        _ => return Some(challenge),
    };
    field.replace(value).is_none().then_some(challenge)
}

struct ChallengeCursor<'a> {
    rest: &'a str,
}

impl<'a> ChallengeCursor<'a> {
    fn skip_separators(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', ',']);
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    /// Returns the text before the first character that does not match, or `None` if it is empty.
    fn take_while(&mut self, accepts: impl Fn(char) -> bool) -> Option<&'a str> {
        let end = self.rest.find(|character| !accepts(character));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        (!taken.is_empty()).then_some(taken)
    }

    fn token(&mut self) -> Option<&'a str> {
        self.take_while(is_token_character)
    }

    /// Returns `true` if a value follows. Otherwise, it consumes only whitespace.
    fn equals_sign(&mut self) -> bool {
        self.skip_space();
        match self.rest.strip_prefix('=') {
            Some(rest) => {
                self.rest = rest;
                self.skip_space();
                true
            }
            None => false,
        }
    }

    fn value(&mut self) -> Option<String> {
        match self.rest.strip_prefix('"') {
            Some(rest) => {
                self.rest = rest;
                self.quoted()
            }
            None => {
                let is_character = |character: char| {
                    character.is_ascii_graphic() && !matches!(character, ',' | '"' | '\\')
                };
                self.take_while(is_character).map(str::to_owned)
            }
        }
    }

    /// Returns the rest of a quoted string, or `None` if it is unterminated or contains control characters.
    fn quoted(&mut self) -> Option<String> {
        let mut value = String::new();
        let mut characters = self.rest.chars();
        loop {
            let character = match characters.next()? {
                '"' => break,
                '\\' => characters.next()?,
                other => other,
            };
            if character.is_control() && character != '\t' {
                return None;
            }
            value.push(character);
        }
        self.rest = characters.as_str();
        Some(value)
    }

    /// Skips the single opaque value that schemes such as `Negotiate` have instead of parameters.
    fn skip_token68(&mut self) {
        let start = self.rest;
        let is_character = |character: char| {
            character.is_ascii_alphanumeric()
                || matches!(character, '-' | '.' | '_' | '~' | '+' | '/')
        };
        let has_value = self.take_while(is_character).is_some();
        self.rest = self.rest.trim_start_matches('=');
        let following = self.rest.trim_start_matches([' ', '\t']);
        let is_token68 = has_value && (following.is_empty() || following.starts_with(','));
        if !is_token68 {
            self.rest = start;
        }
    }
}

fn is_token_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character)
}
