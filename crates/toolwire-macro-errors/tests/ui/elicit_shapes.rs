#![allow(dead_code)]

use serde::Deserialize;
use toolwire::Elicit;

#[derive(Deserialize, Elicit)]
struct Pair(String, String);

#[derive(Deserialize, Elicit)]
enum Contact {
    Mail(String),
    Nobody,
}

#[derive(Deserialize, Elicit)]
struct Generic<T> {
    value: T,
}

#[derive(Deserialize, Elicit)]
struct Lists {
    names: Vec<String>,
    counts: std::collections::HashMap<String, u32>,
    position: (f64, f64),
    bytes: [u8; 4],
}

#[derive(Deserialize, Elicit)]
struct Keys {
    #[elicit(minimum = 1)]
    name: String,
    #[elicit(format = "phone")]
    phone: String,
    #[serde(flatten)]
    rest: Pair,
}

fn main() {}
