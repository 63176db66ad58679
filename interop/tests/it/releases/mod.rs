//! Published releases of SDKs and programs with toolwire: each role of the list has a test.

mod clients;
mod readme;
mod servers;

use toolwire_interop::{Release, ServerWire};

/// A role of a release: its name, transport and revision.
type Role = (&'static str, ServerWire, &'static str);

fn release(name: &str) -> &'static Release {
    Release::named(name).unwrap_or_else(|| panic!("{name} is not in the list of releases"))
}

/// Checks that the tests run exactly the roles of the list.
fn assert_same_roles(tested: &[Role], listed: impl Iterator<Item = Role>) {
    let sorted = |roles: &[Role]| {
        let mut roles: Vec<String> = roles.iter().map(|role| format!("{role:?}")).collect();
        roles.sort_unstable();
        roles
    };
    let listed: Vec<Role> = listed.collect();
    assert_eq!(sorted(tested), sorted(&listed));
}
