//! Parser of a template, strictly by the grammar of RFC 6570 section 2.

use crate::uri_template::characters::{AsciiSet, URI, escape_into, escaped_octet, tokenize};
use crate::uri_template::error::{TemplateError, TemplateErrorKind as Kind};
use crate::uri_template::operator::Operator;
use crate::uri_template::{
    Expression, Literal, MAX_EXPRESSIONS, MAX_TEMPLATE_BYTES, MAX_VARIABLES, Modifier,
    TemplatePart, Variable,
};

/// Splits a template into its parts.
pub(super) fn parse(text: &str) -> Result<Vec<TemplatePart>, TemplateError> {
    if text.len() > MAX_TEMPLATE_BYTES {
        return Err(TemplateError::new(MAX_TEMPLATE_BYTES, Kind::TooLong));
    }
    let mut parts = Vec::new();
    let mut expressions = 0;
    let mut variables = 0;
    let mut position = 0;
    while position < text.len() {
        let rest = &text[position..];
        let Some(opened) = rest.strip_prefix('{') else {
            let length = rest.find('{').unwrap_or(rest.len());
            parts.push(TemplatePart::Literal(parse_literal(
                &rest[..length],
                position,
            )?));
            position += length;
            continue;
        };
        let reject = |kind| Err(TemplateError::new(position, kind));
        let Some(length) = opened.find('}') else {
            return reject(Kind::UnclosedExpression);
        };
        let expression = parse_expression(&opened[..length], position)?;
        expressions += 1;
        variables += expression.variables.len();
        if expressions > MAX_EXPRESSIONS {
            return reject(Kind::TooManyExpressions);
        }
        if variables > MAX_VARIABLES {
            return reject(Kind::TooManyVariables);
        }
        parts.push(TemplatePart::Expression(expression));
        position += length + "{}".len();
    }
    narrow_captures(&mut parts);
    Ok(parts)
}

fn parse_literal(text: &str, position: usize) -> Result<Literal, TemplateError> {
    for (offset, character) in text.char_indices() {
        let kind = match character {
            '%' => continue,
            '}' => Kind::StrayClosingBrace,
            // The grammar of the RFC omits the apostrophe, which is a reserved character like any other.
            _ if URI.contains(character) => continue,
            _ if !character.is_ascii() && !character.is_control() => continue,
            _ => Kind::IllegalCharacter(character),
        };
        return Err(TemplateError::new(position + offset, kind));
    }
    let tokens = tokenize(text)
        .map_err(|offset| TemplateError::new(position + offset, Kind::MalformedEscape))?;
    let mut expanded = String::with_capacity(text.len());
    escape_into(&mut expanded, text, URI, true);
    Ok(Literal {
        text: expanded,
        tokens,
    })
}

/// Parses the text between the braces. `position` is the position of the opening brace.
fn parse_expression(body: &str, position: usize) -> Result<Expression, TemplateError> {
    let first = body.chars().next();
    if let Some(operator @ ('=' | ',' | '!' | '@' | '|')) = first {
        let kind = Kind::ReservedOperator(operator);
        return Err(TemplateError::new(position + 1, kind));
    }
    let operator = first.and_then(Operator::from_character);
    let operator_length = usize::from(operator.is_some());

    let mut variables = Vec::new();
    let mut offset = position + 1 + operator_length;
    for specification in body[operator_length..].split(',') {
        variables.push(parse_variable(specification, offset)?);
        offset += specification.len() + 1;
    }
    Ok(Expression {
        operator: operator.unwrap_or(Operator::Simple),
        variables,
        captures: AsciiSet::EMPTY,
        position,
    })
}

fn parse_variable(text: &str, position: usize) -> Result<Variable, TemplateError> {
    let name_length = text.find([':', '*']).unwrap_or(text.len());
    let (name, modifier) = text.split_at(name_length);
    check_name(name).map_err(|(offset, kind)| TemplateError::new(position + offset, kind))?;
    let reject = |kind| Err(TemplateError::new(position + name_length, kind));
    let modifier = if modifier.is_empty() {
        Modifier::None
    } else if let Some(digits) = modifier.strip_prefix(':') {
        match prefix_length(digits) {
            Some(length) => Modifier::Prefix(length),
            None => return reject(Kind::IllegalPrefixLength),
        }
    } else if modifier == "*" {
        Modifier::Explode
    } else {
        return reject(Kind::IllegalModifier);
    };
    let name_tokens = tokenize(name)
        .map_err(|offset| TemplateError::new(position + offset, Kind::MalformedEscape))?;
    Ok(Variable {
        name: name.to_owned(),
        name_tokens,
        modifier,
        position,
    })
}

/// Checks for letters, digits, underscores and escapes, with single dots between them.
fn check_name(name: &str) -> Result<(), (usize, Kind)> {
    if name.is_empty() {
        return Err((0, Kind::MissingName));
    }
    let bytes = name.as_bytes();
    let mut position = 0;
    let mut dot_allowed = false;
    while let Some(&byte) = bytes.get(position) {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' => position += 1,
            b'%' if escaped_octet(&bytes[position..]).is_some() => position += 3,
            b'%' => return Err((position, Kind::MalformedEscape)),
            b'.' if dot_allowed && position + 1 < bytes.len() => position += 1,
            _ => return Err((position, Kind::IllegalName)),
        }
        dot_allowed = byte != b'.';
    }
    Ok(())
}

/// Parses a length (RFC 6570 section 2.4.1): one to four digits, the first of them not zero.
fn prefix_length(digits: &str) -> Option<usize> {
    let well_formed = (1..=4).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0');
    well_formed.then(|| digits.parse().ok()).flatten()
}

/// Sets the characters that each expression captures, given the expressions that follow it directly.
fn narrow_captures(parts: &mut [TemplatePart]) {
    let mut following_characters = AsciiSet::EMPTY;
    for part in parts.iter_mut().rev() {
        let TemplatePart::Expression(expression) = part else {
            following_characters = AsciiSet::EMPTY;
            continue;
        };
        let rules = expression.operator.rules();
        let has_single_value =
            !rules.named && matches!(&expression.variables[..], [only] if !only.is_exploded());
        let excluded = if has_single_value {
            following_characters
        } else {
            following_characters.with(rules.separator)
        };
        expression.captures = rules.captures.without(excluded);
        if let Some(first_character) = rules.first_character {
            following_characters = following_characters.with(first_character);
        }
    }
}
