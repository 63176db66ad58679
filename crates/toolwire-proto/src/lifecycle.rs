//! The legacy handshake of a connection: `initialize`, then `notifications/initialized`.
//!
//! One [`Lifecycle`] belongs to one session or one stdio process. Modern requests neither read nor change it.

use toolwire_types::{ErrorObject, ProtocolVersion};

use crate::features::SupportedVersions;
use crate::negotiate::negotiate_initialize;

/// The state of a connection's legacy handshake.
///
/// ```text
///             initialize                      notifications/initialized
///   Fresh ───────────────► InitializeProcessed ───────────────────────► Initialized
///     │ ▲                        │    ▲                                   │    ▲
///     └─┘ rejected initialize     └────┘ second initialize: no change      └────┘
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the handshake of the released legacy revisions will not change"
)]
pub enum Lifecycle {
    /// No `initialize` has been processed.
    #[default]
    Fresh,
    /// `initialize` was processed, and `notifications/initialized` has not arrived.
    InitializeProcessed {
        /// The negotiated version.
        version: ProtocolVersion,
    },
    /// The handshake is complete.
    Initialized {
        /// The negotiated version.
        version: ProtocolVersion,
    },
}

impl Lifecycle {
    /// Returns the negotiated version, if there is one.
    #[must_use]
    pub fn version(self) -> Option<ProtocolVersion> {
        match self {
            Self::Fresh => None,
            Self::InitializeProcessed { version } | Self::Initialized { version } => Some(version),
        }
    }

    /// Returns `true` if `notifications/initialized` has arrived.
    #[must_use]
    pub fn is_initialized(self) -> bool {
        matches!(self, Self::Initialized { .. })
    }

    /// Returns the version that `initialize` would negotiate now, without changing the state.
    ///
    /// A connection is negotiated once. Some clients keep a connection and initialize it again. They get the version of
    /// the first time, whatever they request.
    ///
    /// # Errors
    /// Returns the errors of [`negotiate_initialize`].
    pub fn negotiate(
        self,
        requested: &str,
        supported: &SupportedVersions,
    ) -> Result<ProtocolVersion, ErrorObject> {
        match self {
            Self::Fresh => negotiate_initialize(requested, supported),
            Self::InitializeProcessed { version } | Self::Initialized { version } => Ok(version),
        }
    }

    /// Processes an `initialize` with valid parameters. A rejected or repeated one changes nothing.
    ///
    /// # Errors
    /// Returns the errors of [`Lifecycle::negotiate`].
    pub fn on_initialize(
        &mut self,
        requested: &str,
        supported: &SupportedVersions,
    ) -> Result<ProtocolVersion, ErrorObject> {
        let version = self.negotiate(requested, supported)?;
        if *self == Self::Fresh {
            *self = Self::InitializeProcessed { version };
        }
        Ok(version)
    }

    /// Records `notifications/initialized`. One that arrives too early or twice is ignored.
    pub fn on_initialized(&mut self) {
        if let Self::InitializeProcessed { version } = *self {
            *self = Self::Initialized { version };
        }
    }

    /// Checks a request if the server requires initialization: before `notifications/initialized` only the handshake
    /// and `ping` are admitted.
    ///
    /// # Errors
    /// Returns −32600 with the remedy.
    pub fn require_initialized(self, method: &str) -> Result<(), ErrorObject> {
        if self.is_initialized() || matches!(method, "initialize" | "ping") {
            return Ok(());
        }
        Err(ErrorObject::invalid_request(
            "session not initialized: send notifications/initialized after the initialize result first",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: ProtocolVersion = ProtocolVersion::V2025_06_18;

    #[test]
    fn handshake_has_two_steps() {
        let mut lifecycle = Lifecycle::default();
        let supported = SupportedVersions::default();
        assert_eq!(lifecycle.version(), None);

        lifecycle.on_initialized();
        assert_eq!(lifecycle, Lifecycle::Fresh);

        assert_eq!(
            lifecycle.on_initialize("2025-06-18", &supported),
            Ok(VERSION)
        );
        assert_eq!(
            lifecycle,
            Lifecycle::InitializeProcessed { version: VERSION }
        );
        assert!(!lifecycle.is_initialized());

        lifecycle.on_initialized();
        lifecycle.on_initialized();
        assert_eq!(lifecycle, Lifecycle::Initialized { version: VERSION });
    }

    #[test]
    fn second_initialize_returns_the_negotiated_version_and_changes_nothing() {
        for before in [
            Lifecycle::InitializeProcessed { version: VERSION },
            Lifecycle::Initialized { version: VERSION },
        ] {
            for requested in ["2024-11-05", "2025-06-18", "2026-07-28", "unknown"] {
                let mut lifecycle = before;
                let version = lifecycle.on_initialize(requested, &SupportedVersions::default());
                assert_eq!(version, Ok(VERSION), "{requested}");
                assert_eq!(lifecycle, before);
            }
        }
    }

    #[test]
    fn failed_initialize_leaves_the_connection_fresh() {
        let modern_only = [ProtocolVersion::V2026_07_28].into_iter().collect();
        let mut lifecycle = Lifecycle::Fresh;
        assert!(lifecycle.on_initialize("2025-06-18", &modern_only).is_err());
        assert_eq!(lifecycle, Lifecycle::Fresh);
    }

    #[test]
    fn only_the_handshake_and_ping_are_admitted_before_initialized() {
        let check = |lifecycle: Lifecycle, method: &str, passes: bool| {
            let outcome = lifecycle.require_initialized(method);
            assert_eq!(outcome.is_ok(), passes, "{lifecycle:?} {method}");
            if let Err(error) = outcome {
                assert_eq!(error.code, -32600);
                assert!(error.message.contains("notifications/initialized"));
            }
        };
        let processed = Lifecycle::InitializeProcessed { version: VERSION };
        check(Lifecycle::Fresh, "initialize", true);
        check(Lifecycle::Fresh, "ping", true);
        check(Lifecycle::Fresh, "tools/list", false);
        check(processed, "ping", true);
        check(processed, "tools/list", false);
        check(
            Lifecycle::Initialized { version: VERSION },
            "tools/list",
            true,
        );
    }
}
