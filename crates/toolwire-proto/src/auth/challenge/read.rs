//! Reading challenges (RFC 9110, section 11.6.1): several schemes in one header, several headers, quoted commas.
//!
//! The grammar needs one look ahead: after a comma, a name with `=` is a parameter of the challenge before, and a name
//! without it is the next scheme. Two habits of real servers are understood: parameters without commas between them,
//! and URLs without quotes. Where a header stops making sense, reading it stops; what was whole before counts.

use crate::auth::challenge::{Challenge, ChallengeError, TokenScheme};

/// The longest header that is read, in bytes; a longer one is skipped.
pub const LONGEST_HEADER: usize = 16 * 1024;

/// The `Bearer` and `DPoP` challenges of all `WWW-Authenticate` headers of an answer, in their order.
///
/// A challenge that has a parameter twice counts as none, since readers would disagree about it.
#[must_use]
pub fn parse<'a>(headers: impl IntoIterator<Item = &'a str>) -> Vec<Challenge> {
    let mut challenges = Vec::new();
    for header in headers {
        if header.len() <= LONGEST_HEADER {
            read_header(header, &mut challenges);
        }
    }
    challenges
}

fn read_header(header: &str, challenges: &mut Vec<Challenge>) {
    let mut cursor = Cursor { rest: header };
    // The challenge that parameters belong to; nothing for schemes we do not know and for doubled parameters.
    let mut current: Option<Challenge> = None;
    loop {
        cursor.skip_separators();
        let Some(name) = cursor.token() else {
            break;
        };
        if cursor.equals_sign() {
            let Some(value) = cursor.value() else {
                // The parameter is broken, so it is not known what its challenge says.
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

/// The challenge with one more parameter; nothing when it had that one already.
fn with_parameter(mut challenge: Challenge, name: &str, value: String) -> Option<Challenge> {
    let slot = match name.to_ascii_lowercase().as_str() {
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
    slot.replace(value).is_none().then_some(challenge)
}

struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn skip_separators(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', ',']);
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    /// What stands before the first character that does not fit; nothing when that is the first one.
    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> Option<&'a str> {
        let end = self.rest.find(|character| !fits(character));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        (!taken.is_empty()).then_some(taken)
    }

    fn token(&mut self) -> Option<&'a str> {
        self.take_while(is_token_character)
    }

    /// Whether a value follows; if not, nothing but space was read.
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
                let fits = |character: char| {
                    character.is_ascii_graphic() && !matches!(character, ',' | '"' | '\\')
                };
                self.take_while(fits).map(str::to_owned)
            }
        }
    }

    /// The rest of a quoted string; nothing when it has no end, or control characters.
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

    /// Skips the one opaque value that schemes such as `Negotiate` have in the place of parameters.
    fn skip_token68(&mut self) {
        let before = self.rest;
        let is_character = |character: char| {
            character.is_ascii_alphanumeric()
                || matches!(character, '-' | '.' | '_' | '~' | '+' | '/')
        };
        let found = self.take_while(is_character).is_some();
        self.rest = self.rest.trim_start_matches('=');
        let ends_here = self.rest.trim_start_matches([' ', '\t']);
        let is_token68 = found && (ends_here.is_empty() || ends_here.starts_with(','));
        if !is_token68 {
            self.rest = before;
        }
    }
}

fn is_token_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character)
}
