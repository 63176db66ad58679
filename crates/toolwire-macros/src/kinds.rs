//! Recognizes types by their tokens.
//!
//! A macro sees tokens, not types, so `String` may be any type of that name. The result is therefore used only for better
//! error messages and for borrowed parameters. An unknown name is never rejected here.

use syn::{GenericArgument, PathArguments, PathSegment, Type};

/// The JSON type that a Rust type corresponds to, by its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    List,
    Map,
    Tuple,
    Unknown,
}

impl Kind {
    /// Returns the kind of `ty`, or of `T` for `Option<T>`.
    pub(crate) fn of(ty: &Type) -> Self {
        let ty = option_inner(ty).unwrap_or(ty);
        match ty {
            Type::Array(_) | Type::Slice(_) => return Self::List,
            Type::Tuple(_) => return Self::Tuple,
            Type::Reference(reference) => return Self::of(&reference.elem),
            _ => {}
        }
        let Some(segment) = last_segment(ty) else {
            return Self::Unknown;
        };
        match segment.ident.to_string().as_str() {
            "String" | "str" | "char" => Self::Text,
            "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => Self::Integer,
            "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => Self::Integer,
            "f32" | "f64" => Self::Number,
            "bool" => Self::Boolean,
            "Vec" | "VecDeque" | "HashSet" | "BTreeSet" => Self::List,
            "HashMap" | "BTreeMap" | "IndexMap" => Self::Map,
            _ => Self::Unknown,
        }
    }

    /// Returns the noun for a value of this kind in error messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::List => "a list",
            Self::Map => "a map",
            Self::Tuple => "a tuple",
            Self::Unknown => "of a custom type",
        }
    }
}

/// Returns `T` of `Option<T>`.
pub(crate) fn option_inner(ty: &Type) -> Option<&Type> {
    generic_argument(ty, "Option")
}

/// Returns `T` of `Vec<T>`.
pub(crate) fn vec_inner(ty: &Type) -> Option<&Type> {
    generic_argument(ty, "Vec")
}

/// Returns `T` of `BTreeSet<T>` and `HashSet<T>`.
pub(crate) fn set_inner(ty: &Type) -> Option<&Type> {
    generic_argument(ty, "BTreeSet").or_else(|| generic_argument(ty, "HashSet"))
}

/// Returns `true` if `ty` is a path that ends in `name`.
pub(crate) fn is_called(ty: &Type, name: &str) -> bool {
    last_segment(ty).is_some_and(|segment| segment.ident == name)
}

fn generic_argument<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let segment = last_segment(ty).filter(|segment| segment.ident == name)?;
    match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => {
            match (arguments.args.first(), arguments.args.len()) {
                (Some(GenericArgument::Type(inner)), 1) => Some(inner),
                _ => None,
            }
        }
        _ => None,
    }
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        // A type from a `macro_rules` variable is in an invisible group.
        Type::Group(group) => last_segment(&group.elem),
        Type::Paren(paren) => last_segment(&paren.elem),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ty: &str, expected: Kind) {
        let ty = syn::parse_str(ty).expect("the test input is a type");
        assert_eq!(Kind::of(&ty), expected);
    }

    #[test]
    fn types_are_recognized_by_the_last_path_segment() {
        check("String", Kind::Text);
        check("&str", Kind::Text);
        check("std::string::String", Kind::Text);
        check("Option<u32>", Kind::Integer);
        check("Option<&str>", Kind::Text);
        check("f64", Kind::Number);
        check("Vec<u8>", Kind::List);
        check("[u8; 4]", Kind::List);
        check("(u8, u8)", Kind::Tuple);
        check("HashMap<String, u8>", Kind::Map);
        check("Strings", Kind::Unknown);
        check("<T as Trait>::String", Kind::Unknown);
    }
}
