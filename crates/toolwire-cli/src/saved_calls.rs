//! Calls of tools that the user saved, in a file: the arguments, and the responses to input requests.
//!
//! The values are those of the user, and are not redacted, because a redacted call cannot be made again. So only the user
//! can read the file. A file that cannot be read is not replaced.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use toolwire::RawJson;

use crate::private_file;

/// The name of the file, in the current directory, unless an option names another one.
pub(crate) const DEFAULT_FILE: &str = "toolwire-calls.json";

/// The version of the file format.
const LAYOUT: u64 = 1;

/// The maximum number of calls in a file.
pub(crate) const MAX_CALLS: usize = 200;

/// The maximum size of a file in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The maximum length of a name.
const MAX_NAME: usize = 64;

/// A call of a tool that can be made again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedCall {
    pub(crate) name: String,
    pub(crate) tool: String,
    pub(crate) arguments: RawJson,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) responses: Vec<SavedResponse>,
}

/// The response to an input request with this message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedResponse {
    /// `form`, `url` or `sampling`.
    pub(crate) kind: String,
    pub(crate) message: String,
    /// The body of the request `POST /api/inputs/ID` of `toolwire inspect`.
    pub(crate) response: RawJson,
}

impl SavedResponse {
    /// Removes and returns the first response to an input request.
    pub(crate) fn take(list: &mut Vec<Self>, kind: &str, message: &str) -> Option<Self> {
        let matches = |one: &Self| one.kind == kind && one.message == message;
        let position = list.iter().position(matches)?;
        Some(list.remove(position))
    }
}

/// The calls of a file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedCalls {
    #[serde(rename = "toolwireCalls")]
    layout: u64,
    pub(crate) calls: Vec<SavedCall>,
}

/// The reason why calls cannot be read or saved.
#[derive(Debug)]
pub(crate) enum SavedCallsError {
    Read(io::Error),
    /// The file has another content.
    Format,
    Write(io::Error),
    Name,
    Full,
}

impl fmt::Display for SavedCallsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "the saved calls cannot be read: {error}"),
            Self::Format => f.write_str("the file is not one of saved calls; move it away"),
            Self::Write(error) => write!(f, "the call cannot be saved: {error}"),
            Self::Name => write!(
                f,
                "the name is invalid; use at most {MAX_NAME} letters, digits, `-` and `_`"
            ),
            Self::Full => write!(
                f,
                "there are {MAX_CALLS} saved calls, or they need more than 16 MiB; delete one first"
            ),
        }
    }
}

impl SavedCalls {
    /// Reads a file. An absent file has no calls.
    pub(crate) fn read(path: &Path) -> Result<Self, SavedCallsError> {
        let bytes = match read_bytes(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(SavedCallsError::Read(error)),
        };
        match serde_json::from_slice::<Self>(&bytes) {
            Ok(saved) if saved.layout == LAYOUT && bytes.len() as u64 <= MAX_BYTES => Ok(saved),
            _ => Err(SavedCallsError::Format),
        }
    }

    /// Returns the call with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&SavedCall> {
        self.calls.iter().find(|call| call.name == name)
    }

    /// Adds a call. It replaces the one with the same name.
    pub(crate) fn insert(&mut self, call: SavedCall) -> Result<(), SavedCallsError> {
        check_name(&call.name)?;
        self.remove(&call.name);
        if self.calls.len() >= MAX_CALLS {
            return Err(SavedCallsError::Full);
        }
        self.calls.push(call);
        Ok(())
    }

    /// Removes a call. Returns `false` if no call has this name.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let before = self.calls.len();
        self.calls.retain(|call| call.name != name);
        self.calls.len() < before
    }

    /// Replaces the file. Only the user can read it.
    pub(crate) fn write(&mut self, path: &Path) -> Result<(), SavedCallsError> {
        self.layout = LAYOUT;
        let mut bytes = serde_json::to_vec_pretty(self)
            .map_err(|error| SavedCallsError::Write(error.into()))?;
        bytes.push(b'\n');
        if bytes.len() as u64 > MAX_BYTES {
            return Err(SavedCallsError::Full);
        }
        private_file::replace(path, &bytes, None).map_err(SavedCallsError::Write)
    }
}

