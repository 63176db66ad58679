//! The URIs under which the resources of mounts are exposed.
//!
//! A URI stays as it is while one mount claims it. If a later mount claims it as well, the raw entry of the later mount
//! gets a prefix. Requests and results of raw entries are converted.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use toolwire_proto::raw_object::RawObject;
use toolwire_proto::relay::uris::UriTable;
use toolwire_proto::relay::uris::rewrite::{self, UriReference};
use toolwire_types::{ErrorObject, RawJson};

use crate::server::mount::CatalogEntry as _;
use crate::server::resource::{ResolvedResource, TemplateEntry};
use crate::server::snapshot::Snapshot;
use crate::sync::lock;

/// The prefix of a mount without a name.
const UNNAMED: &str = "mount";

/// The URIs that the mounts of a server claim.
#[derive(Debug, Default)]
pub(crate) struct UriClaims(Mutex<Claims>);

#[derive(Debug, Default)]
struct Claims {
    by_mount: BTreeMap<usize, MountClaims>,
    exposed: Arc<ExposedUris>,
    /// The mounts whose entries have to be exposed in another form.
    outdated: BTreeSet<usize>,
}

/// The URIs and templates that one mount claims.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MountClaims {
    pub(crate) name: Option<String>,
    pub(crate) uris: Vec<String>,
    pub(crate) templates: Vec<String>,
}

impl MountClaims {
    fn is_empty(&self) -> bool {
        self.uris.is_empty() && self.templates.is_empty()
    }
}

/// The table of URIs, with the mounts in its order.
#[derive(Debug, Default)]
pub(crate) struct ExposedUris {
    table: UriTable,
    mounts: Vec<usize>,
}

impl UriClaims {
    /// Replaces the claims of a mount, and returns the new table.
    pub(crate) fn claim(&self, mount: usize, claimed: MountClaims) -> Arc<ExposedUris> {
        let mut claims = lock(&self.0);
        if claims.by_mount.get(&mount) != Some(&claimed) {
            claims.by_mount.insert(mount, claimed);
            claims.rebuild();
        }
        // The caller exposes its entries with the new table.
        claims.outdated.remove(&mount);
        Arc::clone(&claims.exposed)
    }

    /// Removes the claims of a mount.
    pub(crate) fn release(&self, mount: usize) {
        let mut claims = lock(&self.0);
        if claims.by_mount.remove(&mount).is_some() {
            claims.rebuild();
        }
        claims.outdated.remove(&mount);
    }

    /// Returns `true` if the entries of a mount have to be exposed in another form.
    pub(crate) fn has_outdated(&self) -> bool {
        !lock(&self.0).outdated.is_empty()
    }

    /// Returns the mounts whose entries have to be exposed in another form.
    pub(crate) fn take_outdated(&self) -> BTreeSet<usize> {
        std::mem::take(&mut lock(&self.0).outdated)
    }

    /// Returns the current table.
    pub(crate) fn exposed(&self) -> Arc<ExposedUris> {
        Arc::clone(&lock(&self.0).exposed)
    }

    /// Returns the number of the mount with a name, and a table with this mount. `None` if no mount has the name.
    pub(crate) fn of_mount(&self, name: &str) -> Option<(Arc<ExposedUris>, usize)> {
        let claims = lock(&self.0);
        let mut by_mount = claims.by_mount.iter();
        let (mount, claimed) =
            by_mount.find(|(_, claimed)| claimed.name.as_deref() == Some(name))?;
        let exposed = if claimed.is_empty() {
            // The current table has only the mounts with claims.
            Arc::new(ExposedUris::new(&claims.by_mount, Some(*mount)))
        } else {
            Arc::clone(&claims.exposed)
        };
        Some((exposed, *mount))
    }
}

