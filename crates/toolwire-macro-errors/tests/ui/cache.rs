use toolwire::{resource, resource_template, tool};

#[resource(uri = "docs://a", cache)]
fn no_list() -> String {
    String::new()
}

#[resource(uri = "docs://b", cache(60_000))]
fn no_pair() -> String {
    String::new()
}

#[resource(uri = "docs://c", cache(scope = "public"))]
fn no_ttl() -> String {
    String::new()
}

#[resource(uri = "docs://d", cache(ttl_ms = "60 s"))]
fn ttl_is_text() -> String {
    String::new()
}

#[resource(uri = "docs://e", cache(ttl_ms = -1))]
fn ttl_is_negative() -> String {
    String::new()
}

#[resource(uri = "docs://f", cache(ttl_ms = 1, scope = "shared"))]
fn unknown_scope() -> String {
    String::new()
}

#[resource(uri = "docs://g", cache(ttl = 1))]
fn unknown_key() -> String {
    String::new()
}

#[resource_template(uri = "docs://{name}", cache(ttl_ms = 1, ttl_ms = 2))]
fn key_twice(name: String) -> String {
    name
}

#[tool(cache(ttl_ms = 1))]
fn results_of_tools_have_no_hint() {}

fn main() {}
