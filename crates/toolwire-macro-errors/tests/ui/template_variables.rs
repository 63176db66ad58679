use toolwire::resource_template;

#[resource_template(uri = "notes://{folder}/{name}")]
fn missing_parameter(name: String) -> String {
    name
}

#[resource_template(uri = "notes://{name}")]
fn missing_variable(name: String, page: u32) -> String {
    format!("{name} {page}")
}

#[resource_template(uri = "notes://{name")]
fn broken(name: String) -> String {
    name
}

fn main() {}
