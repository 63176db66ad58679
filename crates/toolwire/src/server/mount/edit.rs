//! Reading and changing a catalog, for sources that wrap another source.

use std::sync::Arc;

use serde::Serialize;
use toolwire_types::{ErrorObject, RawJson};

use crate::server::RequestContext;
use crate::server::mount::Catalog;
use crate::server::mount::catalog_limits::check_descriptor;
use crate::server::prompt::PromptEntry;
use crate::server::raw_entry::{RawEntry, RawHandler};
use crate::server::registry::RegistrationError;
use crate::server::resource::{ResourceEntry, TemplateEntry};
use crate::server::tool::ToolEntry;

impl Catalog {
    /// Returns the tools in their order: the name, and the entry of the list as JSON.
    #[must_use]
    pub fn tools(&self) -> Vec<(String, RawJson)> {
        let tools = self.tools.iter();
        let described = tools.map(|entry| {
            let json = json_of(&entry.descriptor, entry.raw.as_deref());
            (entry.descriptor.name.clone(), json)
        });
        described.collect()
    }

    /// Returns the prompts in their order: the name, and the entry of the list as JSON.
    #[must_use]
    pub fn prompts(&self) -> Vec<(String, RawJson)> {
        let prompts = self.prompts.iter();
        let described = prompts.map(|entry| {
            let json = json_of(&entry.descriptor, entry.raw.as_deref());
            (entry.descriptor.name.clone(), json)
        });
        described.collect()
    }

    /// Returns the resources in their order: the URI, and the entry of the list as JSON.
    #[must_use]
    pub fn resources(&self) -> Vec<(String, RawJson)> {
        let resources = self.resources.iter();
        let described = resources.map(|entry| {
            let json = json_of(&entry.descriptor, entry.raw_entry().map(|raw| &**raw));
            (entry.descriptor.uri.clone(), json)
        });
        described.collect()
    }

    /// Returns the resource templates in their order: the text of the template, and the entry of the list as JSON.
    #[must_use]
    pub fn resource_templates(&self) -> Vec<(String, RawJson)> {
        let templates = self.templates.iter();
        let described = templates.map(|entry| {
            let json = json_of(&entry.descriptor, entry.raw_entry().map(|raw| &**raw));
            (entry.descriptor.uri_template.clone(), json)
        });
        described.collect()
    }

    /// Returns `true` if the source does not know its entries yet; see
    /// [`with_unknown_entries`](Self::with_unknown_entries).
    #[must_use]
    pub fn has_unknown_entries(&self) -> bool {
        self.declarations.has_unknown_entries
    }

    /// Returns the instructions of the source, without those of its mounts.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.declarations.instructions.as_deref()
    }

    /// Removes the instructions of the source and of its mounts.
    #[must_use]
    pub fn without_instructions(mut self) -> Self {
        self.declarations.instructions = None;
        self.declarations.mounted.clear();
        self
    }

    /// Removes the tools for whose names `keep` returns `false`.
    pub fn retain_tools(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.tools.retain(|entry| keep(&entry.descriptor.name));
    }

    /// Removes the prompts for whose names `keep` returns `false`.
    pub fn retain_prompts(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.prompts.retain(|entry| keep(&entry.descriptor.name));
    }

    /// Removes all resources that have URIs of their own, and the subscriptions to resources. Templates stay.
    pub fn remove_resources(&mut self) {
        self.resources.clear();
        self.has_subscriptions = false;
    }

    /// Replaces the tool of the same name, at its place in the list, by a raw one; see
    /// [`add_raw_tool`](Self::add_raw_tool). Without such a tool, it is added at the end.
    ///
    /// # Errors
    /// Returns the errors of [`add_raw_tool`](Self::add_raw_tool). A tool that is replaced needs no capacity.
    pub fn replace_raw_tool<F, Fut>(
        &mut self,
        descriptor: RawJson,
        handler: F,
    ) -> Result<(), RegistrationError>
    where
        F: Fn(RequestContext, RawJson) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson, ErrorObject>> + Send + 'static,
    {
        check_descriptor(&descriptor)?;
        let tool = ToolEntry::raw(descriptor, RawHandler::new(handler))?;
        let capacity = self.check_capacity();
        replace(
            &mut self.tools,
            tool,
            |tool| &tool.descriptor.name,
            capacity,
        )
    }

    /// Replaces a prompt, as [`replace_raw_tool`](Self::replace_raw_tool) replaces a tool.
    ///
    /// # Errors
    /// Returns the errors of [`add_raw_prompt`](Self::add_raw_prompt). A prompt that is replaced needs no capacity.
    pub fn replace_raw_prompt<F, Fut>(
        &mut self,
        descriptor: RawJson,
        handler: F,
    ) -> Result<(), RegistrationError>
    where
        F: Fn(RequestContext, RawJson) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson, ErrorObject>> + Send + 'static,
    {
        check_descriptor(&descriptor)?;
        let prompt = PromptEntry::raw(descriptor, RawHandler::new(handler))?;
        let capacity = self.check_capacity();
        replace(
            &mut self.prompts,
            prompt,
            |prompt| &prompt.descriptor.name,
            capacity,
        )
    }
}

