//! The owner of a task: the principal of its caller as a digest.
//!
//! Principals are only compared, so no store needs to contain the names of users.

use toolwire_proto::task_rules;

use crate::engine::Principal;

/// Returns the principal under which stores have the tasks of a caller. The anonymous principal stays anonymous.
pub(crate) fn owner_of(caller: &Principal) -> Principal {
    Principal::from_stored(caller.as_str().map(task_rules::owner).as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::TokenInfo;

    fn owner(subject: &str) -> Principal {
        owner_of(&Principal::of(&TokenInfo::verified().with_subject(subject)))
    }

    #[test]
    fn owner_is_unique_and_does_not_contain_the_name() {
        let ann = owner("ann");
        assert_eq!(ann, owner("ann"));
        assert_ne!(ann, owner("bob"));
        let text = ann.as_str().expect("a user is not anonymous");
        assert!(!text.contains("ann") && !text.contains("subject"), "{text}");
        let anonymous = Principal::anonymous();
        assert_eq!(owner_of(&anonymous), anonymous);
    }
}
