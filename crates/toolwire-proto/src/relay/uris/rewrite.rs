//! The places of URIs in messages.
//!
//! A relay that exposes a URI in another form replaces it wherever the protocol defines a URI of a resource. Text and
//! structured content are not changed, because they belong to the tool.

use std::borrow::Cow;

use toolwire_types::apps::{FLAT_URI_KEY, META_KEY};

use crate::raw_object::RawObject;

/// A URI or a template in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a resource has a URI, and a resource template has a template"
)]
pub enum UriReference<'u> {
    /// The URI of a resource.
    Uri(&'u str),
    /// A URI template.
    Template(&'u str),
}

/// The replacement of the URIs in a message. It returns the new text, which may be the old one.
type Replace<'r> = dyn FnMut(UriReference<'_>) -> Option<String> + 'r;

/// Replaces the URIs in the result of a request. `replace` returns `None` if a URI stays as it is.
pub fn result(
    method: &str,
    result: &mut RawObject<'_>,
    mut replace: impl FnMut(UriReference<'_>) -> Option<String>,
) {
    let replace: &mut Replace<'_> = &mut replace;
    match method {
        "resources/list" | "resources/directory/read" => {
            each(result, "resources", |resource| uri(resource, replace));
        }
        "resources/templates/list" => {
            each(result, "resourceTemplates", |entry| {
                let old = entry.text("uriTemplate").map(Cow::into_owned);
                set(
                    entry,
                    "uriTemplate",
                    old.as_deref().map(UriReference::Template),
                    replace,
                );
            });
        }
        "resources/read" => each(result, "contents", |contents| uri(contents, replace)),
        "tools/list" => each(result, "tools", |tool| view(tool, replace)),
        "tools/call" => {
            each(result, "content", |content| block(content, replace));
            view(result, replace);
        }
        "prompts/get" => each(result, "messages", |message| {
            if let Some(content) = message.object_mut("content") {
                block(content, replace);
            }
        }),
        "skills/list" => each(result, "skills", |skill| skill_uris(skill, replace)),
        "skills/get" => {
            if let Some(skill) = result.object_mut("skill") {
                skill_uris(skill, replace);
            }
        }
        _ => {}
    }
}

/// Replaces the URIs in the parameters of a client's request.
pub fn request(
    method: &str,
    params: &mut RawObject<'_>,
    mut replace: impl FnMut(UriReference<'_>) -> Option<String>,
) {
    match method {
        "resources/read"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "resources/directory/read"
        | "skills/get" => uri(params, &mut replace),
        "completion/complete" => {
            let Some(reference) = params.object_mut("ref") else {
                return;
            };
            if reference.text("type").as_deref() == Some("ref/resource") {
                let old = reference.text("uri").map(Cow::into_owned);
                // A reference is a URI or a template.
                let old = old.as_deref().map(|old| {
                    if old.contains('{') {
                        UriReference::Template(old)
                    } else {
                        UriReference::Uri(old)
                    }
                });
                set(reference, "uri", old, &mut replace);
            }
        }
        _ => {}
    }
}

/// Replaces the URI of the view in the descriptor of a tool.
pub fn tool(
    descriptor: &mut RawObject<'_>,
    mut replace: impl FnMut(UriReference<'_>) -> Option<String>,
) {
    view(descriptor, &mut replace);
}

/// Replaces the URI in the parameters of a notification of an upstream.
pub fn notification(
    method: &str,
    params: &mut RawObject<'_>,
    mut replace: impl FnMut(UriReference<'_>) -> Option<String>,
) {
    if method == "notifications/resources/updated" {
        uri(params, &mut replace);
    }
}

/// Replaces the URI in the data of an error about a resource.
pub fn error(
    error: &mut RawObject<'_>,
    mut replace: impl FnMut(UriReference<'_>) -> Option<String>,
) {
    if let Some(data) = error.object_mut("data") {
        uri(data, &mut replace);
    }
}

/// Replaces the URI of a descriptor of a tool that has a view, a resource link, or an embedded resource.
fn block(block: &mut RawObject<'_>, replace: &mut Replace<'_>) {
    match block.text("type").as_deref() {
        Some("resource_link") => uri(block, replace),
        Some("resource") => {
            if let Some(resource) = block.object_mut("resource") {
                uri(resource, replace);
            }
        }
        _ => {}
    }
}

/// Replaces the URI of the view in `_meta`, in both of its forms.
fn view(object: &mut RawObject<'_>, replace: &mut Replace<'_>) {
    let Some(meta) = object.object_mut("_meta") else {
        return;
    };
    let old = meta.text(FLAT_URI_KEY).map(Cow::into_owned);
    set(
        meta,
        FLAT_URI_KEY,
        old.as_deref().map(UriReference::Uri),
        replace,
    );
    if let Some(ui) = meta.object_mut(META_KEY) {
        let old = ui.text("resourceUri").map(Cow::into_owned);
        set(
            ui,
            "resourceUri",
            old.as_deref().map(UriReference::Uri),
            replace,
        );
    }
}

fn skill_uris(skill: &mut RawObject<'_>, replace: &mut Replace<'_>) {
    uri(skill, replace);
    each(skill, "resources", |resource| uri(resource, replace));
}

fn uri(object: &mut RawObject<'_>, replace: &mut Replace<'_>) {
    let old = object.text("uri").map(Cow::into_owned);
    set(
        object,
        "uri",
        old.as_deref().map(UriReference::Uri),
        replace,
    );
}

fn set(
    object: &mut RawObject<'_>,
    member: &'static str,
    old: Option<UriReference<'_>>,
    replace: &mut Replace<'_>,
) {
    if let Some(new) = old.and_then(replace) {
        object.set_text(member, &new);
    }
}

/// Edits each object of a list.
fn each<'a>(object: &mut RawObject<'a>, list: &str, edit: impl FnMut(&mut RawObject<'a>)) {
    if let Some(entries) = object.array_mut(list) {
        entries.objects_mut().for_each(edit);
    }
}
