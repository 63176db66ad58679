//! The forward pass over a message. It checks grammar, nesting and repeated names, and extracts the relevant parts.
//!
//! These are the members of the message, of its `params` and of their `_meta`, or the elements of a batch.

use crate::strict_json::Limits;
use crate::strict_json::cursor::{Cursor, Malformed, StringToken};
use crate::strict_json::members::Members;
use crate::strict_json::names::OpenNames;

/// The limit of `serde_json`, which rejects the 128th container. A larger limit would only fail later.
const MAX_DEPTH: usize = 127;

/// The result of the pass.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    pub(super) document: Document,
    /// The members of an object.
    pub(super) members: Members<'a>,
    /// The elements of an array.
    pub(super) elements: Vec<&'a str>,
    /// Whether an object, at any depth, has two members of one name.
    pub(super) has_repeated_names: bool,
}

/// The kind of the outermost value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Document {
    Object,
    Array,
    #[default]
    Scalar,
}

/// The reason why the pass ended early.
#[derive(Debug)]
pub(super) enum Stop {
    Malformed { at: usize },
    TooDeep,
    TooManyElements,
}

/// Parses a text. The result is written to `parsed`, so that it need not be moved.
pub(super) fn run<'a>(text: &'a str, limits: &Limits, parsed: &mut Parsed<'a>) -> Result<(), Stop> {
    let mut pass = Pass {
        parsed,
        cursor: Cursor::new(text),
        containers: ContainerStack::new(),
        depth: 0,
        max_depth: limits.depth.min(MAX_DEPTH),
        max_elements: limits.batch_messages,
        names: OpenNames::new(),
        extracted_depth: 1,
        parts: [ValuePart::default(); EXTRACTED_DEPTH],
    };
    match pass.walk() {
        Ok(()) => Ok(()),
        Err(Interruption::Grammar) => Err(Stop::Malformed {
            at: pass.cursor.position(),
        }),
        Err(Interruption::Depth) => Err(Stop::TooDeep),
        Err(Interruption::Elements) => Err(Stop::TooManyElements),
    }
}

/// The depth up to which parts are extracted: the members of the message, of `params`, of `_meta`.
const EXTRACTED_DEPTH: usize = 3;

/// An open container in one word: one plus the position of its first name for an object, zero for an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Container(usize);

impl Container {
    const ARRAY: Self = Self(0);

    fn object(names: usize) -> Self {
        Self(names + 1)
    }

    /// Returns the position of an object's first name. Returns `None` for an array.
    #[inline]
    fn names(self) -> Option<usize> {
        self.0.checked_sub(1)
    }
}

/// The depth up to which containers are stored inline. Few messages are deeper.
const INLINE_DEPTH: usize = 16;

/// The open containers.
#[derive(Debug)]
struct ContainerStack {
    inline: [Container; INLINE_DEPTH],
    /// The containers beyond [`INLINE_DEPTH`].
    spilled: Vec<Container>,
}

impl ContainerStack {
    fn new() -> Self {
        Self {
            inline: [Container::ARRAY; INLINE_DEPTH],
            spilled: Vec::new(),
        }
    }

    /// Opens a container at this depth. Deeper ones are closed.
    #[inline]
    fn open(&mut self, depth: usize, container: Container) {
        match self.inline.get_mut(depth) {
            Some(entry) => *entry = container,
            None => self.open_spilled(depth, container),
        }
    }

    #[cold]
    fn open_spilled(&mut self, depth: usize, container: Container) {
        self.spilled.truncate(depth - INLINE_DEPTH);
        self.spilled.push(container);
    }

    #[inline]
    fn at(&self, depth: usize) -> Container {
        match self.inline.get(depth) {
            Some(container) => *container,
            None => self.spilled[depth - INLINE_DEPTH],
        }
    }
}

/// A value that will be extracted.
#[derive(Debug, Clone, Copy, Default)]
struct ValuePart<'a> {
    /// The name, if the value is a member.
    name: StringToken<'a>,
    /// The start of the value.
    start: usize,
}

enum Interruption {
    Grammar,
    Depth,
    Elements,
}

impl From<Malformed> for Interruption {
    fn from(Malformed: Malformed) -> Self {
        Self::Grammar
    }
}

