//! Logins as people and programs read them. No token is in it.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolwire::auth::client::{Account, LogoutOutcome};

use crate::show::{Look, Table, plain_text};

/// A login for programs.
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

/// A login for people.
pub(super) fn facts(account: &Account, look: Look) -> String {
    let lasts = lasts(account.expires_at(), account.can_refresh(), now());
    let rows = [
        ("server", Some(account.resource())),
        ("user", account.user()),
        ("issuer", Some(account.issuer())),
        ("client", Some(account.client_id())),
        ("scopes", account.scopes()),
        ("lasts", Some(&*lasts)),
    ];
    rows.into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .map(|(name, value)| {
            let name = look.paint.dim(&format!("{name:<6}"));
            format!("{name}  {}\n", plain_text(value))
        })
        .collect()
}

/// All logins for people.
pub(super) fn list(accounts: &[Account], look: Look) -> String {
    let mut table = Table::new(&["SERVER", "USER", "LASTS", "SCOPES"]);
    for account in accounts {
        let lasts = lasts(account.expires_at(), account.can_refresh(), now());
        let user = account.user().unwrap_or_default();
        table.row([
            account.resource(),
            user,
            &lasts,
            account.scopes().unwrap_or_default(),
        ]);
    }
    if table.is_empty() {
        "there are no logins; toolwire login URL makes one\n".to_owned()
    } else {
        table.render(look)
    }
}

/// What became of logins, for people.
pub(super) fn ended(logins: &[(String, LogoutOutcome)]) -> String {
    let lines = logins.iter().filter_map(|(url, outcome)| match outcome {
        LogoutOutcome::NobodyWasLoggedIn => None,
        LogoutOutcome::Forgotten(why) => Some(format!(
            "logged out at {url}; its tokens are not sent any more, but good until they end: {why}\n"
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

/// What became of logins, for programs.
pub(super) fn ended_json(logins: &[(String, LogoutOutcome)]) -> Value {
    let ended = logins.iter().filter_map(|(url, outcome)| {
        let is_revoked = match outcome {
            LogoutOutcome::NobodyWasLoggedIn => return None,
            outcome => matches!(outcome, LogoutOutcome::Revoked),
        };
        Some(json!({"server": url, "revoked": is_revoked}))
    });
    json!({"loggedOut": ended.collect::<Vec<_>>()})
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

/// How long a login lasts, in words.
fn lasts(expires_at: Option<u64>, can_refresh: bool, now: u64) -> String {
    match (expires_at, can_refresh) {
        (_, true) => "renews itself".to_owned(),
        (None, false) => "until the server ends it".to_owned(),
        (Some(end), false) if end <= now => "is over".to_owned(),
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
    fn the_time_that_is_left_is_told_in_words() {
        fn check(expires_at: Option<u64>, can_refresh: bool, expected: &str) {
            assert_eq!(lasts(expires_at, can_refresh, 1000), expected);
        }
        check(Some(1), true, "renews itself");
        check(None, true, "renews itself");
        check(None, false, "until the server ends it");
        check(Some(1000), false, "is over");
        check(Some(1001), false, "1 s");
        check(Some(1119), false, "119 s");
        check(Some(1120), false, "2 min");
        check(Some(1000 + 7200), false, "2 h");
        check(Some(1000 + 172_800), false, "2 days");
    }
}
