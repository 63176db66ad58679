//! The environment variables that a server process gets by default.
//!
//! A server is often third-party software, and the environment of a host contains credentials: API keys, tokens,
//! database URLs, agent sockets. A server therefore gets only the variables of this list and those that its command
//! sets. The list starts with that of the official SDKs. It adds variables without credentials that programs need to
//! work as usual: language, time zone, directories, and the location of certificates.
//!
//! The list omits proxies (their URLs may contain passwords), agents and buses (`SSH_AUTH_SOCK`,
//! `DBUS_SESSION_BUS_ADDRESS`), and variables that change the executed code (`LD_*`, `DYLD_*`, `NODE_OPTIONS`,
//! `PYTHONPATH`).

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
    // Directories. Without them a server would use wrong paths for its files.
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    // Certificate authorities in addition to those of the system.
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
    // Without these, programs and scripts are not found or do not start.
    "COMSPEC",
    "PATHEXT",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "TMP",
    "WINDIR",
    // Certificate authorities in addition to those of the system.
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// Returns the variables that a server process gets by default.
///
/// Values that start with `()` are omitted, because old versions of bash execute them as function definitions.
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
    if cfg!(windows) {
        known.any(|known| known.eq_ignore_ascii_case(name))
    } else {
        known.any(|known| *known == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, value: &str, is_passed: bool) {
        let variables = [(name.into(), value.into())];
        let passed: Vec<_> = default_variables(variables.clone()).collect();
        if is_passed {
            assert_eq!(passed, variables, "{name}");
        } else {
            assert_eq!(passed, [], "{name}");
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
    fn variables_that_programs_need_are_passed_by_default() {
        check("PATH", "/bin", true);
        let more: &[&str] = if cfg!(windows) {
            &["SYSTEMROOT", "Path", "pathext"]
        } else {
            &["HOME", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME"]
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
