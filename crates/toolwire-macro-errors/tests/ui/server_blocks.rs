use toolwire::server;

struct Notes;

#[server]
impl Notes {
    #[tool]
    fn read(&self) -> String {
        String::new()
    }
}

#[server]
impl Notes {
    #[tool]
    fn write(&self) -> String {
        String::new()
    }
}

fn main() {}
