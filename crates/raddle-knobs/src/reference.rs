//! The table as documentation: Markdown that `#[doc = …]` takes, made where it is compiled.

/// A Markdown table of the variables that the library reads, as a literal.
///
/// ```
/// let table = raddle_knobs::variables_table!();
/// assert!(table.contains("\n| `RADDLE_*` | value | if not set | what it is |\n"));
/// assert!(table.contains("\n| `seed` | a number, or `none` | `none` | the seed of all that is drawn |\n"));
/// assert!(table.contains("\n| `replay` |") && !table.contains("\n| `jobs` |"));
/// ```
#[macro_export]
macro_rules! variables_table {
    () => {
        $crate::with_knobs! { $crate::__variables_table }
    };
}

/// A Markdown table of the keys of `#[raddle::test]`, as a literal.
///
/// ```
/// let table = raddle_knobs::attribute_table!();
/// assert!(table.contains("\n| `timeouts` | `\"any\"`, `\"idle\"`, `\"never\"` |"));
/// assert!(table.contains("\n| `expect` |") && !table.contains("\n| `replay` |"));
/// ```
#[macro_export]
macro_rules! attribute_table {
    () => {
        $crate::with_knobs! { $crate::__attribute_table }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __variables_table {
    (config { $(
        $(#[$doc:meta])*
        $name:ident: $ty:ty {
            value: ($($value:tt)*),
            default: $default:literal,
            scope: $scope:ident,
            $(instead: $instead:literal,)?
            $(same_to_resume: $same:literal,)?
            line: $line:literal,
        }
    )* } $($rest:tt)*) => {
        concat!(
            "\n| `RADDLE_*` | value | if not set | what it is |\n|---|---|---|---|\n",
            $($crate::__variable_row!(
                $scope stringify!($name), $crate::__values!($($value)*), $default, $line
            ),)*
        )
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __variable_row {
    (Test $($row:tt)*) => {
        ""
    };
    ($scope:ident $name:expr, $values:expr, $default:expr, $line:expr) => {
        concat!("| `", $name, "` | ", $values, " | `", $default, "` | ", $line, " |\n")
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __attribute_table {
    (config { $(
        $(#[$doc:meta])*
        $name:ident: $ty:ty {
            value: ($($value:tt)*),
            default: $default:literal,
            scope: $scope:ident,
            $(instead: $instead:literal,)?
            $(same_to_resume: $same:literal,)?
            line: $line:literal,
        }
    )* } $($rest:tt)*) => {
        concat!(
            "\n| knob | value | what it is |\n|---|---|---|\n",
            $($crate::__attribute_row!(
                $scope stringify!($name), $crate::__attribute_values!($($value)*), $line
            ),)*
        )
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __attribute_row {
    (Run $($row:tt)*) => {
        ""
    };
    ($scope:ident $name:expr, $values:expr, $line:expr) => {
        concat!("| `", $name, "` | ", $values, " | ", $line, " |\n")
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __values {
    (Strategy) => { "`auto`, `random`, `pct(3)`, `dfs preemptions(2)`, `portfolio`, …" };
    (Number $width:ident) => { "a number, or `none`" };
    (Time) => { "`500ms`, `10s`, `2m`, `1h`, or `none`" };
    (Memory) => { "bytes: `65536`, `64k`, `512m`, `4g`, or `none`" };
    (Size) => { "bytes: `65536`, `64k`, `2m`" };
    (Flag) => { "`true`, `false`" };
    (MaybeFlag) => { "`true`, `false`" };
    (File) => { "the path of a file" };
    (Recording) => { "a token, or the path of a saved failure" };
    (Address) => { "an address with `{path}`, or `none`" };
    (WordOrTime $time:ident $(, $text:literal => $variant:ident)*) => {
        concat!($("`", $text, "`, ",)* "or a time: `500ms`")
    };
    (Word $first:literal => $variant:ident $(, $text:literal => $more:ident)*) => {
        concat!("`", $first, "`" $(, ", `", $text, "`")*)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __attribute_values {
    (Strategy) => { "text: `\"auto\"`, `\"random\"`, `\"pct(3)\"`, `\"dfs preemptions(2)\"`, …" };
    (Number $width:ident) => { "a number" };
    (Time) => { "text: `\"500ms\"`, `\"10s\"`, `\"2m\"`, `\"1h\"`" };
    (Memory) => { "a number" };
    (Size) => { "a number" };
    (Flag) => { "nothing, `true`, `false`" };
    (MaybeFlag) => { "nothing, `true`, `false`" };
    (File) => { "" };
    (Recording) => { "" };
    (Address) => { "" };
    (WordOrTime $($rest:tt)*) => { "" };
    (Word $first:literal => $variant:ident $(, $text:literal => $more:ident)*) => {
        concat!("`\"", $first, "\"`" $(, ", `\"", $text, "\"`")*)
    };
}
