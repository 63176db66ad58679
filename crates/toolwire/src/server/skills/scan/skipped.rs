//! Files that no author means to serve.

/// Returns `true` for the data of version control and file managers, and for backups of editors.
pub(super) fn is_skipped(name: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_backups_and_foreign_data_are_skipped() {
        for name in [
            ".git",
            ".DS_Store",
            "a.md~",
            ".a.md.swp",
            "#a.md#",
            ".#a.md",
            "~",
        ] {
            assert!(is_skipped(name), "{name}");
        }
        for name in [
            ".gitignore",
            ".env",
            "a.swp",
            "#",
            "##",
            "#a",
            "a#",
            ".hidden",
            "git",
            "DS_Store",
        ] {
            assert!(!is_skipped(name), "{name}");
        }
    }
}
