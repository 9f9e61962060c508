//! The known name that was probably meant by an unknown one.

/// The name that is nearest to an unknown one, if one is near enough to be meant.
///
/// ```
/// let names = ["executions", "time"];
/// assert_eq!(raddle_knobs::nearest("execution", names), Some("executions"));
/// assert_eq!(raddle_knobs::nearest("colour", names), None);
/// ```
#[must_use]
pub fn nearest<'a>(unknown: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (distance(unknown.as_bytes(), name.as_bytes()), name))
        .filter(|&(distance, name)| distance <= 1 + name.len() / 4)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// The edit distance: letters to insert, drop or replace to make `b` of `a`.
#[must_use]
pub fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
