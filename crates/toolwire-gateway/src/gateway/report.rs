//! What a gateway offers: the merged lists, conflicts of names, and hidden characters.

use std::collections::HashMap;

use toolwire::relay::UpstreamStatus;
use toolwire::{RawJson, Source as _};
use toolwire_proto::invisible_characters::InvisibleCharacter;
use toolwire_proto::relay::names::exposed_name;

use crate::connect::has_user_login;
use crate::gateway::Gateway;
use crate::gateway::running::RunningUpstream;
use crate::invisible_text::kinds_in;

/// What a gateway offers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayReport {
    /// Whether callers are identified. Otherwise every client that reaches the address may use the gateway.
    pub has_auth: bool,
    /// The upstreams in their order.
    pub upstreams: Vec<UpstreamReport>,
    /// The entries that are hidden, or have a prefix, because an earlier upstream has their name or URI.
    pub conflicts: Vec<String>,
}

/// What an upstream offers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamReport {
    /// The name of the upstream.
    pub name: String,
    /// Why the upstream is not reachable. `None` if it is, and if its users log in.
    pub problem: Option<String>,
    /// Its entries.
    pub entries: Vec<EntryReport>,
}

/// An entry of the merged lists.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryReport {
    /// `tool`, `prompt`, `resource` or `template`.
    pub kind: &'static str,
    /// The name at the main address, or the URI.
    pub name: String,
    /// The kinds of invisible characters in its texts.
    pub invisible_characters: Vec<InvisibleCharacter>,
}

impl Gateway {
    /// Returns what the gateway offers to a caller that every rule permits.
    pub async fn report(&self) -> GatewayReport {
        let upstreams = self.inner.state.lock().await.upstreams.clone();
        let upstreams: Vec<UpstreamReport> = upstreams.iter().map(UpstreamReport::of).collect();
        let mut owners: HashMap<(&str, &str), &str> = HashMap::new();
        let mut conflicts = Vec::new();
        for upstream in &upstreams {
            for entry in &upstream.entries {
                let key = (entry.kind, entry.name.as_str());
                match owners.get(&key) {
                    None => drop(owners.insert(key, &upstream.name)),
                    // The later one has a prefix.
                    Some(owner) if matches!(entry.kind, "resource" | "template") => {
                        conflicts.push(format!(
                            "{} `{}` of `{}` has a prefix: `{owner}` has the same one",
                            entry.kind, entry.name, upstream.name
                        ));
                    }
                    Some(owner) => conflicts.push(format!(
                        "{} `{}` of `{}` is hidden: `{owner}` has the name; set another prefix",
                        entry.kind, entry.name, upstream.name
                    )),
                }
            }
        }
        GatewayReport {
            has_auth: self.inner.auth.is_some(),
            conflicts,
            upstreams,
        }
    }
}

impl UpstreamReport {
    fn of(upstream: &RunningUpstream) -> Self {
        let problem = match upstream.connection.state().status {
            UpstreamStatus::Connected => None,
            // Its lists are read after the first login of a user.
            _ if has_user_login(&upstream.config) => None,
            UpstreamStatus::Unreachable { reason, .. } => Some(reason),
            _ => Some("it is not connected".to_owned()),
        };
        let prefix = upstream.config.prefix.as_deref();
        let catalog = upstream.alone.catalog();
        let mut entries = Vec::new();
        let mut add = |kind, name: String, descriptor: &RawJson| {
            entries.push(EntryReport {
                kind,
                name,
                invisible_characters: kinds_in(descriptor),
            });
        };
        for (name, descriptor) in catalog.tools() {
            add("tool", exposed_name(prefix, &name), &descriptor);
        }
        for (name, descriptor) in catalog.prompts() {
            add("prompt", exposed_name(prefix, &name), &descriptor);
        }
        for (uri, descriptor) in catalog.resources() {
            add("resource", uri, &descriptor);
        }
        for (template, descriptor) in catalog.resource_templates() {
            add("template", template, &descriptor);
        }
        Self {
            name: upstream.config.name.clone(),
            problem,
            entries,
        }
    }
}
