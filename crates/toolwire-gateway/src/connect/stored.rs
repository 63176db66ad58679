//! The logins of users at upstreams: one for each user and upstream, in memory. The file of `[logins]`, if there is one, has a
//! copy.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, watch};
use toolwire::{Principal, ScopeSet};
use toolwire_auth::client::{
    MemoryTokenStore, TokenStore, TokenStoreError, TokenStoreFuture, TokenStoreLock,
};
use toolwire_auth::documents::Secret;

use crate::sync::lock;

/// The maximum number of logins of all users. A login beyond it fails, and the others stay.
pub(super) const MAX_LOGINS: usize = 10_000;

/// The maximum size of a login in bytes: its tokens, and what is stored with them.
pub(super) const MAX_LOGIN_BYTES: usize = 64 * 1024;

/// The maximum length in bytes of the scopes that an upstream requires of one user.
const MAX_SCOPE_BYTES: usize = 4 * 1024;

/// Whose login it is, and where. A login is not used for another URL, also if an upstream of the same name has it later.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LoginKey {
    pub(super) caller: Principal,
    pub(super) upstream: String,
    pub(super) url: String,
}

/// A login. Clones are the same one.
#[derive(Debug, Clone)]
pub(super) struct StoredLogin {
    /// A number that no other login has.
    pub(super) number: u64,
    pub(super) tokens: Arc<LoginTokens>,
    /// How often the upstream rejected it while the gateway read the lists.
    rejected_reads: u32,
}

/// A login, as a file has it.
pub(super) struct LoginRecord {
    pub(super) key: LoginKey,
    pub(super) tokens: Arc<LoginTokens>,
    pub(super) scopes: Option<String>,
}

/// The scopes that an upstream has required of a user. Each login requests all of them, so that a login for one tool does
/// not take away the rights for another one.
#[derive(Debug)]
struct RequiredScopes {
    text: String,
    /// Whether the present login lacks some of them.
    are_lacking: bool,
}

/// All logins.
#[derive(Debug, Default)]
pub(super) struct StoredLogins {
    table: Mutex<LoginTable>,
    /// Changes with each login.
    changes: watch::Sender<u64>,
    /// Is notified of everything that a file of logins has.
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct LoginTable {
    next: u64,
    by_key: HashMap<LoginKey, StoredLogin>,
    /// The scopes that logins have to request.
    scopes: HashMap<LoginKey, RequiredScopes>,
}

impl StoredLogins {
    pub(super) fn get(&self, key: &LoginKey) -> Option<StoredLogin> {
        lock(&self.table).by_key.get(key).cloned()
    }

    pub(super) fn contains(&self, key: &LoginKey) -> bool {
        lock(&self.table).by_key.contains_key(key)
    }

    /// Returns a user with a login at an upstream, to read its lists: the one who logged in first, of those whose login
    /// was rejected least often.
    pub(super) fn reader(&self, upstream: &str, url: &str) -> Option<LoginKey> {
        let table = lock(&self.table);
        let logins = table.by_key.iter();
        let logins = logins.filter(|(key, _)| key.upstream == upstream && key.url == url);
        let first = logins.min_by_key(|(_, login)| (login.rejected_reads, login.number));
        first.map(|(key, _)| key.clone())
    }

    /// Stores a login, and replaces the one before.
    ///
    /// # Errors
    /// Returns an error if there are [`MAX_LOGINS`] others.
    pub(super) fn insert(&self, key: LoginKey, tokens: Arc<LoginTokens>) -> Result<(), String> {
        let mut table = lock(&self.table);
        if table.by_key.len() >= MAX_LOGINS && !table.by_key.contains_key(&key) {
            return Err(format!(
                "the gateway has the logins of {MAX_LOGINS} users, and stores no more"
            ));
        }
        table.next += 1;
        let number = table.next;
        if let Some(scopes) = table.scopes.get_mut(&key) {
            scopes.are_lacking = false;
        }
        let login = StoredLogin {
            number,
            tokens,
            rejected_reads: 0,
        };
        table.by_key.insert(key, login);
        drop(table);
        self.changed.notify_one();
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }

