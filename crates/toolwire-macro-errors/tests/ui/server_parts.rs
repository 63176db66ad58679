use toolwire::server;

struct Notes;

#[server]
impl Notes {}

#[server(part = "admin", name = "notes")]
impl Notes {}

#[server(part = "Search Engine")]
impl Notes {}

fn main() {}
