//! Formats logins as text and as JSON, without their tokens.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolwire_auth::client::{Account, LogoutOutcome};

use crate::show::{Style, Table, plain_text};

/// Returns a login as JSON.
pub(super) fn json(account: &Account) -> Value {
    let scopes = account.scopes().map(|scopes| {
        let scopes = scopes.split(' ').filter(|scope| !scope.is_empty());
        scopes.collect::<Vec<_>>()
    });
    json!({
        "server": account.resource(),
        "issuer": account.issuer(),
        "clientId": account.client_id(),
        "user": account.user(),
        "scopes": scopes,
        "expiresAt": account.expires_at(),
        "canRefresh": account.can_refresh(),
    })
}

/// Returns a login as text.
pub(super) fn details(account: &Account, style: Style) -> String {
    let validity = validity(account.expires_at(), account.can_refresh(), now());
    let rows = [
        ("server", Some(account.resource())),
        ("user", account.user()),
        ("issuer", Some(account.issuer())),
        ("client", Some(account.client_id())),
        ("scopes", account.scopes()),
        ("valid", Some(&*validity)),
    ];
    rows.into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .map(|(name, value)| {
            let name = style.paint.dim(&format!("{name:<6}"));
            format!("{name}  {}\n", plain_text(value))
        })
        .collect()
}

/// Returns all logins as a table.
pub(super) fn list(accounts: &[Account], style: Style) -> String {
    let mut table = Table::new(&["SERVER", "USER", "VALID", "SCOPES"]);
    for account in accounts {
        let validity = validity(account.expires_at(), account.can_refresh(), now());
        let user = account.user().unwrap_or_default();
        table.row([
            account.resource(),
            user,
            &validity,
            account.scopes().unwrap_or_default(),
        ]);
    }
    if table.is_empty() {
        "there are no logins; create one with: toolwire login URL\n".to_owned()
    } else {
        table.render(style)
    }
}

/// Returns the outcome of a logout as text.
pub(super) fn logouts(logins: &[(String, LogoutOutcome)]) -> String {
    let lines = logins.iter().filter_map(|(url, outcome)| match outcome {
        LogoutOutcome::NotLoggedIn => None,
        LogoutOutcome::RemovedLocally(why) => Some(format!(
            "logged out at {url}; its tokens are no longer used, but are valid until they expire: {why}\n"
        )),
        _ => Some(format!("logged out at {url}\n")),
    });
    let text: String = lines.collect();
    if text.is_empty() {
        "there was no login\n".to_owned()
    } else {
        plain_text(&text).into_owned()
    }
}

/// Returns the outcome of a logout as JSON.
pub(super) fn logouts_json(logins: &[(String, LogoutOutcome)]) -> Value {
    let logged_out = logins.iter().filter_map(|(url, outcome)| {
        let is_revoked = match outcome {
            LogoutOutcome::NotLoggedIn => return None,
            outcome => matches!(outcome, LogoutOutcome::Revoked),
        };
        Some(json!({"server": url, "revoked": is_revoked}))
    });
    json!({"loggedOut": logged_out.collect::<Vec<_>>()})
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

/// Describes how long a login is valid.
fn validity(expires_at: Option<u64>, can_refresh: bool, now: u64) -> String {
    match (expires_at, can_refresh) {
        (_, true) => "renewed automatically".to_owned(),
        (None, false) => "until the server revokes it".to_owned(),
        (Some(end), false) if end <= now => "expired".to_owned(),
        (Some(end), false) => match end - now {
            left @ 0..=119 => format!("{left} s"),
            left @ 120..=7199 => format!("{} min", left / 60),
            left @ 7200..=172_799 => format!("{} h", left / 3600),
            left => format!("{} days", left / 86_400),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_time_is_described() {
        fn check(expires_at: Option<u64>, can_refresh: bool, expected: &str) {
            assert_eq!(validity(expires_at, can_refresh, 1000), expected);
        }
        check(Some(1), true, "renewed automatically");
        check(None, true, "renewed automatically");
        check(None, false, "until the server revokes it");
        check(Some(1000), false, "expired");
        check(Some(1001), false, "1 s");
        check(Some(1119), false, "119 s");
        check(Some(1120), false, "2 min");
        check(Some(1000 + 7200), false, "2 h");
        check(Some(1000 + 172_800), false, "2 days");
    }
}
