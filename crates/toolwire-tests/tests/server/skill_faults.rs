//! The faults of a directory of skills: each is reported with its path and the reason.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use toolwire::skills::SkillDirectory;

/// A temporary directory that is removed on drop.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("toolwire-skills-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        // Links of the temporary directory itself are no part of the tests.
        Self(fs::canonicalize(path).unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Writes a valid `SKILL.md` with the name of its directory.
    pub(crate) fn write_skill(&self, directory: &str, body: &str) {
        let name = directory.rsplit('/').next().unwrap();
        let text = format!("---\nname: {name}\ndescription: The skill {name}\n---\n{body}");
        self.write(&format!("{directory}/SKILL.md"), text);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Checks that exactly these paths are reported, each with its reason.
#[track_caller]
fn check(scratch: &Scratch, expected: &[(&str, &str)]) {
    let faults = SkillDirectory::check(scratch.path());
    let found: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults.len(), expected.len(), "{found:#?}");
    for (path, reason) in expected {
        let path = scratch.path().join(path);
        let fault = faults.iter().find(|fault| fault.path == path);
        let fault = fault.unwrap_or_else(|| panic!("{} in {found:#?}", path.display()));
        assert!(fault.reason.contains(reason), "{fault}");
    }
    let error = SkillDirectory::open(scratch.path())
        .unwrap_err()
        .to_string();
    for fault in found {
        assert!(error.contains(&fault), "{error}");
    }
}

#[test]
fn front_matter_faults_are_reported() {
    let scratch = Scratch::new();
    scratch.write_skill("valid", "");
    let cases: [(&str, &[u8], &str); 17] = [
        ("empty", b"", "the front matter is missing"),
        ("none", b"# Title\n", "the front matter is missing"),
        (
            "endless",
            b"---\nname: endless\n",
            "the front matter has no end",
        ),
        (
            "bytes",
            b"---\nname: \xff\n---\n",
            "the front matter is not UTF-8",
        ),
        ("list", b"---\n- a\n---\n", "the front matter has no fields"),
        ("nameless", b"---\ndescription: d\n---\n", "no text `name`"),
        (
            "silent",
            b"---\nname: silent\n---\n",
            "no text `description`",
        ),
        (
            "number",
            b"---\nname: number\ndescription: 1\n---\n",
            "no text `description`",
        ),
        (
            "other",
            b"---\nname: another\ndescription: d\n---\n",
            "the name `another` differs from the directory `other`",
        ),
        (
            "Upper",
            b"---\nname: Upper\ndescription: d\n---\n",
            "the name has the character 'U'",
        ),
        (
            "syntax",
            b"---\nname: syntax\ndescription: [\n---\n",
            "the YAML is invalid",
        ),
        (
            "tag",
            b"---\nname: !!str tag\ndescription: d\n---\n",
            "line 2: tags are not allowed",
        ),
        (
            "twice",
            b"---\nname: twice\nname: twice\n---\n",
            "line 3: the key \"name\" is there twice",
        ),
        (
            "key",
            b"---\nname: key\n[a]: 1\n---\n",
            "line 3: a key is not a text",
        ),
        (
            "loop",
            b"---\nname: loop\na: &a [*a]\n---\n",
            "line 3: the alias refers to a value that contains it",
        ),
        (
            "infinite",
            b"---\nname: infinite\na: .inf\n---\n",
            "the number \".inf\" has no JSON form",
        ),
        (
            "documents",
            b"---\nname: documents\n...\na: b\n---\n",
            "a second YAML document",
        ),
    ];
    for (directory, bytes, _) in cases {
        scratch.write(&format!("{directory}/SKILL.md"), bytes);
    }
    let deep = format!("---\nname: deep\na: {}\n---\n", "[".repeat(100));
    scratch.write("deep/SKILL.md", deep);
    let long = format!("---\nname: long\na: {}\n---\n", "x".repeat(70_000));
    scratch.write("long/SKILL.md", long);
    let mut laughs = "---\nname: laughs\na0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let items = vec![format!("*a{}", level - 1); 8].join(", ");
        laughs.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    scratch.write("laughs/SKILL.md", laughs + "---\n");
    let paths = cases.map(|(directory, _, reason)| (format!("{directory}/SKILL.md"), reason));
    let mut expected: Vec<(&str, &str)> = paths
        .iter()
        .map(|(path, reason)| (path.as_str(), *reason))
        .collect();
    expected.push(("deep/SKILL.md", "nested too deeply"));
    expected.push(("long/SKILL.md", "the front matter is too long"));
    expected.push((
        "laughs/SKILL.md",
        "the aliases make the front matter too large",
    ));
    check(&scratch, &expected);
}

#[test]
fn oversized_skills_are_rejected_unless_they_are_allowed() {
    let scratch = Scratch::new();
    scratch.write_skill("many", "");
    for number in 0..512 {
        scratch.write(&format!("many/files/{number}"), "");
    }
    scratch.write_skill("large", "");
    fs::File::create(scratch.path().join("large/data"))
        .and_then(|file| file.set_len(17 * 1024 * 1024))
        .unwrap();
    check(
        &scratch,
        &[
            ("many", "the skill has 513 files"),
            ("large", "clients support 512 files and 16777216 bytes"),
        ],
    );
    let directory = SkillDirectory::open_oversized(scratch.path()).unwrap();
    assert!(!directory.reload().unwrap());
}

#[test]
fn directory_that_cannot_be_read_is_reported() {
    let scratch = Scratch::new();
    scratch.write("file", "");
    for path in ["none", "file"] {
        let path = scratch.path().join(path);
        let faults = SkillDirectory::check(&path);
        let [fault] = faults.as_slice() else {
            panic!("expected one fault, got {faults:?}")
        };
        assert_eq!(fault.path, path);
        assert!(fault.reason.starts_with("cannot be read: "), "{fault}");
    }
    assert_eq!(SkillDirectory::check(Scratch::new().path()), []);
}

#[cfg(unix)]
#[test]
fn links_and_special_files_are_reported() {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    let scratch = Scratch::new();
    scratch.write("secret/key", "secret");
    let root = Scratch(scratch.path().join("root"));
    root.write_skill("a", "");
    root.write_skill("b", "");
    let link = |target: &Path, path: &str| symlink(target, root.path().join(path)).unwrap();
    let secret = scratch.path().join("secret");
    link(&secret, "outside");
    link(&secret.join("key"), "a/key");
    link(Path::new("../../secret/key"), "a/relative");
    link(Path::new("/etc/passwd"), "a/passwd");
    link(Path::new("loop"), "a/loop");
    link(Path::new("none"), "a/none");
    link(root.path(), "a/up");
    link(Path::new("../b"), "a/b");
    fs::create_dir(root.path().join("c")).unwrap();
    fs::create_dir(root.path().join("c/SKILL.md")).unwrap();
    let socket = UnixListener::bind(root.path().join("b/socket")).unwrap();
    let leaves = "is a link that leaves the directory of skills";
    let faults = [
        ("outside", leaves),
        ("a/key", leaves),
        ("a/relative", leaves),
        ("a/passwd", leaves),
        ("a/loop", "is a link that leads nowhere or to itself"),
        ("a/none", "is a link that leads nowhere or to itself"),
        ("a/up", "is a link to a directory that contains it"),
        ("b/socket", "is not a file or a directory"),
        ("a/b/socket", "is not a file or a directory"),
        ("c/SKILL.md", "is a directory"),
    ];
    check(&root, &faults);
    drop(socket);
}

#[cfg(target_os = "linux")]
#[test]
fn name_that_is_not_utf_8_is_reported() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let scratch = Scratch::new();
    scratch.write_skill("a", "");
    let name = OsStr::from_bytes(b"x\xff");
    fs::write(scratch.path().join("a").join(name), "").unwrap();
    scratch.write("a/line\nbreak", "");
    check(
        &scratch,
        &[
            ("a/x\u{fffd}", "the name is not UTF-8"),
            ("a/line\nbreak", "control character"),
        ],
    );
}

#[cfg(unix)]
#[test]
fn unreadable_file_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;

    let scratch = Scratch::new();
    scratch.write_skill("a", "");
    scratch.write("a/closed", "");
    let path = scratch.path().join("a/closed");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        // The superuser reads every file.
        assert_eq!(SkillDirectory::check(scratch.path()), []);
    } else {
        check(&scratch, &[("a/closed", "cannot be read")]);
    }
}