impl Claims {
    fn rebuild(&mut self) {
        let exposed = Arc::new(ExposedUris::new(&self.by_mount, None));
        for (mount, claimed) in &self.by_mount {
            let differs =
                |uri: &String| exposed.exposed(*mount, uri) != self.exposed.exposed(*mount, uri);
            let template_differs = |template: &String| {
                exposed.exposed_template(*mount, template)
                    != self.exposed.exposed_template(*mount, template)
            };
            if claimed.uris.iter().any(differs) || claimed.templates.iter().any(template_differs) {
                self.outdated.insert(*mount);
            }
        }
        self.exposed = exposed;
    }
}

impl ExposedUris {
    /// Creates the table of the mounts with claims, and of a further one, which will have claims.
    fn new(claims: &BTreeMap<usize, MountClaims>, further: Option<usize>) -> Self {
        let claims = claims.iter();
        let claims =
            claims.filter(|(mount, claims)| !claims.is_empty() || further == Some(**mount));
        let mut table = UriTable::new();
        // All sources are added before their URIs, so that none can claim a URI with the prefix of another one.
        let sources: Vec<(usize, usize, &MountClaims)> = claims
            .map(|(mount, claims)| {
                let name = claims.name.as_deref().unwrap_or(UNNAMED);
                (table.add_source(name), *mount, claims)
            })
            .collect();
        for (source, _, claims) in &sources {
            for uri in &claims.uris {
                table.add_uri(*source, uri);
            }
            for template in &claims.templates {
                table.add_template(*source, template);
            }
        }
        Self {
            mounts: sources.iter().map(|(_, mount, _)| *mount).collect(),
            table,
        }
    }

    /// Returns the exposed form of a URI of a mount.
    pub(crate) fn exposed<'u>(&self, mount: usize, uri: &'u str) -> Cow<'u, str> {
        match self.source_of(mount) {
            Some(source) => self.table.exposed(source, uri),
            None => Cow::Borrowed(uri),
        }
    }

    /// Returns the exposed form of a template of a mount.
    pub(crate) fn exposed_template<'u>(&self, mount: usize, template: &'u str) -> Cow<'u, str> {
        match self.source_of(mount) {
            Some(source) => self.table.exposed_template(source, template),
            None => Cow::Borrowed(template),
        }
    }

    /// Returns the mount of an exposed URI, and the URI there. Returns `None` for a URI that is not exposed in another
    /// form.
    pub(crate) fn resolve_prefixed<'u>(&self, exposed: &'u str) -> Option<(usize, Cow<'u, str>)> {
        if !self.table.may_prefix() {
            return None;
        }
        let (source, uri) = self.table.resolve(exposed)?;
        (uri != exposed).then(|| (self.mounts[source], uri))
    }

    /// Returns the URI that a mount has for an exposed URI with its prefix.
    fn own_uri<'u>(&self, mount: usize, exposed: &'u str) -> Option<Cow<'u, str>> {
        let (owner, uri) = self.resolve_prefixed(exposed)?;
        (owner == mount).then_some(uri)
    }

    fn replacement(&self, mount: usize, reference: UriReference<'_>) -> Option<String> {
        let (old, new) = match reference {
            UriReference::Uri(uri) => (uri, self.exposed(mount, uri)),
            UriReference::Template(template) => (template, self.exposed_template(mount, template)),
        };
        (new != old).then(|| new.into_owned())
    }

    fn source_of(&self, mount: usize) -> Option<usize> {
        if !self.table.may_prefix() {
            return None;
        }
        self.mounts.iter().position(|other| *other == mount)
    }
}

/// How the URIs of one mount are exposed.
#[derive(Debug, Clone)]
pub(crate) struct UriExposure {
    pub(crate) claims: Arc<UriClaims>,
    pub(crate) mount: usize,
}

impl UriExposure {
    /// Returns the URIs of each level that the request for an entry passes, the outermost level first.
    ///
    /// The outermost table, `of_request`, is that of the snapshot of the request. So the handler gets the URI that rules and
    /// middleware have seen, also if the claims change while the request runs.
    pub(crate) fn levels_of_request(
        exposures: &[Self],
        of_request: &Arc<ExposedUris>,
    ) -> impl Iterator<Item = MountUris> {
        let levels = exposures.iter().rev().enumerate();
        levels.map(|(level, exposure)| MountUris {
            exposed: match level {
                0 => Arc::clone(of_request),
                _ => exposure.claims.exposed(),
            },
            mount: exposure.mount,
        })
    }

