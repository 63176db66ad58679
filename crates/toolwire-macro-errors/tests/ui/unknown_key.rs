use toolwire::{prompt, server, tool};

#[tool(titel = "Add")]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tool]
fn double(#[arg(max = 10)] a: i64) -> i64 {
    a * 2
}

#[prompt]
fn greet(#[arg(minimum = 1)] name: String) -> String {
    name
}

struct Notes;

#[server(title = "Notes")]
impl Notes {
    #[resource(url = "notes://all")]
    fn all(&self) -> String {
        String::new()
    }
}

fn main() {}
