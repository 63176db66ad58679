#![allow(unused_variables)]

use toolwire::server;

struct Notes;

#[server]
impl Notes {
    #[tool]
    fn write(&mut self, text: String) {}

    #[tool]
    fn consume(self) {}

    #[prompt]
    fn greet(name: String) -> String {
        name
    }

    #[tool]
    #[prompt]
    fn both(&self) -> String {
        String::new()
    }
}

#[server]
impl Clone for Notes {
    fn clone(&self) -> Self {
        Notes
    }
}

fn main() {}
