use toolwire::{prompt, resource, resource_template, tool};

#[tool(scopes("files:read files:write"))]
fn several_as_one() {}

#[prompt(scopes(""))]
fn empty() -> String {
    String::new()
}

#[resource(uri = "notes://all", scopes("näh"))]
fn not_ascii() -> String {
    String::new()
}

#[resource_template(uri = "notes://{name}", scopes(1))]
fn no_text(name: String) -> String {
    name
}

#[prompt(requires("camera"))]
fn unknown_capability() -> String {
    String::new()
}

fn main() {}