struct Pass<'p, 'a> {
    parsed: &'p mut Parsed<'a>,
    cursor: Cursor<'a>,
    containers: ContainerStack,
    depth: usize,
    max_depth: usize,
    max_elements: usize,
    names: OpenNames<'a>,
    /// The depth up to which the values of the innermost containers are extracted.
    extracted_depth: usize,
    /// The values that have started, by depth.
    parts: [ValuePart<'a>; EXTRACTED_DEPTH],
}

impl Pass<'_, '_> {
    fn walk(&mut self) -> Result<(), Interruption> {
        // The position of an object's first name, if one of its members comes next.
        let mut member = None;
        'value: loop {
            if let Some(names) = member.take() {
                self.name(names)?;
            }
            let first = self.cursor.token();
            if self.is_extracted() {
                self.parts[self.depth - 1].start = self.cursor.position();
            }
            match first {
                Some(b'{') => {
                    let names = self.names.mark();
                    self.open(Container::object(names))?;
                    if self.cursor.peek() != Some(b'}') {
                        member = Some(names);
                        continue 'value;
                    }
                }
                Some(b'[') => {
                    self.open(Container::ARRAY)?;
                    if self.cursor.peek() != Some(b']') {
                        continue 'value;
                    }
                }
                _ => {
                    self.cursor.scalar()?;
                    self.value_ended()?;
                }
            }
            while let Some(container) = self.innermost() {
                if self.cursor.token() == Some(b',') {
                    self.cursor.step();
                    member = container.names();
                    continue 'value;
                }
                match container.names() {
                    Some(names) => {
                        self.cursor.expect(b'}')?;
                        if self.names.close(names) {
                            self.parsed.has_repeated_names = true;
                        }
                    }
                    None => self.cursor.expect(b']')?,
                }
                self.depth -= 1;
                self.extracted_depth = self.extracted_depth.min(self.depth.max(1));
                self.value_ended()?;
            }
            self.cursor.skip_whitespace();
            return if self.cursor.at_end() {
                Ok(())
            } else {
                Err(Interruption::Grammar)
            };
        }
    }

    fn innermost(&self) -> Option<Container> {
        self.depth.checked_sub(1).map(|top| self.containers.at(top))
    }

    fn open(&mut self, container: Container) -> Result<(), Interruption> {
        if self.depth == self.max_depth {
            return Err(Interruption::Depth);
        }
        if self.depth == 0 {
            self.parsed.document = match container {
                Container::ARRAY => Document::Array,
                _ => Document::Object,
            };
        }
        if self.is_extracted() && container != Container::ARRAY && self.has_known_members() {
            self.extracted_depth += 1;
        }
        self.containers.open(self.depth, container);
        self.depth += 1;
        // Consumes the bracket of either kind.
        self.cursor.step();
        self.cursor.skip_whitespace();
        Ok(())
    }

    /// Consumes the name of a member and the colon behind it.
    #[inline(always)]
    fn name(&mut self, names: usize) -> Result<(), Interruption> {
        self.cursor.skip_whitespace();
        let name = self.cursor.string()?;
        if self.names.push(name, names) {
            self.parsed.has_repeated_names = true;
        }
        if self.is_extracted() {
            self.parts[self.depth - 1].name = name;
        }
        if self.cursor.token() != Some(b':') {
            return Err(Interruption::Grammar);
        }
        self.cursor.step();
        Ok(())
    }

    /// Returns `true` if the values of the innermost container are extracted.
    #[inline]
    fn is_extracted(&self) -> bool {
        // Zero is the message itself, which is in no container.
        self.depth.wrapping_sub(1) < self.extracted_depth
    }

    /// Returns `true` if the members of the value that starts here are extracted, too.
    fn has_known_members(&self) -> bool {
        let name = |depth: usize| self.parts[depth - 1].name;
        match self.depth {
            1 => self.parsed.document == Document::Object && name(1).means("params"),
            2 => name(2).means("_meta"),
            _ => false,
        }
    }

    #[inline]
    fn value_ended(&mut self) -> Result<(), Interruption> {
        if self.is_extracted() {
            self.extract()
        } else {
            Ok(())
        }
    }

    /// Extracts the value that ends here.
    fn extract(&mut self) -> Result<(), Interruption> {
        let ValuePart { name, start } = self.parts[self.depth - 1];
        let value = self.cursor.since(start);
        let Parsed {
            document,
            members,
            elements,
            ..
        } = &mut *self.parsed;
        match document {
            Document::Object => {
                let name = name.meaning();
                match self.depth {
                    1 => members.put(&name, value),
                    2 => members.in_params.put(&name, value),
                    _ => members.in_params.in_meta.put(&name, value),
                }
            }
            Document::Array if elements.len() == self.max_elements => {
                return Err(Interruption::Elements);
            }
            Document::Array => elements.push(value),
            Document::Scalar => {}
        }
        Ok(())
    }
}
