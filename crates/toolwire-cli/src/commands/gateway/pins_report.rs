//! What `toolwire pins` shows about an upstream.

use serde_json::{Value, json};
use toolwire::RawJson;
use toolwire_gateway::PinnedUpstream;
use toolwire_gateway::pins::{
    DifferenceLine, EntryReview, PinKind, PinStatus, Review, differences, text_differences,
};

use crate::show::one_line;

pub(super) fn as_text(upstream: &PinnedUpstream) -> String {
    let name = &upstream.name;
    let (offer, review) = match &upstream.outcome {
        Err(problem) => return format!("{name}: not reachable: {}\n", one_line(problem)),
        Ok((_, review)) if review.is_same() => return format!("{name}: as approved\n"),
        Ok(reviewed) => reviewed,
    };
    let mut text = String::new();
    for entry in differing(review) {
        let (kind, status) = (kind_name(entry.kind), status_name(entry.status));
        text += &format!("{name}/{}: {status} {kind}\n", one_line(&entry.name));
        text += &shown_lines(&lines(entry));
        if entry.is_listed_twice {
            text += "    listed more than once, so it cannot be approved\n";
        } else {
            text += &format!("    digest {}\n", offer.digest_of(&entry.name));
        }
    }
    if review.instructions != PinStatus::Same {
        let status = status_name(review.instructions);
        text += &format!("{name}: {status} instructions\n");
        text += &shown_lines(&text_differences(
            upstream.approved_instructions.as_deref().unwrap_or(""),
            offer.instructions().unwrap_or(""),
        ));
    }
    text + &format!("{name}: all of it\n    digest {}\n", offer.digest())
}

fn shown_lines(lines: &[DifferenceLine]) -> String {
    let shown = lines.iter().map(|line| match line {
        DifferenceLine::Member(member) => format!("    {}\n", one_line(member)),
        DifferenceLine::Removed(line) => format!("    - {}\n", one_line(line)),
        DifferenceLine::Added(line) => format!("    + {}\n", one_line(line)),
        _ => String::new(),
    });
    shown.collect()
}

/// Returns the lines of an entry. All members of a new entry are new.
fn lines(entry: &EntryReview) -> Vec<DifferenceLine> {
    let nothing = RawJson::empty_object();
    match (&entry.approved, &entry.offered) {
        (approved, Some(offered)) => differences(approved.as_ref().unwrap_or(&nothing), offered),
        _ => Vec::new(),
    }
}

pub(super) fn as_json(upstream: &PinnedUpstream) -> Value {
    match &upstream.outcome {
        Err(problem) => json!({ "name": upstream.name, "problem": problem }),
        Ok((offer, review)) => {
            let entries = differing(review).map(|entry| {
                json!({
                    "kind": kind_name(entry.kind),
                    "name": entry.name,
                    "status": status_name(entry.status),
                    "approved": entry.approved,
                    "offered": entry.offered,
                    "listedTwice": entry.is_listed_twice,
                    "digest": offer.digest_of(&entry.name),
                })
            });
            json!({
                "name": upstream.name,
                "digest": offer.digest(),
                "instructions": status_name(review.instructions),
                "approvedInstructions": upstream.approved_instructions,
                "offeredInstructions": offer.instructions(),
                "entries": entries.collect::<Vec<_>>(),
            })
        }
    }
}

fn differing(review: &Review) -> impl Iterator<Item = &EntryReview> {
    let entries = review.entries.iter();
    entries.filter(|entry| entry.status != PinStatus::Same)
}

fn kind_name(kind: PinKind) -> &'static str {
    match kind {
        PinKind::Prompt => "prompt",
        _ => "tool",
    }
}

fn status_name(status: PinStatus) -> &'static str {
    match status {
        PinStatus::New => "new",
        PinStatus::Same => "same",
        PinStatus::Removed => "removed",
        _ => "changed",
    }
}
