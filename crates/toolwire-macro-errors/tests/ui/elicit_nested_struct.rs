#![allow(dead_code)]

use serde::Deserialize;
use toolwire::Elicit;

#[derive(Deserialize, Elicit)]
struct Address {
    street: String,
}

#[derive(Deserialize, Elicit)]
struct Person {
    address: Address,
}

#[derive(Deserialize, Elicit)]
struct Household {
    addresses: Vec<Address>,
}

fn main() {}
