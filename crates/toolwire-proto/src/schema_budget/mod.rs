//! Limits for untrusted JSON Schemas: how large one may be, and how much work it may cause.
//!
//! A JSON Schema is a program. A few hundred bytes can describe an exponential number of checks, for example an `allOf`
//! that refers to the next definition twice. They can also overflow the stack, or contain a pattern that never
//! finishes. A running validation cannot be interrupted, so the work is limited beforehand. [`SchemaBudget::new`]
//! rejects a schema that is too large to compile. [`SchemaBudget::steps`] counts the work for one instance and stops
//! counting at the limit.
//!
//! This module validates nothing. Its count is an upper bound: it applies every branch, where a validator may stop early.

mod measure;
mod nodes;
mod patterns;
mod references;
#[cfg(test)]
mod tests;
mod work;

use std::fmt;

use serde_json::Value;

use nodes::Node;

/// The maximum depth of nested arrays and objects of a schema. Compiling recurses this deep.
pub const MAX_DEPTH: usize = 64;

/// The maximum number of subschemas that apply within each other to one instance. Validating recurses this deep.
pub const MAX_NESTED_APPLICATIONS: usize = 256;

/// The maximum number of subschemas with an `$id` in one schema. Compiling may repeat them for each path between them.
pub const MAX_RESOURCES: usize = 8;

/// The maximum number of subschemas that compiling the `unevaluated*` keywords may visit, with references expanded.
pub const MAX_EXPANSION: u64 = 100_000;

/// The maximum number of schemas that one reference may resolve to, depending on the dynamic scope.
pub const MAX_REFERENCE_TARGETS: usize = 16;

/// The limits of one schema, and of one validation against it.
///
/// ```
/// let mut limits = toolwire_proto::schema_budget::SchemaLimits::default();
/// limits.bytes = 1024 * 1024;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaLimits {
    /// Bytes of all names and strings of a schema, plus one for each value. Default: 256 KiB.
    pub bytes: usize,
    /// JSON values in a schema: objects, arrays and scalars. Default: 20,000.
    pub values: usize,
    /// Regular expressions in a schema. Default: 256.
    pub patterns: usize,
    /// Bytes of one regular expression. Default: 4 KiB.
    pub pattern_bytes: usize,
    /// Estimated states of all regular expressions of a schema, with repetitions expanded. Default: 100,000.
    pub pattern_states: u64,
    /// Steps of one validation. A step is about one keyword applied to one value. Default: 4,000,000.
    pub steps: u64,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            bytes: 256 * 1024,
            values: 20_000,
            patterns: 256,
            pattern_bytes: 4096,
            pattern_states: 100_000,
            steps: 4_000_000,
        }
    }
}

/// A schema within its limits, ready to count the work of a validation.
#[derive(Debug)]
pub struct SchemaBudget {
    nodes: Vec<Node>,
}

impl SchemaBudget {
    /// Parses a schema and checks its limits.
    ///
    /// # Errors
    /// Returns an error if the schema exceeds a limit, uses a pattern that cannot be matched in linear time, or refers to
    /// another document.
    pub fn new(schema: &Value, limits: &SchemaLimits) -> Result<Self, SchemaLimitError> {
        measure::check_size(schema, limits)?;
        let nodes = nodes::read(schema, limits)?;
        work::check_expansion(&nodes)?;
        Ok(Self { nodes })
    }

    /// Returns an upper bound of the steps that validating an instance takes.
    ///
    /// # Errors
    /// Returns an error if there are more than `limit` steps, or if subschemas apply within each other too deeply. Counting
    /// stops there, so it never takes longer than `limit` steps itself.
    pub fn steps(&self, instance: &Value, limit: u64) -> Result<u64, SchemaLimitError> {
        work::count(&self.nodes, instance, limit)
    }
}

/// The limit that a schema or a validation exceeds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaLimitError {
    /// More names and strings than [`SchemaLimits::bytes`].
    Bytes(usize),
    /// More values than [`SchemaLimits::values`].
    Values(usize),
    /// Nested more deeply than [`MAX_DEPTH`].
    Depth,
    /// More regular expressions than [`SchemaLimits::patterns`].
    Patterns(usize),
    /// A regular expression longer than [`SchemaLimits::pattern_bytes`].
    PatternBytes(usize),
    /// Regular expressions with more states than [`SchemaLimits::pattern_states`].
    PatternStates(u64),
    /// A regular expression with lookaround or backreferences.
    UnsupportedPattern(String),
    /// More subschemas with an `$id` than [`MAX_RESOURCES`].
    Resources,
    /// A reference that resolves to no schema of the document.
    UnresolvedReference(String),
    /// A reference that may resolve to more than [`MAX_REFERENCE_TARGETS`] schemas.
    AmbiguousReference(String),
    /// `unevaluatedProperties` or `unevaluatedItems` beside too many subschemas, see [`MAX_EXPANSION`].
    Expansion,
    /// Subschemas that apply within each other more deeply than [`MAX_NESTED_APPLICATIONS`].
    NestedApplications,
    /// A validation with more steps than allowed.
    Steps(u64),
}

impl fmt::Display for SchemaLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(limit) => write!(f, "the schema is larger than {limit} bytes"),
            Self::Values(limit) => write!(f, "the schema has more than {limit} values"),
            Self::Depth => write!(f, "the schema is nested more than {MAX_DEPTH} levels deep"),
            Self::Patterns(limit) => {
                write!(f, "the schema has more than {limit} regular expressions")
            }
            Self::PatternBytes(limit) => {
                write!(f, "a regular expression is longer than {limit} bytes")
            }
            Self::PatternStates(limit) => write!(
                f,
                "the regular expressions are too large: more than {limit} states with repetitions expanded"
            ),
            Self::UnsupportedPattern(pattern) => write!(
                f,
                "the regular expression {pattern:?} uses lookaround or a backreference, which cannot be matched in \
                 linear time"
            ),
            Self::Resources => write!(
                f,
                "the schema has more than {MAX_RESOURCES} subschemas with an `$id`"
            ),
            Self::UnresolvedReference(reference) => write!(
                f,
                "the reference {reference:?} does not resolve to a schema of the same document; nothing is fetched"
            ),
            Self::AmbiguousReference(reference) => write!(
                f,
                "the reference {reference:?} may resolve to more than {MAX_REFERENCE_TARGETS} schemas"
            ),
            Self::Expansion => write!(
                f,
                "`unevaluatedProperties` or `unevaluatedItems` depends on more than {MAX_EXPANSION} subschemas with \
                 references expanded, or on a schema that refers to itself"
            ),
            Self::NestedApplications => write!(
                f,
                "more than {MAX_NESTED_APPLICATIONS} subschemas apply within each other"
            ),
            Self::Steps(limit) => write!(f, "validating takes more than {limit} steps"),
        }
    }
}

impl std::error::Error for SchemaLimitError {}
