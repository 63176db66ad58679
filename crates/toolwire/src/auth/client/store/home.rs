//! Where a program keeps what it needs from one run to the next.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::auth::client::store::TokenStoreError;

/// Names another directory than the usual one.
const VARIABLE: &str = "TOOLWIRE_HOME";

/// The rules of a system.
#[derive(Debug, Clone, Copy)]
enum Platform {
    Windows,
    MacOs,
    /// The XDG Base Directory Specification.
    Xdg,
}

/// The directory of this user.
pub(super) fn directory() -> Result<PathBuf, TokenStoreError> {
    let platform = match () {
        () if cfg!(windows) => Platform::Windows,
        () if cfg!(target_os = "macos") => Platform::MacOs,
        () => Platform::Xdg,
    };
    directory_of(platform, |name| std::env::var_os(name))
}

fn directory_of(
    platform: Platform,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, TokenStoreError> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    if let Some(own) = set(VARIABLE).map(PathBuf::from) {
        return match own.is_absolute() {
            true => Ok(own),
            false => Err(TokenStoreError::new(format!(
                "{VARIABLE} is no absolute path, so every directory would have tokens of its own"
            ))),
        };
    }
    // The specification wants relative paths to be ignored; for the others they make no sense either.
    let absolute = |name| {
        set(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state = match platform {
        Platform::Windows => absolute("LOCALAPPDATA"),
        Platform::MacOs => absolute("HOME").map(|home| home.join("Library/Application Support")),
        Platform::Xdg => absolute("XDG_STATE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/state"))),
    };
    let state = state.ok_or_else(|| {
        TokenStoreError::new(format!(
            "this user has no home directory to keep tokens in; set {VARIABLE} to a directory"
        ))
    })?;
    Ok(state.join("toolwire"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn each_system_has_its_place() {
        fn check(platform: Platform, variables: &[(&str, &str)], expected: Option<&str>) {
            let found = directory_of(platform, |name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.into())
            });
            assert_eq!(found.ok(), expected.map(PathBuf::from), "{variables:?}");
        }
        let home = ("HOME", "/people/ann");
        check(
            Platform::Xdg,
            &[home],
            Some("/people/ann/.local/state/toolwire"),
        );
        check(
            Platform::Xdg,
            &[home, ("XDG_STATE_HOME", "/state")],
            Some("/state/toolwire"),
        );
        check(
            Platform::Xdg,
            &[home, ("XDG_STATE_HOME", "state")],
            Some("/people/ann/.local/state/toolwire"),
        );
        check(
            Platform::MacOs,
            &[home, ("XDG_STATE_HOME", "/state")],
            Some("/people/ann/Library/Application Support/toolwire"),
        );
        check(
            Platform::Windows,
            &[("LOCALAPPDATA", "/local")],
            Some("/local/toolwire"),
        );
        for platform in [Platform::Xdg, Platform::MacOs, Platform::Windows] {
            check(platform, &[home, (VARIABLE, "/own")], Some("/own"));
            check(platform, &[home, (VARIABLE, "own")], None);
            check(platform, &[("HOME", "")], None);
            check(platform, &[], None);
        }
    }
}
