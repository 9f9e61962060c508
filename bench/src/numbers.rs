//! Numbers: the middle one, the exponent of a growth, and how they are written.

/// The middle one; of an even number, the higher of the two.
pub(crate) fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The exponent of a growth: the slope of the line that fits the logarithms best (least squares).
///
/// `None` for fewer than two sizes.
#[expect(clippy::cast_precision_loss, reason = "there are a few points")]
pub(crate) fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logarithms: Vec<_> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logarithms.len() as f64;
    let mean_x = logarithms.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = logarithms.iter().map(|(_, y)| y).sum::<f64>() / n;
    let spread: f64 = logarithms.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let together: f64 = logarithms.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| together / spread)
}

#[expect(clippy::cast_sign_loss, reason = "times are positive")]
pub(crate) fn number(ns: Option<f64>) -> String {
    ns.map_or("—".to_owned(), |ns| grouped(ns.round() as u64))
}

pub(crate) fn shown(ratio: Option<f64>, decimals: usize) -> String {
    ratio.map_or("—".to_owned(), |ratio| format!("{ratio:.decimals$}"))
}

/// With commas between groups of three digits.
pub(crate) fn grouped(n: u64) -> String {
    if n < 1_000 { n.to_string() } else { format!("{},{:03}", grouped(n / 1_000), n % 1_000) }
}

/// A duration in the unit in which it has one to three digits before the point.
pub(crate) fn duration(ns: f64) -> String {
    let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    // What would be rounded to 1,000 has the next unit.
    let (unit, size) = units.into_iter().find(|(_, size)| ns < size * 999.5).unwrap_or(("s", 1e9));
    let value = ns / size;
    let decimals = usize::from(value < 9.95) + usize::from(value < 0.995);
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_ignores_outliers() {
        assert_eq!(median(vec![3.0, 1e9, 2.0]).to_bits(), 3.0_f64.to_bits());
    }

    #[test]
    fn numbers_are_grouped() {
        for (n, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_020_003, "1,020,003")] {
            assert_eq!(grouped(n), expected);
        }
    }

    #[test]
    fn the_exponent_of_a_power_is_found_whatever_its_factor() {
        for power in [0.0, 1.0, 1.5, 3.0] {
            let points = [50.0, 100.0, 700.0, 5_000.0_f64].map(|x| (x, 17.0 * x.powf(power)));
            let found = exponent(&points).expect("four sizes");
            assert!((found - power).abs() < 1e-9, "{found} for {power}");
        }
    }

    #[test]
    fn noise_that_is_equal_on_both_ends_does_not_tilt_the_line() {
        let points = [(1.0, 3.0), (10.0, 10.0 / 3.0), (100.0, 100.0 / 3.0), (1_000.0, 3_000.0)];
        let found = exponent(&points).expect("four sizes");
        assert!((found - 1.0).abs() < 1e-9, "{found}");
    }

    #[test]
    fn one_size_has_no_exponent() {
        assert_eq!(exponent(&[]), None);
        assert_eq!(exponent(&[(50.0, 1.0), (50.0, 2.0)]), None);
    }

    #[test]
    fn durations_have_a_unit_that_fits() {
        for (ns, expected) in [
            (0.5, "0.50 ns"),
            (9.94, "9.9 ns"),
            (999.4, "999 ns"),
            (999.6, "1.0 µs"),
            (20_896_329.0, "21 ms"),
            (3.12e9, "3.1 s"),
            (2e12, "2000 s"),
        ] {
            assert_eq!(duration(ns), expected);
        }
    }
}
