//! The part of a server that comes from one mount: its entries, as the clients of the server see them.

use std::sync::Arc;

use serde_json::Value;
use toolwire_proto::relay::glob::Glob;
use toolwire_proto::relay::names::{FULL_NAME_KEY, exposed_name, full_name, may_have_prefix};
use toolwire_types::Meta;

use crate::server::middleware::Chain;
use crate::server::mount::origin::{Border, Origin};
use crate::server::mount::uris::MountClaims;
use crate::server::mount::{Catalog, CatalogEntry as _, Declarations, Mount, UriExposure};
use crate::server::prompt::PromptEntry;
use crate::server::registry::{RegistrationError, check_name};
use crate::server::resource::{ResourceEntry, TemplateEntry};
use crate::server::tool::ToolEntry;
use crate::server::visibility::{LevelName, PolicyOfLevel};

/// An entry with the name that clients see, or its URI or template.
pub(crate) type PartEntry<T> = (String, Arc<T>);

/// The entries of a mount.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) tools: Vec<PartEntry<ToolEntry>>,
    pub(crate) prompts: Vec<PartEntry<PromptEntry>>,
    pub(crate) resources: Vec<PartEntry<ResourceEntry>>,
    pub(crate) templates: Vec<PartEntry<TemplateEntry>>,
    pub(crate) has_subscriptions: bool,
    pub(crate) declarations: Declarations,
    /// What clients do not get as the source has it, as messages: shortened names, and what is not mounted.
    pub(crate) problems: Vec<String>,
    prefix: Option<String>,
    /// The names that the mount sets for tools, instead of its prefix.
    set_names: Vec<String>,
}

impl Part {
    /// Returns `true` if the mount keeps a name from a later one, because its source does not know its entries yet and may
    /// list it. A longer prefix of the later mount shows that the name belongs there.
    pub(crate) fn reserves(&self, name: &str, later: &Self) -> bool {
        if !self.declarations.has_unknown_entries {
            return false;
        }
        let is_set = || self.set_names.iter().any(|set| set == name);
        let Some(prefix) = &self.prefix else {
            return is_set();
        };
        let is_longer = later
            .prefix
            .as_ref()
            .is_none_or(|later| later.len() < prefix.len());
        (is_longer && may_have_prefix(name, prefix)) || is_set()
    }

    /// Claims the URIs, and exposes those of raw entries in a form that no earlier mount claims. `number` is that of the
    /// mount.
    pub(crate) fn expose_uris(&mut self, mount: &Mount, number: usize) {
        let claims = &mount.claims;
        let uris = self.resources.iter().map(|(uri, _)| uri.clone());
        let templates = self.templates.iter().map(|(template, _)| template.clone());
        let claimed = MountClaims {
            name: mount.name.clone(),
            uris: uris.collect(),
            templates: templates.collect(),
        };
        let exposed = claims.claim(number, claimed);
        let exposure = UriExposure {
            claims: Arc::clone(claims),
            mount: number,
        };
        for (_, tool) in &mut self.tools {
            if let Some(tool) = Arc::get_mut(tool)
                && let Some(raw) = &tool.raw
            {
                let mut raw = raw.exposed(&exposure);
                raw.descriptor = exposure.exposed_tool(raw.descriptor);
                tool.raw = Some(Arc::new(raw));
            }
        }
        for (_, prompt) in &mut self.prompts {
            if let Some(prompt) = Arc::get_mut(prompt)
                && let Some(raw) = &prompt.raw
            {
                prompt.raw = Some(Arc::new(raw.exposed(&exposure)));
            }
        }
        for (uri, resource) in &mut self.resources {
            if let Some(resource) = Arc::get_mut(resource) {
                resource.expose(&exposure, &exposed.exposed(number, uri));
                uri.clone_from(&resource.descriptor.uri);
            }
        }
        for (uri, template) in &mut self.templates {
            if let Some(template) = Arc::get_mut(template) {
                template.expose(&exposure, &exposed.exposed_template(number, uri));
                uri.clone_from(&template.descriptor.uri_template);
            }
        }
    }
}

