//! Where and when a table was measured.

use std::fs;
use std::thread::available_parallelism;
use std::time::{SystemTime, UNIX_EPOCH};

/// Cores and memory, for the head of a table.
pub(crate) fn size() -> String {
    let cores =
        available_parallelism().map_or("an unknown number of".to_owned(), |n| n.to_string());
    let memory = fs::read_to_string("/proc/meminfo").ok().and_then(|text| memory_gib(&text));
    let memory = memory.map_or("unknown".to_owned(), |gib| format!("{gib:.1} GiB"));
    format!("{cores} cores, {memory} memory")
}

/// How many processes there were that could run, on average over the last quarter of an hour.
pub(crate) fn load() -> Option<f64> {
    load_of(&fs::read_to_string("/proc/loadavg").ok()?)
}

fn load_of(loadavg: &str) -> Option<f64> {
    loadavg.split_whitespace().nth(2)?.parse().ok()
}

#[expect(clippy::cast_precision_loss, reason = "memory in KiB is far below 2^52")]
fn memory_gib(meminfo: &str) -> Option<f64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib as f64 / f64::from(1 << 20))
}

/// The profile of cargo's with which everything is built that is compared.
pub(crate) const PROFILE: &str = "compare";

/// What `cargo run` is told to build this program as it is built: the directory that it is in is named after its profile.
pub(crate) fn profile() -> String {
    let exe = std::env::current_exe().unwrap_or_default();
    let profile = exe.parent().and_then(|above| above.file_name()).unwrap_or_default();
    match &*profile.to_string_lossy() {
        "debug" | "" => String::new(),
        "release" => " --release".to_owned(),
        other => format!(" --profile {other}"),
    }
}

/// Today's date by the system clock, in UTC.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date(seconds / 86_400)
}

/// The date so many days after 1970-01-01.
///
/// Counts in years that begin in March, so that the leap day is the last of its year: Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms".
fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (19_722, "2023-12-31"),
            (20_453, "2025-12-31"),
            (20_454, "2026-01-01"),
        ] {
            assert_eq!(date(days), expected);
        }
    }

    #[test]
    fn the_load_is_the_third_of_three() {
        assert_eq!(load_of("0.50 1.25 2.00 3/456 7890\n"), Some(2.0));
        assert_eq!(load_of(""), None);
    }

    #[test]
    fn memory_is_read_from_meminfo() {
        assert_eq!(memory_gib("MemTotal:        4194304 kB\nMemFree: 1 kB\n"), Some(4.0));
        assert_eq!(memory_gib("MemFree: 1 kB\n"), None);
    }
}
