//! A position in JSON text that reads one token at a time and checks it completely.
//!
//! Strings are the largest part of a message, so their plain runs are skipped many bytes at a time.

use std::borrow::Cow;

use toolwire_types::json::plain_run;

use crate::strict_json::text::{characters, unescape};

/// The length from which a number without exponent is checked against the range of a double. Shorter numbers fit.
const LONG_NUMBER: usize = 300;

/// Text that violates the grammar at the cursor's position.
#[derive(Debug)]
pub(super) struct Malformed;

/// The text between the quotes of a string, not yet unescaped.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StringToken<'a> {
    pub(super) text: &'a str,
    pub(super) escaped: bool,
}

impl<'a> StringToken<'a> {
    /// Returns the string with its escapes resolved.
    #[inline]
    pub(super) fn meaning(self) -> Cow<'a, str> {
        if self.escaped {
            unescape(self.text)
        } else {
            Cow::Borrowed(self.text)
        }
    }

    /// Returns `true` if the string with its escapes resolved equals `text`.
    #[inline]
    pub(super) fn means(self, text: &str) -> bool {
        if self.escaped {
            characters(self.text).eq(text.chars())
        } else {
            self.text == text
        }
    }
}

#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Returns the text from an earlier position up to here.
    pub(super) fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.at]
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Consumes the next byte if it is the expected one.
    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Consumes the next byte, which the caller has checked to be ASCII.
    #[inline]
    pub(super) fn step(&mut self) {
        self.at += 1;
    }

    #[inline]
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    #[inline]
    pub(super) fn skip_whitespace(&mut self) {
        self.token();
    }

    /// Skips white space and returns the byte behind it.
    #[inline]
    pub(super) fn token(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                other => return other,
            }
        }
    }

    pub(super) fn at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Consumes a string, a number, `true`, `false` or `null`.
    #[inline(always)]
    pub(super) fn scalar(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => Err(Malformed),
        }
    }

    /// Consumes a string that starts here.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Result<StringToken<'a>, Malformed> {
        self.expect(b'"')?;
        let start = self.at;
        self.at += plain_run(&self.text.as_bytes()[start..]);
        let escaped = !self.at_quote();
        if escaped {
            self.skip_escapes()?;
        }
        let text = self.since(start);
        self.at += 1;
        Ok(StringToken { text, escaped })
    }

    /// Continues from an escape to the quote behind the string.
    #[cold]
    fn skip_escapes(&mut self) -> Result<(), Malformed> {
        while !self.at_quote() {
            self.expect(b'\\')?;
            self.escape()?;
            self.at += plain_run(&self.text.as_bytes()[self.at..]);
        }
        Ok(())
    }

    #[inline]
    fn at_quote(&self) -> bool {
        self.peek() == Some(b'"')
    }

    /// Skips to the end of the container that starts here, and checks only its strings. Brackets are counted, not
    /// matched, because the text is already known to be rejected.
    pub(super) fn skip_container(&mut self) -> Result<(), Malformed> {
        let mut open = 0_usize;
        loop {
            match self.peek().ok_or(Malformed)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open -= 1,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return Ok(());
            }
        }
    }

    fn escape(&mut self) -> Result<(), Malformed> {
        let kind = self.peek().ok_or(Malformed)?;
        match kind {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                self.at += 1;
                Ok(())
            }
            b'u' => {
                self.at += 1;
                match self.four_hex_digits()? {
                    0xD800..=0xDBFF => {
                        self.expect(b'\\')?;
                        self.expect(b'u')?;
                        match self.four_hex_digits()? {
                            0xDC00..=0xDFFF => Ok(()),
                            _ => Err(Malformed),
                        }
                    }
                    0xDC00..=0xDFFF => Err(Malformed),
                    _ => Ok(()),
                }
            }
            _ => Err(Malformed),
        }
    }

    fn four_hex_digits(&mut self) -> Result<u32, Malformed> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            unit = unit * 16 + digit.ok_or(Malformed)?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn number(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        let has_exponent = self.eat(b'e') || self.eat(b'E');
        if has_exponent {
            let _signed = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        // `serde_json` rejects numbers beyond the range of a double, so a value accepted here never fails later.
        if (has_exponent || self.at - start > LONG_NUMBER)
            && serde_json::from_str::<f64>(self.since(start)).is_err()
        {
            return Err(Malformed);
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start {
            Err(Malformed)
        } else {
            Ok(())
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), Malformed> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(Malformed)
        }
    }
}
