//! Opening a page in the user's browser.

use std::ffi::OsString;
use std::process::{Command, Stdio};

/// Opens a page, without any shell: a URL is one argument and nothing else. False when there is no browser to be had.
///
/// Only for URLs that were checked: what begins with a dash would be an option, and other schemes start other programs.
pub(super) fn open(url: &str) -> bool {
    if !is_at_hand(cfg!(any(windows, target_os = "macos")), |name| {
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
            // Somebody has to wait for it, or it stays as a zombie.
            std::thread::spawn(move || child.wait());
            true
        }
        Err(_) => false,
    }
}

/// Whether the user sits in front of a browser of this machine.
fn is_at_hand(has_desktop: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
    if is_set("BROWSER") {
        return true;
    }
    // Whoever came over the network has the browser at the other end.
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
    fn a_browser_is_not_looked_for_where_nobody_would_see_it() {
        fn check(has_desktop: bool, set: &[&str], expected: bool) {
            let found = is_at_hand(has_desktop, |name| set.contains(&name).then(|| "x".into()));
            assert_eq!(found, expected, "{has_desktop} {set:?}");
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
        assert!(!is_at_hand(false, |_| Some(OsString::new())));
    }
}
