//! The addresses of a host: resolved or configured, and checked by the address policy.
//!
//! This module does not connect.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::lookup_host;

use crate::client::http::{HttpError, HttpPhase};
use crate::transport::http_client::authority::HostPort;

type AddressPolicy = Arc<dyn Fn(SocketAddr) -> bool + Send + Sync>;

/// The rules that decide which addresses a connection may use.
#[derive(Clone, Default)]
pub(super) struct AddressRules {
    /// The addresses of hosts that are not resolved, by lower-case host name.
    overrides: BTreeMap<String, SocketAddr>,
    policy: Option<AddressPolicy>,
    /// The resolver of a test.
    #[cfg(test)]
    scripted: Option<ScriptedResolver>,
}

/// Returns the addresses of a host name, in tests.
#[cfg(test)]
type ScriptedResolver = Arc<dyn Fn(&str) -> Vec<SocketAddr> + Send + Sync>;

impl AddressRules {
    /// Sets the address of a host.
    pub(super) fn set_override(&mut self, host: &str, address: SocketAddr) {
        self.overrides.insert(host.to_ascii_lowercase(), address);
    }

    /// Sets the policy that must accept each address.
    pub(super) fn set_policy(
        &mut self,
        policy: impl Fn(SocketAddr) -> bool + Send + Sync + 'static,
    ) {
        self.policy = Some(Arc::new(policy));
    }

    /// Replaces the resolver of the system.
    #[cfg(test)]
    pub(super) fn set_resolver(
        &mut self,
        resolver: impl Fn(&str) -> Vec<SocketAddr> + Send + Sync + 'static,
    ) {
        self.scripted = Some(Arc::new(resolver));
    }

    /// Returns the addresses of a host in the order of the resolver.
    ///
    /// # Errors
    /// Returns an error if the host has no address, or if the policy rejects one of its addresses.
    pub(super) async fn resolve(&self, host: &HostPort) -> Result<Vec<SocketAddr>, HttpError> {
        let addresses = self.lookup(host).await?;
        self.check(host, &addresses)?;
        Ok(addresses)
    }

    async fn lookup(&self, host: &HostPort) -> Result<Vec<SocketAddr>, HttpError> {
        if let Some(address) = self.overrides.get(host.name()) {
            return Ok(vec![*address]);
        }
        if let Some(address) = host.address() {
            return Ok(vec![SocketAddr::new(address, host.port())]);
        }
        #[cfg(test)]
        if let Some(resolver) = &self.scripted {
            return Ok(resolver(host.name()));
        }
        let addresses: Vec<_> = lookup_host((host.name(), host.port()))
            .await
            .map_err(|error| unknown(host).with_source(error))?
            .collect();
        if addresses.is_empty() {
            return Err(unknown(host));
        }
        Ok(addresses)
    }

    /// Rejects a host if the policy rejects one of its addresses. The other addresses of such a host are not trusted
    /// either.
    fn check(&self, host: &HostPort, addresses: &[SocketAddr]) -> Result<(), HttpError> {
        let Some(policy) = &self.policy else {
            return Ok(());
        };
        let rejected: Vec<_> = addresses
            .iter()
            .filter(|address| !policy(**address))
            .map(SocketAddr::to_string)
            .collect();
        if rejected.is_empty() {
            return Ok(());
        }
        let rejected = rejected.join(", ");
        let what = format!("the address policy rejects {host}, whose address is {rejected}");
        Err(HttpError::new(HttpPhase::Connect, what)
            .with_advice("use a server at another address, or let the policy allow this one"))
    }
}

fn unknown(host: &HostPort) -> HttpError {
    let what = format!("no address is known for the name {}", host.name());
    HttpError::new(HttpPhase::Resolve, what)
        .with_advice("check its spelling, and that this machine can reach a name server")
}

impl fmt::Debug for AddressRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressRules")
            .field("overrides", &self.overrides)
            .field("has_policy", &self.policy.is_some())
            .finish()
    }
}
