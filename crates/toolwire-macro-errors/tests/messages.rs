//! Compares the error messages of the macros.
//!
//! Each `ui/*.rs` fails to compile with exactly the message in the `.stderr` beside it. After a wanted change, run with
//! `TRYBUILD=overwrite` and read the difference.

#[test]
fn macro_misuse_fails_to_compile_with_its_message() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