impl Catalog {
    /// Replaces the descriptors of the raw entries for which `edit` returns another one. The handlers stay. Entries that a
    /// mounted server has mounted itself stay as they are.
    ///
    /// # Errors
    /// Returns an error if a new descriptor is not valid, has more than 64 KiB, or has another name, URI or template. Such
    /// an entry stays as it is; the others are replaced.
    pub fn edit_raw_entries(
        &mut self,
        mut edit: impl FnMut(&RawJson) -> Option<RawJson>,
    ) -> Result<(), RegistrationError> {
        let mut outcome = Ok(());
        for tool in &mut self.tools {
            let name = |tool: &ToolEntry| tool.descriptor.name.clone();
            let edited = edit_entry(&**tool, tool.raw.as_ref(), &mut edit, ToolEntry::raw, name);
            replace_edited(tool, edited, &mut outcome);
        }
        for prompt in &mut self.prompts {
            let name = |prompt: &PromptEntry| prompt.descriptor.name.clone();
            let raw = prompt.raw.as_ref();
            let edited = edit_entry(&**prompt, raw, &mut edit, PromptEntry::raw, name);
            replace_edited(prompt, edited, &mut outcome);
        }
        for resource in &mut self.resources {
            let uri = |resource: &ResourceEntry| resource.descriptor.uri.clone();
            let raw = resource.raw_entry();
            let edited = edit_entry(&**resource, raw, &mut edit, ResourceEntry::raw, uri);
            replace_edited(resource, edited, &mut outcome);
        }
        for template in &mut self.templates {
            let uri = |template: &TemplateEntry| template.descriptor.uri_template.clone();
            let raw = template.raw_entry();
            let edited = edit_entry(&**template, raw, &mut edit, TemplateEntry::raw, uri);
            replace_edited(template, edited, &mut outcome);
        }
        outcome
    }
}

/// Returns an entry with another descriptor. `None` if it stays as it is.
fn edit_entry<T>(
    entry: &T,
    raw: Option<&Arc<RawEntry>>,
    edit: &mut impl FnMut(&RawJson) -> Option<RawJson>,
    create: impl Fn(RawJson, RawHandler) -> Result<T, RegistrationError>,
    name: impl Fn(&T) -> String,
) -> Result<Option<T>, RegistrationError> {
    // The entries of mounts in the source have more than a descriptor and a handler.
    let Some(raw) = raw.filter(|raw| raw.exposures.is_empty()) else {
        return Ok(None);
    };
    let Some(descriptor) = edit(&raw.descriptor) else {
        return Ok(None);
    };
    check_descriptor(&descriptor)?;
    let edited = create(descriptor, raw.handler.clone())?;
    let (old, new) = (name(entry), name(&edited));
    if old == new {
        return Ok(Some(edited));
    }
    Err(RegistrationError::new(format!(
        "the descriptor of `{old}` must not have another name: `{new}`"
    )))
}

/// Replaces an entry that was edited, and notes an error.
fn replace_edited<T>(
    entry: &mut Arc<T>,
    edited: Result<Option<T>, RegistrationError>,
    outcome: &mut Result<(), RegistrationError>,
) {
    match edited {
        Ok(Some(edited)) => *entry = Arc::new(edited),
        Ok(None) => {}
        Err(error) => *outcome = Err(error),
    }
}

/// Replaces the entry of the same name, or adds the entry if there is capacity.
fn replace<T>(
    entries: &mut Vec<Arc<T>>,
    entry: T,
    name: impl Fn(&T) -> &String,
    capacity: Result<(), RegistrationError>,
) -> Result<(), RegistrationError> {
    match entries.iter_mut().find(|other| name(other) == name(&entry)) {
        Some(place) => *place = Arc::new(entry),
        None => {
            capacity?;
            entries.push(Arc::new(entry));
        }
    }
    Ok(())
}

