use toolwire::{prompt, tool};

#[tool(task(retry))]
fn unknown_key() {}

#[tool(task(after = 2, on_demand))]
fn two_starts() {}

#[tool(task(ttl = 0))]
fn no_time() {}

#[tool(task(poll = -5))]
fn negative_time() {}

#[tool(task(after = "2 s"))]
fn time_is_text() {}

#[tool(task(ttl))]
fn time_is_missing() {}

#[tool(task(resume, resume))]
fn key_twice() {}

#[tool(task(required = true))]
fn flag_with_value() {}

#[tool(task = true)]
fn no_list() {}

#[prompt(task)]
fn prompts_are_no_tasks() -> String {
    String::new()
}

fn main() {}
