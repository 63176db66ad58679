use toolwire::server;

struct Notes;

#[server(parts("admin"))]
impl Notes {}

fn main() {}
