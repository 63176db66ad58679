#![allow(unused_variables)]

use toolwire::{prompt, resource_template, tool};

#[tool]
fn changes(names: &mut Vec<String>) {}

#[tool]
fn lends(count: Option<&u32>) {}

#[prompt]
fn lists(values: Vec<String>) -> String {
    String::new()
}

#[resource_template(uri = "notes://{ids*}")]
fn numbers(ids: Vec<u32>) -> String {
    String::new()
}

fn main() {}