/// Returns the entry of a list as JSON: that of the source if the entry is raw.
fn json_of(descriptor: &impl Serialize, raw: Option<&RawEntry>) -> RawJson {
    match raw {
        Some(raw) => raw.descriptor.clone(),
        None => RawJson::from_serialize(descriptor).expect("descriptors consist of JSON values"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        RawJson::from_string(text.to_owned()).expect("the text is JSON")
    }

    async fn reject(_: RequestContext, _: RawJson) -> Result<RawJson, ErrorObject> {
        Err(ErrorObject::internal("no"))
    }

    #[test]
    fn tools_are_listed_replaced_and_removed() {
        let mut catalog = Catalog::new();
        for name in ["a", "b", "c"] {
            let tool = format!(r#"{{"x":1.0,"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
            catalog.add_raw_tool(json(&tool), reject).unwrap();
        }
        let replaced = r#"{"name":"b","inputSchema":{"type":"object"},"y":1}"#;
        catalog.replace_raw_tool(json(replaced), reject).unwrap();
        catalog.retain_tools(|name| name != "a");
        let tools: Vec<(String, String)> = catalog
            .tools()
            .into_iter()
            .map(|(name, tool)| (name, tool.get().to_owned()))
            .collect();
        let last = r#"{"x":1.0,"name":"c","inputSchema":{"type":"object"}}"#;
        assert_eq!(
            tools,
            [
                ("b".to_owned(), replaced.to_owned()),
                ("c".to_owned(), last.to_owned())
            ]
        );
    }

    #[test]
    fn prompts_are_replaced_or_added() {
        let mut catalog = Catalog::new();
        catalog
            .replace_raw_prompt(json(r#"{"name":"p"}"#), reject)
            .unwrap();
        catalog
            .replace_raw_prompt(json(r#"{"name":"p","title":"P"}"#), reject)
            .unwrap();
        let prompts = catalog.prompts();
        assert_eq!(prompts.len(), 1);
        assert_eq!(prompts[0].1.get(), r#"{"name":"p","title":"P"}"#);
        catalog.retain_prompts(|_| false);
        assert!(catalog.prompts().is_empty());
    }

    #[test]
    fn descriptors_are_edited_and_keep_their_names() {
        let mut catalog = Catalog::new();
        let tool = r#"{"name":"t","inputSchema":{}}"#;
        catalog.add_raw_tool(json(tool), reject).unwrap();
        let prompt = r#"{"name":"p"}"#;
        catalog.add_raw_prompt(json(prompt), reject).unwrap();
        let resource = r#"{"name":"r","uri":"a:b"}"#;
        catalog.add_raw_resource(json(resource), reject).unwrap();
        let template = r#"{"name":"t","uriTemplate":"a:{x}"}"#;
        catalog
            .add_raw_resource_template(json(template), reject)
            .unwrap();
        let edited = |text: &str| text.replacen('{', r#"{"y":1.0,"#, 1);
        let edit = |descriptor: &RawJson| Some(json(&edited(descriptor.get())));
        catalog.edit_raw_entries(edit).unwrap();
        assert_eq!(catalog.tools()[0].1.get(), edited(tool));
        assert_eq!(catalog.prompts()[0].1.get(), edited(prompt));
        assert_eq!(catalog.resources()[0].1.get(), edited(resource));
        assert_eq!(catalog.resource_templates()[0].1.get(), edited(template));
        let renamed = |_: &RawJson| Some(json(r#"{"name":"z","inputSchema":{}}"#));
        catalog.retain_prompts(|_| false);
        assert!(catalog.edit_raw_entries(renamed).is_err());
        assert_eq!(catalog.tools()[0].0, "t");
        assert_eq!(catalog.resources()[0].0, "a:b");
    }

    #[test]
    fn resources_and_templates_are_listed() {
        let mut catalog = Catalog::new();
        let resource = r#"{"name":"r","uri":"a:b","size":1.0}"#;
        catalog.add_raw_resource(json(resource), reject).unwrap();
        let template = r#"{"name":"t","uriTemplate":"a:{x}"}"#;
        catalog
            .add_raw_resource_template(json(template), reject)
            .unwrap();
        assert_eq!(catalog.resources()[0].0, "a:b");
        assert_eq!(catalog.resources()[0].1.get(), resource);
        assert_eq!(catalog.resource_templates()[0].0, "a:{x}");
    }
}
