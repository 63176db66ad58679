//! The one forward pass over a message: grammar, nesting and repeated names, while the top-level parts are cut out.

use super::Limits;
use super::cursor::{Cursor, Malformed, StringToken};
use super::members::Members;
use super::names::OpenNames;
use super::text::unescape;

/// `serde_json` refuses the 128th container, so a larger limit would only move the failure to a later reader.
const MAX_DEPTH: usize = 127;

/// A complete JSON text.
#[derive(Debug)]
pub(super) struct Parsed<'a> {
    pub(super) document: Document<'a>,
    /// Some object, at any depth, has two members of one name.
    pub(super) has_repeated_names: bool,
}

/// The outermost value.
#[derive(Debug)]
pub(super) enum Document<'a> {
    Object(Members<'a>),
    Array(Vec<&'a str>),
    Scalar,
}

/// Why the pass ended early.
#[derive(Debug)]
pub(super) enum Stop {
    Malformed { at: usize },
    TooDeep,
    TooManyElements,
}

pub(super) fn run<'a>(text: &'a str, limits: &Limits) -> Result<Parsed<'a>, Stop> {
    let mut pass = Pass {
        cursor: Cursor::new(text),
        frames: [Frame::Array; MAX_DEPTH],
        depth: 0,
        max_depth: limits.depth.min(MAX_DEPTH),
        max_elements: limits.batch_messages,
        names: OpenNames::new(),
        has_repeated_names: false,
        document: Document::Scalar,
        part_name: StringToken {
            text: "",
            escaped: false,
        },
        part_start: 0,
    };
    match pass.walk() {
        Ok(()) => Ok(Parsed {
            document: pass.document,
            has_repeated_names: pass.has_repeated_names,
        }),
        Err(Interruption::Grammar) => Err(Stop::Malformed {
            at: pass.cursor.position(),
        }),
        Err(Interruption::Depth) => Err(Stop::TooDeep),
        Err(Interruption::Elements) => Err(Stop::TooManyElements),
    }
}

/// A container that is open.
#[derive(Debug, Clone, Copy)]
enum Frame {
    Array,
    Object { names: usize },
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

struct Pass<'a> {
    cursor: Cursor<'a>,
    frames: [Frame; MAX_DEPTH],
    depth: usize,
    max_depth: usize,
    max_elements: usize,
    names: OpenNames<'a>,
    has_repeated_names: bool,
    document: Document<'a>,
    /// The top-level member, if any, whose value is being read.
    part_name: StringToken<'a>,
    /// Where the value of the top-level member or element begins.
    part_start: usize,
}

impl Pass<'_> {
    fn walk(&mut self) -> Result<(), Interruption> {
        'value: loop {
            self.cursor.skip_whitespace();
            if self.depth == 1 {
                self.part_start = self.cursor.position();
            }
            match self.cursor.peek() {
                Some(b'{') => {
                    let names = self.names.mark();
                    self.open(Frame::Object { names })?;
                    if self.cursor.peek() != Some(b'}') {
                        self.name(names)?;
                        continue 'value;
                    }
                }
                Some(b'[') => {
                    self.open(Frame::Array)?;
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
                self.cursor.skip_whitespace();
                let comma = self.cursor.eat(b',');
                match frame {
                    Frame::Object { names } if comma => {
                        self.cursor.skip_whitespace();
                        self.name(names)?;
                        continue 'value;
                    }
                    Frame::Array if comma => continue 'value,
                    Frame::Object { names } => {
                        self.cursor.expect(b'}')?;
                        self.has_repeated_names |= self.names.close(names);
                    }
                    Frame::Array => self.cursor.expect(b']')?,
                }
                self.depth -= 1;
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

    fn innermost(&self) -> Option<Frame> {
        self.depth.checked_sub(1).map(|top| self.frames[top])
    }

    fn open(&mut self, frame: Frame) -> Result<(), Interruption> {
        if self.depth == self.max_depth {
            return Err(Interruption::Depth);
        }
        if self.depth == 0 {
            self.document = match frame {
                Frame::Object { .. } => Document::Object(Members::default()),
                Frame::Array => Document::Array(Vec::new()),
            };
        }
        self.frames[self.depth] = frame;
        self.depth += 1;
        // The bracket itself, whichever it is.
        self.cursor.step();
        self.cursor.skip_whitespace();
        Ok(())
    }

    fn name(&mut self, names: usize) -> Result<(), Interruption> {
        let name = self.cursor.string()?;
        self.has_repeated_names |= self.names.push(name, names);
        if self.depth == 1 {
            self.part_name = name;
        }
        self.cursor.skip_whitespace();
        self.cursor.expect(b':')?;
        Ok(())
    }

    fn value_ended(&mut self) -> Result<(), Interruption> {
        if self.depth != 1 {
            return Ok(());
        }
        let part = self.cursor.since(self.part_start);
        match &mut self.document {
            Document::Object(members) if self.part_name.escaped => {
                members.put(&unescape(self.part_name.text), part);
            }
            Document::Object(members) => members.put(self.part_name.text, part),
            Document::Array(elements) if elements.len() == self.max_elements => {
                return Err(Interruption::Elements);
            }
            Document::Array(elements) => elements.push(part),
            Document::Scalar => {}
        }
        Ok(())
    }
}
