//! The settings of the connection that the page can change.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolwire::LoggingLevel;

use crate::connection_arguments::{Era, Server};
use crate::inspect_arguments::{FaultOption, MAX_DELAY};

/// The longest delay of a request.
const MAX_DELAY_MS: u64 = MAX_DELAY.as_secs() * 1000;

/// The maximum number of roots.
const MAX_ROOTS: usize = 100;

/// The settings of the connection.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Settings {
    pub(super) era: EraSetting,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) roots: Vec<String>,
    /// `true` if the client offers elicitation.
    pub(super) elicitation: bool,
    /// `true` if the client offers sampling.
    pub(super) sampling: bool,
    pub(super) faults: Faults,
}

/// The era to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EraSetting {
    Auto,
    Modern,
    Legacy,
}

impl From<EraSetting> for Era {
    fn from(era: EraSetting) -> Self {
        match era {
            EraSetting::Auto => Self::Auto,
            EraSetting::Modern => Self::Modern,
            EraSetting::Legacy => Self::Legacy,
        }
    }
}

/// Faults on demand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Faults {
    /// Delays each request.
    pub(super) delay_ms: u64,
    /// Ends each HTTP response after this many bytes of its body.
    pub(super) cut_after_bytes: Option<usize>,
    /// Repeats each notification of an HTTP stream.
    pub(super) repeat_notifications: bool,
    /// Replaces the access token by one that the server rejects.
    pub(super) expired_token: bool,
}

impl Faults {
    /// Returns the faults of the command line. The last one of a kind counts.
    pub(super) fn of(given: &[FaultOption]) -> Self {
        let mut faults = Self::default();
        for fault in given {
            match *fault {
                FaultOption::Delay(delay) => {
                    faults.delay_ms = u64::try_from(delay.as_millis()).unwrap_or(MAX_DELAY_MS);
                }
                FaultOption::Cut(bytes) => faults.cut_after_bytes = Some(bytes),
                FaultOption::Twice => faults.repeat_notifications = true,
                FaultOption::ExpiredToken => faults.expired_token = true,
            }
        }
        faults
    }

    pub(super) fn delay(self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }
}

/// A change of settings. Absent members stay.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SettingsChange {
    era: Option<EraSetting>,
    #[serde(default, deserialize_with = "given")]
    log_level: Option<Option<LoggingLevel>>,
    roots: Option<Vec<String>>,
    elicitation: Option<bool>,
    sampling: Option<bool>,
    faults: Option<Faults>,
}

/// Reads a member that may be `null`, which differs from an absent member.
pub(super) fn given<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

impl Settings {
    /// Returns the settings of the command line.
    pub(super) fn new(server: &Server) -> Self {
        Self {
            era: match server.era {
                Era::Auto => EraSetting::Auto,
                Era::Modern => EraSetting::Modern,
                Era::Legacy => EraSetting::Legacy,
            },
            log_level: server.log_level,
            roots: server.roots.clone(),
            elicitation: true,
            sampling: true,
            faults: Faults::default(),
        }
    }

    /// Returns the settings after a change. Returns an error if a value is outside of its limits.
    pub(super) fn changed(&self, change: SettingsChange) -> Result<Self, String> {
        let changed = Self {
            era: change.era.unwrap_or(self.era),
            log_level: change.log_level.unwrap_or(self.log_level),
            roots: change.roots.unwrap_or_else(|| self.roots.clone()),
            elicitation: change.elicitation.unwrap_or(self.elicitation),
            sampling: change.sampling.unwrap_or(self.sampling),
            faults: change.faults.unwrap_or(self.faults),
        };
        if changed.faults.delay_ms > MAX_DELAY_MS {
            return Err(format!(
                "delayMs is greater than {MAX_DELAY_MS}; give a shorter delay"
            ));
        }
        if changed.roots.len() > MAX_ROOTS {
            return Err(format!(
                "there are more than {MAX_ROOTS} roots; remove some"
            ));
        }
        if let Some(root) = changed
            .roots
            .iter()
            .find(|root| !root.starts_with("file://"))
        {
            return Err(format!(
                "the root `{root}` is not a file:// URI; write file:///path"
            ));
        }
        Ok(changed)
    }

    /// Returns `true` if the other settings need another connection.
    pub(super) fn needs_reconnect(&self, other: &Self) -> bool {
        let has_roots = |settings: &Self| !settings.roots.is_empty();
        self.era != other.era
            || self.elicitation != other.elicitation
            || self.sampling != other.sampling
            // The client declares roots when it connects.
            || has_roots(self) != has_roots(other)
    }

    /// Applies the settings to the options of the command line.
    pub(super) fn apply(&self, before: &Self, server: &mut Server) {
        if self.era != before.era {
            server.protocol_version = None;
        }
        server.era = self.era.into();
        server.roots.clone_from(&self.roots);
        server.log_level = self.log_level;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn settings() -> Settings {
        Settings {
            era: EraSetting::Auto,
            log_level: Some(LoggingLevel::Info),
            roots: Vec::new(),
            elicitation: true,
            sampling: true,
            faults: Faults::default(),
        }
    }

    fn changed(change: Value) -> Result<Settings, String> {
        let change = serde_json::from_value(change).map_err(|error| error.to_string())?;
        settings().changed(change)
    }

    #[test]
    fn absent_members_stay_and_null_removes() {
        assert_eq!(changed(json!({})), Ok(settings()));
        let none = changed(json!({"logLevel": null})).expect("a valid change");
        assert_eq!(none.log_level, None);
        let debug = changed(json!({"logLevel": "debug"})).expect("a valid change");
        assert_eq!(debug.log_level, Some(LoggingLevel::Debug));
    }

    #[test]
    fn values_outside_of_their_limits_are_rejected() {
        let delay = |delay: u64| changed(json!({"faults": {"delayMs": delay}}));
        assert!(delay(MAX_DELAY_MS).is_ok());
        assert!(delay(MAX_DELAY_MS + 1).is_err());
        let roots = |count: usize| changed(json!({"roots": vec!["file:///a"; count]}));
        assert!(roots(MAX_ROOTS).is_ok());
        assert!(roots(MAX_ROOTS + 1).is_err());
        assert!(changed(json!({"roots": ["https://example.com"]})).is_err());
        assert!(changed(json!({"unknown": 1})).is_err());
    }

    #[test]
    fn only_what_is_declared_needs_another_connection() {
        let check = |change: Value, expected: bool| {
            let after = changed(change.clone()).expect("a valid change");
            assert_eq!(settings().needs_reconnect(&after), expected, "{change}");
        };
        check(json!({"era": "legacy"}), true);
        check(json!({"sampling": false}), true);
        check(json!({"roots": ["file:///a"]}), true);
        check(json!({"logLevel": "debug"}), false);
        check(json!({"faults": {"delayMs": 5}}), false);
    }
}
