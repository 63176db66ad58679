#![allow(dead_code)]

use std::collections::BTreeMap;

use serde::Deserialize;
use toolwire::Elicit;

#[derive(Deserialize, Elicit)]
struct Types {
    large: u128,
    small: Option<i128>,
    lent: &'static str,
    twice: Option<Option<String>>,
    numbers: Vec<u8>,
    map: BTreeMap<String, String>,
    unit: (),
}

#[derive(Deserialize, Elicit)]
struct Names {
    #[serde(rename = "same")]
    first: String,
    same: String,
}

#[derive(Deserialize, Elicit)]
enum Words {
    #[serde(rename = "Other")]
    One,
    Other,
}

#[derive(Deserialize, Elicit)]
enum Nothing {
    #[serde(skip)]
    Hidden,
}

#[derive(Deserialize, Elicit)]
struct Attributes {
    #[elicit(pattern = "[a-z]+")]
    name: String,
    #[elicit(default = 1)]
    text: String,
    #[elicit(default = "1")]
    number: u8,
    #[elicit(default = 9007199254740993)]
    exact: u64,
    #[elicit(default = "yes")]
    flag: bool,
    #[elicit(multiple_of = 2)]
    even: u8,
}

fn main() {}
