//! Numbers, times and sizes as text: the one place where they are read and written.

use std::time::Duration;

/// A whole number: digits, with `_` between them as in Rust.
#[must_use]
pub fn number(text: &str) -> Option<u64> {
    // The parser of the standard library would take a sign.
    let digits = text.starts_with(|first: char| first.is_ascii_digit());
    if digits { text.replace('_', "").parse().ok() } else { None }
}

/// A number with a unit of time right after it: `15us`, `500ms`, `10s`, `2m`, `1h`.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(raddle_knobs::units::time("500ms"), Some(Duration::from_millis(500)));
/// assert_eq!(raddle_knobs::units::time("10"), None);
/// ```
#[must_use]
pub fn time(text: &str) -> Option<Duration> {
    let (n, unit) = with_unit(text)?;
    Some(match unit {
        "us" => Duration::from_micros(n),
        "ms" => Duration::from_millis(n),
        "s" => Duration::from_secs(n),
        "m" => Duration::from_secs(n.checked_mul(60)?),
        "h" => Duration::from_secs(n.checked_mul(3600)?),
        _ => return None,
    })
}

/// A number of bytes, with a power of 1024 right after it if there is one: `65536`, `64k`, `512M`, `4g`.
///
/// ```
/// assert_eq!(raddle_knobs::units::bytes("64k"), Some(65536));
/// assert_eq!(raddle_knobs::units::bytes("1.5g"), None);
/// ```
#[must_use]
pub fn bytes(text: &str) -> Option<u64> {
    let (n, unit) = with_unit(text)?;
    let scale = match unit {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return None,
    };
    n.checked_mul(scale)
}

/// A time as [`time`] reads it, in the largest unit of which it is a multiple. What is below a
/// microsecond is dropped.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(raddle_knobs::units::time_text(Duration::from_secs(120)), "2m");
/// assert_eq!(raddle_knobs::units::time_text(Duration::from_millis(1500)), "1500ms");
/// ```
#[must_use]
pub fn time_text(time: Duration) -> String {
    let micros = time.as_micros();
    let units = [("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000)];
    let fits = |&(_, length): &(&str, u128)| micros > 0 && micros.is_multiple_of(length);
    let (unit, length) = units.into_iter().find(fits).unwrap_or(("us", 1));
    format!("{}{unit}", micros / length)
}

fn with_unit(text: &str) -> Option<(u64, &str)> {
    let at = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    Some((number(digits)?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("15us"), Some(Duration::from_micros(15)));
        assert_eq!(time("2m"), Some(Duration::from_mins(2)));
        assert_eq!(time("1h"), Some(Duration::from_hours(1)));
        for wrong in
            ["", "10", "s", "-1s", "+1s", "_1s", "1.5s", "10 s", "10sec", "99999999999999999999s"]
        {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_that_are_written_are_read() {
        for text in ["0us", "15us", "1500ms", "10s", "90m", "2h"] {
            assert_eq!(time(text).map(time_text).as_deref(), Some(text));
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(bytes("262_144"), Some(256 << 10));
        assert_eq!(bytes("4G"), Some(4 << 30));
        for wrong in ["", "k", "-1", "4t", "1kb", "20000000000g"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
