//! Names of types for readers.

/// Returns the name of a type without the paths of its modules: `Timed<Cache>` for `a::Timed<b::Cache>`. A closure has the name
/// of its function.
pub(crate) fn short_type_name(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let mut rest = name;
    while !rest.is_empty() {
        let end = rest.find(|c: char| "<>(),&[]; ".contains(c));
        let (path, after) = rest.split_at(end.unwrap_or(rest.len()));
        short.push_str(&short_path(path));
        let mut after = after.chars();
        short.extend(after.next());
        rest = after.as_str();
    }
    short
}

/// Returns the last name of a path, or for a closure also the name before.
fn short_path(path: &str) -> String {
    let parts: Vec<&str> = path.split("::").collect();
    let is_closure = |part: &&str| part.starts_with('{');
    match parts.iter().rposition(|part| !is_closure(part)) {
        Some(last) if last + 1 < parts.len() => format!("{} (closure)", parts[last]),
        Some(last) => parts[last].to_owned(),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_paths_are_left_out() {
        for (name, expected) in [
            ("Deadline", "Deadline"),
            (
                "toolwire::server::middleware::deadline::Deadline",
                "Deadline",
            ),
            ("a::Timed<b::c::Cache, &d::E>", "Timed<Cache, &E>"),
            ("server::timed", "timed"),
            ("server::main::{{closure}}", "main (closure)"),
            ("server::main::{{closure}}::{{closure}}", "main (closure)"),
            ("alloc::boxed::Box<dyn a::B>", "Box<dyn B>"),
            ("", ""),
        ] {
            assert_eq!(short_type_name(name), expected, "{name}");
        }
    }
}
