//! Expansion of a template, as in RFC 6570 section 3 and the pseudo-code of its appendix A.

use crate::uri_template::characters::{AsciiSet, UNRESERVED, URI, escape_into, escaped_octet};
use crate::uri_template::error::{TemplateError, TemplateErrorKind};
use crate::uri_template::operator::OperatorRules;
use crate::uri_template::{Expression, Modifier, TemplatePart, TemplateValue, Values, Variable};

/// Expands all parts.
pub(super) fn expand(parts: &[TemplatePart], values: &Values) -> Result<String, TemplateError> {
    let mut output = String::new();
    for part in parts {
        match part {
            TemplatePart::Literal(literal) => output.push_str(&literal.text),
            TemplatePart::Expression(expression) => {
                expand_expression(&mut output, expression, values)?;
            }
        }
    }
    Ok(output)
}

fn expand_expression(
    output: &mut String,
    expression: &Expression,
    values: &Values,
) -> Result<(), TemplateError> {
    let mut writer = Writer {
        output,
        rules: expression.operator.rules(),
        started: false,
    };
    for variable in &expression.variables {
        match values.get(&variable.name) {
            None => {}
            Some(TemplateValue::String(text)) => writer.string(variable, text),
            Some(TemplateValue::List(items)) if items.is_empty() => {}
            Some(TemplateValue::Associative(pairs)) if pairs.is_empty() => {}
            Some(_) if matches!(variable.modifier, Modifier::Prefix(_)) => {
                let kind = TemplateErrorKind::PrefixOfComposite;
                return Err(TemplateError::new(variable.position, kind));
            }
            Some(TemplateValue::List(items)) => writer.list(variable, items),
            Some(TemplateValue::Associative(pairs)) => writer.associative(variable, pairs),
        }
    }
    Ok(())
}

/// A writer of the values of one expression.
struct Writer<'a> {
    output: &'a mut String,
    rules: &'static OperatorRules,
    started: bool,
}

impl Writer<'_> {
    fn string(&mut self, variable: &Variable, text: &str) {
        let text = match variable.modifier {
            Modifier::Prefix(length) => prefix(text, length, self.rules.allows_reserved),
            Modifier::None | Modifier::Explode => text,
        };
        self.begin_item();
        self.name(&variable.name, text.is_empty());
        self.escaped(text);
    }

    fn list(&mut self, variable: &Variable, items: &[String]) {
        if variable.is_exploded() {
            for item in items {
                self.string(variable, item);
            }
            return;
        }
        self.begin_item();
        self.name(&variable.name, matches!(items, [only] if only.is_empty()));
        for (index, item) in items.iter().enumerate() {
            self.comma_before(index);
            self.escaped(item);
        }
    }

    fn associative(&mut self, variable: &Variable, pairs: &[(String, String)]) {
        if variable.is_exploded() {
            for (name, value) in pairs {
                self.begin_item();
                self.escaped(name);
                // Appendix A: only operators with names have a special form for an empty value.
                if !self.rules.named || !value.is_empty() {
                    self.output.push('=');
                } else {
                    self.output.push_str(self.rules.before_empty);
                }
                self.escaped(value);
            }
            return;
        }
        self.begin_item();
        self.name(&variable.name, false);
        for (index, (name, value)) in pairs.iter().enumerate() {
            self.comma_before(index);
            self.escaped(name);
            self.output.push(',');
            self.escaped(value);
        }
    }

    fn begin_item(&mut self) {
        if self.started {
            self.output.push(self.rules.separator);
        } else {
            self.output.extend(self.rules.first_character);
            self.started = true;
        }
    }

    /// Writes the name and the text between it and its value, for operators with names.
    fn name(&mut self, name: &str, value_is_empty: bool) {
        if self.rules.named {
            self.output.push_str(name);
            self.output.push_str(if value_is_empty {
                self.rules.before_empty
            } else {
                "="
            });
        }
    }

    fn comma_before(&mut self, index: usize) {
        if index > 0 {
            self.output.push(',');
        }
    }

    fn escaped(&mut self, text: &str) {
        let keep: AsciiSet = if self.rules.allows_reserved {
            URI
        } else {
            UNRESERVED
        };
        escape_into(self.output, text, keep, self.rules.allows_reserved);
    }
}

/// Returns the first characters of a value. If escapes are copied, an escape counts as one character (RFC 6570 section
/// 2.4.1).
fn prefix(text: &str, length: usize, keep_escapes: bool) -> &str {
    let mut end = 0;
    for _ in 0..length {
        let rest = &text[end..];
        end += if keep_escapes && escaped_octet(rest.as_bytes()).is_some() {
            3
        } else {
            rest.chars().next().map_or(0, char::len_utf8)
        };
    }
    &text[..end]
}
