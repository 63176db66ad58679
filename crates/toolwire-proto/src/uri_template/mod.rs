//! URI templates (RFC 6570, level 4) that expand and, for resource templates, match.
//!
//! Expansion follows the RFC to the letter. Matching is its inverse with rules of our own, because the RFC leaves it open;
//! they are listed at [`UriTemplate::matches`]. There is no backtracking: the work is bounded by the length of the URI times
//! the size of the template. Values of `{+name}` and `{#name}` may hold any path, so what they name is not to be trusted.

mod captures;
mod characters;
mod error;
mod expand;
mod matching;
mod named;
mod operator;
mod ordered;
mod parse;
mod position_set;
mod values;

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use self::characters::{AsciiSet, Token};
use self::operator::Operator;

pub use self::error::{TemplateError, TemplateErrorKind};
pub use self::values::{TemplateValue, Values};

/// The longest template that is read, in bytes.
pub const MAX_TEMPLATE_BYTES: usize = 4 * 1024;
/// How many expressions a template may have.
pub const MAX_EXPRESSIONS: usize = 64;
/// How many variables the expressions of a template may list, all together.
pub const MAX_VARIABLES: usize = 256;
/// The longest URI that is matched, in bytes; a longer one matches nothing.
pub const MAX_URI_BYTES: usize = 8 * 1024;

/// A template that has been read and found valid.
///
/// ```
/// use toolwire_proto::uri_template::{UriTemplate, Values};
///
/// let template: UriTemplate = "docs://{book}/pages{/page}{?lang}".parse()?;
/// let values = Values::new().with("book", "a b").with("page", "7");
/// let uri = template.expand(&values)?;
/// assert_eq!(uri, "docs://a%20b/pages/7");
/// assert_eq!(template.matches(&uri), Some(values));
/// # Ok::<(), toolwire_proto::uri_template::TemplateError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct UriTemplate {
    source: String,
    parts: Vec<TemplatePart>,
}

impl UriTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// When the text breaks the grammar of RFC 6570 or a limit of this module; the error says where.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let parts = parse::parse(text)?;
        Ok(Self {
            source: text.to_owned(),
            parts,
        })
    }

    /// The template as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The names of the variables, each once, in order of first appearance.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for variable in self.expressions().flat_map(|part| &part.variables) {
            if !names.contains(&variable.name.as_str()) {
                names.push(variable.name.as_str());
            }
        }
        names
    }

    /// Writes the URI the values stand for; variables without a value are left out, as the RFC says.
    ///
    /// # Errors
    /// When a list or an associative value meets a prefix modifier (`{name:3}`).
    pub fn expand(&self, values: &Values) -> Result<String, TemplateError> {
        expand::expand(&self.parts, values)
    }

    /// Finds values that expand to the whole URI, or nothing if there are none.
    ///
    /// - Literal text matches itself; `%41` and `A`, or `%C3%A9` and `é`, are the same character.
    /// - `{a}` and `{+a}` capture at least one character. Expressions with another operator may be absent altogether.
    /// - Variables of `{a,b}`, `{+a,b}`, `{#a,b}`, `{.a,b}` and `{/a,b}` are filled in order, the last ones may be
    ///   absent. Those of `{;a,b}`, `{?a,b}` and `{&a,b}` are found by name in any order, each at most once; a name
    ///   the template does not list is no match.
    /// - Values are percent-decoded. A malformed escape, or one that is not UTF-8, is no match.
    /// - Only `{+a}` and `{#a}`, and `{?a}` and `{&a}` for their values, capture a `/` or a dot segment (`.`, `..`,
    ///   also between backslashes), plain or escaped. No other capture contains `?` or `#` unless escaped.
    /// - `{a:3}` captures up to three characters.
    /// - A variable without `*` comes back as a string, commas and all. With `*` it comes back as a list, or as an
    ///   associative value if every item has the form `name=value`; among named pairs, the first variable with `*`
    ///   takes the names nobody else has and is then associative.
    /// - If there are several ways to match, the leftmost capture is as long as possible, then the next one, and so on;
    ///   but a capture stops before the operator character of an expression that follows it directly, so that in
    ///   `{name}{.extension}` the name has no dot. The values are checked after this choice, not in place of it.
    /// - A variable that stands in several places has one value; if the captures disagree there is no match.
    /// - A URI longer than [`MAX_URI_BYTES`] is no match.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Values> {
        matching::find(&self.parts, uri, &mut 0)
    }

    /// Tells whether the template can be matched without guessing; ask before registering it.
    ///
    /// # Errors
    /// When one expression cannot be told from the next (`{a}{b}`, `{/a*}{/b}`), when a variable with `*` is not the last
    /// of an expression filled in order (`{/a*,b}`), or when neighbouring expressions repeat a variable.
    pub fn check_matchable(&self) -> Result<(), TemplateError> {
        matching::check(&self.parts)
    }

    /// How much of a URI the template fixes: of two templates that match, prefer the greater.
    #[must_use]
    pub fn specificity(&self) -> Specificity {
        let literal_characters = self
            .parts
            .iter()
            .map(|part| match part {
                TemplatePart::Literal(literal) => literal.tokens.len(),
                TemplatePart::Expression(_) => 0,
            })
            .sum();
        let open_expressions = self
            .expressions()
            .filter(|expression| expression.operator.rules().keeps_reserved)
            .count();
        let variables = self.expressions().map(|part| part.variables.len()).sum();
        Specificity {
            literal_characters,
            open_expressions: Reverse(open_expressions),
            variables: Reverse(variables),
        }
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Literal(_) => None,
            TemplatePart::Expression(expression) => Some(expression),
        })
    }
}

impl fmt::Debug for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UriTemplate").field(&self.source).finish()
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl FromStr for UriTemplate {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

/// The rank of a template among those that match a URI, least specific first.
///
/// More literal characters rank higher; then fewer expressions that take reserved characters; then fewer variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Specificity {
    literal_characters: usize,
    open_expressions: Reverse<usize>,
    variables: Reverse<usize>,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Literal(Literal),
    Expression(Expression),
}

/// Text outside braces.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Literal {
    /// How it stands in an expanded URI: what a URI cannot hold is escaped.
    text: String,
    /// The same, as the characters a URI is compared by.
    tokens: Vec<Token>,
}

/// What stands between one pair of braces; it lists at least one variable.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Expression {
    operator: Operator,
    variables: Vec<Variable>,
    /// The plain characters one captured item may hold here.
    captures: AsciiSet,
    position: usize,
}

/// One variable of an expression, with its modifier.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    name_tokens: Vec<Token>,
    modifier: Modifier,
    position: usize,
}

/// What follows the name of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modifier {
    None,
    /// `:n`, the first `n` characters.
    Prefix(usize),
    /// `*`, each item on its own.
    Explode,
}

impl Variable {
    fn is_exploded(&self) -> bool {
        self.modifier == Modifier::Explode
    }

    /// The most characters one item of the variable has.
    fn longest_item(&self) -> usize {
        match self.modifier {
            Modifier::Prefix(length) => length,
            Modifier::None | Modifier::Explode => usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests;