    /// Adds a login of a file.
    ///
    /// # Errors
    /// Returns an error if there are [`MAX_LOGINS`] others.
    pub(super) fn restore(&self, login: LoginRecord) -> Result<(), String> {
        let key = login.key.clone();
        self.insert(login.key, login.tokens)?;
        if let Some(scopes) = login.scopes {
            lock(&self.table).require(&key, &scopes, false);
        }
        Ok(())
    }

    /// Removes a login, unless it was replaced by another one. The next one requests the same scopes.
    pub(super) fn remove(&self, key: &LoginKey, number: u64) -> bool {
        let mut table = lock(&self.table);
        let is_current = table.has(key, number);
        if is_current {
            table.by_key.remove(key);
            self.changed.notify_one();
        }
        is_current
    }

    /// Records the scopes that an upstream requires and a login lacks. The login stays, because it suffices for other
    /// requests. Returns `false` if the login was replaced, or if a limit is reached.
    pub(super) fn require_scopes(&self, key: &LoginKey, number: u64, scopes: &str) -> bool {
        let mut table = lock(&self.table);
        let is_required = table.has(key, number) && table.require(key, scopes, true);
        if is_required {
            self.changed.notify_one();
        }
        is_required
    }

    /// Records that a login was rejected while the gateway read the lists. The login stays: another request of its user
    /// may be permitted.
    pub(super) fn reject_read(&self, key: &LoginKey, number: u64) {
        let mut table = lock(&self.table);
        let login = table.by_key.get_mut(key);
        if let Some(login) = login.filter(|login| login.number == number) {
            login.rejected_reads = login.rejected_reads.saturating_add(1);
        }
    }

    /// Returns the scopes that a login has to request.
    pub(super) fn required_scopes(&self, key: &LoginKey) -> Option<String> {
        let table = lock(&self.table);
        table.scopes.get(key).map(|scopes| scopes.text.clone())
    }

    /// Returns `true` if the login of a user lacks scopes that the upstream required.
    pub(super) fn lacks_scopes(&self, key: &LoginKey) -> bool {
        let table = lock(&self.table);
        table.scopes.get(key).is_some_and(|own| own.are_lacking)
    }

    /// Removes the logins at upstreams that are not configured any more.
    pub(super) fn retain(&self, is_configured: impl Fn(&LoginKey) -> bool) {
        let mut table = lock(&self.table);
        table.by_key.retain(|key, _| is_configured(key));
        table.scopes.retain(|key, _| is_configured(key));
        self.changed.notify_one();
    }

    /// Returns what is notified of changes.
    pub(super) fn changed(&self) -> &Arc<Notify> {
        &self.changed
    }

    /// Returns all logins, the first one first.
    pub(super) fn all(&self) -> Vec<LoginRecord> {
        let table = lock(&self.table);
        let mut logins: Vec<_> = table.by_key.iter().collect();
        logins.sort_by_key(|(_, login)| login.number);
        let logins = logins.into_iter();
        let records = logins.map(|(key, login)| LoginRecord {
            key: key.clone(),
            tokens: Arc::clone(&login.tokens),
            scopes: table.scopes.get(key).map(|scopes| scopes.text.clone()),
        });
        records.collect()
    }

