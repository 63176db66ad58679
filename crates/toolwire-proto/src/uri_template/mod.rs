//! URI templates (RFC 6570, level 4) that expand and, for resource templates, match.
//!
//! Expansion follows the RFC exactly. Matching is its inverse. The RFC does not define it, so the rules are listed at
//! [`UriTemplate::matches`]. There is no backtracking: the work is bounded by the length of the URI times the size of
//! the template. Values of `{+name}` and `{#name}` may contain any path, so they are untrusted.

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

/// The maximum length of a template in bytes.
pub const MAX_TEMPLATE_BYTES: usize = 4 * 1024;
/// The maximum number of expressions of a template.
pub const MAX_EXPRESSIONS: usize = 64;
/// The maximum number of variables of all expressions of a template.
pub const MAX_VARIABLES: usize = 256;
/// The maximum length of a URI in bytes. A longer one matches nothing.
pub const MAX_URI_BYTES: usize = 8 * 1024;

/// A parsed, valid template.
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
    /// Parses a template.
    ///
    /// # Errors
    /// Returns an error with the position if the text violates the grammar of RFC 6570 or a limit of this module.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let parts = parse::parse(text)?;
        Ok(Self {
            source: text.to_owned(),
            parts,
        })
    }

    /// Returns the template as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Returns the distinct names of the variables, in order of first appearance.
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

    /// Expands the template with the values. Variables without a value are omitted, as the RFC requires.
    ///
    /// # Errors
    /// Returns an error if a variable with a prefix modifier (`{name:3}`) has a list or an associative value.
    pub fn expand(&self, values: &Values) -> Result<String, TemplateError> {
        expand::expand(&self.parts, values)
    }

    /// Returns values that expand to the whole URI, or `None` if the URI does not match.
    ///
    /// - Literal text matches itself; `%41` and `A`, or `%C3%A9` and `é`, are the same character.
    /// - `{a}` and `{+a}` capture at least one character. Expressions with another operator may be absent.
    /// - Variables of `{a,b}`, `{+a,b}`, `{#a,b}`, `{.a,b}` and `{/a,b}` are filled in order, and the last ones may be
    ///   absent. Those of `{;a,b}`, `{?a,b}` and `{&a,b}` are found by name in any order, each at most once. A name
    ///   that the template does not list prevents a match.
    /// - Values are percent-decoded. A malformed escape, or one that is not UTF-8, prevents a match.
    /// - Only `{+a}` and `{#a}`, and `{?a}` and `{&a}` for their values, capture a `/` or a dot segment (`.`, `..`,
    ///   also between backslashes), plain or escaped. No other capture contains `?` or `#` unless escaped.
    /// - `{a:3}` captures up to three characters.
    /// - A variable without `*` is returned as one string, including commas. With `*` it is returned as a list, or as
    ///   an associative value if every item has the form `name=value`. Among named pairs, the first variable with `*`
    ///   takes the names that belong to no other variable and is then associative.
    /// - If several matches are possible, the leftmost capture is as long as possible, then the next one, and so on.
    ///   But a capture stops before the operator character of an expression that follows it directly, so that in
    ///   `{name}{.extension}` the name has no dot. The values are checked after this choice, not instead of it.
    /// - A variable that occurs several times has one value. If the captures disagree, there is no match.
    /// - A URI longer than [`MAX_URI_BYTES`] does not match.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Values> {
        matching::find(&self.parts, uri, &mut 0)
    }

    /// Checks that matching the template is unambiguous. Callers check this before they register it.
    ///
    /// # Errors
    /// Returns an error if one expression cannot be separated from the next (`{a}{b}`, `{/a*}{/b}`). The same holds if
    /// a variable with `*` is not the last of an expression filled in order (`{/a*,b}`), or if adjacent expressions
    /// repeat a variable.
    pub fn check_matchable(&self) -> Result<(), TemplateError> {
        matching::check(&self.parts)
    }

    /// Returns how much of a URI the template determines. Of two matching templates, the greater one takes precedence.
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
            .filter(|expression| expression.operator.rules().allows_reserved)
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
/// More literal characters rank higher, then fewer expressions that take reserved characters, then fewer variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Specificity {
    literal_characters: usize,
    open_expressions: Reverse<usize>,
    variables: Reverse<usize>,
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Literal(Literal),
    Expression(Expression),
}

/// Text outside braces.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Literal {
    /// The text in an expanded URI, with escapes for characters that a URI cannot contain.
    text: String,
    /// The same text as the characters that are compared with a URI.
    tokens: Vec<Token>,
}

/// The content of one pair of braces, with at least one variable.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Expression {
    operator: Operator,
    variables: Vec<Variable>,
    /// The plain characters that a captured item may contain here.
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

/// The modifier after the name of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modifier {
    None,
    /// `:n`: the first `n` characters.
    Prefix(usize),
    /// `*`: each item separately.
    Explode,
}

impl Variable {
    fn is_exploded(&self) -> bool {
        self.modifier == Modifier::Explode
    }

    /// Returns the maximum number of characters of one item of the variable.
    fn longest_item(&self) -> usize {
        match self.modifier {
            Modifier::Prefix(length) => length,
            Modifier::None | Modifier::Explode => usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests;
