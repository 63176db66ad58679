use toolwire::tool;

#[tool]
fn show<T: ToString>(value: T) -> String {
    value.to_string()
}

#[tool]
fn opaque() -> impl ToString {
    "text"
}

#[tool]
unsafe fn dangerous() {}

fn main() {}