    /// Waits until a user has a login that lacks no scopes.
    pub(super) async fn wait_for(&self, key: &LoginKey) {
        let mut changes = self.changes.subscribe();
        while !self.contains(key) || self.lacks_scopes(key) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

impl LoginTable {
    /// Returns `true` if the login of a user is still this one.
    fn has(&self, key: &LoginKey, number: u64) -> bool {
        let login = self.by_key.get(key);
        login.is_some_and(|login| login.number == number)
    }

    /// Adds scopes to those that logins of a user request. Returns `false` if a limit is reached.
    fn require(&mut self, key: &LoginKey, scopes: &str, are_lacking: bool) -> bool {
        if !self.scopes.contains_key(key) && self.scopes.len() >= MAX_LOGINS {
            // The number of logins has the same limit.
            let by_key = &self.by_key;
            self.scopes.retain(|key, _| by_key.contains_key(key));
            if self.scopes.len() >= MAX_LOGINS {
                return false;
            }
        }
        let parse = |text: &str| ScopeSet::parse(text).ok();
        let known = self.scopes.get(key);
        let all = match (known.and_then(|known| parse(&known.text)), parse(scopes)) {
            (Some(known), Some(new)) => known.union(&new).to_string(),
            (None, Some(new)) => new.to_string(),
            (_, None) => return false,
        };
        let is_short = all.len() <= MAX_SCOPE_BYTES && parse(&all).is_some();
        if is_short {
            let scopes = RequiredScopes {
                text: all,
                are_lacking,
            };
            self.scopes.insert(key.clone(), scopes);
        }
        is_short
    }
}

impl Drop for StoredLogins {
    fn drop(&mut self) {
        // The task that writes the file ends.
        self.changed.notify_one();
    }
}

/// The tokens of one login, with a limit on their size. `Debug` prints no token.
#[derive(Default)]
pub(super) struct LoginTokens {
    values: Mutex<BTreeMap<String, Secret>>,
    locks: MemoryTokenStore,
    /// Is notified of changes.
    changed: Arc<Notify>,
}

impl LoginTokens {
    /// Creates tokens whose changes are notified.
    pub(super) fn new(values: BTreeMap<String, Secret>, changed: &Arc<Notify>) -> Self {
        Self {
            values: Mutex::new(values),
            locks: MemoryTokenStore::new(),
            changed: Arc::clone(changed),
        }
    }

    pub(super) fn values(&self) -> BTreeMap<String, Secret> {
        lock(&self.values).clone()
    }

    /// Stores a value. Returns `false` if the limit would be exceeded.
    fn insert(&self, name: &str, value: &Secret) -> bool {
        let size = |name: &str, value: &Secret| name.len() + value.expose().len();
        let mut values = lock(&self.values);
        let others = values.iter().filter(|(other, _)| *other != name);
        let others: usize = others.map(|(name, value)| size(name, value)).sum();
        let has_room = others + size(name, value) <= MAX_LOGIN_BYTES;
        if has_room {
            values.insert(name.to_owned(), value.clone());
            self.changed.notify_one();
        }
        has_room
    }
}

impl TokenStore for LoginTokens {
    fn get<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, Option<Secret>> {
        let value = lock(&self.values).get(name).cloned();
        Box::pin(std::future::ready(Ok(value)))
    }

    fn put<'a>(&'a self, name: &'a str, value: &'a Secret) -> TokenStoreFuture<'a, ()> {
        let stored = if self.insert(name, value) {
            Ok(())
        } else {
            let message = format!("the tokens of a login have more than {MAX_LOGIN_BYTES} bytes");
            Err(TokenStoreError::new(message))
        };
        Box::pin(std::future::ready(stored))
    }

    fn remove<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, ()> {
        lock(&self.values).remove(name);
        self.changed.notify_one();
        Box::pin(std::future::ready(Ok(())))
    }

    fn lock<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, TokenStoreLock> {
        self.locks.lock(name)
    }
}

impl fmt::Debug for LoginTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginTokens").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use toolwire::TokenInfo;

    use super::*;

    fn key(name: &str, upstream: &str) -> LoginKey {
        LoginKey {
            caller: Principal::of(&TokenInfo::verified().with_subject(name)),
            upstream: upstream.to_owned(),
            url: format!("https://{upstream}.example/mcp"),
        }
    }

    #[test]
    fn login_beyond_the_limit_fails_and_the_others_stay() {
        let logins = StoredLogins::default();
        for number in 0..MAX_LOGINS {
            let inserted = logins.insert(key(&number.to_string(), "a"), Arc::default());
            assert_eq!(inserted, Ok(()));
        }
        let error = logins.insert(key("ann", "a"), Arc::default()).unwrap_err();
        assert!(error.contains("10000"), "{error}");
        // A user with a login may log in again.
        assert_eq!(logins.insert(key("0", "a"), Arc::default()), Ok(()));
        assert!(logins.contains(&key("1", "a")));
    }

