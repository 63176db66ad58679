use toolwire::{resource, resource_template};

#[resource]
fn all() -> String {
    String::new()
}

#[resource_template(title = "A note")]
fn note(name: String) -> String {
    name
}

#[resource(uri = "notes://all")]
fn filtered(name: String) -> String {
    name
}

fn main() {}