impl Mount {
    /// Rejects options that cannot be used.
    pub(crate) fn check(&self) -> Result<(), RegistrationError> {
        self.access.check(&self.label())?;
        for pattern in self.included.iter().chain(&self.excluded) {
            if let Err(error) = pattern.parse::<Glob>() {
                let label = self.label();
                return Err(RegistrationError::new(format!("{label}: {error}")));
            }
        }
        for name in self.names.values().chain(&self.prefix) {
            check_name(&format!("{}: tool", self.label()), name)?;
        }
        Ok(())
    }

    /// Returns the entries that the source offers now, with the URIs of the source. `mount` is the number of the mount.
    pub(crate) fn part(&self, mount: usize) -> Part {
        let catalog = self.source.catalog();
        let label: Arc<str> = self.label().into();
        let new_origin = |position: usize, local_name: &str, inner: Option<&Arc<Origin>>| Origin {
            position,
            ..self.origin(mount, &label, &catalog, local_name, inner)
        };
        let origin = |position: usize, local_name: &str, inner: Option<&Arc<Origin>>| {
            Arc::new(new_origin(position, local_name, inner))
        };
        let mut part = Part {
            has_subscriptions: catalog.has_subscriptions,
            declarations: catalog.declarations.clone().of_mount(self.name.as_deref()),
            prefix: self.prefix.clone(),
            set_names: self.names.values().cloned().collect(),
            ..Part::default()
        };
        let left_out = catalog.declarations.left_out.iter();
        part.problems.extend(left_out.map(|what| {
            format!("{label}: the {what} is not mounted; register it on the server that mounts it")
        }));
        for (position, tool) in catalog.tools.iter().enumerate() {
            let local_name = tool.descriptor.name.as_str();
            if !self.offers_tool(local_name) {
                continue;
            }
            let mut descriptor = tool.descriptor.clone();
            let name = match self.names.get(local_name) {
                Some(name) => name.clone(),
                None => self.exposed_name(local_name, &mut descriptor.meta, &mut part.problems),
            };
            descriptor.name.clone_from(&name);
            if let Some(title) = self.titles.get(local_name) {
                descriptor.title = Some(title.clone());
            }
            let hidden = self.arguments.get(local_name);
            if let Some(hidden) = hidden {
                descriptor.input_schema = hidden.without_hidden(&descriptor.input_schema);
            }
            let mut origin = new_origin(position, local_name, tool.origin.as_ref());
            origin.fixed.insert(0, hidden.cloned());
            origin.is_preferred |= catalog.preferred_tools.contains(local_name);
            let mounted = tool.mounted(descriptor, &self.access, Arc::new(origin), hidden.cloned());
            part.tools.push((name, Arc::new(mounted)));
        }
        for (position, prompt) in catalog.prompts.iter().enumerate() {
            let local_name = prompt.descriptor.name.as_str();
            let mut descriptor = prompt.descriptor.clone();
            let name = self.exposed_name(local_name, &mut descriptor.meta, &mut part.problems);
            descriptor.name.clone_from(&name);
            let origin = origin(position, local_name, prompt.origin.as_ref());
            let mounted = prompt.mounted(descriptor, &self.access, origin);
            part.prompts.push((name, Arc::new(mounted)));
        }
        for (position, resource) in catalog.resources.iter().enumerate() {
            let uri = &resource.descriptor.uri;
            let origin = origin(position, uri, resource.origin());
            let mounted = resource.mounted(&self.access, origin);
            part.resources.push((uri.clone(), Arc::new(mounted)));
        }
        for (position, template) in catalog.templates.iter().enumerate() {
            let uri = &template.descriptor.uri_template;
            let origin = origin(position, uri, template.origin());
            let mounted = template.mounted(&self.access, origin);
            part.templates.push((uri.clone(), Arc::new(mounted)));
        }
        part
    }

    fn offers_tool(&self, name: &str) -> bool {
        let matches = |pattern: &String| {
            let pattern = pattern.parse::<Glob>();
            pattern.is_ok_and(|pattern| pattern.matches(name))
        };
        let is_included = self.included.is_empty() || self.included.iter().any(matches);
        is_included && !self.excluded.iter().any(matches)
    }

    /// Returns the name with the prefix, if there is one. If hosts do not accept it, it is shortened, and the full name is
    /// in `_meta`.
    fn exposed_name(
        &self,
        local_name: &str,
        meta: &mut Option<Meta>,
        problems: &mut Vec<String>,
    ) -> String {
        let prefix = self.prefix.as_deref();
        let name = exposed_name(prefix, local_name);
        let full = full_name(prefix, local_name);
        if name != full {
            let label = self.label();
            problems.push(format!(
                "{label}: hosts do not accept the name `{full}`, so it is shortened to `{name}`"
            ));
            let meta = meta.get_or_insert_default();
            meta.insert(FULL_NAME_KEY, Value::String(full));
        }
        name
    }

