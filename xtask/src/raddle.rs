//! `cargo raddle`, as far as it goes without the subcommand: the tests run in process.

/// The arguments for cargo that stand for those of `cargo raddle`.
///
/// ```
/// let arguments = xtask::raddle::cargo_arguments(&["test", "-p", "tour"]);
/// assert_eq!(arguments, Ok(vec!["test".into(), "-p".into(), "tour".into()]));
/// ```
///
/// # Errors
/// A sentence that says what there is instead.
pub fn cargo_arguments(given: &[&str]) -> Result<Vec<String>, String> {
    match given {
        ["test", rest @ ..] => {
            Ok(std::iter::once("test").chain(rest.iter().copied()).map(str::to_owned).collect())
        }
        ["replay", ..] => Err("`cargo raddle replay` is not here yet; set RADDLE_REPLAY, as in \
                               the command that a failing test prints"
            .to_owned()),
        [other, ..] => Err(format!(
            "`cargo raddle {other}` is not here yet; there is `cargo raddle test [-p PACKAGE]`"
        )),
        [] => Err("what shall raddle do? There is `cargo raddle test [-p PACKAGE]`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_here_says_so() {
        let said = |given: &[&str]| cargo_arguments(given).expect_err("refused");
        assert_eq!(
            said(&["explain"]),
            "`cargo raddle explain` is not here yet; there is `cargo raddle test [-p PACKAGE]`"
        );
        assert!(said(&["replay", "rd1"]).contains("RADDLE_REPLAY"));
        assert!(said(&[]).contains("cargo raddle test"));
    }
}