    #[test]
    fn failure_of_an_old_login_does_not_remove_the_new_one() {
        let logins = StoredLogins::default();
        let ann = key("ann", "a");
        logins.insert(ann.clone(), Arc::default()).unwrap();
        let old = logins.get(&ann).unwrap().number;
        logins.insert(key("bob", "a"), Arc::default()).unwrap();
        logins.insert(ann.clone(), Arc::default()).unwrap();
        assert!(!logins.remove(&ann, old) && !logins.require_scopes(&ann, old, "write"));
        assert!(logins.contains(&ann) && !logins.lacks_scopes(&ann));
        let new = logins.get(&ann).unwrap().number;
        assert!(logins.remove(&ann, new));
        assert!(!logins.contains(&ann) && logins.contains(&key("bob", "a")));
        // Lists are read with the login of another user of the same server only.
        assert_eq!(
            logins.reader("a", "https://a.example/mcp"),
            Some(key("bob", "a"))
        );
        assert_eq!(logins.reader("a", "https://b.example/mcp"), None);
        logins.retain(|key| key.upstream == "b");
        assert!(!logins.contains(&key("bob", "a")));
    }

    #[test]
    fn login_that_lacks_scopes_stays_and_the_next_one_requests_all_of_them() {
        let logins = StoredLogins::default();
        let ann = key("ann", "a");
        for (scopes, expected) in [("a", "a"), ("b", "a b"), ("a", "a b")] {
            logins.insert(ann.clone(), Arc::default()).unwrap();
            assert!(!logins.lacks_scopes(&ann));
            let number = logins.get(&ann).unwrap().number;
            assert!(logins.require_scopes(&ann, number, scopes));
            assert!(logins.contains(&ann) && logins.lacks_scopes(&ann));
            assert_eq!(logins.required_scopes(&ann).as_deref(), Some(expected));
        }
        let number = logins.get(&ann).unwrap().number;
        assert!(logins.remove(&ann, number));
        assert_eq!(logins.required_scopes(&ann).as_deref(), Some("a b"));
    }

    #[test]
    fn lists_are_read_with_the_login_that_was_rejected_least_often() {
        let logins = StoredLogins::default();
        let (ann, bob) = (key("ann", "a"), key("bob", "a"));
        for key in [&ann, &bob] {
            logins.insert(key.clone(), Arc::default()).unwrap();
        }
        let reader = || logins.reader("a", "https://a.example/mcp");
        for (reading, next) in [(&ann, &bob), (&bob, &ann), (&ann, &bob)] {
            assert_eq!(reader().as_ref(), Some(reading));
            let number = logins.get(reading).unwrap().number;
            logins.reject_read(reading, number);
            assert_eq!(reader().as_ref(), Some(next));
        }
        assert!(logins.contains(&ann) && logins.contains(&bob));
    }

    #[test]
    fn scopes_that_a_login_requests_have_a_limit_in_bytes() {
        let logins = StoredLogins::default();
        let ann = key("ann", "a");
        logins.insert(ann.clone(), Arc::default()).unwrap();
        let number = logins.get(&ann).unwrap().number;
        for (length, is_stored) in [(MAX_SCOPE_BYTES + 1, false), (MAX_SCOPE_BYTES, true)] {
            // Different scopes of 100 bytes with the space after each.
            let scopes: String = (0..=length / 100)
                .map(|number| format!("{number:099} "))
                .collect();
            let scopes = &scopes[..length];
            assert_eq!(logins.require_scopes(&ann, number, scopes), is_stored);
            assert_eq!(
                logins.required_scopes(&ann).is_some(),
                is_stored,
                "{length}"
            );
        }
        assert!(!logins.require_scopes(&ann, number, "y"));
    }

    #[tokio::test]
    async fn tokens_of_a_login_have_a_limit_in_bytes() {
        let tokens = LoginTokens::default();
        let value = Secret::new("x".repeat(MAX_LOGIN_BYTES - 1));
        tokens.put("a", &value).await.unwrap();
        assert_eq!(tokens.values().len(), 1);
        // The value replaces itself.
        tokens.put("a", &value).await.unwrap();
        assert!(tokens.put("b", &Secret::new("")).await.is_err());
        tokens.remove("a").await.unwrap();
        tokens.put("b", &value).await.unwrap();
        let longer = Secret::new("x".repeat(MAX_LOGIN_BYTES));
        assert!(tokens.put("b", &longer).await.is_err());
        assert_eq!(tokens.get("b").await.unwrap(), Some(value));
        assert!(!format!("{tokens:?}").contains("xx"));
    }
}
