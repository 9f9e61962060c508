//! What `#[raddle::test]` refuses, at which place and in which words.

#[test]
fn what_cannot_be_a_test_is_a_compile_error() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
