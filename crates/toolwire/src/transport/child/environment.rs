//! The environment variables that a server process gets by default.
//!
//! A server is often a program of a third party, and the environment of a host holds credentials: API keys, tokens,
//! database URLs, agent sockets. A server therefore gets the variables of this list, and those that its command names.
//! The list starts with that of the official SDKs and adds variables that hold no credentials but that programs need to
//! work as usual: language, time zone, directories, and the location of certificates.
//!
//! Not in the list on purpose: proxies (their URLs may hold passwords), agents and buses (`SSH_AUTH_SOCK`,
//! `DBUS_SESSION_BUS_ADDRESS`), and what changes the code that runs (`LD_*`, `DYLD_*`, `NODE_OPTIONS`, `PYTHONPATH`).

use std::ffi::{OsStr, OsString};

/// The variables that a server process gets by default.
#[cfg(not(windows))]
const DEFAULT_VARIABLES: &[&str] = &[
    // As in the official SDKs.
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
    // Language and time. The locale categories are named one by one: SSH passes any variable that starts with `LC_`.
    "LANG",
    "LANGUAGE",
    "LC_ADDRESS",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
    "TZ",
    // Directories. Without them a server would look for its files in the wrong place.
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    // Certificate authorities, where the system's own are not enough.
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// The variables that a server process gets by default. Their names are compared without regard to case.
#[cfg(windows)]
const DEFAULT_VARIABLES: &[&str] = &[
    // As in the official SDKs.
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
    // Programs and scripts are not found, or do not start, without these.
    "COMSPEC",
    "PATHEXT",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "TMP",
    "WINDIR",
    // Certificate authorities, where the system's own are not enough.
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// Returns those of the variables that a server process gets by default.
///
/// Values that start with `()` are left out: old versions of bash run such a value as a function definition.
pub(super) fn default_variables(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    variables
        .into_iter()
        .filter(|(name, value)| is_default(name) && !value.as_encoded_bytes().starts_with(b"()"))
}

fn is_default(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let mut known = DEFAULT_VARIABLES.iter();
    match cfg!(windows) {
        true => known.any(|known| known.eq_ignore_ascii_case(name)),
        false => known.any(|known| *known == name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, value: &str, is_passed: bool) {
        let variables = [(name.into(), value.into())];
        let passed: Vec<_> = default_variables(variables.clone()).collect();
        match is_passed {
            true => assert_eq!(passed, variables, "{name}"),
            false => assert_eq!(passed, [], "{name}"),
        }
    }

    #[test]
    fn credentials_are_not_passed_by_default() {
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "DATABASE_URL",
            "HTTPS_PROXY",
            "SSH_AUTH_SOCK",
            "LD_PRELOAD",
            "NODE_OPTIONS",
            "LC_TOKEN",
            "PATH_TO_SECRET",
            "",
        ] {
            check(name, "value", false);
        }
    }

    #[test]
    fn what_programs_need_is_passed_by_default() {
        check("PATH", "/bin", true);
        let more: &[&str] = match cfg!(windows) {
            true => &["SYSTEMROOT", "Path", "pathext"],
            false => &["HOME", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME"],
        };
        for name in more {
            check(name, "value", true);
        }
        check("SSL_CERT_FILE", "", true);
    }

    #[test]
    fn shell_functions_are_not_passed() {
        check("PATH", "() { :; }; echo owned", false);
        check("PATH", "()", false);
        check("PATH", "(a)", true);
    }
}
