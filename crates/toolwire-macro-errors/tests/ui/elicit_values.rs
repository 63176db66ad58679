#![allow(dead_code)]

use serde::Deserialize;
use toolwire::Elicit;

type Name = String;

const TOO_MANY: u64 = 4;

#[derive(Deserialize, Elicit)]
enum Class {
    First,
    Second,
}

#[derive(Deserialize, Elicit)]
struct Numbers {
    #[elicit(minimum = 9, maximum = 1)]
    order: u8,
    #[elicit(maximum = 256)]
    range: u8,
    #[elicit(minimum = -1)]
    sign: u32,
    #[elicit(default = 1.5)]
    whole: i64,
    #[elicit(minimum = 1, default = 0)]
    default: Option<i32>,
}

#[derive(Deserialize, Elicit)]
struct Texts {
    #[elicit(min_length = 3, max_length = 2)]
    order: String,
    #[elicit(max_length = 2, default = "abc")]
    default: String,
    #[elicit(max_length = 2)]
    character: char,
    #[elicit(minimum = 1)]
    alias: Name,
}

#[derive(Deserialize, Elicit)]
struct Choices {
    #[elicit(default = "first")]
    word: Class,
    #[elicit(default = 1)]
    number: Class,
    #[elicit(min_items = 1)]
    one: Class,
    #[elicit(min_items = 3)]
    many: Vec<Class>,
    #[elicit(min_items = TOO_MANY, max_items = 2)]
    order: Vec<Class>,
    #[elicit(max_items = 0)]
    none: Vec<Class>,
    #[elicit(default("Third"))]
    unknown: Vec<Class>,
    #[elicit(default("First", "First"))]
    twice: Vec<Class>,
    #[elicit(max_items = 1, default("First", "Second"))]
    count: Vec<Class>,
}

fn main() {}