    /// Returns a result with the exposed URIs.
    pub(crate) fn exposed_result(&self, method: &str, result: RawJson) -> RawJson {
        let exposed = self.claims.exposed();
        if !exposed.table.may_prefix() {
            return result;
        }
        let Some(mut members) = RawObject::parse(result.as_raw_value()) else {
            return result;
        };
        rewrite::result(method, &mut members, |reference| {
            exposed.replacement(self.mount, reference)
        });
        let edited = members.finish_if_edited();
        edited.unwrap_or_else(|| result.clone())
    }

    /// Returns a task of the extension whose `result`, that of the call, has the exposed URIs.
    #[cfg(feature = "relay")]
    pub(crate) fn exposed_task(&self, task: RawJson) -> RawJson {
        let Some(mut members) = RawObject::parse(task.as_raw_value()) else {
            return task;
        };
        let Some(result) = members
            .get("result")
            .map(|result| RawJson::from(result.raw()))
        else {
            return task;
        };
        let exposed = self.exposed_result("tools/call", result.clone());
        if exposed == result {
            return task;
        }
        members.set("result", exposed);
        members.finish()
    }

    /// Returns an error with the exposed URI.
    pub(crate) fn exposed_error(&self, mut error: ErrorObject) -> ErrorObject {
        let exposed = self.claims.exposed();
        let Some(data) = error.data.as_ref().filter(|_| exposed.table.may_prefix()) else {
            return error;
        };
        let mut members = RawObject::empty();
        members.set("data", data.clone());
        rewrite::error(&mut members, |reference| {
            exposed.replacement(self.mount, reference)
        });
        let edited = members.get("data").map(|data| RawJson::from(data.raw()));
        error.data = edited;
        error
    }

    /// Returns the descriptor of a tool with the exposed URI of its view.
    pub(crate) fn exposed_tool(&self, descriptor: RawJson) -> RawJson {
        let exposed = self.claims.exposed();
        let Some(mut members) = RawObject::parse(descriptor.as_raw_value()) else {
            return descriptor;
        };
        rewrite::tool(&mut members, |reference| {
            exposed.replacement(self.mount, reference)
        });
        let edited = members.finish_if_edited();
        edited.unwrap_or_else(|| descriptor.clone())
    }
}

/// The URIs of one mount, while a request runs.
pub(crate) struct MountUris {
    exposed: Arc<ExposedUris>,
    mount: usize,
}

impl MountUris {
    /// Returns the URIs of a mount.
    pub(crate) fn new(exposed: &Arc<ExposedUris>, mount: usize) -> Self {
        Self {
            exposed: Arc::clone(exposed),
            mount,
        }
    }

    /// Replaces the exposed URIs in the parameters of a request by those of the source.
    pub(crate) fn edit_request(&self, method: &str, params: &mut RawObject<'_>) {
        rewrite::request(method, params, |reference| match reference {
            UriReference::Uri(uri) => {
                let own = self.exposed.own_uri(self.mount, uri);
                own.map(Cow::into_owned)
            }
            UriReference::Template(_) => None,
        });
    }

    /// Returns the URI that the source has for an exposed one. The prefix of another mount is a part of the URI.
    pub(crate) fn own_uri(&self, exposed: &str) -> String {
        let own = self.exposed.own_uri(self.mount, exposed);
        own.map_or_else(|| exposed.to_owned(), Cow::into_owned)
    }
}

