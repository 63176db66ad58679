use toolwire::tool;

struct Notes;

impl Notes {
    #[tool]
    fn read(&self) -> String {
        String::new()
    }
}

fn main() {}
