//! The CPU time of child processes. Unlike elapsed time, it depends little on other load on the machine.

use std::fs;

/// Returns the CPU seconds of all child processes that have ended. Only known on Linux.
pub(crate) fn of_children() -> Option<f64> {
    children_time(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// Parses `cutime` and `cstime` of proc_pid_stat(5), which are in hundredths of a second.
fn children_time(stat: &str) -> Option<f64> {
    // The program name in parentheses may contain spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(f64::from(user + system) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_time_is_parsed_after_the_name() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 1 2 3 4 11 12 1300 214 20 0 1 0 5 6 7";
        assert_eq!(children_time(stat), Some(15.14));
        assert_eq!(children_time("7 (a) S 1"), None);
    }
}
