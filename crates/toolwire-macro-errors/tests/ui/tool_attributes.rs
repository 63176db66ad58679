#![allow(unused_variables)]

use toolwire::tool;

#[tool(requires("camera"))]
fn photograph() {}

#[tool(blocking)]
async fn wait() {}

#[tool(title = "one", title = "two")]
fn twice() {}

#[tool]
fn same_name(#[arg(name = "value")] first: u8, value: u8) {}

fn main() {}
