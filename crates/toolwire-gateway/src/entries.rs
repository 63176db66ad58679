//! The entries of an upstream: their names at the gateway and at the upstream.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::value::RawValue;
use toolwire::{Catalog, RawJson};
use toolwire_proto::relay::names::exposed_name;

use crate::access::RuledEntry;

/// The annotations of prompts and resources, which change nothing.
const READ_ONLY: &str = r#"{"readOnlyHint":true}"#;

/// The entries of one upstream.
#[derive(Debug, Default)]
pub(crate) struct EntryTable {
    upstream: String,
    prefix: Option<String>,
    /// The annotations of tools by their names at the upstream.
    tools: HashMap<String, Option<RawJson>>,
    /// The names at the upstream by exposed names.
    tool_names: HashMap<String, String>,
    prompt_names: HashMap<String, String>,
    resources: Vec<String>,
    templates: Vec<String>,
    /// The resources and templates.
    uris: HashSet<String>,
    read_only: Option<RawJson>,
}

/// An entry that a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedEntry {
    pub(crate) exposed_name: String,
    pub(crate) own_name: String,
}

#[derive(Deserialize)]
struct Annotated<'a> {
    #[serde(borrow, default)]
    annotations: Option<&'a RawValue>,
}

impl EntryTable {
    pub(crate) fn new(upstream: &str, prefix: Option<&str>, catalog: &Catalog) -> Self {
        let mut table = Self {
            upstream: upstream.to_owned(),
            prefix: prefix.map(str::to_owned),
            read_only: RawJson::from_string(READ_ONLY.to_owned()).ok(),
            ..Self::default()
        };
        for (name, descriptor) in catalog.tools() {
            let annotated: Option<Annotated<'_>> = serde_json::from_str(descriptor.get()).ok();
            let annotations = annotated
                .and_then(|tool| tool.annotations)
                .map(RawJson::from);
            let exposed = exposed_name(prefix, &name);
            table.tool_names.insert(exposed, name.clone());
            table.tools.insert(name, annotations);
        }
        for (name, _) in catalog.prompts() {
            table.prompt_names.insert(exposed_name(prefix, &name), name);
        }
        let resources = catalog.resources().into_iter();
        table.resources = resources.map(|(uri, _)| uri).collect();
        let templates = catalog.resource_templates().into_iter();
        table.templates = templates.map(|(text, _)| text).collect();
        let uris = table.resources.iter().chain(&table.templates);
        table.uris = uris.cloned().collect();
        table
    }

    /// Finds the tool or prompt that a request names. With `own_names`, tools and prompts have the names of the upstream.
    pub(crate) fn find(&self, method: &str, name: &str, own_names: bool) -> Option<NamedEntry> {
        let names = match method {
            "tools/call" => &self.tool_names,
            "prompts/get" => &self.prompt_names,
            _ => return None,
        };
        let prefix = self.prefix.as_deref();
        let (exposed, own) = if own_names {
            let exposed = exposed_name(prefix, name);
            (names.get_key_value(&exposed)?.0, name)
        } else {
            let (exposed, own) = names.get_key_value(name)?;
            (exposed, own.as_str())
        };
        Some(NamedEntry {
            exposed_name: exposed.clone(),
            own_name: own.to_owned(),
        })
    }

    /// Returns the name of the upstream.
    pub(crate) fn upstream(&self) -> &str {
        &self.upstream
    }

    /// Returns the URIs of resources.
    pub(crate) fn resources(&self) -> &[String] {
        &self.resources
    }

    /// Returns the texts of templates.
    pub(crate) fn templates(&self) -> &[String] {
        &self.templates
    }

    /// Returns the entry with this name at the upstream, as rules see it.
    pub(crate) fn ruled<'a>(&'a self, exposed_name: &'a str, own_name: &'a str) -> RuledEntry<'a> {
        let annotations = match self.tools.get(own_name) {
            Some(annotations) => annotations.as_ref(),
            None => self.read_only.as_ref(),
        };
        RuledEntry {
            upstream: &self.upstream,
            exposed_name,
            own_name,
            annotations: annotations.map(RawJson::as_raw_value),
        }
    }

    /// Returns the exposed name of a tool, prompt, resource or template of the upstream.
    pub(crate) fn exposed(&self, own_name: &str) -> String {
        if self.uris.contains(own_name) {
            own_name.to_owned()
        } else {
            exposed_name(self.prefix.as_deref(), own_name)
        }
    }
}
