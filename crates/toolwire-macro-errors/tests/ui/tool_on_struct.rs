use toolwire::tool;

#[tool]
struct Add;

fn main() {}
