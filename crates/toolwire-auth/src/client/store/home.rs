//! The directory for the state of a user's programs.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::client::store::TokenStoreError;

/// The variable that overrides the directory.
const VARIABLE: &str = "TOOLWIRE_HOME";

/// The conventions of a platform.
#[derive(Debug, Clone, Copy)]
enum Platform {
    Windows,
    MacOs,
    /// The XDG Base Directory Specification.
    Xdg,
}

/// Returns the state directory of this user.
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
    if let Some(directory) = set(VARIABLE).map(PathBuf::from) {
        return if directory.is_absolute() {
            Ok(directory)
        } else {
            Err(TokenStoreError::new(format!(
                "{VARIABLE} is not an absolute path; set it to an absolute path"
            )))
        };
    }
    // The specification requires that relative paths are ignored. The same is done on other platforms.
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
            "this user has no home directory for tokens; set {VARIABLE} to a directory"
        ))
    })?;
    Ok(state.join("toolwire"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn each_platform_has_its_directory() {
        fn check(platform: Platform, variables: &[(&str, &str)], expected: Option<&str>) {
            let directory = directory_of(platform, |name| {
                let variable = variables.iter().find(|(variable, _)| *variable == name);
                variable.map(|(_, value)| value.into())
            });
            assert_eq!(directory.ok(), expected.map(PathBuf::from), "{variables:?}");
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
