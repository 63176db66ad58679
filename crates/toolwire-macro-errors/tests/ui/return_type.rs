use toolwire::{prompt, resource, tool};

struct Opaque;

#[tool]
async fn returns_opaque() -> Opaque {
    Opaque
}

#[prompt]
fn prompts_opaque() -> Opaque {
    Opaque
}

#[resource(uri = "notes://all")]
async fn reads_opaque() -> Opaque {
    Opaque
}

fn main() {}
