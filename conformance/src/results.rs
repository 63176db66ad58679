//! Reads the results that the suite writes: the checks of each scenario, in a directory with its name.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::Problem;
use crate::verdict::Check;

/// The length of the suffix of a result directory: `-2026-07-28T12-00-00-000Z`.
const STAMP_LENGTH: usize = 25;

/// Creates an empty directory, so that the results of two runs do not mix.
pub(crate) fn empty(directory: &Path) -> Result<(), Problem> {
    let cannot = |error| Problem::new(format!("cannot empty {}: {error}", directory.display()));
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(cannot)?;
    }
    fs::create_dir_all(directory).map_err(cannot)
}

/// Reads the checks of each scenario. `prefix` is the text before the scenario in the directory name.
pub(crate) fn read(results: &Path, prefix: &str) -> Result<BTreeMap<String, Vec<Check>>, Problem> {
    let cannot = |path: &Path, error: &dyn std::error::Error| {
        Problem::new(format!("cannot read {}: {error}", path.display()))
    };
    let mut outcomes = BTreeMap::new();
    for entry in fs::read_dir(results).map_err(|error| cannot(results, &error))? {
        let entry = entry.map_err(|error| cannot(results, &error))?;
        let name = entry.file_name();
        let Some(scenario) = scenario_of(&name.to_string_lossy(), prefix).map(str::to_owned) else {
            continue;
        };
        let path = entry.path().join("checks.json");
        let text = fs::read_to_string(&path).map_err(|error| cannot(&path, &error))?;
        let checks = serde_json::from_str(&text).map_err(|error| cannot(&path, &error))?;
        outcomes.insert(scenario, checks);
    }
    Ok(outcomes)
}

/// Returns the scenario of a result directory.
fn scenario_of<'a>(directory: &'a str, prefix: &str) -> Option<&'a str> {
    let name = directory.strip_prefix(prefix)?;
    let (scenario, stamp) = name.split_at_checked(name.len().checked_sub(STAMP_LENGTH)?)?;
    (stamp.starts_with('-') && stamp.ends_with('Z')).then_some(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_name_their_scenario() {
        fn check(directory: &str, prefix: &str, expected: Option<&str>) {
            assert_eq!(scenario_of(directory, prefix), expected, "{directory}");
        }
        check(
            "server-ping-2026-11-15T05-36-25-428Z",
            "server-",
            Some("ping"),
        );
        check(
            "server-server-initialize-2026-11-15T05-36-25-428Z",
            "server-",
            Some("server-initialize"),
        );
        check("ping-2026-11-15T05-36-25-428Z", "server-", None);
        check("sse-retry-2026-11-15T05-36-25-428Z", "", Some("sse-retry"));
        check("server-ping", "server-", None);
        check("server-", "server-", None);
    }
}
