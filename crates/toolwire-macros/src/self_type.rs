//! Replaces `Self` by the concrete type. The structs and functions generated inside a method are separate items, in which
//! `Self` has another meaning or none.

use syn::visit_mut::{self, VisitMut};
use syn::{Path, PathSegment, Type};

/// A visitor that replaces `Self` by the type of the `impl` block.
pub(crate) struct ReplaceSelf<'a> {
    self_path: Option<&'a Path>,
}

impl<'a> ReplaceSelf<'a> {
    /// Creates a visitor. If the type is not a plain path, `Self` stays, and the compiler reports the error.
    pub(crate) fn new(self_type: &'a Type) -> Self {
        let self_path = match self_type {
            Type::Path(path) if path.qself.is_none() => Some(&path.path),
            _ => None,
        };
        Self { self_path }
    }
}

impl VisitMut for ReplaceSelf<'_> {
    fn visit_path_mut(&mut self, path: &mut Path) {
        if let Some(self_path) = self.self_path
            && path.leading_colon.is_none()
            && path
                .segments
                .first()
                .is_some_and(|segment| segment.ident == "Self")
        {
            let rest: Vec<PathSegment> = path.segments.iter().skip(1).cloned().collect();
            *path = self_path.clone();
            path.segments.extend(rest);
        }
        visit_mut::visit_path_mut(self, path);
    }
}

#[cfg(test)]
mod tests {
    use quote::ToTokens as _;

    use super::*;

    fn check(ty: &str, expected: &str) {
        let self_type = syn::parse_str("notes::Notes").expect("a type");
        let mut ty: Type = syn::parse_str(ty).expect("the test input is a type");
        ReplaceSelf::new(&self_type).visit_type_mut(&mut ty);
        assert_eq!(ty.to_token_stream().to_string(), expected);
    }

    #[test]
    fn self_is_replaced_by_the_type() {
        check("Self", "notes :: Notes");
        check("Vec<Self>", "Vec < notes :: Notes >");
        check("Self::Kind", "notes :: Notes :: Kind");
        check("MySelf", "MySelf");
    }
}
