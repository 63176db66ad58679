//! The rule that denied a request, for the audit log.

use crate::server::mount::CatalogEntry as _;
use crate::server::request::Exchange;
use crate::server::visibility::{PolicyEntry, Viewer};

impl Exchange {
    /// Returns the rule of a policy that denies the entry that the request names, in words.
    pub(crate) fn denying_rule(&self) -> Option<String> {
        let (snapshot, viewer) = (self.snapshot(), self.viewer());
        let name = self.name()?;
        let everything = Viewer::unfiltered();
        match self.route().name() {
            "tools/call" => {
                let tool = snapshot.find_tool(name, &everything)?;
                viewer.denying_rule(PolicyEntry::new(name, tool.origin()).of_kind(tool.kind()))
            }
            "prompts/get" => {
                let prompt = snapshot.find_prompt(name, &everything)?;
                viewer.denying_rule(PolicyEntry::new(name, prompt.origin()))
            }
            "resources/read" | "resources/subscribe" => {
                if let Some(resource) = snapshot.find_fixed_resource(name, &everything) {
                    return viewer.denying_rule(PolicyEntry::new(name, resource.origin()));
                }
                let (template, _) = snapshot.templates_at(name).into_iter().next()?;
                let used = template.used_for(name, &snapshot.uris);
                viewer.denying_rule(PolicyEntry::new(name, template.origin()).of_template(&used))
            }
            _ => None,
        }
    }
}
