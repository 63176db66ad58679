use toolwire::{resource, resource_template};

#[resource(uri = "docs://a", last_modified = "yesterday")]
fn no_time() -> String {
    String::new()
}

#[resource(uri = "docs://b", last_modified = "2026-07-28T12:00:00")]
fn no_time_zone() -> String {
    String::new()
}

#[resource_template(uri = "docs://{name}", last_modified = "2026-02-30T12:00:00Z")]
fn no_such_day(name: String) -> String {
    name
}

#[resource(uri = "docs://c", last_modified = 2026)]
fn number() -> String {
    String::new()
}

fn main() {}
