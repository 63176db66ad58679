//! The addresses in `links.md` of what rustdoc does not describe in the same build: guides of crates that depend on this one,
//! and other files of the repository.

/// Where the published documentation of an item is.
pub(super) const DOCS_RS: &str = "https://docs.rs/";

/// The path of a file in the address of a repository.
const FILE_OF_REPOSITORY: &str = "/blob/main/";

/// Returns the address from a guide for code hosts, or `None` if this is not such an address.
pub(super) fn relative_address(published: &str) -> Option<String> {
    if let Some(page) = published.strip_prefix(DOCS_RS) {
        let (package, page) = page.split_once("/latest/")?;
        let (_, page) = page.split_once("/guide/")?;
        let page = page.strip_suffix("/index.html")?;
        return Some(format!("../../../{package}/src/guide/{page}.md"));
    }
    let (_, file) = published.split_once(FILE_OF_REPOSITORY)?;
    Some(format!("../../../../{file}"))
}

/// Returns `true` if the address is a file of another repository than the one of the manifest.
pub(super) fn is_elsewhere(published: &str, repository: &str) -> bool {
    let root = published.split_once(FILE_OF_REPOSITORY);
    root.is_some_and(|(root, _)| root != repository)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_pages_have_addresses_in_the_repository() {
        let check = |published: &str, expected: Option<&str>| {
            assert_eq!(
                relative_address(published).as_deref(),
                expected,
                "{published}"
            );
        };
        check(
            "https://docs.rs/toolwire-auth/latest/toolwire_auth/guide/logging_in/index.html",
            Some("../../../toolwire-auth/src/guide/logging_in.md"),
        );
        check(
            "https://a.example/b/blob/main/SECURITY.md",
            Some("../../../../SECURITY.md"),
        );
        check("https://docs.rs/a/latest/a/struct.B.html", None);
        check("crate::Server", None);
    }

    #[test]
    fn files_are_those_of_the_repository_in_the_manifest() {
        let file = "https://a.example/b/blob/main/SECURITY.md";
        assert!(!is_elsewhere(file, "https://a.example/b"));
        assert!(is_elsewhere(file, "https://a.example/c"));
        assert!(!is_elsewhere("crate::Server", "https://a.example/c"));
    }
}
