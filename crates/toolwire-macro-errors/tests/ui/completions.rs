use toolwire::prompt;

#[prompt]
fn from_state(#[arg(complete = self.names)] name: String) -> String {
    name
}

#[prompt]
fn from_nothing(#[arg(complete = 3)] name: String) -> String {
    name
}

fn main() {}
