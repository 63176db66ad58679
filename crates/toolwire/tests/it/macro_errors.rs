//! Pins what the macros say about mistakes.
//!
//! Each `ui/*.rs` fails to compile with exactly the message in the `.stderr` beside it. After a wanted change, run with
//! `TRYBUILD=overwrite` and read the difference.

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
