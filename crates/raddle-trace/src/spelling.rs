//! What was probably meant by a name that is not known.

/// The name that is nearest to an unknown one, if one is near enough to be meant.
///
/// ```
/// let names = ["executions", "time"];
/// assert_eq!(raddle_trace::spelling::nearest("execution", names), Some("executions"));
/// assert_eq!(raddle_trace::spelling::nearest("colour", names), None);
/// ```
#[must_use]
pub fn nearest<'a>(unknown: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (distance(unknown, name), name))
        .filter(|&(distance, name)| distance <= 1 + name.len() / 4)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// The bytes to insert, delete, replace, or exchange with a neighbour, to make `b` of `a`: the
/// optimal string alignment distance.
#[must_use]
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    // The distances of the first i bytes of `a`, and of one and two fewer, to all beginnings of `b`.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let mut before = row.clone();
    let mut before_that = row.clone();
    for i in 1..=a.len() {
        std::mem::swap(&mut before_that, &mut before);
        std::mem::swap(&mut before, &mut row);
        row[0] = i;
        for j in 1..=b.len() {
            let replaced = before[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(before[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_that[j - 2] + 1);
            }
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_single_errors() {
        for (a, b, expected) in [
            ("dfs", "dfs", 0),
            ("dsf", "dfs", 1),
            ("", "dfs", 3),
            ("dfs", "", 3),
            ("kitten", "sitting", 3),
            ("bestfirst", "best-first", 1),
            // An exchanged pair is not changed again: two deletions and an insertion.
            ("ca", "abc", 3),
        ] {
            assert_eq!(distance(a, b), expected, "{a} and {b}");
        }
    }

    #[test]
    fn an_exchange_of_neighbours_is_one_error() {
        assert_eq!(nearest("dsf", ["dos", "dfs"]), Some("dfs"));
    }
}