/// Returns an error if a call cannot have this name.
pub(crate) fn check_name(name: &str) -> Result<(), SavedCallsError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
        return Err(SavedCallsError::Name);
    }
    Ok(())
}

/// Returns the bytes of a file. One that is too long is truncated, one byte beyond the limit.
fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str) -> SavedCall {
        SavedCall {
            name: name.to_owned(),
            tool: "echo".to_owned(),
            arguments: json!({"text": "a"}).into(),
            responses: Vec::new(),
        }
    }

    #[test]
    fn file_is_read_as_it_was_written_and_is_private() {
        let directory = std::env::temp_dir().join(format!("toolwire-saved-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory");
        let path = directory.join("calls.json");
        let mut saved = SavedCalls::read(&path).expect("an absent file");
        assert_eq!(saved, SavedCalls::default());
        let mut first = call("first");
        first.responses.push(SavedResponse {
            kind: "form".to_owned(),
            message: "Go?".to_owned(),
            response: json!({"action": "decline"}).into(),
        });
        saved.insert(first).expect("a valid call");
        saved.write(&path).expect("a file");
        assert_eq!(SavedCalls::read(&path).expect("a file"), saved);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;

            let mode = fs::metadata(&path).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        for text in ["", "[]", "{\"toolwireCalls\":2,\"calls\":[]}"] {
            fs::write(&path, text).expect("a file");
            let read = SavedCalls::read(&path);
            assert!(matches!(read, Err(SavedCallsError::Format)), "{text}");
        }
        fs::remove_dir_all(&directory).expect("a directory");
    }

    #[test]
    fn names_and_the_number_of_calls_are_limited() {
        let mut saved = SavedCalls::default();
        let longest = "n".repeat(MAX_NAME);
        for (name, expected) in [
            ("a-B_1", true),
            (longest.as_str(), true),
            (&format!("{longest}n"), false),
            ("", false),
            ("a b", false),
            ("../a", false),
            ("é", false),
        ] {
            assert_eq!(saved.insert(call(name)).is_ok(), expected, "{name}");
        }
        for number in saved.calls.len()..MAX_CALLS {
            saved.insert(call(&number.to_string())).expect("a call");
        }
        let beyond = saved.insert(call("beyond"));
        assert!(matches!(beyond, Err(SavedCallsError::Full)));
        // A call with a known name replaces it.
        saved.insert(call("a-B_1")).expect("a call");
        assert!(saved.remove("a-B_1") && !saved.remove("a-B_1"));
        assert!(saved.insert(call("beyond")).is_ok());
    }

    #[test]
    fn size_of_a_file_is_limited() {
        let mut saved = SavedCalls::default();
        let mut long = call("long");
        let text = "x".repeat(usize::try_from(MAX_BYTES).expect("a size"));
        long.arguments = json!({ "text": text }).into();
        saved.insert(long).expect("a call");
        let path = std::env::temp_dir().join("toolwire-saved-too-long.json");
        let written = saved.write(&path);
        assert!(matches!(written, Err(SavedCallsError::Full)));
        assert!(!path.exists());
    }

    #[test]
    fn responses_are_used_once_and_in_their_order() {
        let response = |message: &str, number: u64| SavedResponse {
            kind: "form".to_owned(),
            message: message.to_owned(),
            response: json!(number).into(),
        };
        let mut list = vec![response("a", 1), response("b", 2), response("a", 3)];
        let mut take = |kind: &str, message: &str| {
            let taken = SavedResponse::take(&mut list, kind, message);
            taken.map(|taken| taken.response.get().to_owned())
        };
        assert_eq!(take("url", "a"), None);
        assert_eq!(take("form", "a").as_deref(), Some("1"));
        assert_eq!(take("form", "a").as_deref(), Some("3"));
        assert_eq!(take("form", "a"), None);
        assert_eq!(take("form", "b").as_deref(), Some("2"));
    }
}
