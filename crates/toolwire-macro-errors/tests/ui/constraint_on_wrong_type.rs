#![allow(unused_variables)]

use toolwire::tool;

#[tool]
fn text(#[arg(maximum = 10)] name: String) -> String {
    name
}

#[tool]
fn count(#[arg(min_length = 1)] count: Option<u32>) {}

#[tool]
fn list(#[arg(max_items = 3)] flag: bool) {}

#[tool]
fn header(#[arg(header = "Ratio")] ratio: f64) {}

#[tool]
fn literal(#[arg(minimum = "one")] count: u32) {}

fn main() {}
