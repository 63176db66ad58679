//! `embedded_skills!("skills")`: a directory of skills in the binary.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Error, LitStr, Result, Token};

const SKILL_FILE: &str = "SKILL.md";

/// Expands the macro to the paths and the bytes of all files.
pub(crate) fn expand(input: TokenStream) -> TokenStream {
    syn::parse2(input)
        .and_then(|input: Input| generate(&input))
        .unwrap_or_else(Error::into_compile_error)
}

/// The path of the directory, and the path of the `toolwire` crate.
struct Input {
    directory: LitStr,
    krate: syn::Path,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let directory = input.parse()?;
        let mut krate = syn::parse_quote!(::toolwire);
        if input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            input.parse::<Token![crate]>()?;
            input.parse::<Token![=]>()?;
            let path: LitStr = input.parse()?;
            krate = path.parse_with(syn::Path::parse_mod_style)?;
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(Self { directory, krate })
    }
}

fn generate(input: &Input) -> Result<TokenStream> {
    let fail = |message: String| Error::new(input.directory.span(), message);
    let manifest = std::env::var("CARGO_MANIFEST_DIR")
        .map_err(|_| fail("the directory of the crate is unknown; build with cargo".to_owned()))?;
    let root = Path::new(&manifest).join(input.directory.value());
    let files = files_of(&root).map_err(fail)?;
    let krate = &input.krate;
    let entries = files.iter().map(|(path, file)| {
        let file = file.to_string_lossy();
        quote!((#path, ::core::include_bytes!(#file) as &'static [u8]))
    });
    Ok(quote!(#krate::__private::Skills::embedded(&[#(#entries),*])))
}

/// Returns the files of a directory with their paths, sorted by path. If the directory itself is a skill, the paths start
/// with its name.
fn files_of(root: &Path) -> std::result::Result<Vec<(String, PathBuf)>, String> {
    let mut files = Vec::new();
    let root = root
        .canonicalize()
        .map_err(|error| format!("cannot read {}: {error}", root.display()))?;
    visit(&root, "", &mut files)?;
    files.sort();
    if files.iter().any(|(path, _)| path == SKILL_FILE) {
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        for (path, _) in &mut files {
            *path = format!("{name}/{path}");
        }
    }
    Ok(files)
}

fn visit(
    directory: &Path,
    prefix: &str,
    files: &mut Vec<(String, PathBuf)>,
) -> std::result::Result<(), String> {
    let cannot_read =
        |error: std::io::Error| format!("cannot read {}: {error}", directory.display());
    for entry in fs::read_dir(directory).map_err(cannot_read)? {
        let entry = entry.map_err(cannot_read)?;
        let path = entry.path();
        let Ok(name) = entry.file_name().into_string() else {
            let path = path.display();
            return Err(format!("the name of {path} is not UTF-8; rename it"));
        };
        if is_skipped(&name) {
            continue;
        }
        let kind = entry.file_type().map_err(cannot_read)?;
        let relative = format!("{prefix}{name}");
        if kind.is_dir() {
            visit(&path, &format!("{relative}/"), files)?;
        } else if kind.is_file() {
            files.push((relative, path));
        } else {
            let path = path.display();
            return Err(format!(
                "{path} is a link or a special file; replace it by a file"
            ));
        }
    }
    Ok(())
}

/// Returns `true` for the files that `SkillDirectory` skips, too. A macro crate cannot use the crate that has the rule, so
/// a test compares both.
fn is_skipped(name: &str) -> bool {
    let is_swap_file = name.starts_with('.')
        && [".swp", ".swo", ".swn", ".swx"]
            .iter()
            .any(|suffix| name.ends_with(suffix));
    matches!(name, ".git" | ".DS_Store")
        || is_swap_file
        || name.ends_with('~')
        || name.starts_with(".#")
        || (name.len() > 2 && name.starts_with('#') && name.ends_with('#'))
}

/// The rule of `SkillDirectory`.
#[cfg(test)]
#[path = "../../toolwire/src/server/skills/scan/skipped.rs"]
mod directory_rule;

#[cfg(test)]
mod tests {
    use super::{directory_rule, is_skipped};

    #[test]
    fn macro_and_directory_skip_the_same_files() {
        let parts = [
            ".", "#", "~", "a", "git", "DS_Store", "swp", "swo", "swn", "swx",
        ];
        let mut names = vec![String::new()];
        let mut skipped = 0;
        for _ in 0..4 {
            let longer = |name: &String| parts.map(|part| format!("{name}{part}"));
            names = names.iter().flat_map(longer).collect();
            for name in &names {
                let is_skipped = is_skipped(name);
                assert_eq!(is_skipped, directory_rule::is_skipped(name), "{name}");
                skipped += usize::from(is_skipped);
            }
        }
        assert!(skipped > 1000, "{skipped}");
    }
}
