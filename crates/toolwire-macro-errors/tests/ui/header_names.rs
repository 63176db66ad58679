#![allow(unused_variables)]

use toolwire::tool;

#[tool]
fn duplicate(#[arg(header = "Region")] first: String, #[arg(header = "region")] second: String) {}

#[tool]
fn not_a_token(#[arg(header = "My Region")] region: String) {}

fn main() {}