    /// Returns the origin of an entry. `inner` is its origin in the source, if it is mounted there.
    fn origin(
        &self,
        mount: usize,
        label: &Arc<str>,
        catalog: &Catalog,
        local_name: &str,
        inner: Option<&Arc<Origin>>,
    ) -> Origin {
        let rules = self.rules.iter().chain(&catalog.visibility);
        let rules = rules.map(|rule| (rule.clone(), in_source(local_name)));
        let inner_rules = inner.iter().flat_map(|inner| &inner.rules);
        let inner_rules = inner_rules.map(|(rule, name)| (rule.clone(), name.inside()));
        let inner_chain = inner.and_then(|inner| inner.chain.as_ref());
        let completer = match inner {
            Some(inner) => inner.completer.clone(),
            None => {
                let completer = catalog.completer.clone();
                completer.map(|completer| (completer, local_name.to_owned()))
            }
        };
        let raw_completer = match inner {
            Some(inner) => inner.raw_completer.clone(),
            None => {
                let completer = catalog.raw_completer.clone();
                completer.map(|completer| (completer, local_name.to_owned()))
            }
        };
        let inner_path = inner.map(|inner| inner.path.as_slice());
        Origin {
            mount,
            path: [&[mount], inner_path.unwrap_or_default()].concat(),
            position: 0,
            label: Arc::clone(label),
            source: self.name.as_deref().unwrap_or_default().into(),
            local_name: local_name.to_owned(),
            policies: self.policies(catalog, local_name, inner),
            rules: rules.chain(inner_rules).collect(),
            is_preferred: inner.is_some_and(|inner| inner.is_preferred),
            fixed: inner.map(|inner| inner.fixed.clone()).unwrap_or_default(),
            chain: self.chain(catalog, local_name, inner_chain),
            completer,
            raw_completer,
        }
    }

    /// Returns the policies for an entry: of the mount, of the source, and of the mounts inside the source.
    fn policies(
        &self,
        catalog: &Catalog,
        local_name: &str,
        inner: Option<&Arc<Origin>>,
    ) -> Vec<PolicyOfLevel> {
        let of_mount = self.policies.iter().map(|policy| PolicyOfLevel {
            policy: policy.clone(),
            upstream: self.name.as_deref().unwrap_or_default().into(),
            exposed_name: in_source(local_name),
            own_name: in_source(local_name),
        });
        let of_source = catalog.policies.iter().map(|policy| PolicyOfLevel {
            policy: policy.clone(),
            upstream: inner.map_or_else(|| "".into(), |inner| Arc::clone(&inner.source)),
            exposed_name: in_source(local_name),
            own_name: inner.map_or_else(
                || in_source(local_name),
                |inner| in_source(&inner.local_name).inside(),
            ),
        });
        let of_inner = inner.iter().flat_map(|inner| &inner.policies);
        let of_inner = of_inner.map(|level| PolicyOfLevel {
            exposed_name: level.exposed_name.inside(),
            own_name: level.own_name.inside(),
            ..level.clone()
        });
        of_mount.chain(of_source).chain(of_inner).collect()
    }

    /// Returns the middleware around an entry: of the mount, of the source, and of the mounts inside the source.
    fn chain(&self, catalog: &Catalog, local_name: &str, inner: Option<&Chain>) -> Option<Chain> {
        let of_source = catalog
            .middleware
            .as_ref()
            .filter(|chain| !chain.is_empty());
        let mut chain = self.middleware.clone();
        if of_source.is_some() || inner.is_some() {
            let local_name = local_name.into();
            chain = Some(Chain::with(chain.as_ref(), Arc::new(Border { local_name })));
        }
        for further in of_source.into_iter().chain(inner) {
            chain = Some(Chain::joined(chain.as_ref(), further));
        }
        chain
    }
}

/// Returns the name that the source of a mount has for an entry.
fn in_source(local_name: &str) -> LevelName {
    LevelName {
        name: local_name.to_owned(),
        depth: 1,
    }
}
