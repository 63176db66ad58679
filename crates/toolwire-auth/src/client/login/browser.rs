//! Opens a page in the user's browser.

use std::ffi::OsString;
use std::process::{Command, Stdio};

/// Opens a page, or a local file, without a shell, so that the URL is a single argument. Returns `false` if no browser is
/// available.
///
/// The URL must be checked before: a leading dash is an option, and other schemes start other programs. Other users of the
/// machine can read it, so it must not contain a secret. The path of a private file that redirects to the URL may be opened
/// instead.
pub fn open(url: &str) -> bool {
    if !is_available(cfg!(any(windows, target_os = "macos")), |name| {
        std::env::var_os(name)
    }) {
        return false;
    }
    let mut command = command(url);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => {
            // A thread waits for the child process, so that it does not stay as a zombie.
            std::thread::spawn(move || child.wait());
            true
        }
        Err(_) => false,
    }
}

/// Returns `true` if the user can see a browser of this machine.
fn is_available(has_desktop: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
    if is_set("BROWSER") {
        return true;
    }
    // A user who is connected over the network has a browser on the other machine.
    let is_remote = ["SSH_CONNECTION", "SSH_TTY"].into_iter().any(is_set);
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"]
        .into_iter()
        .any(is_set);
    !is_remote && (has_desktop || has_display)
}

#[cfg(target_os = "macos")]
fn command(url: &str) -> Command {
    let mut command = Command::new("open");
    command.arg(url);
    command
}

#[cfg(windows)]
fn command(url: &str) -> Command {
    let mut command = Command::new("rundll32");
    command.args(["url.dll,FileProtocolHandler", url]);
    command
}

#[cfg(not(any(windows, target_os = "macos")))]
fn command(url: &str) -> Command {
    let mut command = Command::new("xdg-open");
    command.arg(url);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browser_is_opened_only_in_a_local_desktop_session() {
        fn check(has_desktop: bool, set: &[&str], expected: bool) {
            let available =
                is_available(has_desktop, |name| set.contains(&name).then(|| "x".into()));
            assert_eq!(available, expected, "{has_desktop} {set:?}");
        }
        check(true, &[], true);
        check(false, &[], false);
        check(false, &["DISPLAY"], true);
        check(false, &["WAYLAND_DISPLAY"], true);
        check(false, &["WSL_DISTRO_NAME"], true);
        check(true, &["SSH_CONNECTION"], false);
        check(false, &["SSH_TTY", "DISPLAY"], false);
        check(false, &["BROWSER"], true);
        check(false, &["BROWSER", "SSH_TTY"], true);
        assert!(!is_available(false, |_| Some(OsString::new())));
    }
}
