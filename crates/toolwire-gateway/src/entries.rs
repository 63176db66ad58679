//! The entries of an upstream, as rules see them.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::value::RawValue;
use toolwire::{Catalog, RawJson};
use toolwire_proto::relay::names::exposed_name;

use crate::access::{EntryKind, RuledEntry, RuledKind};

/// The entries of one upstream.
#[derive(Debug, Default)]
pub(crate) struct EntryTable {
    upstream: String,
    prefix: Option<String>,
    /// The annotations of tools by their names at the upstream.
    tools: HashMap<String, Option<RawJson>>,
    prompts: HashSet<String>,
    /// The URIs of resources.
    resources: HashSet<String>,
    /// The texts of templates.
    templates: HashSet<String>,
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
            ..Self::default()
        };
        for (name, descriptor) in catalog.tools() {
            let annotated: Option<Annotated<'_>> = serde_json::from_str(descriptor.get()).ok();
            let annotations = annotated
                .and_then(|tool| tool.annotations)
                .map(RawJson::from);
            // The annotations of a name that is listed twice could be those of either tool.
            let is_listed = table.tools.contains_key(&name);
            let annotations = annotations.filter(|_| !is_listed);
            table.tools.insert(name, annotations);
        }
        let prompts = catalog.prompts().into_iter();
        table.prompts = prompts.map(|(name, _)| name).collect();
        let resources = catalog.resources().into_iter();
        table.resources = resources.map(|(uri, _)| uri).collect();
        let templates = catalog.resource_templates().into_iter();
        table.templates = templates.map(|(text, _)| text).collect();
        table
    }

    /// Returns the kinds of the entries with this name, URI or template. A name that no other entry has is a URI.
    pub(crate) fn kinds(&self, own_name: &str) -> Vec<EntryKind> {
        let mut kinds = Vec::new();
        if self.tools.contains_key(own_name) {
            kinds.push(EntryKind::Tool);
        }
        if self.prompts.contains(own_name) {
            kinds.push(EntryKind::Prompt);
        }
        if self.templates.contains(own_name) {
            kinds.push(EntryKind::Template);
        }
        if kinds.is_empty() || self.resources.contains(own_name) {
            kinds.push(EntryKind::Resource);
        }
        kinds
    }

    /// Returns the name under which the main address exposes a tool or prompt.
    pub(crate) fn exposed_name(&self, own_name: &str) -> String {
        exposed_name(self.prefix.as_deref(), own_name)
    }

    /// Returns an entry as rules see it, with its exposed name or URI. Returns `None` if there is no such tool or prompt.
    /// The URI of a resource need not be listed, because a template may match it.
    pub(crate) fn ruled<'a>(
        &'a self,
        kind: EntryKind,
        exposed_name: &'a str,
        own_name: &'a str,
    ) -> Option<RuledEntry<'a>> {
        let kind = match kind {
            EntryKind::Tool => {
                let annotations = self.tools.get(own_name)?;
                RuledKind::Tool(annotations.as_ref().map(RawJson::as_raw_value))
            }
            EntryKind::Prompt if !self.prompts.contains(own_name) => return None,
            EntryKind::Template => RuledKind::Template,
            EntryKind::Prompt | EntryKind::Resource => RuledKind::Other,
        };
        Some(RuledEntry {
            upstream: &self.upstream,
            exposed_name,
            own_name,
            kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use toolwire::{ErrorObject, RequestContext};

    use super::*;

    #[test]
    fn name_has_the_kinds_of_all_entries_with_it() {
        let handler = async |_: RequestContext, _: RawJson| Err(ErrorObject::internal("unused"));
        let json = |text: &str| RawJson::from_string(text.to_owned()).unwrap();
        let mut catalog = Catalog::new();
        let tool = json(r#"{"name":"a:1","inputSchema":{"type":"object"}}"#);
        catalog.add_raw_tool(tool, handler).unwrap();
        let prompt = json(r#"{"name":"ask"}"#);
        catalog.add_raw_prompt(prompt, handler).unwrap();
        let resource = json(r#"{"name":"r","uri":"a:1"}"#);
        catalog.add_raw_resource(resource, handler).unwrap();
        let template = json(r#"{"name":"t","uriTemplate":"ask"}"#);
        catalog
            .add_raw_resource_template(template, handler)
            .unwrap();
        let table = EntryTable::new("one", None, &catalog);
        let check = |name: &str, expected: &[EntryKind]| assert_eq!(table.kinds(name), expected);
        check("a:1", &[EntryKind::Tool, EntryKind::Resource]);
        check("ask", &[EntryKind::Prompt, EntryKind::Template]);
        check("a:2", &[EntryKind::Resource]);
    }
}
