//! The top-level members of a message, as slices of its text.

use toolwire_types::RequestId;

use crate::param_members::ParamMembers;
use crate::strict_json::text::string_value;

/// The members that JSON-RPC defines. Others are ignored.
#[derive(Debug, Default)]
pub(super) struct Members<'a> {
    pub(super) jsonrpc: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) method: Option<&'a str>,
    pub(super) params: Option<&'a str>,
    pub(super) result: Option<&'a str>,
    pub(super) error: Option<&'a str>,
    /// The members of `params`.
    pub(super) in_params: ParamMembers<'a>,
    id_repeats: bool,
}

/// The value of the `id` member.
#[derive(Debug)]
pub(super) enum IdMember {
    Absent,
    Null,
    Valid(RequestId),
    Refused,
}

impl<'a> Members<'a> {
    /// Records a member. The name is already unescaped.
    pub(super) fn put(&mut self, name: &str, value: &'a str) {
        let member = match name {
            "jsonrpc" => &mut self.jsonrpc,
            "id" => {
                self.id_repeats |= self.id.is_some();
                &mut self.id
            }
            "method" => &mut self.method,
            "params" => &mut self.params,
            "result" => &mut self.result,
            "error" => &mut self.error,
            _ => return,
        };
        *member = Some(value);
    }

    /// Parses the id. Two ids count as an invalid id.
    pub(super) fn id(&self, max_bytes: usize) -> IdMember {
        match self.id {
            None => IdMember::Absent,
            Some(_) if self.id_repeats => IdMember::Refused,
            Some("null") => IdMember::Null,
            Some(value) => read_id(value, max_bytes).map_or(IdMember::Refused, IdMember::Valid),
        }
    }

    /// Returns `true` for a response, whose id belongs to the receiver.
    pub(super) fn look_like_a_response(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }

    /// Returns the id for an error response to this message.
    pub(super) fn id_to_echo(&self, max_bytes: usize) -> Option<RequestId> {
        match self.id(max_bytes) {
            IdMember::Valid(id) if !self.look_like_a_response() => Some(id),
            _ => None,
        }
    }
}

fn read_id(value: &str, max_bytes: usize) -> Option<RequestId> {
    if value.starts_with('"') {
        let text = string_value(value)?;
        (text.len() <= max_bytes).then(|| RequestId::String(text.as_ref().into()))
    } else {
        integral(value).map(RequestId::Number)
    }
}

/// Returns the value of a checked JSON number if it is an integer in the range of `i64`. The spelling does not matter:
/// `1`, `1.0` and `10e-1` are the same id. The conversion is exact and does not use a double.
fn integral(number: &str) -> Option<i64> {
    match number.parse() {
        Ok(number) => Some(number),
        Err(_) => integral_of_parts(number),
    }
}

#[cold]
fn integral_of_parts(number: &str) -> Option<i64> {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (number, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let fraction_digits = i64::try_from(fraction.len()).ok()?;
    let shift = exponent.checked_sub(fraction_digits)?;

    let negative = whole.starts_with('-');
    let digits = whole
        .trim_start_matches('-')
        .bytes()
        .chain(fraction.bytes());
    let mut trailing_zeros = 0;
    let mut value: i64 = 0;
    // Zeros are counted until a later digit shows that they are not only scale.
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        trailing_zeros += 1;
        if digit != b'0' {
            let digit = i64::from(digit - b'0');
            value = scale(value, trailing_zeros)?;
            value = if negative {
                value.checked_sub(digit)?
            } else {
                value.checked_add(digit)?
            };
            trailing_zeros = 0;
        }
    }
    if value == 0 {
        return Some(0);
    }
    scale(value, shift.checked_add(trailing_zeros)?)
}

fn scale(value: i64, power_of_ten: i64) -> Option<i64> {
    if value == 0 {
        return Some(0);
    }
    let power = u32::try_from(power_of_ten).ok()?;
    value.checked_mul(10_i64.checked_pow(power)?)
}
