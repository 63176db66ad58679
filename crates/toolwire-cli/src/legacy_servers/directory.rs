//! The directory for cached data of the user.

use std::ffi::OsString;
use std::path::PathBuf;

/// Returns the directory, or `None` if this user has none.
pub(super) fn find() -> Option<PathBuf> {
    find_on(std::env::consts::OS, |name| std::env::var_os(name))
}

fn find_on(system: &str, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // An empty variable is not set. The XDG Base Directory Specification requires that relative paths are ignored.
    let absolute = |name: &str| {
        let value = variable(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    // The variable also sets the directory of the logins.
    if variable("TOOLWIRE_HOME").is_some_and(|value| !value.is_empty()) {
        return absolute("TOOLWIRE_HOME");
    }
    let in_home = |path| absolute("HOME").map(|home| home.join(path));
    let cache = match system {
        "windows" => absolute("LOCALAPPDATA"),
        "macos" => in_home("Library/Caches"),
        _ => absolute("XDG_CACHE_HOME").or_else(|| in_home(".cache")),
    };
    cache.map(|cache| cache.join("toolwire"))
}

#[cfg(all(test, unix))]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn each_system_has_its_directory() {
        fn check(system: &str, variables: &[(&str, &str)], expected: Option<&str>) {
            let directory = find_on(system, |name| {
                let variable = variables.iter().find(|(variable, _)| *variable == name);
                variable.map(|(_, value)| value.into())
            });
            let expected = expected.map(Path::new);
            assert_eq!(directory.as_deref(), expected, "{system} {variables:?}");
        }
        let home = ("HOME", "/ada");
        check("linux", &[home], Some("/ada/.cache/toolwire"));
        let cache = ("XDG_CACHE_HOME", "/cache");
        check("linux", &[home, cache], Some("/cache/toolwire"));
        for ignored in ["cache", ""] {
            let variables = [home, ("XDG_CACHE_HOME", ignored)];
            check("linux", &variables, Some("/ada/.cache/toolwire"));
        }
        check(
            "macos",
            &[home, cache],
            Some("/ada/Library/Caches/toolwire"),
        );
        let local = ("LOCALAPPDATA", "/local");
        check("windows", &[home, local], Some("/local/toolwire"));
        for system in ["linux", "macos", "windows"] {
            let all = [home, cache, local];
            let with_home = |value| [&all[..], &[("TOOLWIRE_HOME", value)]].concat();
            check(system, &with_home("/own"), Some("/own"));
            check(system, &with_home("own"), None);
            check(system, &[("HOME", "")], None);
            check(system, &[], None);
        }
    }
}
