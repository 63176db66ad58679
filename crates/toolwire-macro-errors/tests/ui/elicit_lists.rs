#![allow(dead_code)]

use serde::Deserialize;
use toolwire::Elicit;

type Name = String;

#[derive(Deserialize, Elicit)]
struct Lists {
    names: Vec<Name>,
}

fn main() {}
