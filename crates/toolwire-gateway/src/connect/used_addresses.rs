//! The addresses that were used, so that each works once.

use std::collections::HashMap;
use std::time::Duration;

use toolwire::Principal;

/// The maximum number of addresses that one user can use until the first of them expires.
pub(super) const MAX_ADDRESSES_PER_USER: usize = 16;

/// The maximum number of users whose addresses are stored.
pub(super) const MAX_USERS: usize = 10_000;

/// The addresses that were used and have not expired.
#[derive(Debug, Default)]
pub(super) struct UsedAddresses {
    /// The ids of addresses and the times of their expiry, since the Unix epoch.
    by_caller: HashMap<Principal, Vec<(String, Duration)>>,
}

/// Why an address cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AddressRejection {
    /// It was used before.
    Used,
    /// Too many addresses were used.
    TooMany,
}

impl UsedAddresses {
    /// Returns `true` if an address was used before.
    pub(super) fn contains(&self, caller: &Principal, id: &str) -> bool {
        let addresses = self.by_caller.get(caller);
        addresses.is_some_and(|addresses| addresses.iter().any(|(used, _)| used == id))
    }

    /// Records the use of an address.
    ///
    /// # Errors
    /// Returns an error if the address was used before, or if a limit is reached.
    pub(super) fn add(
        &mut self,
        caller: &Principal,
        id: &str,
        expires: Duration,
        now: Duration,
    ) -> Result<(), AddressRejection> {
        self.by_caller.retain(|_, addresses| {
            addresses.retain(|(_, expires)| *expires > now);
            !addresses.is_empty()
        });
        if self.contains(caller, id) {
            return Err(AddressRejection::Used);
        }
        let callers = self.by_caller.len();
        let addresses = self.by_caller.get(caller).map_or(0, Vec::len);
        if addresses >= MAX_ADDRESSES_PER_USER || (addresses == 0 && callers >= MAX_USERS) {
            return Err(AddressRejection::TooMany);
        }
        let addresses = self.by_caller.entry(caller.clone()).or_default();
        addresses.push((id.to_owned(), expires));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use toolwire::TokenInfo;

    use super::*;

    fn caller(name: usize) -> Principal {
        Principal::of(&TokenInfo::verified().with_subject(name.to_string()))
    }

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn address_works_once_and_a_user_has_a_limit() {
        let mut addresses = UsedAddresses::default();
        for number in 0..MAX_ADDRESSES_PER_USER {
            let id = number.to_string();
            assert_eq!(
                addresses.add(&caller(1), &id, seconds(10), seconds(0)),
                Ok(()),
                "{id}"
            );
            let again = addresses.add(&caller(1), &id, seconds(10), seconds(0));
            assert_eq!(again, Err(AddressRejection::Used));
        }
        let mut add =
            |name, now| addresses.add(&caller(name), "one more", seconds(20), seconds(now));
        assert_eq!(add(1, 9), Err(AddressRejection::TooMany));
        assert_eq!(add(2, 9), Ok(()));
        assert_eq!(add(1, 10), Ok(()));
    }

    #[test]
    fn number_of_users_has_a_limit() {
        let mut addresses = UsedAddresses::default();
        for number in 0..MAX_USERS {
            let addresses = addresses.by_caller.entry(caller(number)).or_default();
            addresses.push(("a".to_owned(), seconds(10)));
        }
        let mut add = |name, now| addresses.add(&caller(name), "b", seconds(20), seconds(now));
        assert_eq!(add(MAX_USERS, 0), Err(AddressRejection::TooMany));
        assert_eq!(add(0, 0), Ok(()));
        assert_eq!(add(MAX_USERS, 10), Ok(()));
    }
}