impl Snapshot {
    /// Returns the templates that match a URI with the prefix of their mount. Returns `None` for a URI without a prefix.
    pub(crate) fn prefixed_templates_at(
        &self,
        uri: &str,
    ) -> Option<Vec<(&Arc<TemplateEntry>, ResolvedResource)>> {
        let (mount, own) = self.uris.resolve_prefixed(uri)?;
        let of_mount = self.templates.values().filter(|entry| {
            let origin = entry.origin();
            origin.is_some_and(|origin| origin.mount == mount)
        });
        let matching = of_mount.filter_map(|entry| {
            let found = entry.resolve(uri).or_else(|| entry.resolve(&own))?;
            Some((entry, found))
        });
        Some(matching.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(name: &str, uris: &[&str], templates: &[&str]) -> MountClaims {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        MountClaims {
            name: Some(name.to_owned()),
            uris: owned(uris),
            templates: owned(templates),
        }
    }

    #[test]
    fn order_of_mounts_decides_which_uri_gets_a_prefix() {
        let registry = UriClaims::default();
        let later = claims("b", &["x://1", "x://2"], &["x://{t}"]);
        let exposed = registry.claim(7, later.clone());
        assert_eq!(exposed.exposed(7, "x://1"), "x://1");
        let exposed = registry.claim(3, claims("a", &["x://1"], &["x://{t}"]));
        assert_eq!(exposed.exposed(3, "x://1"), "x://1");
        assert_eq!(registry.take_outdated(), BTreeSet::from([7]));
        let exposed = registry.claim(7, later);
        assert_eq!(registry.take_outdated(), BTreeSet::new());
        assert_eq!(exposed.exposed(7, "x://1"), "b+x://1");
        assert_eq!(exposed.exposed(7, "x://2"), "x://2");
        assert_eq!(exposed.exposed_template(7, "x://{t}"), "b+x://{t}");
        let resolved = exposed.resolve_prefixed("b+x://1");
        assert_eq!(resolved, Some((7, "x://1".into())));
        assert_eq!(exposed.resolve_prefixed("x://1"), None);
        registry.release(3);
        assert_eq!(registry.take_outdated(), BTreeSet::from([7]));
        assert_eq!(registry.exposed().exposed(7, "x://1"), "x://1");
    }

    #[test]
    fn mount_without_claims_gets_the_prefix_of_its_first_claim() {
        let registry = UriClaims::default();
        registry.claim(3, claims("a", &["x://1"], &[]));
        registry.claim(5, claims("my_notes", &[], &[]));
        registry.claim(7, claims("my-notes", &[], &[]));
        let check = |name: &str, expected: &str| {
            let (exposed, mount) = registry.of_mount(name).unwrap();
            assert_eq!(exposed.exposed(mount, "x://1"), expected, "{name}");
        };
        check("a", "x://1");
        // Each is asked about alone, as if it were the only one to get claims.
        check("my_notes", "my-notes+x://1");
        check("my-notes", "my-notes+x://1");
        registry.claim(7, claims("my-notes", &["x://1"], &[]));
        check("my-notes", "my-notes+x://1");
        registry.claim(5, claims("my_notes", &["x://1"], &[]));
        check("my_notes", "my-notes+x://1");
        check("my-notes", "my-notesx+x://1");
        assert!(registry.of_mount("b").is_none());
    }

    #[test]
    fn only_the_mount_of_a_prefix_gets_the_uri_without_it() {
        let registry = Arc::new(UriClaims::default());
        registry.claim(3, claims("a", &["x://1"], &["{+any}"]));
        registry.claim(7, claims("b", &["x://1"], &[]));
        let own_uri = |mount: usize| {
            let uris = MountUris::new(&registry.exposed(), mount);
            let mut params = RawObject::empty();
            params.set_text("uri", "b+x://1");
            uris.edit_request("resources/read", &mut params);
            let sent = params.text("uri").map(Cow::into_owned);
            assert_eq!(sent.as_deref(), Some(&*uris.own_uri("b+x://1")));
            sent
        };
        assert_eq!(own_uri(7).as_deref(), Some("x://1"));
        assert_eq!(own_uri(3).as_deref(), Some("b+x://1"));
    }
}
