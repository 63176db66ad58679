use toolwire::{prompt, resource, tool};

struct Level;

#[tool(meta)]
fn no_list() {}

#[tool(meta())]
fn no_pair() {}

#[tool(meta("com.example/owner"))]
fn no_value() {}

#[prompt(meta(owner = "docs"))]
fn key_without_quotes() -> String {
    String::new()
}

#[resource(uri = "docs://a", meta("a" = 1, "a" = 2))]
fn key_twice() -> String {
    String::new()
}

#[tool(meta("com.example/level" = Level))]
fn value_is_not_json() {}

fn main() {}
