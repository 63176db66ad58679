//! The one forward pass over a message: grammar, nesting and repeated names, while the parts that matter are cut out.
//!
//! Those are the members of the message, of its `params`, and of the `_meta` in them; or the elements of a batch.

use crate::strict_json::Limits;
use crate::strict_json::cursor::{Cursor, Malformed, StringToken};
use crate::strict_json::members::Members;
use crate::strict_json::names::OpenNames;

/// `serde_json` refuses the 128th container, so a larger limit would only move the failure to a later reader.
const MAX_DEPTH: usize = 127;

/// What the pass has found.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    pub(super) document: Document,
    /// The members of an object.
    pub(super) members: Members<'a>,
    /// The elements of an array.
    pub(super) elements: Vec<&'a str>,
    /// Some object, at any depth, has two members of one name.
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

/// Why the pass ended early.
#[derive(Debug)]
pub(super) enum Stop {
    Malformed { at: usize },
    TooDeep,
    TooManyElements,
}

/// Goes through a text. What it finds is put where the caller has room for it, so that it need not be moved.
pub(super) fn run<'a>(text: &'a str, limits: &Limits, parsed: &mut Parsed<'a>) -> Result<(), Stop> {
    let mut pass = Pass {
        parsed,
        cursor: Cursor::new(text),
        frames: ContainerStack::new(),
        depth: 0,
        max_depth: limits.depth.min(MAX_DEPTH),
        max_elements: limits.batch_messages,
        names: OpenNames::new(),
        kept: 1,
        parts: [ValuePart::default(); KEPT],
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

/// How deep parts are cut out: the members of the message, of `params`, of `_meta`.
const KEPT: usize = 3;

/// A container that is open, in one word: where the names of an object begin, and one more; or zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Container(usize);

impl Container {
    const ARRAY: Self = Self(0);

    fn object(names: usize) -> Self {
        Self(names + 1)
    }

    /// Where the names of an object begin; `None` for an array.
    #[inline]
    fn names(self) -> Option<usize> {
        self.0.checked_sub(1)
    }
}

/// Up to which depth containers are kept beside the pass. Hardly any message goes deeper.
const NEAR: usize = 16;

/// The containers that are open.
#[derive(Debug)]
struct ContainerStack {
    near: [Container; NEAR],
    /// Those that are deeper.
    far: Vec<Container>,
}

impl ContainerStack {
    fn new() -> Self {
        Self {
            near: [Container::ARRAY; NEAR],
            far: Vec::new(),
        }
    }

    /// Opens one at this depth; those that were deeper are closed.
    #[inline]
    fn open(&mut self, depth: usize, frame: Container) {
        match self.near.get_mut(depth) {
            Some(place) => *place = frame,
            None => self.open_far(depth, frame),
        }
    }

    #[cold]
    fn open_far(&mut self, depth: usize, frame: Container) {
        self.far.truncate(depth - NEAR);
        self.far.push(frame);
    }

    #[inline]
    fn at(&self, depth: usize) -> Container {
        match self.near.get(depth) {
            Some(frame) => *frame,
            None => self.far[depth - NEAR],
        }
    }
}

/// A value that will be cut out.
#[derive(Debug, Clone, Copy, Default)]
struct ValuePart<'a> {
    /// Its name, if it is a member.
    name: StringToken<'a>,
    /// Where it begins.
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
    frames: ContainerStack,
    depth: usize,
    max_depth: usize,
    max_elements: usize,
    names: OpenNames<'a>,
    /// Up to which depth the values of the innermost containers are cut out.
    kept: usize,
    /// The values under way, by depth.
    parts: [ValuePart<'a>; KEPT],
}

impl Pass<'_, '_> {
    fn walk(&mut self) -> Result<(), Interruption> {
        // Where the names of an object begin, when a member of it comes next.
        let mut member = None;
        'value: loop {
            if let Some(names) = member.take() {
                self.name(names)?;
            }
            let first = self.cursor.token();
            if self.is_kept() {
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
            while let Some(frame) = self.innermost() {
                if self.cursor.token() == Some(b',') {
                    self.cursor.step();
                    member = frame.names();
                    continue 'value;
                }
                match frame.names() {
                    Some(names) => {
                        self.cursor.expect(b'}')?;
                        if self.names.close(names) {
                            self.parsed.has_repeated_names = true;
                        }
                    }
                    None => self.cursor.expect(b']')?,
                }
                self.depth -= 1;
                self.kept = self.kept.min(self.depth.max(1));
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
        self.depth.checked_sub(1).map(|top| self.frames.at(top))
    }

    fn open(&mut self, frame: Container) -> Result<(), Interruption> {
        if self.depth == self.max_depth {
            return Err(Interruption::Depth);
        }
        if self.depth == 0 {
            self.parsed.document = match frame {
                Container::ARRAY => Document::Array,
                _ => Document::Object,
            };
        }
        if self.is_kept() && frame != Container::ARRAY && self.has_known_members() {
            self.kept += 1;
        }
        self.frames.open(self.depth, frame);
        self.depth += 1;
        // The bracket itself, whichever it is.
        self.cursor.step();
        self.cursor.skip_whitespace();
        Ok(())
    }

    /// Takes in the name of a member and the colon behind it.
    #[inline(always)]
    fn name(&mut self, names: usize) -> Result<(), Interruption> {
        self.cursor.skip_whitespace();
        let name = self.cursor.string()?;
        if self.names.push(name, names) {
            self.parsed.has_repeated_names = true;
        }
        if self.is_kept() {
            self.parts[self.depth - 1].name = name;
        }
        if self.cursor.token() != Some(b':') {
            return Err(Interruption::Grammar);
        }
        self.cursor.step();
        Ok(())
    }

    /// Whether the values of the innermost container are cut out.
    #[inline]
    fn is_kept(&self) -> bool {
        // Zero is the message itself, which is in no container.
        self.depth.wrapping_sub(1) < self.kept
    }

    /// Whether the value that begins here is one whose members are cut out, too.
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
        match self.is_kept() {
            true => self.keep(),
            false => Ok(()),
        }
    }

    /// Cuts out the value that ends here.
    fn keep(&mut self) -> Result<(), Interruption> {
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
