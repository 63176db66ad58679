//! Finds the known names that are similar to a mistyped one.

/// The maximum number of names in a suggestion.
const MAX_NAMES: usize = 3;

/// Returns the known names that are similar to `name`, the most similar first.
#[must_use]
pub fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let mut close: Vec<_> = known
        .into_iter()
        .filter_map(|candidate| Some((difference(&name, &candidate.to_lowercase())?, candidate)))
        .collect();
    close.sort();
    close.dedup();
    close
        .into_iter()
        .take(MAX_NAMES)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// Returns `; did you mean …?` with the similar names, or an empty text if no name is similar.
#[must_use]
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let names = similar(name, known).into_iter();
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", names.join(" or "))
    }
}

/// Returns how much two names differ, or `None` if they are not similar.
fn difference(name: &str, candidate: &str) -> Option<usize> {
    let (shorter, longer) = if name.len() <= candidate.len() {
        (name, candidate)
    } else {
        (candidate, name)
    };
    let length = shorter.chars().count();
    // One or two letters are part of many names by chance.
    let is_part = match length {
        0 => return None,
        1 => false,
        2 => longer.starts_with(shorter),
        _ => longer.contains(shorter),
    };
    if is_part {
        return Some(1);
    }
    let allowed = match length {
        1 => 0,
        2 | 3 => 1,
        _ => 2.max(length / 4),
    };
    Some(distance(name, candidate)).filter(|distance| *distance <= allowed)
}

/// Counts the letters that have to be changed, added or removed.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, b) in to.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_suggested() {
        let known = ["add", "echo", "countdown", "change_list"];
        assert_eq!(similar("ad", known), ["add"]);
        assert_eq!(similar("ehco", known), ["echo"]);
        assert_eq!(similar("count_down", known), ["countdown"]);
        assert_eq!(similar("Echo", known), ["echo"]);
    }

    #[test]
    fn names_that_share_only_a_few_letters_are_not_suggested() {
        let known = ["add", "echo", "go", "countdown", "change_list"];
        for name in ["weather", "", "a", "c", "ow", "xy", "map"] {
            assert_eq!(similar(name, known), [""; 0], "{name}");
        }
    }

    #[test]
    fn suggestion_is_a_sentence() {
        assert_eq!(
            did_you_mean("cuont", ["count", "total"]),
            "; did you mean `count`?"
        );
        assert_eq!(
            did_you_mean("note", ["notes", "note_list"]),
            "; did you mean `note_list` or `notes`?"
        );
        assert_eq!(did_you_mean("x", ["count"]), "");
    }

    #[test]
    fn distance_counts_letters() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn at_most_three_names_are_suggested() {
        let known = ["note1", "note2", "note3", "note4"];
        assert_eq!(
            similar("note", known[..MAX_NAMES].iter().copied()),
            known[..MAX_NAMES]
        );
        assert_eq!(similar("note", known), known[..MAX_NAMES]);
    }
}
